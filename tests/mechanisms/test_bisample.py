import numpy as np
import pytest

from planner.errors import InputError
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.bisample import BiSampleMD, prepare_value
from planner.mechanisms.bisample_variance import first_order
from planner.mechanisms.privkvm import PrivKVM
from planner.survey.numeric_domain import NumericDomain
from tests.mechanisms.decisions import mean_is, mean_square_is
from tests.mechanisms.numeric_suite import NumericSuite


class MissingSuite(NumericSuite):
    """Total and missing rate are linear in the counts, hence unbiased for few users too."""

    users = 300

    def numbers(self, estimates):
        return np.array([estimates.total.value / self.users, 20 * estimates.missing_rate.value])

    def expectation(self, values):
        return np.array([np.nansum(values) / self.users, 20 * np.isnan(values).mean()])

    def variance(self, values):
        variance = self.mechanism().variance(values)
        return np.array([variance.total / self.users**2, 400 * variance.missing_rate])

    def test_mean_of_those_who_answered(self):
        """Ratio estimates need many users: 4000 here, to first order."""
        mechanism, rng = self.mechanism(), np.random.default_rng(21)
        values = np.tile(self.values(rng), 14)
        runs = np.array(
            [
                mechanism.estimate(mechanism.aggregate(mechanism.perturb(values, rng))).mean.value
                for _ in range(5000)
            ]
        )
        expected = np.nanmean(values) + self.mean_bias(values)
        variance = mechanism.variance(values).mean
        # The ratio's own bias is of order variance: a thousandth here, a tenth of an error.
        assert abs(runs.mean() - expected) < 0.1 * np.sqrt(variance)
        assert mean_square_is((runs - expected)[:, None], variance)
        assert not mean_square_is((runs - expected)[:, None], variance * 1.15)
        assert not mean_square_is((runs - expected)[:, None], variance / 1.15)

    def mean_bias(self, values):  # noqa: ARG002 - a hook
        return 0.0

    def test_no_answers_at_all(self):
        mechanism = self.mechanism()
        nobody = np.full(5000, np.nan)
        with pytest.raises(InputError, match=r"The mean is undefined, nobody answered\."):
            mechanism.variance(nobody)
        seen = set()
        for seed in range(20):
            reports = mechanism.perturb(nobody, np.random.default_rng(seed))
            estimates = mechanism.estimate(mechanism.aggregate(reports), 1 - 1e-6)
            assert estimates.missing_rate.lower < 1 < estimates.missing_rate.upper
            assert (estimates.mean.lower, estimates.mean.upper) == (10.0, 30.0)
            seen.add(estimates.mean.status)
            if estimates.mean.status == "undefined":
                assert estimates.mean.value is None
                assert estimates.mean.standard_error is None
                assert "nobody answered" in estimates.mean.note
            else:
                assert np.isfinite(estimates.mean.value)
                assert "cannot rule out that nobody answered" in estimates.mean.note
            assert np.isfinite([estimates.total.value, estimates.total.standard_error]).all()
        assert seen == {"unbounded", "undefined"}

    def test_intervals_cover(self):
        """People drawn anew each time: 90 % intervals cover 90 times in 100."""
        mechanism, rng = self.mechanism(), np.random.default_rng(22)
        hits, runs = np.zeros(2), 2000
        for _ in range(runs):
            values = rng.uniform(12, 27, 2000)
            values[rng.random(2000) < 0.3] = np.nan
            estimates = mechanism.estimate(mechanism.aggregate(mechanism.perturb(values, rng)), 0.9)
            mean = 19.5 + self.mean_bias(np.append(np.full(7, 19.5), [np.nan] * 3))
            hits += [
                estimates.mean.lower < mean < estimates.mean.upper,
                estimates.missing_rate.lower < 0.3 < estimates.missing_rate.upper,
            ]
        assert np.all(np.abs(hits - 0.9 * runs) < 4.9 * np.sqrt(runs * 0.9 * 0.1))

    def test_fixed_answer_rate_of_one(self):
        mechanism = self.mechanism()
        variance = mechanism.variance(np.full(100, 20.0))
        assert 0 < variance.mean < np.inf


