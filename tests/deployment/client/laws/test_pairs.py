"""Pair budgets: what is demanded, and which pairs are listed, against all pairs one by one."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from planner.deployment.client.laws.bounds import add_up, float_above
from planner.deployment.client.laws.exact import log_ratios
from planner.deployment.client.laws.pairs import (
    PairBudget,
    demanded_budget,
    least_budget,
    listed_pairs,
)
from tests.deployment.client.laws.oracle import integer_ratio, true_exp
from tests.policies import RULES, random_matrix, seeds


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("min", [[1.0, 1.0], [1.0, 4.0]]),
        ("avg", [[1.0, 2.5], [2.5, 4.0]]),
        ([[math.inf, 3.0], [2.0, 5]], [[math.inf, 3.0], [2.0, 5.0]]),
    ],
    ids=RULES,
)
def test_demanded_budgets(rule, expected):
    found = [[demanded_budget([1.0, 4.0], rule, i, j) for j in range(2)] for i in range(2)]
    assert found == expected
    assert least_budget([1.0, 4.0], rule) == min(map(min, expected))
    assert least_budget([4.0, 1.0], rule) == min(map(min, expected))


def test_all_pairs_with_the_worse_direction_rounded_up():
    a, b = [2**31, 2**31 + 2**29], [2**30, 2**29]
    pairs = listed_pairs(*log_ratios(a, b), [3.0, 4.0], "avg")
    assert [(p.first, p.second, p.demanded) for p in pairs] == [(0, 0, 3), (0, 1, 3.5), (1, 1, 4)]
    for pair in pairs:
        i, j = pair.first, pair.second
        worse = max(integer_ratio(a, b, i, j), integer_ratio(a, b, j, i))
        assert true_exp(pair.realised) >= worse
        assert pair.realised == pytest.approx(math.log(worse), rel=1e-14)


@pytest.mark.parametrize("which", [0, 1])
def test_each_direction_counts(which):
    """The loss of a pair is the larger of two sums, whichever that is."""
    ones, zeros = [Decimal(2), Decimal(1)], [Decimal(1), Decimal(5)]
    if which:
        ones, zeros = zeros, ones
    (first, pair, second) = listed_pairs(ones, zeros, [1.0, 2.0], "min")
    assert first == PairBudget(0, 0, math.nextafter(3.0, 9), 1.0)
    assert pair == PairBudget(0, 1, math.nextafter(7.0, 9), 1.0)
    assert second == PairBudget(1, 1, math.nextafter(6.0, 9), 2.0)


def random_levels(rng, size):
    ones, zeros = ([Decimal(x) for x in rng.uniform(0.1, 2, size).tolist()] for _ in range(2))
    return ones, zeros, rng.uniform(0.5, 3, size).tolist()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("size", [200, 201])
def test_up_to_200_levels_all_pairs_are_listed(rule, size):
    rng = np.random.default_rng(1)
    ones, zeros, epsilons = random_levels(rng, size)
    chosen = random_matrix(rng, size).tolist() if rule == "matrix" else rule
    pairs = listed_pairs(ones, zeros, epsilons, chosen)
    positions = [(pair.first, pair.second) for pair in pairs]
    assert positions == sorted(set(positions))
    if size == 200:
        assert len(pairs) == size * (size + 1) // 2
    else:
        assert len(pairs) <= 2 * size


@pytest.mark.parametrize("rule", RULES)
@given(seed=seeds)
@settings(max_examples=60)
def test_beyond_that_each_levels_tightest_in_each_direction_is(rule, seed):
    """Brute force over few levels, with the limit put below them."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 7))
    ones, zeros, epsilons = random_levels(rng, size)
    chosen = random_matrix(rng, size).tolist() if rule == "matrix" else rule
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("planner.deployment.client.laws.pairs.MAX_LISTED_LEVELS", 1)
        pairs = listed_pairs(ones, zeros, epsilons, chosen)
    expected = set()
    for own, partner in ((ones, zeros), (zeros, ones)):
        for i in range(size):
            room = [
                demanded_budget(epsilons, chosen, i, j) - float(own[i]) - float(partner[j])
                for j in range(size)
            ]
            j = room.index(min(room))
            expected.add((min(i, j), max(i, j)))
    assert [(pair.first, pair.second) for pair in pairs] == sorted(expected)
    for pair in pairs:
        i, j = pair.first, pair.second
        loss = max(add_up(ones[i], zeros[j]), add_up(ones[j], zeros[i]))
        assert pair.realised == float_above(loss)
        assert Fraction(pair.realised) > Fraction(loss)
        assert pair.demanded == demanded_budget(epsilons, chosen, i, j)
