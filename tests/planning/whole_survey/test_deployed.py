"""What a plan says is what its parameter files hold."""

import pytest

from planner import InputError, Level, Survey, plan_survey
from planner.deployment.parameter_file.building import survey_parameters
from planner.survey.questions import ItemSet
from tests.planning.whole_survey.surveys import HOUSEHOLD, shop


def test_what_is_deployed_spends_what_is_said():
    plan = plan_survey(HOUSEHOLD)
    parameters = survey_parameters(plan)
    parameters.verify()
    spent = {(row.question, row.level): row.spent for row in plan.spending}
    *choices, income = parameters.questions
    for question in choices:
        for level in question.document()["levels"]:
            assert level["epsilon"] == pytest.approx(spent[question.name, level["name"]])
    assert [q.name for q in choices] == ["diagnosis", "page"]
    assert income.asked.epsilon == pytest.approx(spent["income", "income"])
    # Sequential composition: the largest level of every question, added up.
    largest = [max(s for (q, _), s in spent.items() if q == name) for name in plan.allocation.names]
    assert plan.most_spent == pytest.approx(sum(largest))
    assert sum(q.share for q in plan.questions) <= 1 + 1e-12


def test_one_each_exports_question_by_question():
    survey = HOUSEHOLD.replacing(design="one-each")
    plan = plan_survey(survey)
    with pytest.raises(InputError, match="one by one"):
        survey_parameters(plan)
    page = survey_parameters(plan, "page")
    assert page.users == plan.questions[1].users
    epsilons = list(page.questions[0].levels.epsilons)
    assert epsilons == survey.questions[1].policy.epsilons.tolist()
    assert sum(q.fraction for q in plan.questions) == pytest.approx(1)
    assert plan.most_spent == 4.0
    with pytest.raises(InputError, match="one of"):
        survey_parameters(plan, "incme")


def test_item_sets_are_exported_with_padding():
    plan = plan_survey(shop(mechanism="best"))
    (question,) = survey_parameters(plan).questions
    assert question.mechanism == "set-design"
    assert question.asked.padding_length == plan.questions[0].padding_length


def test_a_set_is_never_exported_without_padding():
    levels = (Level("a", 1.0, item_count=3),)
    survey = Survey("s", 100, (ItemSet("q", levels),))
    with pytest.raises(InputError, match="padding_length"):
        plan_survey(survey)
