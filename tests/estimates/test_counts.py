"""Counts: projections, and limits against the exact law of the reports, computed."""

import numpy as np
import pytest
from scipy.stats import binom

from planner import Aggregate, Estimates, oue
from planner.estimates.counts import SupportEstimates, support_tail
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

    for corner in 100 * np.eye(6):  # of convex functions: no step to a corner, no better point
        assert distance(values) <= distance(values + 1e-5 * (corner - values))


def test_weights_do_not_grow_with_the_count_itself():
    """Large counts must not pay for the noise of the many items that nobody has."""
    mechanism, rng = oue(6.0, items=1000), np.random.default_rng(2)
    truth = np.append(np.full(995, 0), np.full(5, 2000))
    squares = np.zeros(3)
    for _ in range(20):
        raw = mechanism.estimate(mechanism.draw_aggregate(truth, rng))
        before = Estimates(raw.values, np.ones(1000), raw.standard_errors, raw.users)
        ways = (raw.values, raw.on_simplex().values, before.on_simplex().values)
        squares += [float(np.sum((values - truth) ** 2)) for values in ways]
    assert 2 * squares[1] < squares[0]
    assert squares[2] > 2 * squares[1]  # weights by each count's own error


def test_simultaneous_intervals_share_what_may_be_missed():
    mechanism, truth = oue(1.0, items=5), np.array([5000, 3000, 1500, 499, 1])
    found = mechanism.estimate(mechanism.draw_aggregate(truth, np.random.default_rng(1)))
    np.testing.assert_allclose(found.intervals(0.9, True), found.intervals(1 - 0.1 / 5))


def test_what_are_no_estimates_is_refused():
    for values, errors in (
        ([], []), ([1.0], [1.0, 2.0]), ([np.nan], [1.0]), ([1.0], [-1.0]), ([[1.0]], [[1.0]]),
    ):  # fmt: skip
        with refused():
            Estimates(values, errors, errors, users=3)
    with refused():
        Estimates([1.0], [1.0], [1.0], users=0)
    for confidence in (0, 1, 95, float("nan"), "high"):
        with refused():
            Estimates([1.0], [1.0], [1.0], users=1).intervals(confidence)


USERS = 20_000
JOINT = 0.05 / 300  # what each of 300 items may miss, so that all hold with 0.95
CASES = [(0.3, 2, 20), (0.3, 100, 400), (0.77, 2, 0), (0.77, 20, 100), (0.95, 2, 0), (0.95, 2, 999)]


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
    return linear_estimates(Aggregate(USERS, seen), a * ones, noise / USERS * ones)


def missed(limits, chance, c):
    lower, upper = limits
    return float(chance[(lower > c) | (upper < c)].sum())


@pytest.mark.parametrize(("a", "noise", "c"), CASES)
def test_limits_miss_no_more_often_than_promised(a, noise, c):
    seen, chance = law(a, noise, c)
    estimates = estimates_of(seen, a, noise)
    assert missed(estimates.intervals(0.95), chance, c) <= 0.05
    assert missed(estimates.intervals(1 - JOINT), chance, c) <= JOINT


@pytest.mark.parametrize(("a", "noise", "c"), [(0.3, 2, 3000), (0.3, 380, 400), (0.95, 440, 5)])
def test_normal_limits_take_over_where_they_nearly_keep_their_promise(a, noise, c):
    seen, chance = law(a, noise, c)
    estimates = estimates_of(seen, a, noise)
    normal = [np.clip(end, 0, USERS) for end in Estimates.intervals(estimates, 1 - JOINT)]
    likely = chance > 1e-3
    for end, same in zip(estimates.intervals(1 - JOINT), normal, strict=True):
        np.testing.assert_array_equal(end[likely], same[likely])
    assert missed(estimates.intervals(0.95), chance, c) <= 0.055
    assert missed(estimates.intervals(1 - JOINT), chance, c) <= 1.3 * JOINT


def test_normal_limits_would_not_do_where_few_reports_support_an_item():
    seen, chance = law(0.95, 2, 0)
    normal = Estimates.intervals(estimates_of(seen, 0.95, 2), 1 - JOINT)
    assert missed(normal, chance, 0) > 6 * JOINT


def test_the_tail_is_that_of_the_convolution():
    for a, noise, c in CASES:
        seen, chance = law(a, noise, c)
        least = np.array([seen[0], int(noise + c * a), int(noise + c * a) + 20])
        tails = support_tail(least, np.full(3, c), USERS, np.full(3, a), np.full(3, noise / USERS))
        exact = [chance[seen >= k].sum() for k in least]
        np.testing.assert_allclose(tails, exact, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("supports", [9, 300])
def test_limits_far_from_the_normal_ones_are_found(supports):
    """At 1e-12 they are not where they are looked for first; every count is tried here."""
    users, a, b = 1000, np.array([0.5]), np.array([0.004])
    values = (supports - users * b) / (a - b)
    seen = SupportEstimates(values, [4.0], [4.0], users, np.array([supports]), a, b)
    every, share = np.arange(users + 1), 5e-13
    inside = (support_tail(supports, every, users, a, b) > share) & (
        1 - support_tail(supports + 1, every, users, a, b) > share
    )
    ends = every[inside][[0, -1]].tolist()
    assert np.concatenate(seen.intervals(1 - 2 * share)).tolist() == ends
