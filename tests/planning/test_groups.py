"""What is expected of known groups, against surveys of these groups alone."""

import pytest

from planner import AssumedSets, ItemSet, Level, Survey
from planner.planning.groups import error_in
from planner.planning.plan import plan_survey

LEVELS = (Level("all", 2.0, item_count=12),)


def planned(users, **padding):
    sets = AssumedSets([0, 40, 30, 20, 10])
    asked = ItemSet("a", LEVELS, sets=sets, mechanism="opt0", **padding)
    survey = Survey("s", users, (asked,))
    plan = plan_survey(survey)
    return plan.question("a")


@pytest.mark.parametrize("length", [2, 4])
def test_the_error_in_a_group_is_that_of_a_survey_of_the_group(length):
    """Of noise alone it is twice as large in a quarter of the people; a bias stays the same."""
    of_all = planned(100_000, padding_length=length)
    alone = planned(25_000, padding_length=length)
    biased = of_all.planned.errors.bias > 0
    assert error_in(of_all, 0.25) == pytest.approx(alone.error_share, rel=1e-3)
    assert biased == (length == 2)
    assert (2 * of_all.error_share > 1.01 * alone.error_share) == biased


def test_a_group_of_nobody_has_no_error_that_is_known():
    plan = planned(1000, padding_length=4)
    assert error_in(plan, 0.0) == float("inf")
