from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from planner import populations
from planner.errors import FileError, InputError
from planner.mechanisms.bisample import BiSampleMD
from planner.mechanisms.forced_answer import Harmony
from planner.mechanisms.piecewise import Piecewise
from planner.mechanisms.privkvm import PrivKVM
from planner.numeric_domain import NumericDomain
from planner.planning.answer_rate.answering_people import answering_moments
from planner.planning.answer_rate.best_budget import find_best
from planner.planning.answer_rate.model import AnswerRateModel
from planner.preferences import (
    EmpiricalPreferences,
    GammaPreferences,
    HistogramPreferences,
    NormalPreferences,
)
from tests.mechanisms.decisions import mean_square_is

ADULT = Path(__file__).parents[2] / "../shared/data/adult.data"
PREFERENCES = NormalPreferences(5, 1.5)
USERS = 100_000
Z = 4.9  # two-sided false-alarm rate 1e-6


def model(mean, **more):
    return AnswerRateModel(PREFERENCES, USERS, mean=mean, **more)


class TestBestBudget:
    @pytest.mark.parametrize(("mean", "epsilon"), [(0.5, 3.157), (0.0, 2.943), (-0.83, 3.666)])
    def test_known_budgets(self, mean, epsilon):
        assert round(model(mean).best().epsilon, 3) == epsilon

    def test_sign_does_not_matter(self):
        assert model(0.83).best().epsilon == pytest.approx(model(-0.83).best().epsilon, rel=1e-6)

    def test_nothing_on_a_fine_grid_is_better(self):
        best = model(0.5).best()
        curve = model(0.5).curve(np.linspace(0.01, 12, 100_001))
        assert best.rmse <= curve.mean_rmse.min() * (1 + 1e-12)

    def test_flat_region(self):
        best = model(0.5).best(tolerance=0.05)
        assert 2.4 < best.flat_lower < best.epsilon < best.flat_upper < 4.0
        ends = model(0.5).curve([best.flat_lower, best.flat_upper])
        np.testing.assert_allclose(ends.mean_rmse, 1.05 * best.rmse, rtol=1e-6)
        inside = model(0.5).curve(np.linspace(best.flat_lower, best.flat_upper, 500))
        assert inside.mean_rmse.max() <= 1.05 * best.rmse * (1 + 1e-9)
        wider = model(0.5).best(tolerance=0.2)
        assert wider.flat_lower < best.flat_lower < best.flat_upper < wider.flat_upper

    def test_a_tiny_tolerance_keeps_the_best_inside(self):
        best = model(0.5).best(tolerance=1e-12)
        assert best.flat_lower <= best.epsilon <= best.flat_upper

    def test_a_sample_is_best_at_one_of_its_values_or_between(self):
        """Two thirds tolerate just 2, the others 3: stop at 2 exactly, not above."""
        sample = EmpiricalPreferences([2.0, 2.0, 3.0])
        best = AnswerRateModel(sample, USERS).best()
        assert best.epsilon == 2.0
        assert best.flat_upper == pytest.approx(2.0)
        assert best.answer_rate == 1.0

    def test_a_histogram_is_searched_in_every_bin(self):
        two_camps = HistogramPreferences([0.5, 0.6, 6.0, 6.1], [0.4, 0.0, 0.6])
        best = AnswerRateModel(two_camps, 1000).best()
        curve = AnswerRateModel(two_camps, 1000).curve(np.linspace(0.01, 6.1, 61_001))
        assert best.rmse <= curve.mean_rmse.min() * (1 + 1e-9)
        assert best.epsilon == pytest.approx(6.0, abs=0.05)

    def test_a_cap_on_the_budget(self):
        best = model(0.5).best(highest=1.0)
        assert best.epsilon == pytest.approx(1.0)
        assert best.flat_upper == 1.0

    def test_large_samples_approach_the_distribution(self):
        rng = np.random.default_rng(1)
        sample = EmpiricalPreferences(rng.normal(5, 1.5, 200_000))
        assert AnswerRateModel(sample, USERS, mean=0.5).best().epsilon == pytest.approx(
            3.157, abs=0.1
        )

    def test_few_people_are_not_called_reliable(self):
        assert model(0.5).best().reliable
        assert not AnswerRateModel(PREFERENCES, 5).best().reliable

    def test_nobody_answers(self):
        with pytest.raises(InputError, match="Nobody would answer"):
            AnswerRateModel(EmpiricalPreferences([0.0, -1.0]), USERS).best()

    def test_nobody_answers_at_one_budget(self):
        curve = AnswerRateModel(EmpiricalPreferences([1.0]), USERS).curve([0.5, 2.0])
        assert np.isinf(curve.mean_rmse).tolist() == [False, True]
        assert np.isfinite(curve.missing_rate_rmse).all()
        assert not curve.reliable[1]

    def test_jump_inside_the_range(self):
        best = find_best(
            lambda e: np.where(e <= 2, 2 - e / 2, 3 - e / 10), np.array([2.0]), (0.1, 5.0), 0.1
        )
        assert (best.epsilon, best.rmse) == (2.0, 1.0)
        assert best.flat_lower == pytest.approx(1.8)

    def test_unit_does_not_matter(self):
        wide = AnswerRateModel(PREFERENCES, USERS, NumericDomain(0, 100), mean=75)
        assert wide.best().epsilon == pytest.approx(model(0.5).best().epsilon, rel=1e-9)
        assert wide.best().rmse == pytest.approx(50 * model(0.5).best().rmse, rel=1e-9)


