"""Which budgets and how many people are enough for a mean."""

import math
from dataclasses import replace

import pytest

from planner.errors import InputError
from planner.planning.answer_rates import AnswerRateModel, enough_answers
from planner.survey.preferences import NormalPreferences

MODEL = AnswerRateModel(NormalPreferences(5, 1.5), 100_000)


@pytest.mark.parametrize("wanted", [0.004, 0.02, 0.3])
def test_the_answers_reach_what_is_wanted_and_a_little_less_does_not(wanted):
    found = enough_answers(MODEL, wanted)
    assert MODEL.curve([found.epsilon]).mean_rmse[0] <= wanted
    less = MODEL.curve([0.999 * found.epsilon])
    assert less.mean_rmse[0] > wanted or not less.reliable[0]
    assert replace(MODEL, users=found.users).best().rmse <= wanted
    fewer = replace(MODEL, users=math.floor(found.users / 1.01) - 1)
    assert fewer.best().rmse > wanted or not fewer.best().reliable


def test_between_two_budgets_of_the_curve_the_best_one_is_still_found():
    wanted = MODEL.best().rmse * (1 + 1e-12)
    assert enough_answers(MODEL, wanted).epsilon == pytest.approx(MODEL.best().epsilon, rel=1e-2)


@pytest.mark.parametrize("wanted", [0, -1, math.nan, math.inf])
def test_an_error_that_is_no_error_is_refused(wanted):
    with pytest.raises(InputError, match="error of the mean is"):
        enough_answers(MODEL, wanted)
