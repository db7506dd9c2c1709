"""Mechanisms of plain LDP: the inherited suite, and integers that never exceed the budget."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
import xxhash

from planner.errors import InputError
from planner.limits import DENOMINATOR
from planner.mechanisms.inputs import MAX_ITEMS
from planner.mechanisms.means import MeanMechanism
from planner.mechanisms.plain import (
    GeneralizedRandomizedResponse,
    OptimizedLocalHashing,
    SubsetSelection,
    xxh32,
)
from tests.mechanisms.decisions import draws_follow
from tests.mechanisms.suite import SingleItemSuite


class TestGeneralizedRandomizedResponse(SingleItemSuite):
    def mechanism(self):
        return GeneralizedRandomizedResponse(self.budget, self.items)

    def test_counts_sum_to_the_people(self):
        totals = self.mechanism().draw_aggregate(self.truth(), np.random.default_rng(1))
        assert totals.counts.sum() == totals.users == 100


class TestSubsetSelection(SingleItemSuite):
    budget = 0.5  # two of five

    def mechanism(self):
        return SubsetSelection(self.budget, self.items)


class TestSubsetOfOne(TestSubsetSelection):
    budget = 2.0


class TestOptimizedLocalHashing(SingleItemSuite):
    def mechanism(self):
        return OptimizedLocalHashing(self.budget, self.items)


def test_sizes_follow_the_budget():
    assert [SubsetSelection(x, items=12).size for x in (1e-3, 1.0, 5.0)] == [6, 3, 1]
    assert OptimizedLocalHashing(20.0, 10).values > 4e8
    with pytest.raises(InputError, match="generalised"):
        OptimizedLocalHashing(20.001, items=5)
    assert GeneralizedRandomizedResponse(30.0, MAX_ITEMS).items == MAX_ITEMS


def test_the_hash_is_xxh32():
    rng = np.random.default_rng(0)
    numbers, seeds = rng.integers(2**32, size=(2, 500), dtype=np.uint32)
    ours = xxh32(numbers, seeds)
    for number, seed, value in zip(numbers, seeds, ours, strict=True):
        assert value == xxhash.xxh32_intdigest(int(number).to_bytes(4, "little"), seed=int(seed))


def test_two_items_collide_as_often_as_independent_hashes_do():
    seeds = np.random.default_rng(1).integers(2**32, size=200_000, dtype=np.uint32)
    for first, second in ((0, 1), (7, 8), (3, 999)):
        one, two = (
            xxh32(np.array([item], dtype=np.uint32), seeds) % np.uint32(5)
            for item in (first, second)
        )
        counts = np.bincount(5 * one + two, minlength=25)
        assert draws_follow(counts, np.full(25, 1 / 25))


# -- integers at the very edge of the budget: no statistical test sees a step of 2^-32 -------


def _exp(epsilon):
    with localcontext() as context:
        context.prec = 60
        return Decimal(epsilon).exp()


def _at_the_edge(odds):
    """Budgets whose best probability is a multiple of 2^-32 but for the budget's own rounding.

    ``odds(share)`` is the ``e^eps`` that allows exactly the probability ``share``.
    """
    for k in (1, 12_345, 2**20 + 1, 10**9 + 7, 2**31, 2**32 - 2**20 + 1, 2**32 - 77):
        epsilon = float(np.log(float(odds(Fraction(k, DENOMINATOR)))))
        if 1e-9 < epsilon <= 20:
            yield from (epsilon, np.nextafter(epsilon, 0), np.nextafter(epsilon, 50))


@pytest.mark.parametrize("items", [2, 5, 1000])
def test_responses_never_round_over_their_budget(items):
    def spent(truth):
        return 1 + Fraction(truth, DENOMINATOR) * items / (1 - Fraction(truth, DENOMINATOR))

    tried = 0
    for epsilon in _at_the_edge(lambda share: 1 + share * items / (1 - share)):
        try:
            truth = GeneralizedRandomizedResponse(epsilon, items).truth
        except InputError:
            continue  # too small for the grid
        assert spent(truth) <= _exp(epsilon)
        assert spent(truth + 2) > _exp(epsilon)  # and no budget is left over
        tried += 1
    assert tried >= 12


@pytest.mark.parametrize("items", [2, 5, 1000])
def test_subsets_never_round_over_their_budget(items):
    for epsilon in _at_the_edge(lambda held: held / (1 - held) * (items - 1)):
        try:
            mechanism = SubsetSelection(epsilon, items)
        except InputError:
            continue  # too small for the grid
        d, held = mechanism.size, Fraction(mechanism.held, DENOMINATOR)
        assert held / (1 - held) * (items - d) / d <= _exp(epsilon)
        more = held + Fraction(2, DENOMINATOR)
        assert more == 1 or more / (1 - more) * (items - d) / d > _exp(epsilon)


def test_signs_never_round_over_their_budget():
    for epsilon in _at_the_edge(lambda low: (1 - low) / low):
        if epsilon >= 1e-4:
            few, many = MeanMechanism.bisample_md(epsilon).integers[0, :2].tolist()
            assert Fraction(many, few) <= _exp(epsilon)
            assert few < 3 or Fraction(many + 2, few - 2) > _exp(epsilon)


def test_budgets_below_the_grid_are_refused():
    items = 1000
    assert GeneralizedRandomizedResponse(1.5 * items / DENOMINATOR, items).truth == 1
    with pytest.raises(InputError, match=r"epsilon is .* large enough for 1000 items"):
        GeneralizedRandomizedResponse(0.9 * items / DENOMINATOR, items)
    with pytest.raises(InputError, match=r"epsilon is 1e-10 .*grid of 2\^-32.*Raise it or merge"):
        SubsetSelection(1e-10, 1000)
