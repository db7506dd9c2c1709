"""What is said before figures are believed, and that it is not said without reason."""

from dataclasses import replace

import pytest

from planner.planning.whole_survey.cautions import cautions, survey_cautions
from planner.planning.whole_survey.plan import plan_survey
from planner.survey import Level, Numeric, Question, Survey
from planner.survey.numeric_domain import NumericDomain

QUESTION = Question("ward", (Level("a", 5.0, item_count=3), Level("b", 1.0, item_count=3)))
INCOME = Question(
    "income", (), kind="numeric", numeric=Numeric(NumericDomain(0, 10), epsilon=2.0, mean=3)
)


def of(*questions, users=100_000):
    return plan_survey(Survey("s", users, questions))


def with_budgets(*budgets):
    levels = (replace(x, epsilon=e) for x, e in zip(QUESTION.levels, budgets, strict=True))
    return replace(QUESTION, levels=tuple(levels))


def test_nothing_is_said_of_a_usual_survey():
    assert survey_cautions(of(QUESTION, INCOME)) == ()


@pytest.mark.parametrize(
    ("budgets", "words"),
    [
        ((5.1, 1.0), "'a' has a budget of 5.1: a report may change the odds between two answers"),
        ((5.1, 6.0), "'b' has a budget of 6, and 1 more are above 5: "),
    ],
)
def test_budgets_above_five_are_put_in_odds(budgets, words):
    (sentence,) = cautions(of(with_budgets(*budgets)).questions[0])
    assert sentence.startswith(words)


def test_a_mean_with_a_large_budget_is_put_in_odds_too():
    numeric = replace(INCOME.numeric, epsilon=8.0)
    (sentence,) = survey_cautions(of(replace(INCOME, numeric=numeric)))
    assert "odds between two answers 2,981-fold" in sentence
    assert "99.97 % certain" in sentence


def test_ten_people_and_an_error_above_their_number():
    plan = of(QUESTION, users=10)
    few, drowned = cautions(plan.questions[0])
    assert "Only 10 people" in few
    assert "larger than the number of people" in drowned
    assert cautions(of(QUESTION, users=100).questions[0]) == ()
    few, drowned = cautions(of(INCOME, users=1).questions[0])
    assert "larger than half the range" in drowned


def test_a_blank_mean_is_said_where_questions_share_a_budget():
    blank = replace(INCOME, numeric=replace(INCOME.numeric, mean=None))
    assert survey_cautions(of(blank)) == ()
    (sentence,) = survey_cautions(of(QUESTION, blank))
    assert sentence.startswith("income: The expected mean is blank, so 5, the middle")