class TestBiSampleMD(MissingSuite):
    def build(self, epsilon, domain):
        return BiSampleMD(epsilon, domain)

    def test_equations_18_and_20(self):
        mechanism = self.mechanism()
        rng = np.random.default_rng(3)
        reports = mechanism.perturb(np.where(rng.random(999) < 0.5, 25.0, np.nan), rng)
        s, b = reports >> 1, reports & 1
        f_pos, f_neg = b[s == 1].mean(), b[s == 0].mean()
        p = np.exp(self.budget) / (np.exp(self.budget) + 1)
        estimates = mechanism.estimate(mechanism.aggregate(reports))
        missing = (1 - f_pos - f_neg) / (2 * p - 1)
        mean = (f_pos - f_neg) / (f_pos + f_neg + 2 * p - 2)
        assert estimates.missing_rate.value == pytest.approx(missing, abs=1e-6)
        assert estimates.mean.value == pytest.approx(20 + 10 * mean, abs=1e-5)

    def test_variance_is_the_sum_of_every_persons(self):
        """The linear part of the estimates, over each person's own four reports."""
        mechanism = BiSampleMD(1.0, NumericDomain(0, 1))
        values = np.array([0.0, 0.3, 1.0, 1.0, np.nan, np.nan])
        law = mechanism.output_law(values)
        direction, bit = np.arange(4) >> 1, np.arange(4) & 1
        f_neg, f_pos = (2 * law[:, direction == s][:, 1].mean() for s in (0, 1))
        off = np.where(direction == 1, bit - f_pos, bit - f_neg) * 2 / values.size
        theta = float(mechanism._coin.theta)

        def variance(pos, neg):
            part = off * np.where(direction == 1, pos, neg) / theta
            return np.sum(law @ part**2 - (law @ part) ** 2)

        found = mechanism.variance(values)
        assert found.missing_rate == pytest.approx(variance(1, 1), rel=1e-9)
        assert found.total == pytest.approx(values.size**2 * variance(1, 0), rel=1e-9)
        mu, rate = 2 * np.nanmean(values) - 1, 4 / 6
        ratio = variance(1 - mu, -1 - mu) / rate**2 / 4  # of the mean; half the range is 1/2
        assert found.mean == pytest.approx(ratio, rel=1e-9)

    def test_preferences_are_prepare_value(self):
        mechanism, rng = self.mechanism(), np.random.default_rng(4)
        values = rng.uniform(10, 30, 70_000)
        preferences = rng.normal(1.5, 1, 70_000)
        prepared = prepare_value(values, preferences, self.budget)
        assert np.isnan(prepared).sum() == (preferences < self.budget).sum()
        one = mechanism.perturb(values, np.random.default_rng(5), preferences)
        other = mechanism.perturb(prepared, np.random.default_rng(5))
        np.testing.assert_array_equal(one, other)

    def test_equal_preference_answers(self):
        assert prepare_value([1.0], [2.0], 2.0).tolist() == [1.0]
        values = np.full(1000, 30.0)
        reports = [
            self.mechanism().perturb(values, np.random.default_rng(9), *preferences)
            for preferences in ((), (np.full(1000, self.budget),))
        ]
        np.testing.assert_array_equal(*reports)

    @pytest.mark.parametrize("bad", [[1.0], [1.0, np.nan], ["1", "2"], [[1.0, 2.0]], None])
    def test_bad_preferences(self, bad):
        rng = np.random.default_rng(6)
        before = rng.bit_generator.state
        if bad is not None:
            with pytest.raises(InputError, match="preferences"):
                self.mechanism().perturb([15.0, 20.0], rng, bad)
        with pytest.raises(InputError, match="preferences"):
            prepare_value([15.0, 20.0], bad, 1.0)
        assert rng.bit_generator.state == before

    def test_input_is_not_changed(self):
        values = np.array([15.0, 20.0])
        self.mechanism().perturb(values, np.random.default_rng(7), [0.0, 9.0])
        prepare_value(values, [0.0, 9.0], 1.0)
        assert values.tolist() == [15.0, 20.0]

    def test_one_direction_only(self):
        with pytest.raises(InputError, match="positive sampling"):
            self.mechanism().estimate(Aggregate(3, np.array([1, 2, 0, 0])))

    def test_fieller_ends_are_where_the_gap_is_significant(self):
        mechanism = self.mechanism()
        mean = mechanism.estimate(Aggregate(4000, np.array([900, 1100, 600, 1400]))).mean
        theta = np.tanh(self.budget / 2)
        f_pos, f_neg = 1400 / 2000, 1100 / 2000
        for end in (mean.lower, mean.upper):
            m = (end - 20) / 10
            gap = ((1 - m) * f_pos - (1 + m) * f_neg + m * (1 - theta)) / theta
            spread = (1 - m) ** 2 * f_pos * (1 - f_pos) + (1 + m) ** 2 * f_neg * (1 - f_neg)
            assert abs(gap) / np.sqrt(spread / 2000 / theta**2) == pytest.approx(1.96, abs=1e-3)


