"""Answer rates: predictions against draws, the best budget, what is enough."""

from __future__ import annotations

import numpy as np
import pytest

from examples.reproduction import populations
from examples.reproduction.rivals import harmony, hybrid, piecewise
from planner import Aggregate, AnswerRateModel, Numeric, NumericDomain, bisample_md, channel_curve
from planner.planning.channels import AssumedAnswers, best_channel, five_populations
from planner.planning.mean import model_of, plan_answer_rates
from planner.planning.plan import parts_of
from planner.survey.assumed import EmpiricalPreferences, HistogramPreferences, NormalPreferences
from tests.mechanisms.decisions import mean_square_is
from tests.planning.surveys import HOUSEHOLD
from tests.refusals import refused

PREFERENCES = NormalPreferences(5, 1.5)
USERS = 100_000


def model(mean, **more):
    return AnswerRateModel(PREFERENCES, USERS, mean=mean, **more)


Z = 4.9  # two-sided false-alarm rate 1e-6


class TestPredictionAgainstSimulation:
    """People drawn anew, perturbed one by one: nothing of the prediction is reused."""

    def test_bisample_md(self):
        rng, epsilon = np.random.default_rng(41), 4.0
        mechanism, users, repeats = bisample_md(epsilon), 1000, 4000
        errors = np.empty((repeats, 2))
        for i in range(repeats):
            values = populations.gaussian(users, rng)
            values[rng.normal(5, 1.5, users) < epsilon] = np.nan
            cells = mechanism.asked.output_law(mechanism.shape, values).cumsum(axis=1)[:, :-1]
            reports = (rng.random((users, 1)) > cells).sum(axis=1)
            counts = np.bincount(reports, minlength=mechanism.shape.cells)
            estimates = mechanism.estimate(Aggregate(users, counts))
            rate = PREFERENCES.answer_rate(epsilon)
            errors[i] = ((estimates.mean.value or 0) - 0.5, estimates.missing_rate.value - 1 + rate)
        at = AnswerRateModel(PREFERENCES, users, mean=0.5).curve([epsilon])
        for column, predicted in ((0, at.mean_rmse[0]), (1, at.missing_rate_rmse[0])):
            assert mean_square_is(errors[:, [column]], predicted**2)
            assert not mean_square_is(errors[:, [column]], (1.1 * predicted) ** 2)
            assert not mean_square_is(errors[:, [column]], (predicted / 1.1) ** 2)

    @pytest.mark.parametrize("fake_answer", ["top", "random"])
    @pytest.mark.parametrize("report", [harmony, piecewise, hybrid])
    def test_forced_answers(self, report, fake_answer):
        rng = np.random.default_rng(42)
        epsilon, users, repeats = 4.0, 500, 6000
        values = np.clip(rng.normal(0.5, 0.1, users * repeats), -1, 1)
        fakes = 1.0 if fake_answer == "top" else rng.uniform(-1, 1, values.size)
        values = np.where(rng.normal(5, 1.5, values.size) < epsilon, fakes, values)
        reports = report(values, epsilon, rng).reshape(repeats, users)
        errors = reports.mean(axis=1, keepdims=True) - 0.5
        model = AnswerRateModel(PREFERENCES, users, mean=0.5, sd=0.1)
        (rmse,) = model.rmse(report.__name__, np.array([epsilon]), fake_answer)
        refuse = 1 - PREFERENCES.answer_rate(epsilon)
        bias = refuse * 0.5 if fake_answer == "top" else -refuse * 0.5
        spread = np.sqrt(rmse**2 - bias**2)
        assert abs(errors.mean() - bias) < Z * spread / np.sqrt(repeats)
        assert abs(errors.mean() - 1.2 * bias) > Z * spread / np.sqrt(repeats)
        assert mean_square_is(errors, rmse**2)
        assert not mean_square_is(errors, (1.08 * rmse) ** 2)


@pytest.mark.parametrize(
    "build",
    [
        lambda: AnswerRateModel(PREFERENCES, 0),
        lambda: model(1.01),
        lambda: model(0.5, sd=-0.1),
        lambda: model(0.5, sd=0.9),
        lambda: model(0.5).curve([0.0]),
        lambda: model(0.5).curve([50.1]),
        lambda: AnswerRateModel(EmpiricalPreferences([0.0, -1.0]), USERS).best(),
        lambda: channel_curve(CURVED, [40.0, 41.0]).best(),
        lambda: plan_answer_rates(parts_of(HOUSEHOLD)[0]),
    ],
)
def test_bad_input(build):
    with refused():
        build()


TWO_CAMPS = HistogramPreferences([0.5, 0.6, 6.0, 6.1], [0.4, 0.0, 0.6])  # and a gap


