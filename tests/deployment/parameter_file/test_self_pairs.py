"""A file promises what the integers keep: all pairs by the rule's name, or pair by pair."""

import math

import pytest

from planner import Question, Survey, solve
from planner.deployment.parameter_file.building import parameters_from_mechanisms
from planner.deployment.parameter_file.parameters import Parameters
from planner.errors import PlannerError
from planner.mechanisms.direct import GeneralizedRandomizedResponse
from planner.survey.kinds import Level
from planner.survey.set_model import AssumedSets


def question(counts, rule="avg", kind="categorical", **more):
    names = [tuple(f"{i}{k}" for k in range(count)) for i, count in enumerate(counts)]
    levels = tuple(
        Level(f"level {i}", budget, items)
        for i, (budget, items) in enumerate(zip((1.0, 3.0), names, strict=True))
    )
    return Question("q", levels, rule, kind, **more)


def exported(asked, mechanism):
    return parameters_from_mechanisms(Survey("s", 1000, (asked,)), {"q": mechanism})


def rule_of(parameters):
    return parameters.document["questions"][0]["rule"]


def test_one_answer_each_leaves_out_the_pair_of_a_single_item():
    asked = question((1, 10))
    assert asked.policy.needed.tolist() == [False, True]
    table = solve(asked.policy)
    assert table.worst_case_mse == pytest.approx(6.8610, abs=5e-5)
    parameters = exported(asked, table)
    assert rule_of(parameters) == [[None, 2.0], [2.0, 3.0]]
    again = Parameters.of(parameters.document)
    demanded = {(p.first, p.second): p.demanded for p in again.questions[0].pairs}
    assert demanded == {(0, 0): math.inf, (0, 1): 2.0, (1, 1): 3.0}


def test_a_table_that_keeps_all_pairs_promises_them_by_name():
    for asked in (question((1, 10), "min"), question((2, 10))):
        assert rule_of(exported(asked, solve(asked.policy))) == asked.rule
    with_all = question((1, 10)).policy.with_changes(self_pairs=True)
    assert rule_of(exported(question((1, 10)), solve(with_all))) == "avg"


def test_item_sets_keep_every_pair():
    asked = question((1, 10), "min", "item-set", sets=AssumedSets((0.0, 1.0)), padding_length=1)
    assert asked.policy.needed.all()


def test_one_budget_for_all_may_be_that_of_the_pairs_that_exist():
    asked = question((1, 10))
    wide = GeneralizedRandomizedResponse(2.0, 11)
    assert rule_of(exported(asked, wide)) == [[None, 2.0], [2.0, 3.0]]
    assert rule_of(exported(asked, GeneralizedRandomizedResponse(1.0, 11))) == "avg"
    with pytest.raises(PlannerError):
        exported(asked, GeneralizedRandomizedResponse(2.1, 11))


def test_another_policys_table_is_refused():
    other = solve(question((2, 10)).policy)
    with pytest.raises(PlannerError, match="another policy"):
        exported(question((1, 10)), other)