class TestPredictionAgainstSimulation:
    """People drawn anew, perturbed one by one: nothing of the prediction is reused."""

    @pytest.mark.parametrize("epsilon", [1.0, 3.157, 6.0])
    def test_bisample_md(self, epsilon):
        rng = np.random.default_rng(41)
        mechanism, users, repeats = BiSampleMD(epsilon), 4000, 12_000
        errors = np.empty((repeats, 2))
        for i in range(repeats):
            values = populations.gaussian(users, rng)
            reports = mechanism.perturb(values, rng, rng.normal(5, 1.5, users))
            estimates = mechanism.estimate(mechanism.aggregate(reports))
            rate = PREFERENCES.answer_rate(epsilon)
            errors[i] = (
                (estimates.mean.value or 0) - 0.5,
                estimates.missing_rate.value - 1 + rate,
            )
        at = AnswerRateModel(PREFERENCES, users, mean=0.5).curve([epsilon])
        for column, predicted in ((0, at.mean_rmse[0]), (1, at.missing_rate_rmse[0])):
            assert mean_square_is(errors[:, [column]], predicted**2)
            assert not mean_square_is(errors[:, [column]], (1.1 * predicted) ** 2)
            assert not mean_square_is(errors[:, [column]], (predicted / 1.1) ** 2)

    @pytest.mark.parametrize("fake_answer", ["top", "random"])
    @pytest.mark.parametrize(("name", "kind"), [("harmony", Harmony), ("piecewise", Piecewise)])
    def test_forced_answers(self, name, kind, fake_answer):
        rng = np.random.default_rng(42)
        epsilon, users, repeats = 4.0, 500, 12_000
        mechanism = kind(epsilon, fake_answer=fake_answer)
        values = np.clip(rng.normal(0.5, 0.1, users * repeats), -1, 1)
        values[rng.normal(5, 1.5, values.size) < epsilon] = np.nan
        reports = mechanism.perturb(values, rng).reshape(repeats, users)
        errors = mechanism.output_values[reports].mean(axis=1, keepdims=True) - 0.5
        question = AnswerRateModel(PREFERENCES, users, mean=0.5, sd=0.1)
        at = question.forced(name, fake_answer, [epsilon])
        spread = np.sqrt(at.rmse[0] ** 2 - at.bias[0] ** 2)
        assert abs(errors.mean() - at.bias[0]) < Z * spread / np.sqrt(repeats)
        assert abs(errors.mean() - 1.2 * at.bias[0]) > Z * spread / np.sqrt(repeats)
        assert mean_square_is(errors, at.rmse[0] ** 2)
        assert not mean_square_is(errors, (1.08 * at.rmse[0]) ** 2)

    def test_gaussian_copula(self):
        rng = np.random.default_rng(43)
        rho, epsilon = 0.6, 5.5
        first, second = rng.standard_normal((2, 2_000_000))
        values = 2 * stats.beta.ppf(stats.norm.cdf(first), 6.0, 2.0) - 1
        preferences = 5 + 1.5 * (rho * first + np.sqrt(1 - rho**2) * second)
        answered = values[preferences >= epsilon]
        beta = stats.beta(6.0, 2.0)
        people = AnswerRateModel(
            PREFERENCES, USERS, mean=2 * beta.mean() - 1, sd=2 * beta.std(), correlation=rho
        )
        at = people.curve([epsilon])
        error = answered.std() / np.sqrt(answered.size)
        bias = answered.mean() - (2 * beta.mean() - 1)
        assert abs(bias - at.mean_bias[0]) < Z * error
        assert abs(bias - 1.02 * at.mean_bias[0]) > Z * error


