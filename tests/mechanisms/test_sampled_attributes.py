import numpy as np
import pytest

from planner.errors import InputError
from planner.mechanisms.bisample import BiSample, BiSampleMD
from planner.mechanisms.forced_answer import Harmony
from planner.mechanisms.sampled_attributes import SampledAttributes
from planner.survey.numeric_domain import NumericDomain
from tests.mechanisms.suite import FiniteLawSuite

DOMAIN = NumericDomain(10, 30)


class TestSampledAttributes(FiniteLawSuite):
    users = 400
    bias_near_miss = 0.3

    def mechanism(self):
        return SampledAttributes([Harmony(1.5, DOMAIN), BiSampleMD(1.5), BiSample(1.5, DOMAIN)])

    def epsilon(self):
        return 1.5

    def values(self, rng):
        return np.column_stack(
            [
                rng.uniform(12, 27, self.users),
                np.where(rng.random(self.users) < 0.3, np.nan, 0.5),
                rng.uniform(12, 27, self.users),
            ]
        )

    def repeated(self, values, times):
        return np.tile(values, (times, 1))

    def numbers(self, estimates):
        first, second, third = estimates
        return np.array([first.mean.value, 10 * second.missing_rate.value, third.mean.value])

    def expectation(self, values):
        first, second, third = values.T
        return np.array([first.mean(), 10 * np.isnan(second).mean(), third.mean()])

    def variance(self, values):
        """Given n/d random people per attribute; small groups add a part in a hundred."""
        first, second, third = self.mechanism().mechanisms
        spread = np.array([1, 100, 1]) * [
            v.var() for v in (values[:, 0], np.isnan(values[:, 1]), values[:, 2])
        ]
        noise = np.array(
            [
                first.variance(values[:, 0]).mean,
                100 * second.variance(values[:, 1]).missing_rate,
                third.variance(values[:, 2]).mean,
            ]
        )
        group = self.users / 3
        inverse = 1 + (2 / 3) * 3 / self.users  # E[1/size] of a group, to second order
        return (noise * self.users + spread) * inverse / group - spread / self.users

    def law_inputs(self):
        return [(10.0, -1.0, 30.0), (20.0, np.nan, 17.0), (30.0, 0.3, np.nan)]

    def one_input(self, value, times):
        return np.tile(value, (times, 1))

    def test_law_sums_to_one(self):
        law = self.mechanism().output_law(self.law_inputs())
        np.testing.assert_allclose(law.sum(axis=1), 1, rtol=0, atol=1e-12)

    def test_privacy_loss_is_attained_and_the_budget_kept(self):
        mechanism = self.mechanism()
        law = mechanism.output_law([(10.0, -1.0, 10.0), (30.0, 1.0, 30.0), (30.0, np.nan, 30.0)])
        realised = float(np.max(np.log(law.max(axis=0)) - np.log(law.min(axis=0))))
        assert mechanism.privacy_loss() == pytest.approx(realised, rel=1e-9)
        assert 1.5 - 1e-6 <= realised <= 1.5 * (1 + 1e-12)

    def test_draws_follow_the_law(self):
        from tests.mechanisms.decisions import draws_follow

        mechanism, rng = self.mechanism(), np.random.default_rng(8)
        for value in self.law_inputs():
            law = mechanism.output_law([value])[0]
            reports = mechanism.perturb(self.one_input(value, self.draws), rng)
            counts = np.bincount(reports, minlength=law.size)
            assert draws_follow(counts, law, 1e-6 / 3)
            assert not draws_follow(
                counts, 0.95 * law + 0.05 * (np.arange(law.size) == np.argmin(law)), 1e-6 / 3
            )

    def bad_values(self):
        return [[], [1.0, 2.0, 3.0], [[15.0, 0.0]], [[15.0, 1.5, 15.0]], [[9.0, 0.0, 15.0]], None]

    def bad_reports(self):
        return [[], [[0, 1]], [-1], [10], [0.5], ["0"], None]


