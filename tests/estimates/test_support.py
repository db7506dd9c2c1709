"""Limits of counts against the exact law of the reports: computed, not simulated."""

import numpy as np
import pytest
from scipy.stats import binom

from planner.errors import InputError
from planner.estimates.counts import Estimates, SupportEstimates, support_tail
from planner.mechanisms.counting import Aggregate
from planner.mechanisms.plain import linear_estimates

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


@pytest.mark.parametrize("noise", [0.5, 2, 20, 5000])
@pytest.mark.parametrize("share", [0.05, JOINT])
def test_an_absent_item_is_called_significant_as_rarely_as_promised(noise, share):
    seen = np.arange(USERS + 1)
    chance = binom.pmf(seen, USERS, noise / USERS)
    alarms = estimates_of(seen, 0.9, noise).significant(1 - share, simultaneous=False)
    fewest = int(np.flatnonzero(alarms)[0])
    assert alarms[fewest:].all()
    assert float(chance[fewest:].sum()) <= share
    assert float(chance[fewest - 1 :].sum()) > share  # one report fewer would be too few


def test_a_normal_threshold_would_call_absent_items_significant():
    seen = np.arange(USERS + 1)
    chance = binom.pmf(seen, USERS, 2 / USERS)
    estimates = estimates_of(seen, 0.9, 2)
    normal = Estimates.smallest_significant(estimates, 1 - JOINT, simultaneous=False)
    assert float(chance[estimates.values > normal].sum()) > 6 * JOINT


def test_the_tail_is_that_of_the_convolution():
    for a, noise, c in CASES:
        seen, chance = law(a, noise, c)
        least = np.array([seen[0], int(noise + c * a), int(noise + c * a) + 20])
        tails = support_tail(least, np.full(3, c), USERS, np.full(3, a), np.full(3, noise / USERS))
        exact = [chance[seen >= k].sum() for k in least]
        np.testing.assert_allclose(tails, exact, rtol=1e-6, atol=1e-9)


def test_limits_stay_within_the_people_and_hold_the_most_likely_count():
    estimates = estimates_of(np.array([0, 3, 60, 9000, USERS]), 0.9, 20)
    lower, upper = estimates.intervals(0.9)
    likely = np.clip(estimates.values, 0, USERS)
    assert (lower >= 0).all()
    assert (upper <= USERS).all()
    assert (lower <= likely + 1).all()
    assert (likely <= upper + 1).all()


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(InputError, match="supports"):
        SupportEstimates([1.0, 2.0], [1.0, 1.0], [1.0, 1.0], 10, [1], np.ones(2), np.zeros(2))
