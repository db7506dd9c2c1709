import numpy as np
import pytest
from scipy import stats

from examples.reproduction import populations
from planner.errors import InputError
from planner.mechanisms.bisample import BiSampleMD
from planner.mechanisms.forced_answer import Harmony
from planner.mechanisms.piecewise import Piecewise
from planner.planning.answer_rate.answering_people import answering_moments
from planner.planning.answer_rate.model import AnswerRateModel
from tests.mechanisms.decisions import mean_square_is
from tests.planning.answer_rate.people import PREFERENCES, USERS, model

Z = 4.9  # two-sided false-alarm rate 1e-6


class TestPredictionAgainstSimulation:
    """People drawn anew, perturbed one by one: nothing of the prediction is reused."""

    @pytest.mark.parametrize("epsilon", [1.0, 3.157, 6.0])
    def test_bisample_md(self, epsilon):
        rng = np.random.default_rng(41)
        mechanism, users, repeats = BiSampleMD(epsilon), 4000, 4000
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
        epsilon, users, repeats = 4.0, 500, 6000
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