class TestForcedAnswers:
    def test_bias_is_the_closed_form(self):
        epsilon = np.array([1.0, 4.0, 6.0])
        rate = PREFERENCES.answer_rate(epsilon)
        for mean in (0.5, -0.83):
            for name in ("harmony", "piecewise"):
                top = model(mean).forced(name, "top", epsilon)
                random = model(mean).forced(name, "random", epsilon)
                np.testing.assert_allclose(top.bias, (1 - rate) * (1 - mean), rtol=1e-12)
                np.testing.assert_allclose(random.bias, -(1 - rate) * mean, rtol=1e-12)

    def test_bad_names(self):
        with pytest.raises(InputError, match="mechanism"):
            model(0.5).forced("laplace", "top")
        with pytest.raises(InputError, match="fake_answer"):
            model(0.5).forced("harmony", "bottom")


class TestCorrelation:
    def test_yes_no_is_the_bivariate_normal_law(self):
        share, rate, rho = 0.3, 0.4, -0.7
        cut, preference_cut = stats.norm.isf(share), stats.norm.isf(rate)
        both = stats.multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf([-cut, -preference_cut])
        moments = answering_moments([rate], 2 * share - 1, 1 - (2 * share - 1) ** 2, rho)
        assert moments.mean[0] == pytest.approx(2 * both / rate - 1, abs=1e-7)
        assert moments.square[0] == pytest.approx(1)

    @pytest.mark.parametrize("rho", [-0.95, 0.3, 0.95])
    @pytest.mark.parametrize(("mean", "variance"), [(0.5, 0.01), (-0.83, 0.03), (0.0, 0.9)])
    def test_everybody_answers(self, rho, mean, variance):
        moments = answering_moments([1.0], mean, variance, rho)
        assert moments.mean[0] == pytest.approx(mean, abs=1e-6)
        assert moments.square[0] == pytest.approx(variance + mean**2, abs=1e-6)

    @pytest.mark.parametrize("rho", [-0.95, 0.5, 0.95])
    def test_extreme_rates_stay_in_range(self, rho):
        rate = np.append(np.geomspace(1e-300, 1, 200), 0.0)
        moments = answering_moments(rate, 0.0, 1.0, rho)
        assert np.abs(moments.mean).max() <= 1
        assert moments.mean[-1] == 0  # nobody answers: the population's

    def test_no_correlation_no_bias(self):
        assert np.array_equal(model(0.3, sd=0.2).curve().mean_bias, np.zeros(200))

    def test_sensitivity(self):
        rows = model(0.0, sd=0.3).sensitivity([-0.5, 0.0, 0.5])
        assert [row.correlation for row in rows] == [-0.5, 0.0, 0.5]
        assert rows[0].bias < 0 == rows[1].bias < rows[2].bias
        assert rows[0].bias == pytest.approx(-rows[2].bias, rel=1e-6)
        assert rows[1].rmse == pytest.approx(model(0.0).best().rmse)
        for row in rows:  # bias makes fewer people's silence affordable
            assert row.best.rmse <= row.rmse * (1 + 1e-9)
        assert rows[2].best.epsilon < rows[1].best.epsilon


