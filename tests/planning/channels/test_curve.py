"""The answer-rate curve of the best channel, beside BiSample's."""

import numpy as np
import pytest

from planner.errors import InputError
from planner.planning.answer_rates import AnswerRateModel, channel_curve
from planner.planning.channels.means import best_channel
from planner.planning.channels.populations import AssumedAnswers, five_populations
from planner.survey.preferences import EmpiricalPreferences, NormalPreferences, answering

MODEL = AnswerRateModel(NormalPreferences(5, 1.5), users=100_000, mean=0.5, sd=0.3)


@pytest.fixture(scope="module")
def curve():
    return channel_curve(MODEL)


def test_sixty_budgets_all_proven_and_never_worse_than_bisample(curve):
    assert curve.epsilon.size == 60
    known = np.isfinite(curve.channel_rmse)
    assert known.sum() >= 55
    assert np.nanmax(curve.relative_gap) < 5e-3
    assert (curve.channel_rmse[known] <= curve.bisample_rmse[known] * (1 + 1e-4)).all()
    assert curve.channel_rmse[known].min() < 0.5 * curve.bisample_rmse[known].min()


def test_the_best_budget_moves(curve):
    ours, theirs = curve.best(), curve.best("bisample")
    assert round(ours.epsilon, 1) == 4.1
    assert theirs.epsilon == pytest.approx(MODEL.best().epsilon, abs=0.02)
    assert ours.flat_lower < ours.epsilon < ours.flat_upper
    assert ours.answer_rate < theirs.answer_rate


def test_bisample_is_the_answer_rate_models_own(curve):
    theirs = MODEL.curve(curve.epsilon).mean_rmse
    known = np.isfinite(curve.bisample_rmse)
    # The assumed answers are clipped at 1: their mean is 0.4941, not 0.5.
    assert curve.bisample_rmse[known] == pytest.approx(theirs[known], rel=0.02)


def test_one_point_is_that_channel():
    one = channel_curve(MODEL, [3.0])
    missing = float(1 - MODEL.preferences.answer_rate(np.array([3.0]))[0])
    stated = AssumedAnswers(0.5, 0.3, missing)
    channel = best_channel(3.0, five_populations(missing=missing), stated=stated)
    expected = np.sqrt(channel.worst_error / MODEL.users)
    assert one.channel_rmse[0] == pytest.approx(expected, rel=1e-3)


def test_channel_errors_between_budgets_are_those_of_channels_there(curve):
    """A budget between two of the curve's, solved for itself; nothing is said outside."""
    budget = float(curve.epsilon[29:31].mean())
    alone = channel_curve(MODEL, [budget])
    assert curve.channel_errors([budget]) == pytest.approx(alone.channel_rmse, rel=1e-3)
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
    everybody = AnswerRateModel(answering(0.9), 1000, mean=0.5, sd=0.3)
    curve = channel_curve(everybody, [8.0, 20.0, 50.0])
    assert np.isfinite(curve.channel_rmse).all()
    assert np.ptp(curve.channel_rmse) < 0.05 * curve.channel_rmse[0]


def test_what_it_says(curve):
    assert "BiSample-MD: budget 3.15" in curve.summary
    assert list(curve.to_frame().columns)[:2] == ["epsilon", "answer_rate"]


def test_refusals(curve):
    with pytest.raises(InputError, match="mechanism"):
        curve.best("harmony")
    with pytest.raises(InputError, match=r"epsilons\[1\]"):
        channel_curve(MODEL, [2.0, 1.0])
    nobody = channel_curve(MODEL, [40.0, 41.0])
    with pytest.raises(InputError, match="fewer than two of these budgets"):
        nobody.best()
