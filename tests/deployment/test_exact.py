import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from planner import InputError, PrivacyPolicy, VerificationError, solve
from planner.deployment.laws.exact import (
    DENOMINATOR,
    PairViolation,
    check_budgets,
    exp_lower_bound,
    log_upper_bound,
    pair_budgets,
    round_inward,
)
from tests.policies import RULES, random_policy, seeds

EXACT = Context(prec=130)
ULP = Fraction(1, 10**55)


@lru_cache(maxsize=10_000)
def true_exp(x: float) -> Fraction:
    """``e^x`` to more than 80 digits by its series: independent of decimal's own ``exp``."""
    with localcontext(prec=100):
        part, halved = Decimal(x), 0
        while part > Decimal("0.1"):  # e^x = (e^(x/2))^2
            part, halved = part / 2, halved + 1
        term = total = Decimal(1)
        for k in range(1, 80):
            term *= part / k
            total += term
        return Fraction(total ** (2**halved))


@given(st.floats(1e-9, 50))
@example(50.0)
@example(1e-300)
@example(math.log(4))
def test_the_lower_bound_of_exp_is_below_and_close(x):
    bound, truth = exp_lower_bound(x), true_exp(x)
    assert bound < truth
    assert bound > truth * (1 - ULP)


@given(st.integers(1, 2**64), st.integers(1, 2**64))
@example(1, 1)
@example(2**64, 2**64 - 1)
@example(2**64, 1)
def test_the_upper_bound_of_ln_is_above_and_close(top, bottom):
    ratio = Fraction(top, bottom)
    bound = log_upper_bound(ratio)
    digits = EXACT.ln(EXACT.divide(Decimal(top), Decimal(bottom)))
    assert Decimal(bound) > digits
    assert bound <= float(digits) + 4 * math.ulp(abs(float(digits))) + 1e-55


def _integer_ratio(a, b, i, j):
    return Fraction(a[i] * (DENOMINATOR - b[j]), b[i] * (DENOMINATOR - a[j]))


def _kept(a, b, epsilons, rule):
    """Every ordered pair on its own, against e^r from the series."""
    bounds = PrivacyPolicy(epsilons, [1] * len(a), rule).bounds()
    return all(
        math.isinf(bounds[i, j]) or _integer_ratio(a, b, i, j) <= true_exp(bounds[i, j])
        for i in range(len(a))
        for j in range(len(a))
    )


def _agrees(a, b, epsilons, rule):
    try:
        check_budgets(a, b, epsilons, rule)
    except PairViolation as broken:
        i, j = broken.first, broken.second
        return _integer_ratio(a, b, i, j) <= true_exp(broken.demanded)  # it must name a real one
    return True


@pytest.mark.parametrize("rule", ["min", "avg"])
@given(seed=seeds)
@settings(max_examples=1000)
def test_the_fast_check_equals_all_pairs(rule, seed):
    rng = np.random.default_rng(seed)
    t = int(rng.integers(1, 6))
    ends = np.sort(rng.integers(1, DENOMINATOR, (2, t)), axis=0)
    ends[1] = np.minimum(ends[1] + 1, DENOMINATOR - 1)
    ends[0] = np.minimum(ends[0], ends[1] - 1)
    b, a = (row.tolist() for row in ends)
    own = [math.log(_integer_ratio(a, b, i, i)) for i in range(t)]
    # Budgets about as large as the table needs, so that both outcomes are common.
    epsilons = [min(50.0, max(own) * rng.uniform(0.5, 1.5) + 1e-9) for _ in range(t)]
    if rng.random() < 0.3:
        epsilons = [epsilons[0]] * t
    assert _agrees(a, b, epsilons, rule) == _kept(a, b, epsilons, rule)


@pytest.mark.parametrize("rule", RULES)
@given(seed=seeds)
@settings(max_examples=40)
def test_rounding_inward_keeps_every_budget_and_little_is_lost(rule, seed):
    rng = np.random.default_rng(seed)
    policy = random_policy(rng, int(rng.integers(1, 6)), rule, low=0.05, high=8)
    table = solve(policy)
    chosen = policy.rule if isinstance(policy.rule, str) else policy.rule.tolist()
    epsilons = policy.epsilons.tolist()
    a, b = round_inward(table.a.tolist(), table.b.tolist(), epsilons, chosen)
    assert _kept(a, b, epsilons, policy.rule)
    for i in range(policy.size):
        assert 0 <= Fraction(table.a[i]) * DENOMINATOR - a[i] < 2
        assert 0 <= b[i] - Fraction(table.b[i]) * DENOMINATOR < 2


