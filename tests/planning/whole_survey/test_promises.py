"""Promises are never smaller than what a report may really give away."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.mechanisms.unary import UnaryMechanism
from planner.planning.whole_survey.plan import plan_survey
from planner.planning.whole_survey.promises import costs, largest_pair_budgets, promises
from planner.policy.policy import PrivacyPolicy
from planner.solvers import solve
from planner.survey import Level, Numeric, Question, Sampling, Survey
from planner.survey.numeric_domain import NumericDomain
from planner.survey.set_model import AssumedSets

LEVELS = (Level("a", 1.0, item_count=2), Level("b", 3.0, item_count=4))


@given(
    st.lists(st.floats(0.1, 5), min_size=1, max_size=5),
    st.sampled_from(["min", "avg"]),
)
def test_no_pair_loses_more_than_is_promised_to_either_level(epsilons, rule):
    policy = PrivacyPolicy(epsilons, [2] * len(epsilons), rule)
    losses = UnaryMechanism(solve(policy)).pair_losses()
    assert (losses.max(axis=1) <= largest_pair_budgets(policy) + 1e-9).all()


def plan(rule):
    return plan_survey(Survey("s", 10_000, (Question("q", LEVELS, rule),)))


@pytest.mark.parametrize(("rule", "factor"), [("min", "2.72"), ("avg", "7.39")])
def test_the_factor_is_that_of_the_largest_pair(rule, factor):
    first = promises(plan(rule))[0]
    assert f"'a': a report changes the odds between it and any other at most {factor}-fold" in first


def test_a_policy_graph_says_that_some_pairs_are_not_protected():
    first = promises(plan(((1.0, math.inf), (math.inf, 3.0))))[0]
    assert "any other answer that the policy graph protects it from at most 2.72-fold" in first


@pytest.mark.parametrize("name", ["opt0", "grr", "oue"])
def test_costs_are_those_of_the_chosen_mechanism(name):
    question = Question("q", LEVELS, mechanism=name)
    made = plan_survey(Survey("s", 10_000, (question,)))
    error = plan("min").questions[0].choice.of(name).error
    (cost,) = costs(made)
    assert f"{error:,.1f} people, {error / 100:.4g} %" in cost


@pytest.mark.parametrize("epsilon", [5.0, 13.8, 14.0, 20.0, 30.0])
def test_no_factor_is_said_to_be_smaller_than_it_is(epsilon):
    levels = (Level("a", epsilon, item_count=2),)
    made = plan_survey(Survey("s", 10_000, (Question("q", levels),)))
    said = re.search(r"at most ([\d.,e+]+)-fold", promises(made)[0]).group(1)
    factor = float(said.replace(",", ""))
    assert math.exp(epsilon) * (1 - 1e-12) <= factor <= math.exp(epsilon) * 1.1


def test_promises_and_costs_of_every_kind_of_question():
    numeric = Question(
        "bill", (), kind="numeric", numeric=Numeric(NumericDomain(0, 9), epsilon=1.0)
    )
    baskets = Question("basket", LEVELS, kind="item-set", sets=AssumedSets([1, 2]))
    rare = Question(
        "rare",
        (Level("r", 1.0, ("x",), yes_counts=(40,)),),
        kind="sampled-choice",
        sampling=Sampling("aggregates-only"),
    )
    made = plan_survey(Survey("s", 10_000, (numeric, baskets, rare)))
    said = promises(made)
    spent = {row.question: row.spent for row in made.spending}
    assert said[0].startswith("bill: a report changes the odds between any two numbers")
    assert f"epsilon {math.ceil(spent['bill'] * 1e4) / 1e4:.4f}" in said[0]
    assert said[1].startswith("basket: whoever has a set of answers")
    assert any(one.startswith("rare: ") and "INFINITE" in one for one in said)
    prices = costs(made)
    assert [price.split(":")[0] for price in prices] == ["bill", "basket", "rare"]
    assert "of half the range" in prices[0]
    assert "Every count is within" in prices[2]


def test_of_many_levels_the_first_are_promised_and_the_rest_are_counted():
    levels = tuple(Level(f"l{k}", 1.0 + k / 10, item_count=2) for k in range(15))
    said = promises(plan_survey(Survey("s", 10_000, (Question("q", levels),))))
    assert len(said) == 13
    assert said[-1] == "q: ... and 3 more levels."
