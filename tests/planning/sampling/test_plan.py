import json
from dataclasses import replace
from math import inf

import pytest

from planner import Level, Question, Survey, load_survey
from planner.errors import InputError, VerificationError
from planner.mechanisms.sampling_privacy import SamplingPrivacy
from planner.planning.sampled import (
    ACKNOWLEDGEMENTS,
    SamplingPlan,
    SamplingQuestion,
    plan_sampling,
    plan_sampling_survey,
)
from tests.surveys import EXAMPLES

PLAIN = Question("plain", (Level("a", 1.0, item_count=3),))
QUESTION = SamplingQuestion(1.0, [300], population=10_000)


@pytest.mark.parametrize("relies_on", sorted(ACKNOWLEDGEMENTS))
def test_nothing_is_written_without_the_acknowledgement(relies_on):
    plan = plan_sampling(QUESTION, relies_on)
    assert plan.views.linkable_epsilon == inf  # planning and showing is free
    with pytest.raises(InputError, match="acknowledged is missing"):
        plan.to_document()
    for wrong in ("", "yes", *(set(ACKNOWLEDGEMENTS.values()) - {ACKNOWLEDGEMENTS[relies_on]})):
        with pytest.raises(InputError, match="word for word"):
            plan_sampling(QUESTION, relies_on, wrong)


@pytest.mark.parametrize("relies_on", ["linkable", "", None])
def test_no_plan_relies_on_linkable_rounds(relies_on):
    with pytest.raises(InputError, match="infinite"):
        plan_sampling(QUESTION, relies_on)


@pytest.mark.parametrize("relies_on", sorted(ACKNOWLEDGEMENTS))
def test_document(relies_on):
    plan = plan_sampling(QUESTION, relies_on, ACKNOWLEDGEMENTS[relies_on])
    document = json.loads(json.dumps(plan.to_document(), allow_nan=False))
    assert document["sampling"] + document["zero"] + sum(document["decoys"]) == 2**32
    again = SamplingPrivacy(
        document["sampling"] / 2**32,
        document["zero"] / 2**32,
        [d / 2**32 for d in document["decoys"]],
    )
    assert again == plan.design.mechanism
    guarantee = document["guarantee"]
    assert guarantee["relies_on"] == relies_on
    assert guarantee["linkable_epsilon"] == "infinite"
    assert plan.views.round_two_epsilon <= guarantee["round_two_epsilon"]
    assert guarantee["aggregates"]["others_with_each_value"] == [299]
    epsilon = guarantee["aggregates"]["totals_epsilon"]
    assert plan.views.aggregates.totals_delta(epsilon) <= plan.delta


def test_nothing_is_written_on_a_guarantee_that_does_not_exist():
    rare = SamplingQuestion(1.0, [2], population=10_000)
    plan = plan_sampling(rare, "aggregates-only", ACKNOWLEDGEMENTS["aggregates-only"])
    with pytest.raises(VerificationError, match="no finite epsilon"):
        plan.to_document()
    other = plan_sampling(rare, "round-two", ACKNOWLEDGEMENTS["round-two"])
    assert other.to_document()["guarantee"]["aggregates"]["totals_epsilon"] == "infinite"


def test_bad_delta():
    with pytest.raises(InputError, match="delta"):
        SamplingPlan(plan_sampling(QUESTION, "round-two").design, "round-two", delta=0)


def test_a_survey_is_planned_value_by_value():
    survey = load_survey(EXAMPLES / "sampled-ages.toml")
    plans = plan_sampling_survey(replace(survey, questions=(*survey.questions, PLAIN)))
    (asked,) = survey.questions
    assert list(plans) == [asked.name]  # others are left out
    question = plans[asked.name].design.question
    values = [(level.epsilon, count) for level in asked.levels for count in level.yes_counts]
    assert list(zip(question.epsilons, question.yes_counts, strict=True)) == values
    assert question.population == survey.users
    assert plans[asked.name].relies_on == asked.sampling.relies_on


def test_a_survey_without_such_a_question_is_refused():
    with pytest.raises(InputError, match=r"kind is 'categorical'.*sampled-choice"):
        plan_sampling_survey(Survey("s", 10, (PLAIN,)))