class TestBestBudget:
    @pytest.mark.parametrize(("mean", "epsilon"), [(0.5, 3.157), (0.0, 2.943), (-0.83, 3.666)])
    def test_known_budgets(self, mean, epsilon):
        assert round(model(mean, sd=0.0).best().epsilon, 3) == epsilon

    @pytest.mark.parametrize(("people", "near"), [(PREFERENCES, 3.157), (TWO_CAMPS, 6.0)])
    def test_nothing_on_a_fine_grid_is_better(self, people, near):
        asked = AnswerRateModel(people, USERS, mean=0.5)
        best = asked.best()
        curve = asked.curve(np.linspace(0.01, 12, 100_001))
        assert best.rmse <= curve.mean_rmse.min() * (1 + 1e-12)
        assert best.epsilon == pytest.approx(near, abs=0.05)

    def test_flat_region(self):
        best = model(0.5).best()
        assert 2.4 < best.flat_lower < best.epsilon < best.flat_upper < 4.0
        ends = model(0.5).curve([best.flat_lower, best.flat_upper])
        np.testing.assert_allclose(ends.mean_rmse, 1.05 * best.rmse, rtol=1e-6)
        inside = model(0.5).curve(np.linspace(best.flat_lower, best.flat_upper, 500))
        assert inside.mean_rmse.max() <= 1.05 * best.rmse * (1 + 1e-9)

    def test_a_sample_is_best_at_one_of_its_values_or_between(self):
        """Two thirds tolerate just 2, the others 3: stop at 2 exactly, not above."""
        sample = EmpiricalPreferences([2.0, 2.0, 3.0])
        best = AnswerRateModel(sample, USERS).best()
        assert best.epsilon == 2.0
        assert best.flat_upper == pytest.approx(2.0)
        assert best.answer_rate == 1.0

    def test_few_people_are_not_called_reliable(self):
        assert model(0.5).best().reliable
        assert not AnswerRateModel(PREFERENCES, 5).best().reliable

    def test_some_or_nobody_or_everybody_answers(self):
        question = Numeric("q", -1, 1, preferences=EmpiricalPreferences([1.0, 3.0]))
        curve = model_of(question, USERS).curve([0.5, 2.0, 4.0])
        assert curve.answer_rate.tolist() == [1.0, 0.5, 0.0]
        assert np.isinf(curve.mean_rmse).tolist() == [False, False, True]
        assert np.isfinite(curve.missing_rate_rmse).all()
        assert curve.reliable.tolist() == [True, True, False]
        without = model_of(question.replacing(preferences=None), USERS)
        assert without.curve([0.1, 50.0]).answer_rate.tolist() == [0.9, 0.9]

    def test_unit_does_not_matter(self):
        wide = AnswerRateModel(PREFERENCES, USERS, NumericDomain(0, 100), mean=75)
        assert wide.best().epsilon == pytest.approx(model(0.5).best().epsilon, rel=1e-6)
        assert wide.best().rmse == pytest.approx(50 * model(0.5).best().rmse, rel=1e-9)


CURVED = AnswerRateModel(NormalPreferences(5, 1.5), users=100_000, mean=0.5, sd=0.3)


@pytest.fixture(scope="module")
def curve():
    return channel_curve(CURVED)


def test_every_budget_is_proven_and_never_worse_than_bisample(curve):
    assert curve.epsilon.size == 27
    known, theirs = np.isfinite(curve.channel_rmse), CURVED.curve(curve.epsilon).mean_rmse
    assert known.sum() >= 25
    assert np.nanmax(curve.relative_gap) < 5e-3
    # The assumed answers are clipped at 1: their mean is 0.4941, not 0.5.
    assert (curve.channel_rmse[known] <= theirs[known] * 1.01).all()


def test_the_best_budget_moves(curve):
    ours, theirs = curve.best(), CURVED.best()
    assert ours.epsilon == pytest.approx(4.243, abs=2e-3)
    assert ours.flat_lower < ours.epsilon < ours.flat_upper
    assert ours.answer_rate < theirs.answer_rate
    assert ours.rmse < 0.5 * theirs.rmse


def test_one_point_is_that_channel():
    one = channel_curve(CURVED, [3.0])
    missing = float(1 - CURVED.preferences.answer_rate(np.array([3.0]))[0])
    five, stated = five_populations(missing=missing), AssumedAnswers(0.5, 0.3, missing)
    channel = best_channel(3.0, five, points=9, stated=stated, cap=1.02)
    expected = np.sqrt(channel.worst_error / CURVED.users)
    assert one.channel_rmse[0] == pytest.approx(expected, rel=1e-3)


def test_channel_errors_between_budgets_are_those_of_channels_there(curve):
    """Budgets between two of the curve's, solved for themselves; nothing is said outside."""
    budgets = curve.epsilon[8:20] + np.diff(curve.epsilon)[0] / 2
    alone = channel_curve(CURVED, budgets)
    assert curve.channel_errors(budgets) == pytest.approx(alone.channel_rmse, rel=2e-3)
    assert np.isinf(curve.channel_errors([0.01, 49.0])).all()


def test_a_sample_is_best_just_where_many_would_leave():
    """Half of the people accept 2, half 4; above each they leave at once."""
    model = AnswerRateModel(EmpiricalPreferences([2.0, 4.0]), 100_000, mean=0.5, sd=0.3)
    curve = channel_curve(model)
    assert curve.best().epsilon in (2.0, 4.0)
    assert np.isin([2.0, 4.0], curve.epsilon).all()
    assert curve.channel_errors([4.0]) < curve.channel_errors([3.9])
    assert curve.channel_errors([2.0]) < curve.channel_errors([2.2])


def test_budgets_that_the_solver_cannot_prove_are_spent_in_part():
    everybody = AnswerRateModel(
        HistogramPreferences([0, 1e-9, 50, 51], [0.1, 0, 0.9]), 1000, mean=0.5, sd=0.3
    )
    curve = channel_curve(everybody, [8.0, 20.0, 50.0])
    assert np.isfinite(curve.channel_rmse).all()
    assert np.ptp(curve.channel_rmse) < 0.05 * curve.channel_rmse[0]
