import pytest

from planner import InputError, Level, Question
from planner.planning.frequency import plan_question
from tests.planning.whole_survey.surveys import HOUSEHOLD

QUESTION = Question("q", (Level("a", 1.0, item_count=2), Level("b", 2.0, item_count=9)))


@pytest.mark.parametrize("model", ["opt0", "opt1", "opt2"])
def test_the_chosen_table_is_one_of_the_alternatives(model):
    plan = plan_question(QUESTION, model)
    assert plan.table is plan.alternatives[model]
    assert plan.table.model == model
    assert plan.relaxations[0].level == "a"


def test_other_questions_and_models_are_refused():
    with pytest.raises(InputError, match=r"kind of question 'income'.*categorical or item-set"):
        plan_question(HOUSEHOLD.questions[2])
    with pytest.raises(InputError, match="model is 'oue' but must be one of opt0, opt1, opt2"):
        plan_question(QUESTION, "oue")