def test_a_single_unit_the_wrong_way_is_caught():
    a, b, epsilons = [DENOMINATOR // 2], [0], [1.0]
    b[0] = math.ceil(DENOMINATOR / (1 + true_exp(1.0)))  # the least b with (D - b) / b <= e
    for rule in ("min", "avg", [[1.0]]):
        check_budgets(a, b, epsilons, rule)
        with pytest.raises(PairViolation, match=r"Levels 0 and 0 realise 1\.00000000"):
            check_budgets(a, [b[0] - 1], epsilons, rule)
    # The largest a for a given b, in the pair of two levels.
    other = [DENOMINATOR // 2 - 1000, DENOMINATOR // 2 - 2000]
    low, high = 0, DENOMINATOR - 1
    while high - low > 1:
        middle = (low + high) // 2
        odds = Fraction(middle * (DENOMINATOR - other[1]), b[0] * (DENOMINATOR - other[0]))
        low, high = (middle, high) if odds <= true_exp(1.0) else (low, middle)
    matrix = [[50.0, 1.0], [1.0, 50.0]]
    top = [low, other[0]]
    bottom = [b[0], other[1]]
    check_budgets(top, bottom, [1.0, 2.0], matrix)
    with pytest.raises(PairViolation, match="Levels 0 and 1"):
        check_budgets([low + 1, other[0]], bottom, [1.0, 2.0], matrix)


def test_realised_budgets_are_upper_bounds_of_the_worse_direction():
    a, b = [2**31, 2**31 + 2**29], [2**30, 2**29]
    pairs = pair_budgets(a, b, [3.0, 4.0], "avg")
    assert [(p.first, p.second, p.demanded) for p in pairs] == [(0, 0, 3), (0, 1, 3.5), (1, 1, 4)]
    for pair in pairs:
        i, j = pair.first, pair.second
        worse = max(_integer_ratio(a, b, i, j), _integer_ratio(a, b, j, i))
        assert true_exp(pair.realised) >= worse
        assert pair.realised == pytest.approx(math.log(worse), rel=1e-14)


def test_a_pair_without_demand_is_listed_as_such():
    matrix = [[math.inf, 2.0], [2.0, 3.0]]
    check_budgets([2**31] * 2, [2**30] * 2, [1.0, 1.0], matrix)
    demanded = [pair.demanded for pair in pair_budgets([2**31] * 2, [2**30] * 2, [1.0] * 2, matrix)]
    assert demanded == [math.inf, 2.0, 3.0]


@pytest.mark.parametrize(
    ("a", "b"), [(0, 0), (5, 5), (4, 5), (DENOMINATOR, 5), (5, 0), (5, -1), (DENOMINATOR + 5, 5)]
)
def test_impossible_integers(a, b):
    with pytest.raises(
        VerificationError, match=r"Level 0 has a = .* 0 < b < a < 2\^32 is required"
    ):
        check_budgets([a], [b], [1.0], "min")


def test_numpy_integers_do_not_overflow():
    a, b = np.array([2**32 - 5]), np.array([5])
    with pytest.raises(PairViolation):
        check_budgets(a, b, [1.0], "min")
    assert pair_budgets(a, b, [1.0], "min")[0].realised > 40
    with pytest.raises(TypeError):
        check_budgets([2.0**31], [2.0**30], [1.25], "min")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [], [], "min"), "lengths of a, b and epsilons"),
        (([9], [8, 7], [1.0], "min"), "lengths of a, b and epsilons"),
        (([9], [8], [1.0, 2.0], "min"), "lengths of a, b and epsilons"),
        (([9], [8], [1.0], "max"), "rule is 'max'"),
        (([9, 9], [8, 8], [1.0, 1.0], [[1.0]]), "2 x 2 matrix"),
        (([9, 9], [8, 8], [1.0, 1.0], [[1.0, 1.0], [1.0]]), "2 x 2 matrix"),
        (([9], [8], [1.0], [[-math.inf]]), r"rule\[0\]\[0\] is -inf"),
        (([9], [8], [1.0], [[math.nan]]), r"rule\[0\]\[0\] is nan"),
        (([9], [8], [math.nan], "min"), r"epsilons\[0\] is nan"),
        (([9], [8], [math.inf], "avg"), r"epsilons\[0\] is inf"),
        (([9], [8], [0.0], "avg"), r"epsilons\[0\] is 0.0"),
    ],
)
def test_nothing_is_left_unchecked(arguments, message):
    for function in (check_budgets, pair_budgets):
        with pytest.raises(InputError, match=message):
            function(*arguments)


def test_probabilities_too_close_for_the_grid():
    table = solve(PrivacyPolicy([1e-9, 1.0], [2, 2]))
    with pytest.raises(InputError, match=r"epsilons\[0\] is 1e-09 but must be large enough"):
        round_inward(table.a.tolist(), table.b.tolist(), [1e-9, 1.0], "min")


def test_probabilities_that_break_the_policy_are_not_rounded_into_it():
    with pytest.raises(VerificationError, match="by more than rounding"):
        round_inward([0.75], [0.25], [1.0], "min")