class TestPrivKVM(MissingSuite):
    def build(self, epsilon, domain):
        return PrivKVM(epsilon, domain)

    def epsilon(self):
        """It spends less than it is given: eps/2 + ln(2p)."""
        return self.budget / 2 + np.log(2 / (1 + np.exp(-self.budget / 2)))

    def variance(self, values):
        # Stated for people drawn like these: take off the variance of drawing them.
        people = np.array([np.nan_to_num(values).var(), 400 * np.isnan(values).var()])
        return super().variance(values) - people / self.users

    def mean_bias(self, values):
        return self.mechanism().bias(values)

    def test_mean_of_those_who_answered(self):
        """Of people drawn anew each time, as its variance is stated."""
        for rounds in (0, 5):
            self.check_mean(PrivKVM(self.budget, self.domain, rounds))

    def check_mean(self, mechanism):
        rng = np.random.default_rng(23)
        population = self.values(rng)
        runs = np.array(
            [
                mechanism.estimate(
                    mechanism.aggregate(mechanism.perturb(rng.choice(population, 4000), rng))
                ).mean.value
                for _ in range(5000)
            ]
        )
        expected = np.nanmean(population) + mechanism.bias(population)
        variance = mechanism.variance(population).mean * population.size / 4000
        assert abs(runs.mean() - expected) < 0.1 * np.sqrt(variance)
        assert mean_square_is((runs - expected)[:, None], variance)
        assert not mean_square_is((runs - expected)[:, None], variance * 1.15)
        assert not mean_square_is((runs - expected)[:, None], variance / 1.15)

    @pytest.mark.parametrize("users", [200, 200_000])
    @pytest.mark.parametrize("epsilon", [0.5, 2.0])
    def test_intervals_cover_a_key_that_few_hold(self, users, epsilon):
        """Two in a hundred: 90 % intervals hold the truth 90 times in 100, or more if unbounded.

        5,000 surveys of people drawn at random stray by 2 % once in a million.
        """
        mechanism, rng = PrivKVM(epsilon), np.random.default_rng(int(users * epsilon))
        answers = np.array([0.8, -0.2, np.nan])
        law = np.array([0.01, 0.01, 0.98]) @ mechanism.output_law(answers)
        surveys = rng.multinomial(users, law, 5000)
        means = [mechanism.estimate(Aggregate(users, row), 0.9).mean for row in surveys]
        covered = np.mean([one.lower <= 0.3 <= one.upper for one in means])
        assert covered > 0.9 - 0.021
        if users == 200_000:
            assert all(one.status == "bounded" for one in means) == (epsilon == 2.0)
            told = [one for one in means if one.value is not None]
            by_slopes = [abs(one.value - 0.3) < 1.645 * one.standard_error for one in told]
            assert np.mean(by_slopes) < 0.8  # the first-order interval would not do
        if epsilon == 2.0 and users == 200_000:
            assert covered < 0.9 + 0.021

    def test_more_iterations_less_bias(self):
        values = np.array([25.0, np.nan, np.nan])
        biases = [abs(PrivKVM(1.0, self.domain, c).bias(values)) for c in (0, 1, 5, 200)]
        assert biases == sorted(biases, reverse=True)
        assert biases[-1] < 1e-6

    def test_iterations_step_by_step(self):
        """The closed sum is the recursion m += k (m - previous m)."""
        counts = np.array([400, 250, 350])
        p = 1 / (1 + np.exp(-0.5))
        key = 0.6
        f = (key - 1 + p) / (2 * p - 1)
        k = (1 - f) * (1 - p) / key
        previous, mean = 0.0, 0.1 / (2 * p - 1) / key
        for _ in range(3):
            previous, mean = mean, mean + k * (mean - previous)
        ours = PrivKVM(1.0, virtual_iterations=3).estimate(Aggregate(1000, counts)).mean.value
        assert ours == pytest.approx(mean, rel=1e-6)

    @pytest.mark.parametrize("rounds", [0, 1, 5])
    def test_standard_errors_follow_the_slopes(self, rounds):
        """The delta method over differences of the estimates; reports are multinomial."""
        mechanism = PrivKVM(1.0, NumericDomain(0, 10), rounds)
        shares, step = np.array([0.45, 0.1, 0.45]), 10**6
        counts = (10**12 * shares).astype(int)

        def estimates(counts):
            found = mechanism.estimate(Aggregate(int(counts.sum()), counts))
            return np.array([found.mean.value, found.total.value, found.missing_rate.value])

        # Reports move from the first cell to another: the number of people stays.
        to_no, to_yes = (
            (estimates(counts + move) - estimates(counts - move)) / (2 * step / 10**12)
            for move in (np.array([-step, step, 0]), np.array([-step, 0, step]))
        )
        slopes = np.array([np.zeros(3), to_no, to_yes])
        variance = shares @ slopes**2 - (shares @ slopes) ** 2
        found = mechanism.estimate(Aggregate(10**12, counts))
        errors = [found.mean.standard_error, found.total.standard_error]
        errors.append(found.missing_rate.standard_error)
        np.testing.assert_allclose(np.square(errors) * 10**12, variance, rtol=1e-4)
        few = mechanism.estimate(Aggregate(20, np.array([9, 2, 9])), 0.9)
        assert few.missing_rate.upper >= 1  # perhaps nobody answered
        assert few.mean.confidence == 0.9
        unit = few.mean.standard_error * np.sqrt(20)
        assert unit == pytest.approx(found.mean.standard_error * 10**6)

    def test_variance_is_that_of_the_expected_reports(self):
        mechanism = PrivKVM(1.0, NumericDomain(0, 10), 2)
        values = np.array([9.0, 8.0, 10.0, np.nan])
        reports = (10**12 * mechanism.output_law(values).mean(axis=0)).astype(int)
        found = mechanism.estimate(Aggregate(int(reports.sum()), reports))
        stated, n = mechanism.variance(values), reports.sum()
        assert stated.mean * 4 == pytest.approx(found.mean.standard_error**2 * n, rel=1e-6)
        assert stated.total / 4 == pytest.approx(found.total.standard_error**2 / n, rel=1e-6)

    @pytest.mark.parametrize("bad", [-1, 1.5, True, None])
    def test_bad_iterations(self, bad):
        with pytest.raises(InputError, match="virtual_iterations"):
            PrivKVM(1.0, virtual_iterations=bad)


