import pytest

from planner import InputError, Level
from planner.planning.whole_survey.question_blocks import target_error
from planner.survey.questions import Categorical
from tests.planning.whole_survey.surveys import HOUSEHOLD


def test_a_target_is_an_error_per_user():
    assert target_error(HOUSEHOLD.questions[0], 200_000) == pytest.approx(200_000 * 0.01**2)


def test_the_minimax_needs_a_total_target():
    for question in (HOUSEHOLD.questions[1], Categorical("q", (Level("a", 1.0, item_count=2),))):
        with pytest.raises(InputError, match="no target error for all its levels"):
            target_error(question, 100)
