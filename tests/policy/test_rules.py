"""Pair rules: the fast answers of min and avg are the general ones; a new rule is one class."""

import math

import numpy as np
import pytest
from hypothesis import given

from planner import (
    Categorical,
    Level,
    PrivacyPolicy,
    Survey,
    choice_curve,
    plan_survey,
    solve,
)
from planner.deployment import Client
from planner.deployment.parameters import survey_parameters
from planner.planning.solve import relaxed, scaled
from planner.planning.what_if import frontier, relaxations
from planner.policy.pair_rule import PairRule
from planner.policy.rules import (
    DEFAULT_RULE,
    AvgRule,
    MatrixRule,
    MinRule,
    rule_of,
)
from tests.policies import RULES, random_policy, seeds
from tests.refusals import refused


class Harmonic(PairRule):
    """A rule of one's own: the harmonic mean of two budgets lies between the rules min and avg."""

    name = "harmonic"

    def bounds(self, epsilons):
        return 2 / (1 / epsilons[:, None] + 1 / epsilons[None, :])


POLICY = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90], Harmonic())


def test_a_rule_of_ones_own_is_solved_between_min_and_avg():
    table = solve(POLICY)
    assert POLICY.rule_name == "harmonic"
    assert table.max_violation == 0
    assert table.certificate.relative_gap < 1e-9
    policy = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90], "avg")
    low = solve(policy)
    policy = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90], "min")
    high = solve(policy)
    assert low.worst_case_mse < table.worst_case_mse < high.worst_case_mse
    bounds = POLICY.bounds()
    policy = PrivacyPolicy(POLICY.epsilons, POLICY.item_counts, bounds)
    same = solve(policy)
    assert table.worst_case_mse == pytest.approx(same.worst_case_mse, rel=1e-9)
    for model in ("opt1", "opt2"):
        assert solve(POLICY, model).certificate.relative_gap < 1e-6


def test_a_rule_of_ones_own_is_planned():
    question = Categorical(
        "colour",
        (Level("rare", 1.0, item_count=5), Level("usual", 2.0, item_count=9)),
        Harmonic(),
    )
    survey = Survey("one", 1000, (question,))
    plan = plan_survey(survey)
    document = survey_parameters(plan).document
    bounds = question.policy.bounds().tolist()
    assert (
        document["questions"][0]["rule"] == bounds
    )  # readers need not know the rule's name
    assert (
        len(Client(document).report("colour", 1).payload) == 16
    )  # a type and 14 sides
    curve = frontier(POLICY, 1000, [1.0, 2.0])
    assert curve.to_frame().shape[0] == 2
    asked = choice_curve("q", POLICY)
    assert relaxations(asked, asked.at())
    expected = 2 * POLICY.bounds()
    bounds = scaled(POLICY, 2.0).bounds()
    assert bounds == pytest.approx(expected)
    assert relaxed(POLICY, 0, 0.5).epsilons.tolist() == [1.5, 1.2, 2.0]


@pytest.mark.parametrize("rule_name", ["min", "avg", "one-sided"])
@given(seed=seeds)
def test_fast_answers_are_the_general_ones(rule_name, seed):
    rng = np.random.default_rng(seed)
    t = int(rng.integers(2, 8))
    if rule_name == "one-sided":
        lowering = rng.choice([0.4, 1.0, 2.5, math.inf], t)
    else:
        lowering = None
    rule = rule_of(rule_name, t, lowering)
    epsilons = rng.choice([0.5, 1.0, 1.7, 3.0], t)
    used = rng.uniform(0, 3, t)
    if rule_name == "one-sided":
        against_own = rng.random(t) < 0.5
    else:
        against_own = np.full(t, True)
    for against in (False, True):
        room = PairRule.room(rule, epsilons, used, against_own, against=against)
        fast = rule.room(epsilons, used, against_own, against=against)
        np.testing.assert_allclose(fast, room, atol=1e-14)
        largest = PairRule.largest_pairs(rule, epsilons, against_own, against=against)
        fast = rule.largest_pairs(epsilons, against_own, against=against)
        np.testing.assert_array_equal(fast, largest)
        several = rng.random(t) < 0.5
        leakage = PairRule.leakage(rule, epsilons, several, against=against)
        fast = rule.leakage(epsilons, several, against=against)
        np.testing.assert_allclose(fast, leakage)


@pytest.mark.parametrize("rule", ["avg", "matrix", "one-sided"])
@given(seed=seeds)
def test_shares_are_slopes_of_the_pair_budgets(rule, seed):
    rng = np.random.default_rng(seed)
    policy = random_policy(rng, int(rng.integers(1, 6)), rule)
    bounds = policy.bounds()
    i, j = np.nonzero(np.isfinite(bounds))
    first, second = policy.rule.shares(policy.epsilons, i, j)
    level = int(rng.integers(policy.size))
    h = 1e-7
    with np.errstate(invalid="ignore"):  # inf - inf where a pair is open
        slope = (relaxed(policy, level, h).bounds() - policy.bounds())[i, j] / h
    here = np.where(i == level, first, 0) + np.where(j == level, second, 0)
    np.testing.assert_allclose(slope, here, atol=1e-5)


@pytest.mark.parametrize("rule", RULES)
@given(seed=seeds)
def test_the_clients_own_words_for_a_rule_mean_the_same(rule, seed):
    rng = np.random.default_rng(seed)
    policy = random_policy(rng, int(rng.integers(1, 6)), rule)
    # So that every pair is one.
    crowded = PrivacyPolicy(policy.epsilons, policy.item_counts + 1, policy.rule)
    levels = crowded.plain()
    plain = policy.rule.plain(policy.epsilons)
    demanded = []
    for i in range(policy.size):
        demanded.append([levels.demanded(i, j) for j in range(policy.size)])
    bounds = policy.bounds()
    np.testing.assert_array_equal(demanded, bounds)
    assert levels.least_demanded() == crowded.smallest_pair
    assert rule_of(plain, policy.size, policy.against) == policy.rule


def test_rules_are_values():
    assert rule_of(DEFAULT_RULE, 3) == MinRule() != AvgRule()
    expected = hash(rule_of("min", 1))
    assert hash(MinRule()) == expected
    rule = MatrixRule(np.ones((2, 2)))
    assert rule != MatrixRule(np.full((2, 2), 2.0))
    assert rule != MinRule()


def test_a_matrix_is_changed_as_a_whole():
    policy = PrivacyPolicy([1, 1], [1, 2], [[math.inf, 2], [2, 3]])
    assert policy.rule.open_pairs
    assert not policy.rule.by_level
    with refused("scale"):
        scaled(policy, np.array([1.0, 2.0]))
    expected = rule_of([[math.inf, 1.0], [1.0, 2.0]], 2)
    assert policy.rule.without(np.array([0.5, 1.0])) == expected


def test_changes_keep_what_is_not_changed():
    policy = PrivacyPolicy([1, 2], [1, 2], "avg", ["x", "y"])
    changed = policy.with_changes([1, 3])
    assert changed.names == ("x", "y")
    assert changed.rule_name == "avg"
    assert changed.epsilons.tolist() == [1, 3]
    assert changed.item_counts.tolist() == [1, 2]
