import numpy as np
import pytest

from examples.reproduction import populations
from planner.errors import InputError
from planner.mechanisms.bisample import BiSampleMD
from planner.mechanisms.forced_answer import Harmony
from planner.mechanisms.piecewise import Piecewise
from planner.planning.answer_rates import AnswerRateModel
from tests.mechanisms.decisions import mean_square_is
from tests.planning.answer_rate.people import PREFERENCES, model

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


@pytest.mark.parametrize(
    "build",
    [
        lambda: AnswerRateModel(PREFERENCES, 0),
        lambda: AnswerRateModel(PREFERENCES, 1.5),
        lambda: model(1.01),
        lambda: model(np.nan),
        lambda: model(0.5, sd=-0.1),
        lambda: model(0.5, sd=0.9),
        lambda: model(0.5).curve([]),
        lambda: model(0.5).curve([0.0]),
        lambda: model(0.5).curve([50.1]),
        lambda: model(0.5).curve([np.nan]),
        lambda: model(0.5).curve("many"),
        lambda: model(0.5).best(tolerance=0),
        lambda: model(0.5).best(lowest=2, highest=1),
        lambda: model(0.5).best(highest=51),
    ],
)
def test_bad_input(build):
    with pytest.raises(InputError, match="must be"):
        build()
