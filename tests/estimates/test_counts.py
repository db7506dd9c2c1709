"""Counts: projections, and limits against the exact law of the reports, computed."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from planner import Aggregate, AssumedSets, Estimates, ItemSets, PilotSets, oue, padded
from planner.estimates.counts import SupportEstimates, support_tail
from planner.estimates.item_sets import LongerSets
from planner.mechanisms.collected import linear_estimates
from tests.refusals import refused


@pytest.mark.parametrize("seed", range(20))
def test_weighted_projection_is_the_nearest_point(seed):
    rng = np.random.default_rng(seed)
    errors = rng.uniform(1, 30, 6)
    estimates = Estimates(rng.normal(30, 40, 6), errors, errors, users=100)
    values = estimates.on_simplex().values
    assert values.min() >= 0
    assert values.sum() == pytest.approx(100, rel=1e-12)

    def distance(x):
        return np.sum(np.square((x - estimates.values) / errors))

    for corner in 100 * np.eye(
        6
    ):  # of convex functions: no step to a corner, no better point
        assert distance(values) <= distance(values + 1e-5 * (corner - values))


def test_weights_do_not_grow_with_the_count_itself():
    """Large counts must not pay for the noise of the many items that nobody has."""
    mechanism = oue(6.0, items=1000)
    rng = np.random.default_rng(2)
    truth = np.append(np.full(995, 0), np.full(5, 2000))
    squares = np.zeros(3)
    for _ in range(20):
        reports = mechanism.draw_aggregate(truth, rng)
        raw = mechanism.estimate(reports)
        before = Estimates(raw.values, np.ones(1000), raw.standard_errors, raw.users)
        ways = (raw.values, raw.on_simplex().values, before.on_simplex().values)
        squares += [float(np.sum((values - truth) ** 2)) for values in ways]
    assert 2 * squares[1] < squares[0]
    assert squares[2] > 2 * squares[1]  # weights by each count's own error


def test_simultaneous_intervals_share_what_may_be_missed():
    mechanism = oue(1.0, items=5)
    truth = np.array([5000, 3000, 1500, 499, 1])
    estimates = mechanism.estimate(
        mechanism.draw_aggregate(truth, np.random.default_rng(1))
    )
    np.testing.assert_allclose(
        estimates.intervals(0.9, True), estimates.intervals(1 - 0.1 / 5)
    )


def test_what_are_no_estimates_is_refused():
    for values, errors in (
        ([], []),
        ([1.0], [1.0, 2.0]),
        ([np.nan], [1.0]),
        ([1.0], [-1.0]),
        ([[1.0]], [[1.0]]),
    ):
        with refused("standard_errors", "values"):
            Estimates(values, errors, errors, users=3)
    with refused("users"):
        Estimates([1.0], [1.0], [1.0], users=0)
    for confidence in (0, 1, 95, float("nan"), "high"):
        with refused("confidence"):
            Estimates([1.0], [1.0], [1.0], users=1).intervals(confidence)


USERS = 20_000
JOINT = 0.05 / 300  # what each of 300 items may miss, so that all hold with 0.95
CASES = [
    (0.3, 2, 20),
    (0.3, 100, 400),
    (0.77, 2, 0),
    (0.77, 20, 100),
    (0.95, 2, 0),
    (0.95, 2, 999),
]


def law(a, noise, c):
    """Numbers of supporting reports that matter, and the chance of each, by convolution."""
    b = noise / USERS
    ones = binom.pmf(np.arange(c + 1), c, a)
    others = binom.pmf(np.arange(int(noise + 40 * np.sqrt(noise) + 60)), USERS - c, b)
    chance = np.convolve(ones, others)
    assert chance.sum() == pytest.approx(1, abs=1e-9)
    seen = np.flatnonzero(chance > 1e-11)
    return seen, chance[seen]


def estimates_of(seen, a, noise):
    ones = np.ones(seen.size)
    counted = Aggregate(USERS, seen)
    return linear_estimates(counted, a * ones, noise / USERS * ones)


def missed(limits, chance, c):
    lower, upper = limits
    return float(chance[(lower > c) | (upper < c)].sum())


@pytest.mark.parametrize(("a", "noise", "c"), CASES)
def test_limits_miss_no_more_often_than_promised(a, noise, c):
    seen, chance = law(a, noise, c)
    estimates = estimates_of(seen, a, noise)
    limits = estimates.intervals(0.95)
    assert missed(limits, chance, c) <= 0.05
    limits = estimates.intervals(1 - JOINT)
    assert missed(limits, chance, c) <= JOINT


@pytest.mark.parametrize(
    ("a", "noise", "c"),
    [
        (0.3, 2, 3000),
        (0.3, 380, 400),
        (0.95, 440, 5),
    ],
)
def test_normal_limits_take_over_where_they_nearly_keep_their_promise(a, noise, c):
    seen, chance = law(a, noise, c)
    estimates = estimates_of(seen, a, noise)
    normal = [
        np.clip(end, 0, USERS) for end in Estimates.intervals(estimates, 1 - JOINT)
    ]
    likely = chance > 1e-3
    for end, same in zip(estimates.intervals(1 - JOINT), normal, strict=True):
        np.testing.assert_array_equal(end[likely], same[likely])
    limits = estimates.intervals(0.95)
    assert missed(limits, chance, c) <= 0.055
    limits = estimates.intervals(1 - JOINT)
    assert missed(limits, chance, c) <= 1.3 * JOINT


def test_normal_limits_would_not_do_where_few_reports_support_an_item():
    seen, chance = law(0.95, 2, 0)
    normal = Estimates.intervals(estimates_of(seen, 0.95, 2), 1 - JOINT)
    assert missed(normal, chance, 0) > 6 * JOINT


def test_the_tail_is_that_of_the_convolution():
    for a, noise, c in CASES:
        seen, chance = law(a, noise, c)
        least = np.array([seen[0], int(noise + c * a), int(noise + c * a) + 20])
        tails = support_tail(
            least, np.full(3, c), USERS, np.full(3, a), np.full(3, noise / USERS)
        )
        exact = [chance[seen >= k].sum() for k in least]
        np.testing.assert_allclose(tails, exact, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("supports", [9, 300])
def test_limits_far_from_the_normal_ones_are_found(supports):
    """At 1e-12 they are not where they are looked for first; every count is tried here."""
    users = 1000
    a = np.array([0.5])
    b = np.array([0.004])
    values = (supports - users * b) / (a - b)
    seen = SupportEstimates(values, [4.0], [4.0], users, np.array([supports]), a, b)
    every = np.arange(users + 1)
    share = 5e-13
    inside = (support_tail(supports, every, users, a, b) > share) & (
        1 - support_tail(supports + 1, every, users, a, b) > share
    )
    ends = every[inside][[0, -1]].tolist()
    limits = seen.intervals(1 - 2 * share)
    assert np.concatenate(limits).tolist() == ends


# -- limits of counts that were cut: sharp for the sizes, and they cover what is cut -----


@pytest.mark.parametrize("length", [1, 2, 3])
def test_no_sets_of_these_sizes_have_a_larger_count_and_some_have_it(length):
    """Everybody's membership is tried: 2^9 ways in which nine people can have an item."""
    sizes = np.array([1, 1, 2, 3, 3, 4, 6, 6, 6])
    limits = [length, *(size for size in (2, 3, 4, 6) if size > length)]
    people = [int((sizes > limit).sum()) for limit in limits[:-1]]
    longer = LongerSets(
        length, tuple(limits[1:]), tuple(k / sizes.size for k in people)
    )
    largest = {}
    for has in product([0, 1], repeat=sizes.size):
        kept = round(float(np.minimum(1, length / sizes) @ has), 9)
        count = sum(has)
        at_most = longer.largest_counts(np.array([kept]), people, sizes.size)[0]
        assert count <= at_most + 1e-6
        largest[kept] = max(largest.get(kept, 0), count)

    def most(kept):
        return longer.largest_counts(np.array([kept]), people, sizes.size)[0]

    tight = [
        kept for kept, n in largest.items() if n == pytest.approx(most(kept), abs=1e-6)
    ]
    assert (
        len(tight) >= sizes.size
    )  # at every whole number of people, largest sets first
    reach = longer.largest_counts(np.array([100.0, -1.0]), people, sizes.size)
    assert reach.tolist() == [sizes.size, 0]


