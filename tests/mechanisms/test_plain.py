"""Mechanisms for one item each: the inherited suite, and integers that never exceed the budget."""

from fractions import Fraction

import numpy as np
import pytest
import xxhash

from planner.errors import InputError
from planner.limits import DENOMINATOR
from planner.mechanisms.collected import xxh32
from planner.mechanisms.inputs import MAX_ITEMS
from planner.mechanisms.making import (
    bisample_md,
    local_hashing,
    oue,
    randomized_response,
    rappor,
    subset_selection,
    unary,
)
from tests.laws.oracle import true_exp
from tests.mechanisms.listed import TABLE_II
from tests.mechanisms.suite import SingleItemSuite
from tests.refusals import refused


# Table II of the IDUE paper: ln 4 for one item, ln 6 for four (opt0, 8.567 n).
class TestGeneralizedRandomizedResponse(SingleItemSuite):
    def mechanism(self):
        return randomized_response(self.budget, self.items)


class TestSubsetSelection(SingleItemSuite):
    budget = 0.5  # two of five
    bias_near_miss = 4.0  # a tenth of one repetition's standard error

    def mechanism(self):
        return subset_selection(self.budget, self.items)


class TestOptimizedLocalHashing(SingleItemSuite):
    def mechanism(self):
        return local_hashing(self.budget, self.items)


class TestInputDiscriminativeUnaryEncoding(SingleItemSuite):
    budget = float(np.log(0.672998 * (1 - 0.277564) / 0.277564 / (1 - 0.672998)))

    def mechanism(self):
        return unary(TABLE_II)


@pytest.mark.parametrize(
    "build", [randomized_response, subset_selection, local_hashing, rappor, oue]
)
def test_bad_budgets_and_domains_are_refused(build):
    for epsilon in (0, -1.0, np.nan, np.inf, 51, True, "1", None):
        with refused("epsilon"):
            build(epsilon, 5)
    for items in (1, 0, -3, 2.0, np.nan, True, None, 2**31):
        with refused("items"):
            build(1.0, items)


def test_sizes_follow_the_budget():
    assert [
        subset_selection(x, items=12).shape.types[0][0] for x in (1e-3, 1.0, 5.0)
    ] == [6, 3, 1]
    assert local_hashing(20.0, 10).shape.values > 4e8
    with refused("epsilon"):
        local_hashing(20.001, items=5)
    law = randomized_response(30.0, MAX_ITEMS)
    assert law.levels.total == MAX_ITEMS


def test_the_hash_is_xxh32():
    rng = np.random.default_rng(0)
    numbers, seeds = rng.integers(2**32, size=(2, 500), dtype=np.uint32)
    ours = xxh32(numbers, seeds)
    for number, seed, value in zip(numbers, seeds, ours, strict=True):
        assert value == xxhash.xxh32_intdigest(
            int(number).to_bytes(4, "little"), seed=int(seed)
        )


# -- integers at the very edge of the budget: no statistical test sees a step of 2^-32 -------


def weight_held(mechanism):
    """2^32 times the probability that a subset has the own item."""
    return mechanism.shape.weights[0][0][1]


def _at_the_edge(odds):
    """Budgets whose best probability is a multiple of 2^-32 but for the budget's own rounding.

    ``odds(share)`` is the ``e^eps`` that allows exactly the probability ``share``.
    """
    for k in (1, 12_345, 2**20 + 1, 10**9 + 7, 2**31, 2**32 - 2**20 + 1, 2**32 - 77):
        epsilon = float(np.log(float(odds(Fraction(k, DENOMINATOR)))))
        if 1e-9 < epsilon <= 20:
            yield from (epsilon, np.nextafter(epsilon, 0), np.nextafter(epsilon, 50))


@pytest.mark.parametrize("items", [2, 5, 1000])
@pytest.mark.parametrize("kind", [randomized_response, subset_selection])
def test_subsets_never_round_over_their_budget(kind, items):
    tried = 0
    for epsilon in _at_the_edge(lambda held: held / (1 - held) * (items - 1)):
        try:
            mechanism = kind(epsilon, items)
        except InputError:
            continue  # too small for the grid
        ((d,),) = mechanism.shape.types
        held = Fraction(weight_held(mechanism), DENOMINATOR)
        assert held / (1 - held) * (items - d) / d <= true_exp(epsilon)
        too_much = held + Fraction(2, DENOMINATOR)  # and no budget is left over
        assert too_much == 1 or too_much / (1 - too_much) * (items - d) / d > true_exp(
            epsilon
        )
        tried += 1
    assert tried >= 6


def test_hashing_and_signs_never_round_over_their_budget():
    def spent(truth, values):
        return 1 + Fraction(truth * values, DENOMINATOR - truth)

    for epsilon in _at_the_edge(lambda share: 1 + share * 3 / (1 - share)):
        if epsilon > 1e-8:
            law = local_hashing(epsilon, 5).shape
            assert spent(law.truth, law.values) <= true_exp(epsilon)
            assert spent(law.truth + 2, law.values) > true_exp(epsilon)
    for epsilon in _at_the_edge(lambda low: max(1 / low / 2 - 1, 1)):
        if epsilon >= 1e-4:
            few, many = bisample_md(epsilon).shape.rows[0][:2]
            assert Fraction(many, few) <= true_exp(epsilon)
            assert few < 3 or Fraction(many + 2, few - 2) > true_exp(epsilon)


def test_budgets_below_the_grid_are_refused():
    assert (
        weight_held(randomized_response(1500 / DENOMINATOR, 1000))
        == DENOMINATOR // 1000 + 1
    )
    with refused("epsilon"):
        randomized_response(600 / DENOMINATOR, 1000)
    for make in (subset_selection, local_hashing):
        with refused("epsilon"):
            make(1e-10, 1000)