class TestPopulations:
    """Table 2 of the paper: means .831, .499, .001 and .409 (signs as there)."""

    def test_exponential(self):
        """Mean 2/H - 1, H the largest of n standard exponentials: Gumbel around ln n."""
        limits = np.log(USERS) + np.array([-np.log(-np.log(1e-6)), -np.log(1e-6)])
        for seed in range(5):
            values = populations.exponential(USERS, np.random.default_rng(seed))
            assert (values.min(), values.max()) == (-1.0, 1.0)
            assert 2 / limits[1] - 1 < values.mean() + 0.001 < 2 / limits[0] - 1 + 0.002
        means = [
            populations.exponential(USERS, np.random.default_rng(s)).mean() for s in range(200)
        ]
        assert np.quantile(means, 0.01) < -0.831 < np.quantile(means, 0.99)

    def test_gaussian(self):
        values = populations.gaussian(USERS, np.random.default_rng(1))
        assert abs(values.mean() - 0.5) < Z * 0.1 / np.sqrt(USERS)
        assert abs(0.499 - 0.5) < Z * 0.1 / np.sqrt(USERS)

    def test_uniform(self):
        values = populations.uniform(USERS, np.random.default_rng(1))
        assert abs(values.mean()) < Z / np.sqrt(3 * USERS)

    def test_adult(self):
        if not ADULT.exists():
            pytest.skip("UCI Adult is not at ../shared/data")
        ages = populations.adult_ages(ADULT)
        assert ages.size == 32_561
        assert round(ages.mean(), 3) == -0.409

    def test_bad_input(self, tmp_path):
        with pytest.raises(FileError):
            populations.adult_ages(tmp_path / "none")
        path = tmp_path / "ages"
        path.write_text("17, x\nold, y\n")
        with pytest.raises(FileError, match="old"):
            populations.adult_ages(path)
        with pytest.raises(InputError):
            populations.uniform(1, np.random.default_rng(1))


