import pytest

from planner import Level, Survey, compare_plans, plan_survey
from planner.survey.questions import Categorical
from tests.planning.whole_survey.surveys import HOUSEHOLD, with_question


def rows_of(first, second):
    rows = compare_plans(first, second).rows
    return {(row.question, row.level, row.what): row for row in rows}


def test_questions_and_levels_are_matched_by_name():
    plan = plan_survey(HOUSEHOLD)
    severe, common = HOUSEHOLD.questions[0].levels
    less = with_question(HOUSEHOLD, "diagnosis", levels=(severe, common.replacing(epsilon=1.6)))
    other = plan_survey(less)
    rows = rows_of(plan, other)
    row = rows["diagnosis", "common", "spent (epsilon)"]
    assert row.first == pytest.approx(plan.spending[1].spent)
    assert row.second == pytest.approx(other.spending[1].spent)
    assert rows["", "", "objective"].change > 0
    alone = plan_survey(Survey("s", 10, (Categorical("other", (Level("x", 1.0, item_count=2),)),)))
    row = rows_of(plan, alone)["other", "x", "spent (epsilon)"]
    assert (row.first, row.change) == (None, None)


def test_surveys_of_one_question_have_no_objective_to_compare():
    one = plan_survey(HOUSEHOLD.replacing(questions=HOUSEHOLD.questions[:1]))
    assert ("", "", "objective") not in rows_of(one, one)
    mean = plan_survey(HOUSEHOLD.replacing(questions=HOUSEHOLD.questions[2:]))
    assert list(rows_of(mean, mean)) == [
        ("", "", "most spent (epsilon)"),
        ("income", "", "total error, %"),
    ]