def clicks(rng, users=4000, items=60):
    """Heavy-tailed sizes; the most popular item is in most sets."""
    sizes = np.minimum(items, 1 + rng.pareto(1.2, users).astype(np.int64))
    weight = 1 / np.arange(1.0, items + 1) ** 1.3
    keys = rng.exponential(size=(users, items)) / weight
    order = np.argsort(keys, axis=1)
    return ItemSets.of(
        [row[:size] for row, size in zip(order, sizes, strict=True)], items
    )


@pytest.fixture(scope="module")
def population():
    rng = np.random.default_rng(5)
    return clicks(rng, users=20_000)


def coverage(mechanism, sets, runs, seed):
    """Share of intervals at 99.9 % that hold, of the ten most frequent items."""
    rng = np.random.default_rng(seed)
    truth = sets.counts()
    top = np.argsort(-truth)[:10]
    holds = 0
    for _ in range(runs):
        reports = mechanism.draw_aggregate(sets, rng)
        estimates = mechanism.estimate(reports)
        lower, upper = estimates.intervals(0.999)
        holds += int(((lower <= truth) & (truth <= upper))[top].sum())
    return holds / (10 * runs)


@pytest.mark.parametrize("known", ["histogram", "pilot"])
def test_limits_cover_sets_that_were_cut(population, known):
    """At 99.9 %: of 500 limits 7 or more miss with probability below 1e-6 where 0.5 are expected.

    The intervals that ignore the cut, and those for half as many long sets, do miss.
    """
    items = population.items
    length = 2
    if known == "histogram":
        model = AssumedSets(np.bincount(population.sizes))
    else:
        asked = range(500)
        starts = population.starts
        model = PilotSets(
            ItemSets.of(
                [population.members[starts[u] : starts[u + 1]] for u in asked], items
            )
        )
    unary = oue(2.0, items)
    longer = model.longer(length, items)
    mechanism = padded(unary, length)
    stated = mechanism.with_sizes(longer)
    assert coverage(stated, population, 50, seed=1) >= 1 - 6 / 500
    mechanism = padded(unary, length)
    ignored = mechanism.with_sizes(())
    assert coverage(ignored, population, 50, seed=1) < 0.5
    fewer = padded(unary, length).with_sizes(
        (size, share / 6) for size, share in longer
    )
    assert coverage(fewer, population, 50, seed=1) < 0.9


def test_a_pilot_allows_for_larger_sets_than_it_shows():
    """Limits of shares hold for the sets that a pilot is drawn from: 200 pilots, none misses."""
    rng = np.random.default_rng(7)
    share = np.array([0.5, 0.3, 0.15, 0.04, 0.01])
    wrong = near = 0
    for _ in range(200):
        drawn = rng.choice(5, size=300, p=share)
        longer = PilotSets(
            ItemSets.of([range(size) for size in [1, *drawn]], 9)
        ).longer(1, 9)
        sizes, shares = zip(*longer, strict=True)
        assert sizes[-1] == 9
        true = np.array([share[limit + 1 :].sum() for limit in (1, *sizes[:-1])])
        wrong += bool(np.any(np.array(shares) < true - 1e-12))
        near += bool(np.any(np.array(shares) < true + 0.07))
    assert (
        wrong <= 5
    )  # one in a thousand at most is wrong: six of 200 with probability 1e-7
    assert near > 20  # limits that are true and say something