def population(name):
    rng = np.random.default_rng(51)
    if name == "ADULT":
        if not ADULT.exists():
            pytest.skip("UCI Adult is not at ../shared/data")
        return populations.adult_ages(ADULT)
    makers = {
        "EXP": populations.exponential,
        "GAUSS": populations.gaussian,
        "UNIFORM": populations.uniform,
    }
    return makers[name](USERS // 2, rng)


def absolute_errors(mechanism, values, silent, repeats, seed):
    """Errors of the mean, against the mean of all, and of the missing rate."""
    rng = np.random.default_rng(seed)
    errors = np.empty((repeats, 2))
    for i in range(repeats):
        given = np.where(silent(rng), np.nan, values)
        estimates = mechanism.estimate(mechanism.aggregate(mechanism.perturb(given, rng)))
        rate = 0.0 if estimates.missing_rate is None else estimates.missing_rate.value
        errors[i] = abs(estimates.mean.value - values.mean()), abs(rate - np.isnan(given).mean())
    return errors


def below(first, second):
    """Whether mean absolute errors differ for sure (false alarm below 1e-6)."""
    gap = second.mean() - first.mean()
    return gap > Z * np.sqrt(first.var() / first.size + second.var() / second.size)


class TestFiguresOfThePaper:
    @pytest.mark.parametrize("name", ["EXP", "GAUSS", "UNIFORM", "ADULT"])
    def test_figure_4_orderings(self, name):
        """Mean estimation where a good part does not answer (epsilon 3: a tenth)."""
        values, epsilon = population(name), 3.0

        def silent(rng):
            return rng.normal(5, 1.5, values.size) < epsilon

        def errors(mechanism, seed, repeats=30):
            return absolute_errors(mechanism, values, silent, repeats, seed)[:, 0]

        bisample = errors(BiSampleMD(epsilon), 1, 400)
        assert below(bisample, errors(PrivKVM(epsilon), 2, 400))
        silence = 1 - PREFERENCES.answer_rate(epsilon)
        for kind in (Harmony, Piecewise):
            top = errors(kind(epsilon, fake_answer="top"), 3)
            assert below(bisample, top)
            bias = silence * (1 - values.mean())
            assert abs(top.mean() - bias) < Z * top.std() / np.sqrt(top.size)
            assert top.std() < bias / 4  # dominated by it
            random = errors(kind(epsilon, fake_answer="random"), 4)
            if name == "UNIFORM":  # harmless: even a little better than leaving them out
                assert not below(bisample, random)
                assert random.mean() < top.mean() / 20
            else:
                assert below(bisample, random)

    def test_figure_4_is_u_shaped(self):
        values = population("GAUSS")
        means = []
        for epsilon in (0.5, 3.157, 8.0):

            def silent(rng, epsilon=epsilon):
                return rng.normal(5, 1.5, values.size) < epsilon

            means.append(absolute_errors(BiSampleMD(epsilon), values, silent, 60, 5)[:, 0])
        assert below(means[1], means[0])
        assert below(means[1], means[2])

    @pytest.mark.parametrize("rate", [0.1, 0.5, 0.8])
    def test_figure_5_orderings(self, rate):
        """Epsilon 1, missing rate varied: BiSample below PrivKVM, missing rate below mean."""
        values = population("GAUSS")

        def silent(rng):
            return rng.random(values.size) < rate

        ours = absolute_errors(BiSampleMD(1.0), values, silent, 250, 6)
        theirs = absolute_errors(PrivKVM(1.0), values, silent, 250, 7)
        assert below(ours[:, 0], theirs[:, 0])
        if rate > 0.1:
            assert below(ours[:, 1], ours[:, 0])

    def test_figure_6_orderings(self):
        """Error falls with the number of people, but not that of forced answers."""
        population_ = population("GAUSS")

        def errors(mechanism, users, seed):
            def silent(rng):
                return rng.random(users) < 0.3

            return absolute_errors(mechanism, population_[:users], silent, 250, seed)[:, 0]

        small, large = errors(BiSampleMD(1.0), 4000, 8), errors(BiSampleMD(1.0), 40_000, 9)
        assert below(large, small)
        assert below(errors(BiSampleMD(1.0), 40_000, 10), errors(PrivKVM(1.0), 40_000, 11))
        for kind in (Harmony, Piecewise):
            forced = errors(kind(1.0, fake_answer="top"), 40_000, 12)
            assert abs(forced.mean() - 0.15) < 0.01
            assert below(large, forced)


@pytest.mark.parametrize(
    "build",
    [
        lambda: AnswerRateModel(PREFERENCES, 0),
        lambda: AnswerRateModel(PREFERENCES, 1.5),
        lambda: model(1.01),
        lambda: model(np.nan),
        lambda: model(0.5, sd=-0.1),
        lambda: model(0.5, sd=0.9),
        lambda: model(0.5, correlation=0.96),
        lambda: model(0.5, correlation=np.nan),
        lambda: model(0.5).curve([]),
        lambda: model(0.5).curve([0.0]),
        lambda: model(0.5).curve([50.1]),
        lambda: model(0.5).curve([np.nan]),
        lambda: model(0.5).curve("many"),
        lambda: model(0.5).best(tolerance=0),
        lambda: model(0.5).best(lowest=2, highest=1),
        lambda: model(0.5).best(highest=51),
        lambda: model(0.5).sensitivity([1.0]),
    ],
)
def test_bad_input(build):
    with pytest.raises(InputError, match="must be"):
        build()


def test_gamma_preferences_have_a_best_budget_too():
    best = AnswerRateModel(GammaPreferences(3, 1), USERS).best()
    assert 0.5 < best.epsilon < 3
