import pytest

from planner import EmpiricalPreferences, InputError, NumericDomain, Survey, load_survey
from planner.planning.answer_rates import model_of, plan_answer_rates
from planner.survey import Numeric
from tests.planning.whole_survey.surveys import HOUSEHOLD
from tests.surveys import EXAMPLES


def test_a_survey_is_planned_question_by_question():
    survey = load_survey(EXAMPLES / "answer-rate.toml")
    plans = plan_answer_rates(survey)
    assert list(plans) == [question.name for question in survey.questions]
    for question in survey.questions:
        model = model_of(question.numeric, survey.users)
        assert plans[question.name].best == model.best()
        offered = plans[question.name].offered
        assert (offered is None) == (question.numeric.epsilon is None)


def test_a_survey_without_preferences_is_refused():
    with pytest.raises(InputError, match=r"kind is 'categorical, numeric'.*preferences"):
        plan_answer_rates(HOUSEHOLD)
    with pytest.raises(InputError, match=r"question.preferences"):
        plan_answer_rates(Survey("s", 10, HOUSEHOLD.questions[2:]))


def test_without_preferences_everybody_answers_at_any_budget():
    model = model_of(Numeric(NumericDomain()), 10)
    assert model.curve([0.1, 50.0]).answer_rate.tolist() == [1.0, 1.0]
    some = model_of(Numeric(NumericDomain(), EmpiricalPreferences([1.0, 3.0])), 10)
    assert some.curve([0.5, 2.0]).answer_rate.tolist() == [1.0, 0.5]
