"""Limits of counts of all people from those who were drawn, against the law, computed."""

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from planner.estimates.counts import DrawnEstimates, Estimates
from planner.mechanisms.collected import linear_estimates
from planner.mechanisms.counting import Aggregate

JOINT = 0.05 / 300


def law(people, reports, parts, count, a, b):
    """Chance of every number of supporting reports: the lot, then both binomials."""
    hits = np.arange(min(count, reports) + 1)
    chance = hypergeom.pmf(hits, people, count, reports)
    if parts is not None:
        chance = binom.pmf(hits, count, 1 / parts)
    total = np.zeros(reports + 1)
    for c in hits[chance > 1e-13].tolist():
        ones = binom.pmf(np.arange(c + 1), c, a)
        others = binom.pmf(np.arange(reports - c + 1), reports - c, b)
        total += chance[c] * np.convolve(ones, others)
    assert total.sum() == pytest.approx(1, abs=1e-9)
    return total


CASES = [
    (2000, 1000, None, 10, 0.95, 0.002),
    (2000, 500, None, 10, 0.95, 0.002),
    (2000, 500, None, 300, 0.95, 0.002),
    (3000, 250, None, 60, 0.95, 0.002),
    (400, 200, None, 200, 0.77, 0.05),
    (2000, 1000, 2, 10, 0.95, 0.002),
    (2000, 667, 3, 80, 0.77, 0.05),
]


@pytest.mark.parametrize(("people", "reports", "parts", "count", "a", "b"), CASES)
def test_limits_of_a_round_miss_no_more_often_than_promised(
    people, reports, parts, count, a, b
):
    chance = law(people, reports, parts, count, a, b)
    seen = np.flatnonzero(chance > 1e-12)
    ones = np.ones(seen.size)
    counted = Aggregate(reports, seen)
    inside = linear_estimates(counted, a * ones, b * ones)
    estimates = DrawnEstimates.of(inside, people, parts)

    def missed(limits):
        return float(chance[seen][(limits[0] > count) | (limits[1] < count)].sum())

    assert (
        missed(estimates.intervals(0.95))
        <= 0.05
        < missed(Estimates.intervals(estimates, 0.95))
    )
    assert missed(estimates.intervals(1 - JOINT)) <= JOINT
    scaled = tuple(people / reports * end for end in inside.intervals(0.95))
    assert missed(scaled) > 0.08  # the lot adds what those who reported do not show


def test_limits_where_noise_is_normal():
    """3,000 draws; a false alarm has a chance of 1e-9 (6 standard deviations)."""
    rng = np.random.default_rng(5)
    people = 2000
    count = 10
    drawn = hypergeom.rvs(people, count, 500, size=3_000, random_state=rng)
    errors = np.full(drawn.size, 0.4)
    inside = Estimates(drawn + rng.normal(0, 0.4, drawn.size), errors, errors, 500)
    estimates = DrawnEstimates.of(inside, people)
    missed = []
    for lower, upper in (
        estimates.intervals(0.95),
        Estimates.intervals(estimates, 0.95),
    ):
        missed.append(float(((lower > count) | (upper < count)).mean()))
    assert missed[0] < 0.05 + 6 * 0.004 < missed[1]
