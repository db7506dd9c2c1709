"""From a planned survey to files: every question's mechanism, and who gets which file."""

import pytest

from planner import InputError, Level, Survey
from planner.deployment.building import (
    deployable_files,
    survey_parameters,
)
from planner.mechanisms.catalogue import CATALOGUE
from planner.planning.choice import mechanism_choices
from planner.planning.ledger import Collection, Ledger
from planner.planning.plan import plan_survey
from planner.planning.sampled import ACKNOWLEDGEMENTS
from planner.survey.questions import Categorical, ItemSet, Numeric, SampledChoice, Sampling

LEVELS = (Level("severe", 1.0, ("HIV",)), Level("common", 2.0, ("flu", "cold", "none")))
CHOICE = Categorical("illness", LEVELS)
SETS = ItemSet("symptoms", LEVELS, padding_length=2)
AGE = Numeric("age", 0, 120, epsilon=1.0, mechanism="bisample-md")
SAMPLED = SampledChoice(
    "drugs",
    (Level("any", 1.0, ("u", "v"), yes_counts=(10, 20)),),
    sampling=Sampling("round-two", ACKNOWLEDGEMENTS["round-two"]),
)


def survey(*questions, **settings):
    return Survey("s", 1000, questions, **settings)


@pytest.fixture(scope="module")
def plan():
    return plan_survey(survey(CHOICE, SETS, AGE, SAMPLED))


def test_sampled_questions_do_not_share_the_budgets(plan):
    assert [one.name for one in plan.questions] == ["illness", "symptoms", "age", "drugs"]
    assert plan.allocation.names == ("illness", "symptoms", "age")
    assert [one.name for one in plan.questions if one.sampling] == ["drugs"]
    alone = plan_survey(survey(SAMPLED))
    assert alone.allocation is None
    (file,) = deployable_files(alone).values()
    assert [question.mechanism for question in file.questions] == ["sampling-privacy"]


def test_one_file_for_everybody(plan):
    files = deployable_files(plan)
    assert list(files) == ["parameters"]
    parameters = files["parameters"]
    mechanisms = [question.mechanism for question in parameters.questions]
    assert mechanisms == ["subset-design", "set-design", "bisample-md", "sampling-privacy"]
    assert parameters.users == 1000
    spent = {(row.question, row.level): row.spent for row in plan.spending}
    illness, symptoms, age, _ = parameters.questions
    for question in (illness, symptoms):
        for level, epsilon in zip(question.levels.names, question.levels.epsilons, strict=True):
            assert epsilon == pytest.approx(spent[question.name, level])
    assert age.asked.epsilon == pytest.approx(spent["age", "age"])
    assert symptoms.asked.padding_length == 2


def test_one_question_alone(plan):
    parameters = survey_parameters(plan, "symptoms")
    assert [question.name for question in parameters.questions] == ["symptoms"]
    with pytest.raises(InputError, match=r"question is 'age\?' .* one of illness, symptoms"):
        survey_parameters(plan, "age?")


def test_a_file_for_each_question_where_each_person_answers_one():
    plan = plan_survey(survey(CHOICE, SETS.replacing(mechanism="oue"), design="one-each"))
    files = deployable_files(plan)
    assert list(files) == ["parameters-1", "parameters-2"]
    names = [[question.name for question in file.questions] for file in files.values()]
    assert names == [["illness"], ["symptoms"]]
    assert files["parameters-2"].questions[0].mechanism == "oue-ps"
    assert sum(file.users for file in files.values()) == 1000
    with pytest.raises(InputError, match=r"design is 'one-each' .* Export the questions one"):
        survey_parameters(plan)
    alone = plan_survey(survey(CHOICE, design="one-each"))
    assert list(deployable_files(alone)) == ["parameters"]


def test_every_choice_can_be_deployed():
    choices = mechanism_choices(CHOICE)
    mechanism = {"grr": "grr", "subset": "subset-selection", "olh": "olh"}
    mechanism |= {"best": "subset-design", "subset-design": "subset-design"}
    mechanism |= {"rappor": "rappor", "oue": "oue"}
    for name in choices:
        plan = plan_survey(survey(CHOICE.replacing(mechanism=name)))
        question = survey_parameters(plan).questions[0]
        assert question.mechanism == mechanism.get(name, "idue")
        deployed = plan.questions[0].deployed.mechanism
        assert CATALOGUE[deployed].report_bytes(4) == question.size
    with pytest.raises(InputError, match=r"mechanism of question 'illness' is 'coin' .* opt0"):
        plan_survey(survey(CHOICE.replacing(mechanism="coin")))


def test_a_ledger_leaves_less():
    past = Collection(survey="past", day="2026-03-01", rule="min", spent={"severe": 0.4})
    ledger = Ledger().after(past)
    left = survey_parameters(plan_survey(survey(CHOICE), ledger)).questions[0]
    assert list(left.levels.epsilons) == pytest.approx([0.6, 2.0])
