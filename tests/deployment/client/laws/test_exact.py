"""Budgets in exact arithmetic: a single unit of 2^-32 decides, as the definition says."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner import InputError, PrivacyPolicy, VerificationError, solve
from planner.deployment.client.laws import exact
from planner.deployment.client.laws.bounds import exp_lower_bound, log_above, log_upper_bound
from planner.deployment.client.laws.exact import (
    DENOMINATOR,
    PairViolation,
    check_budgets,
    check_ratio,
    log_ratios,
    round_inward,
)
from planner.deployment.client.laws.pairs import demanded_budget
from tests.deployment.client.laws.oracle import D, integer_ratio, kept, largest, true_exp
from tests.policies import RULES, random_policy, seeds


def verdict(a, b, epsilons, rule):
    """Whether it passes; a refusal must name a pair that really exceeds what it was promised."""
    broken = None
    try:
        check_budgets(a, b, epsilons, rule)
    except PairViolation as violation:
        broken = violation
    if broken is not None:
        ratio = integer_ratio(a, b, broken.first, broken.second)
        demanded = demanded_budget(epsilons, rule, broken.first, broken.second)
        assert broken.demanded == demanded
        assert ratio > true_exp(demanded)
        assert broken.realised == log_upper_bound(ratio)
    return broken is None


def test_the_grid():
    assert DENOMINATOR == D


@pytest.mark.parametrize("rule", RULES)
@given(seed=seeds)
@settings(max_examples=150)
def test_the_check_equals_all_pairs(rule, seed):
    rng = np.random.default_rng(seed)
    t = int(rng.integers(1, 6))
    ends = np.sort(rng.integers(1, D, (2, t)), axis=0)
    ends[1] = np.minimum(ends[1] + 1, D - 1)
    ends[0] = np.minimum(ends[0], ends[1] - 1)
    b, a = (row.tolist() for row in ends)
    own = [math.log(integer_ratio(a, b, i, i)) for i in range(t)]
    # Budgets about as large as the table needs, so that both outcomes are common.
    epsilons = [min(50.0, max(own) * rng.uniform(0.5, 1.5) + 1e-9) for _ in range(t)]
    if rng.random() < 0.3:
        epsilons = [epsilons[0]] * t
    if rule == "matrix":
        rule = [[min(50.0, max(own) * rng.uniform(0.7, 1.7) + 1e-9)] * t for _ in range(t)]
        rule[int(rng.integers(t))][int(rng.integers(t))] = math.inf
    assert verdict(a, b, epsilons, rule) == kept(a, b, epsilons, rule)


@pytest.mark.parametrize("rule", ["min", "avg"])
def test_every_pair_of_three_levels_decides(rule):
    """One level is raised until one pair breaks, whichever of the pairs that is."""
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)):
        epsilons = [(1.0, 1.5, 3.0)[k] for k in order]
        a, b = ([(D // 2, D // 2, D // 2 + 9)[k] for k in order], [])
        b = [math.ceil(D / (1 + true_exp(0.9)))] * 3
        for i in range(3):

            def holds(top, i=i, a=a, b=b, epsilons=epsilons):
                return kept([*a[:i], top, *a[i + 1 :]], b, epsilons, rule)

            top = largest(holds, a[i] - 10**8, D - 1)
            assert verdict([*a[:i], top, *a[i + 1 :]], b, epsilons, rule)
            assert not verdict([*a[:i], top + 1, *a[i + 1 :]], b, epsilons, rule)


@pytest.mark.parametrize("rule", ["min", "avg", [[1.0]]], ids=["min", "avg", "matrix"])
def test_a_single_unit_the_wrong_way_is_caught(rule):
    a, b = D // 2, math.ceil(D / (1 + true_exp(1.0)))  # the least b with (D - b) / b <= e
    check_budgets([a], [b], [1.0], rule)
    with pytest.raises(PairViolation, match=r"Levels 0 and 0 realise 1\.00000000.* promised 1\.0"):
        check_budgets([a], [b - 1], [1.0], rule)


@pytest.mark.parametrize(("first", "second"), [(0, 1), (1, 0)])
def test_a_matrix_is_checked_in_both_directions(first, second):
    matrix = [[50.0, 1.0], [1.0, 50.0]]
    a, b = [D // 2, D // 2 - 1000], [math.ceil(D / (1 + true_exp(1.0))), D // 2 - 2000]
    if first:
        a, b = a[::-1], b[::-1]

    def raised(top):
        return [top if k == first else a[k] for k in range(2)]

    top = largest(
        lambda top: integer_ratio(raised(top), b, first, second) <= true_exp(1.0), b[first], D - 1
    )
    check_budgets(raised(top), b, [1.0, 2.0], matrix)
    with pytest.raises(PairViolation, match=f"Levels {first} and {second}"):
        check_budgets(raised(top + 1), b, [1.0, 2.0], matrix)


def test_a_pair_without_demand_may_do_anything():
    a, b = [D - 1, D // 2], [1, D // 2 - 1]
    check_budgets(a, b, [1.0, 1.0], [[math.inf, math.inf], [math.inf, 1.0]])
    with pytest.raises(PairViolation, match="Levels 0 and 1"):
        check_budgets(a, b, [1.0, 1.0], [[math.inf, 1.0], [math.inf, 1.0]])


def test_a_ratio_may_reach_its_bound_and_not_exceed_it():
    bound = exp_lower_bound(0.7)
    check_ratio(bound, 0.7)
    with pytest.raises(VerificationError, match=r"It realises 0\.700000000 nats but 0\.700000000"):
        check_ratio(bound + Fraction(1, 10**70), 0.7, "It")


@pytest.mark.parametrize("rule", ["min", "avg", [[0.7]]], ids=["min", "avg", "matrix"])
def test_a_pair_may_reach_its_bound_and_not_exceed_it(monkeypatch, rule):
    """No budget has a rational exponential; so a bound that a pair reaches takes its place."""
    a, b = [3 * D // 4], [D // 4]  # loss ln 9, half of it ln 3
    bound = Fraction(3) if rule == "avg" else Fraction(9)
    monkeypatch.setattr(exact, "exp_lower_bound", lambda _: bound)
    check_budgets(a, b, [0.7], rule)
    monkeypatch.setattr(exact, "exp_lower_bound", lambda _: bound - Fraction(1, 10**70))
    with pytest.raises(PairViolation):
        check_budgets(a, b, [0.7], rule)


# -- rounding -----------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
@given(seed=seeds)
@settings(max_examples=25)
def test_rounding_inward_keeps_every_budget_and_little_is_lost(rule, seed):
    rng = np.random.default_rng(seed)
    policy = random_policy(rng, int(rng.integers(1, 6)), rule, low=0.05, high=8)
    table = solve(policy)
    chosen = policy.rule.plain(policy.epsilons)
    epsilons = policy.epsilons.tolist()
    a, b = round_inward(table.a.tolist(), table.b.tolist(), epsilons, chosen)
    assert kept(a, b, epsilons, chosen)
    for i in range(policy.size):
        assert 0 <= Fraction(table.a[i]) * D - a[i] < 2
        assert 0 <= b[i] - Fraction(table.b[i]) * D < 2


def test_rounding_stays_on_the_grid():
    assert round_inward([1.0], [0.0], [50.0], "min") == ([D - 1], [1])
    assert round_inward([0.5], [0.25], [50.0], "min") == ([D // 2], [D // 4])  # nothing to round
    up, down = 0.5 + 2**-33, 0.25 + 2**-34
    assert round_inward([up], [down], [50.0], "min") == ([D // 2], [D // 4 + 1])


@pytest.mark.parametrize(("excess", "accepted"), [(0, True), (1, True), (8, True), (9, False)])
def test_a_pair_gives_up_at_most_eight_units(excess, accepted):
    """``a`` and ``b`` both move, and no other level's."""
    budget = 1.0
    best = largest(
        lambda k: integer_ratio([D // 2 + k], [D // 2 - k], 0, 0) <= true_exp(budget), 1, D // 2 - 1
    )
    a, b = [0.75, 0.5 + (best + excess) / D], [0.25, 0.5 - (best + excess) / D]
    if accepted:
        rounded = round_inward(a, b, [50.0, budget], [[50.0, math.inf], [math.inf, budget]])
        assert rounded == ([3 * D // 4, D // 2 + best], [D // 4, D // 2 - best])
    else:
        with pytest.raises(VerificationError, match="by more than rounding"):
            round_inward(a, b, [50.0, budget], [[50.0, math.inf], [math.inf, budget]])


def test_both_levels_of_a_pair_give_up_units():
    best = largest(
        lambda k: integer_ratio([D // 2 + k] * 2, [D // 2 - k] * 2, 0, 1) <= true_exp(1.0),
        1,
        D // 3,
    )
    a, b = [0.5 + (best + 1) / D] * 2, [0.5 - (best + 1) / D] * 2
    rounded = round_inward(a, b, [50.0, 50.0], [[50.0, 1.0], [1.0, 50.0]])
    assert rounded == ([D // 2 + best] * 2, [D // 2 - best] * 2)


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (0.5 + 2**-33, 0.5 - 2**-40), (0.4, 0.6)])
def test_probabilities_too_close_for_the_grid(a, b):
    with pytest.raises(InputError, match=r"epsilons\[1\] is 1e-09 but must be large enough.*Raise"):
        round_inward([0.6, a], [0.4, b], [1.0, 1e-9], "min")


def test_the_least_gap_is_one_unit():
    half = D // 2
    assert round_inward([0.5], [0.5 - 2**-32], [1.0], "min") == ([half], [half - 1])


def test_a_solved_table_may_be_too_close_for_the_grid():
    table = solve(PrivacyPolicy([1e-9, 1.0], [2, 2]))
    with pytest.raises(InputError, match=r"epsilons\[0\] is 1e-09 but must be large enough"):
        round_inward(table.a.tolist(), table.b.tolist(), [1e-9, 1.0], "min")


# -- logarithms and input ---------------------------------------------------------


@given(st.lists(st.tuples(st.integers(2, D - 1), st.integers(1, D - 2)), min_size=1, max_size=4))
def test_log_ratios_are_those_of_the_two_bits(pairs):
    a = [max(pair) for pair in pairs]
    b = [min(*pair, max(pair) - 1) for pair in pairs]
    ones, zeros = log_ratios(a, b)
    assert ones == [log_above(Fraction(x, y)) for x, y in zip(a, b, strict=True)]
    assert zeros == [log_above(Fraction(D - y, D - x)) for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize(
    ("a", "b"), [(0, 0), (5, 5), (4, 5), (D, 5), (5, 0), (5, -1), (D + 5, 5), (D, D - 1)]
)
def test_impossible_integers(a, b):
    reason = re.escape(f"Level 1 has a = {a}, b = {b}; 0 < b < a < 2^32 is required")
    with pytest.raises(VerificationError, match=reason):
        check_budgets([2, a], [1, b], [50.0, 1.0], "min")


@pytest.mark.parametrize(("a", "b"), [(2, 1), (D - 1, D - 2)])
def test_the_outermost_integers_are_possible(a, b):
    check_budgets([a], [b], [50.0], "min")


def test_numpy_integers_do_not_overflow_and_floats_are_none():
    with pytest.raises(PairViolation):
        check_budgets(np.array([2**32 - 5]), np.array([5]), [1.0], "min")
    with pytest.raises(TypeError):
        check_budgets([2.0**31], [2.0**30], [1.25], "min")
    with pytest.raises(TypeError):
        check_budgets([2**31], [2.0**30], [1.25], "min")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [], [], "min"), r"lengths of a, b and epsilons is \(0, 0, 0\)"),
        (([9], [8, 7], [1.0], "min"), r"lengths of a, b and epsilons is \(1, 2, 1\)"),
        (([9], [8], [1.0, 2.0], "min"), r"lengths of a, b and epsilons is \(1, 1, 2\)"),
        (([9], [8], [1.0], "max"), "rule is 'max'"),
        (([9, 9], [8, 8], [1.0, 1.0], [[1.0]]), "2 x 2 matrix"),
        (([9, 9], [8, 8], [1.0, 1.0], [[1.0, 1.0], [1.0]]), "2 x 2 matrix"),
        (([9], [8], [1.0], [[-math.inf]]), r"rule\[0\]\[0\] is -inf"),
        (([9], [8], [1.0], [[math.nan]]), r"rule\[0\]\[0\] is nan"),
        (([9], [8], [1.0], [[0.0]]), r"rule\[0\]\[0\] is 0.0"),
        (([9, 9], [8, 8], [1.0, 1.0], [[1.0, 50.1], [1.0, 1.0]]), r"rule\[0\]\[1\] is 50.1"),
        (([9], [8], [math.nan], "min"), r"epsilons\[0\] is nan"),
        (([9], [8], [math.inf], "avg"), r"epsilons\[0\] is inf"),
        (([9, 9], [8, 8], [1.0, 0.0], "avg"), r"epsilons\[1\] is 0.0"),
        (([9], [8], [1e9], "min"), r"epsilons\[0\] is 1000000000.0 .* at most 50"),
    ],
)
def test_nothing_is_left_unchecked(arguments, message):
    with pytest.raises(InputError, match=message):
        check_budgets(*arguments)