def test_first_order_is_the_law_of_drawn_people():
    """Histograms of people drawn at random are multinomial: 100,000 collections at once."""
    rng = np.random.default_rng(31)
    n, rate, mean, repeats = 100_000, 0.6, 0.5, 100_000
    mechanism = BiSampleMD(2.0)
    law = mechanism.output_law([mean, np.nan])  # only the mean matters to a linear law
    cells = rate * law[0] + (1 - rate) * law[1]
    counts = rng.multinomial(n, cells, size=repeats)
    f_pos = counts[:, 3] / (counts[:, 2] + counts[:, 3])
    f_neg = counts[:, 1] / (counts[:, 0] + counts[:, 1])
    theta = np.tanh(1.0)
    signed, answered = (f_pos - f_neg) / theta, (f_pos + f_neg - 1 + theta) / theta
    predicted = first_order(theta, rate, mean, n)
    for runs, truth, variance in (
        (signed / answered, mean, predicted.mean),
        (1 - answered, 1 - rate, predicted.missing_rate),
        (signed, rate * mean, predicted.signed_sum),
    ):
        assert mean_is(runs, truth + 2e-5 * (truth == mean))
        assert mean_square_is((runs - truth)[:, None], variance)
        assert not mean_square_is((runs - truth)[:, None], variance * 1.05)
    covariance = np.mean((signed - rate * mean) * (answered - rate))
    assert covariance == pytest.approx(float(predicted.covariance), rel=0.05)


def test_a_mean_of_nobody_has_no_finite_variance():
    found = first_order([[0.5], [0.9]], [0.0, 0.5, 1.0], 0.3, 1000)
    assert np.isinf(found.mean).tolist() == [[True, False, False]] * 2
    assert np.isfinite(found.signed_sum).all()


@pytest.mark.parametrize(
    ("lower", "upper"), [(1, 1), (2, 1), (np.nan, 1), (0, np.inf), (-1e308, 1e308), ("0", 1)]
)
def test_bad_domains(lower, upper):
    with pytest.raises(InputError, match=r"lower|upper"):
        NumericDomain(lower, upper)
