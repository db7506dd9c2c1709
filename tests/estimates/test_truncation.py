"""Limits of counts that were cut: sharp for the sizes, and they cover what is cut."""

from itertools import product

import numpy as np
import pytest

from planner import AssumedSets, ItemSets, PilotSets, oue, padded
from planner.estimates.truncation import LongerSets


@pytest.mark.parametrize("length", [1, 2, 3])
def test_no_sets_of_these_sizes_have_a_larger_count_and_some_have_it(length):
    """Everybody's membership is tried: 2^9 ways in which nine people can have an item."""
    sizes = np.array([1, 1, 2, 3, 3, 4, 6, 6, 6])
    limits = [length, *(size for size in (2, 3, 4, 6) if size > length)]
    people = [int((sizes > limit).sum()) for limit in limits[:-1]]
    longer = LongerSets(length, tuple(limits[1:]), tuple(k / sizes.size for k in people))
    largest = {}
    for has in product([0, 1], repeat=sizes.size):
        kept = round(float(np.minimum(1, length / sizes) @ has), 9)
        count = sum(has)
        at_most = longer.largest_counts(np.array([kept]), people, sizes.size)[0]
        assert count <= at_most + 1e-6
        largest[kept] = max(largest.get(kept, 0), count)
    tight = [
        kept
        for kept, count in largest.items()
        if count
        == pytest.approx(longer.largest_counts(np.array([kept]), people, sizes.size)[0], abs=1e-6)
    ]
    assert len(tight) >= sizes.size  # at every whole number of people, largest sets first
    reach = longer.largest_counts(np.array([100.0, -1.0]), people, sizes.size)
    assert reach.tolist() == [sizes.size, 0]


def clicks(rng, users=4000, items=60):
    """Heavy-tailed sizes; the most popular item is in most sets."""
    sizes = np.minimum(items, 1 + rng.pareto(1.2, users).astype(np.int64))
    weight = 1 / np.arange(1.0, items + 1) ** 1.3
    keys = rng.exponential(size=(users, items)) / weight
    order = np.argsort(keys, axis=1)
    return ItemSets.of([row[:size] for row, size in zip(order, sizes, strict=True)], items)


@pytest.fixture(scope="module")
def population():
    return clicks(np.random.default_rng(5), users=20_000)


def coverage(mechanism, sets, runs, seed):
    """Share of intervals at 99.9 % that hold, of the ten most frequent items."""
    rng, truth = np.random.default_rng(seed), sets.counts()
    top, holds = np.argsort(-truth)[:10], 0
    for _ in range(runs):
        found = mechanism.estimate(mechanism.draw_aggregate(sets, rng))
        lower, upper = found.intervals(0.999)
        holds += int(((lower <= truth) & (truth <= upper))[top].sum())
    return holds / (10 * runs)


@pytest.mark.parametrize("known", ["histogram", "pilot"])
def test_limits_cover_sets_that_were_cut(population, known):
    """At 99.9 %: of 500 limits 7 or more miss with probability below 1e-6 where 0.5 are expected.

    The intervals that ignore the cut, and those for half as many long sets, do miss.
    """
    items, length = population.items, 2
    if known == "histogram":
        model = AssumedSets(np.bincount(population.sizes))
    else:
        asked = range(500)
        starts = population.starts
        model = PilotSets(
            ItemSets.of([population.members[starts[u] : starts[u + 1]] for u in asked], items)
        )
    unary, longer = oue(2.0, items), model.longer(length, items)
    told = padded(unary, length).with_sizes(longer)
    assert coverage(told, population, 50, seed=1) >= 1 - 6 / 500
    ignored = padded(unary, length).with_sizes(())
    assert coverage(ignored, population, 50, seed=1) < 0.5
    fewer = padded(unary, length).with_sizes((size, share / 6) for size, share in longer)
    assert coverage(fewer, population, 50, seed=1) < 0.9


def test_a_pilot_allows_for_larger_sets_than_it_shows():
    """Limits of shares hold for the sets that a pilot is drawn from: 200 pilots, none misses."""
    rng = np.random.default_rng(7)
    share = np.array([0.5, 0.3, 0.15, 0.04, 0.01])
    wrong = near = 0
    for _ in range(200):
        drawn = rng.choice(5, size=300, p=share)
        longer = PilotSets(ItemSets.of([range(size) for size in [1, *drawn]], 9)).longer(1, 9)
        sizes, shares = zip(*longer, strict=True)
        assert sizes[-1] == 9
        true = np.array([share[limit + 1 :].sum() for limit in (1, *sizes[:-1])])
        wrong += bool(np.any(np.array(shares) < true - 1e-12))
        near += bool(np.any(np.array(shares) < true + 0.07))
    assert wrong <= 5  # one in a thousand at most is wrong: six of 200 with probability 1e-7
    assert near > 20  # limits that are true and say something