@pytest.mark.parametrize("kind", [BiSample, Harmony])
@pytest.mark.parametrize("d", [1, 5, 12])
def test_error_bound_holds_and_is_not_idle(kind, d):
    """Theorem 3 with constants: kept with probability 1 - beta; a third of it is not."""
    n, beta, runs = 500 * d, 0.1, 200
    rng = np.random.default_rng(d)
    several = SampledAttributes([kind(1.0, DOMAIN)] * d)
    ends = np.array([10.0, 30.0])  # the widest spread
    values = ends[(np.arange(n)[:, None] + np.arange(d)) % 2]
    bound = several.error_bound(n, beta)
    assert bound.shape == (d,)
    assert np.ptp(bound) == 0
    worst = np.empty(runs)
    for run in range(runs):
        estimates = several.estimate(several.aggregate(several.perturb(values, rng)))
        means = np.array([one.mean.value for one in estimates])
        worst[run] = np.abs(means - values.mean(axis=0)).max()
    broken = np.sum(worst > bound[0])
    assert broken <= beta * runs + 4.9 * np.sqrt(runs * beta * (1 - beta))
    assert np.sum(worst > bound[0] / 3) > beta * runs + 4.9 * np.sqrt(runs * beta * (1 - beta))


def test_error_bound_grows_as_the_theorem_says():
    def bound(n, d, beta=0.05, epsilon=0.1):
        return SampledAttributes([BiSample(epsilon)] * d).error_bound(n, beta)[0]

    assert bound(10**8, 5) / bound(4 * 10**8, 5) == pytest.approx(2, rel=2e-3)
    assert bound(10**9, 20) / bound(10**9, 5) == pytest.approx(
        2 * np.sqrt(np.log(1600) / np.log(400)), rel=2e-3
    )
    assert bound(10**9, 5, epsilon=0.05) / bound(10**9, 5) == pytest.approx(2, rel=2e-3)
    assert np.isinf(bound(50, 20))


@pytest.mark.parametrize(("kind", "groups"), [(BiSample, 6), (Harmony, 3)])
def test_error_bound_is_the_stated_formula(kind, groups):
    n, beta, theta = 20_000, 0.1, float(np.tanh(0.5))
    delta = np.sqrt(2 * groups * np.log(2 * groups / beta) / n)
    expected = 10 / theta * np.sqrt(6 * np.log(12 / beta) / ((1 - delta) * n))
    bound = SampledAttributes([kind(1.0, DOMAIN)] * 3).error_bound(n, beta)
    assert bound == pytest.approx(expected, rel=1e-8)  # theta is drawn on a grid
    few = int(2 * groups * np.log(2 * groups / beta))
    several = SampledAttributes([kind(1.0, DOMAIN)] * 3)
    assert np.isinf(several.error_bound(few, beta)).all()
    assert np.isfinite(several.error_bound(few + 1, beta)).all()
    assert np.isinf(several.error_bound(1, beta)).all()


def test_many_reports_are_counted_in_chunks():
    several = SampledAttributes([Harmony(1.0), Harmony(1.0)])
    reports = np.arange(200_000) % several.outputs
    assert several.aggregate(reports).counts.tolist() == [50_000] * 4


def test_confidence_widens_every_attribute_s_interval():
    several = SampledAttributes([Harmony(1.0), BiSample(1.0)])
    aggregate = several.aggregate(np.arange(1200) % several.outputs)
    for usual, wide in zip(
        several.estimate(aggregate), several.estimate(aggregate, 0.999), strict=True
    ):
        assert wide.mean.lower < usual.mean.lower < usual.mean.upper < wide.mean.upper


def test_the_column_with_a_bad_answer_is_named():
    several = SampledAttributes([Harmony(1.0), Harmony(1.0)])
    with pytest.raises(InputError, match=r"^values\[:, 1\]"):
        several.perturb([[0.0, 0.0], [0.0, 1.5]], np.random.default_rng(0))


def test_bad_input():
    with pytest.raises(InputError, match="mechanisms"):
        SampledAttributes([])
    with pytest.raises(InputError, match="mechanisms"):
        SampledAttributes([1.0])
    for users, beta in ((0, 0.1), (10, 0), (10, 1)):
        with pytest.raises(InputError):
            SampledAttributes([BiSample(1.0)]).error_bound(users, beta)
    with pytest.raises(InputError, match="forced-answer"):
        SampledAttributes([BiSampleMD(1.0)]).error_bound(100)
