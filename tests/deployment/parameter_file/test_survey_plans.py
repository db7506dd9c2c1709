"""From a planned survey to files: every question's mechanism, and who gets which file."""

from dataclasses import replace

import pytest

from planner import InputError, Level, Question, Survey
from planner.deployment.parameter_file.survey_plans import (
    DEPLOYABLE,
    deployable_files,
    mechanism_choices,
    plan_survey_with,
    survey_parameters,
)
from planner.planning.ledger import Collection, Ledger
from planner.planning.sampling.plan import ACKNOWLEDGEMENTS
from planner.survey import Numeric, Sampling
from planner.survey.numeric_domain import NumericDomain

LEVELS = (Level("severe", 1.0, ("HIV",)), Level("common", 2.0, ("flu", "cold", "none")))
CHOICE = Question("illness", LEVELS)
SETS = Question("symptoms", LEVELS, kind="item-set", padding_length=2)
AGE = Question("age", (), kind="numeric", numeric=Numeric(NumericDomain(0, 120), epsilon=1.0))
SAMPLED = Question(
    "drugs",
    (Level("any", 1.0, ("u", "v"), yes_counts=(10, 20)),),
    kind="sampled-choice",
    sampling=Sampling("round-two", ACKNOWLEDGEMENTS["round-two"]),
)


def survey(*questions, **settings):
    return Survey("s", 1000, questions, **settings)


@pytest.fixture(scope="module")
def plan():
    return plan_survey_with(survey(CHOICE, SETS, AGE, SAMPLED))


def test_sampled_questions_do_not_share_the_budgets(plan):
    assert [one.question.name for one in plan.whole.questions] == ["illness", "symptoms", "age"]
    assert list(plan.sampled) == ["drugs"]
    alone = plan_survey_with(survey(SAMPLED))
    assert alone.whole is None
    (file,) = deployable_files(alone, {}).values()
    assert [question.mechanism for question in file.questions] == ["sampling-privacy"]


def test_one_file_for_everybody(plan):
    files = deployable_files(plan, {})
    assert list(files) == ["parameters"]
    parameters = files["parameters"]
    mechanisms = [question.mechanism for question in parameters.questions]
    assert mechanisms == ["idue", "idue-ps", "bisample-md", "sampling-privacy"]
    assert parameters.users == 1000
    spent = {(row.question, row.level): row.spent for row in plan.whole.spending}
    illness, symptoms, age, _ = parameters.questions
    for question in (illness, symptoms):
        for level in question.document["levels"]:
            assert level["epsilon"] == pytest.approx(spent[question.name, level["name"]])
    assert age.law.epsilon == pytest.approx(spent["age", "age"])
    assert symptoms.law.padding_length == 2


def test_one_question_alone(plan):
    parameters = survey_parameters(plan, {}, "symptoms")
    assert [question.name for question in parameters.questions] == ["symptoms"]
    with pytest.raises(InputError, match=r"question is 'age\?' .* one of 'illness', 'symptoms'"):
        survey_parameters(plan, {}, "age?")


def test_a_file_for_each_question_where_each_person_answers_one():
    plan = plan_survey_with(survey(CHOICE, SETS, design="one-each"))
    files = deployable_files(plan, {"symptoms": "oue"})
    assert list(files) == ["parameters-1", "parameters-2"]
    names = [[question.name for question in file.questions] for file in files.values()]
    assert names == [["illness"], ["symptoms"]]
    assert files["parameters-2"].questions[0].document["model"] == "oue"
    assert sum(file.users for file in files.values()) == 1000
    with pytest.raises(InputError, match=r"design is 'one-each' .* Export the questions one"):
        survey_parameters(plan, {})
    alone = plan_survey_with(survey(CHOICE, design="one-each"))
    assert list(deployable_files(alone, {})) == ["parameters"]


def test_every_choice_can_be_deployed():
    plan = plan_survey_with(survey(CHOICE))
    choices = mechanism_choices(CHOICE)
    assert choices == list(DEPLOYABLE)
    mechanism = {"grr": "grr", "subset": "subset-selection", "olh": "olh"}
    for name in choices:
        question = survey_parameters(plan, {"illness": name}).questions[0]
        assert question.mechanism == mechanism.get(name, "idue")
        assert getattr(question, "model", name) == name
    with pytest.raises(InputError, match=r"mechanism of question 'illness' is 'coin' .* opt0"):
        survey_parameters(plan, {"illness": "coin"})


def test_choices_by_kind():
    assert mechanism_choices(SETS) == ["opt0", "opt1", "opt2", "rappor", "oue"]
    assert mechanism_choices(AGE) == mechanism_choices(SAMPLED) == ["opt0"]
    for count, plain in ((1, False), (2, True), (100_000, True), (100_001, False)):
        question = Question("q", (Level("all", 1.0, item_count=count),))
        assert ("grr" in mechanism_choices(question)) == plain


def test_a_ledger_leaves_less():
    past = Collection(survey="past", day="2026-03-01", rule="min", spent={"severe": 0.4})
    ledger = Ledger().after(past).model_dump_json()
    left = survey_parameters(plan_survey_with(survey(CHOICE), ledger), {}).questions[0]
    assert list(left.law.levels.epsilons) == pytest.approx([0.6, 2.0])


def test_a_choice_without_a_plan_has_no_mechanism(plan):
    questions = tuple(replace(one, plan=None) for one in plan.whole.questions)
    bare = replace(plan, whole=replace(plan.whole, questions=questions))
    with pytest.raises(InputError, match=r"kind is 'categorical' .* can be deployed"):
        survey_parameters(bare, {}, "illness")
