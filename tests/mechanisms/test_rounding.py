"""Rounding a design to integers: no pair gets more than its budget, at next to no cost."""

from fractions import Fraction

import numpy as np
import pytest

from planner import OutputTypes, PrivacyPolicy, VerificationError, best_design
from planner.limits import DENOMINATOR
from planner.mechanisms.rounding import round_types
from planner.mechanisms.subset_design import SidesCollected
from planner.solvers.types import pooled
from tests.laws.oracle import true_exp
from tests.mechanisms.random_designs import random_design
from tests.policies import RULES, random_policy
from tests.refusals import refused


def violations(policy, high_counts, integers):
    """How many pairs of (level, side) that can stand in one report exceed their budget."""
    bounds = policy.bounds().tolist()
    counts = policy.item_counts.tolist()
    limits = {}
    for row in bounds:
        for r in row:
            if r < np.inf:
                limits[r] = true_exp(r)
    broken = 0
    for o, highs in enumerate(high_counts.tolist()):
        sides = [
            (i, side, Fraction(int(integers[i, o, side]) * m, n))
            for i, (m, k) in enumerate(zip(counts, highs, strict=True))
            for side, n in ((0, m - k), (1, k))
            if n > 0
        ]
        for i, one, above in sides:
            for j, two, below in sides:
                same_item_alone = (i, one) == (j, two) and counts[i] == 1
                if bounds[i][j] < np.inf and not same_item_alone:
                    broken += above > limits[bounds[i][j]] * below
    return broken


def designs(number):
    rng = np.random.default_rng(20200420)
    losses = []
    while len(losses) < number:
        rule = RULES[len(losses) % 3]
        levels = int(rng.integers(1, 6))
        policy = random_policy(rng, levels, rule, low=0.2, high=4, most=90)
        if policy.item_counts.sum() > 1:
            design = random_design(policy, rng)
        else:
            design = None
        losses += [] if design is None else [design]
    return losses


def worst_error(law):
    """Total squared error per person for the least favourable level, of the integers."""
    other, own_variance = law.variances
    return float(
        (
            (other * (np.array(law.counts) - np.eye(own_variance.size))).sum(axis=1)
            + own_variance
        ).max()
    )


def nearest(types):
    integers = np.rint(types.probabilities * DENOMINATOR).astype(np.int64)
    return types.high_counts, integers


def test_forty_random_policies_keep_every_budget_at_next_to_no_cost(record_property):
    costs = []
    broken_by_nearest = 0
    for design in designs(40):
        policy = design.policy
        types = design.types
        high_counts, integers = round_types(policy, types)
        assert violations(policy, high_counts, integers) == 0
        assert (integers.sum(axis=(1, 2)) == DENOMINATOR).all()
        assert (integers >= 0).all()
        assert not high_counts[-1].any()
        counts = np.stack([policy.item_counts - high_counts, high_counts], axis=2)
        assert not integers.transpose(1, 0, 2)[counts == 0].any()
        broken_by_nearest += violations(policy, *nearest(types)) > 0
        costs.append(worst_error(SidesCollected.of(design)) / design.worst_case_mse - 1)
    record_property("largest relative cost", max(costs))
    assert max(costs) < 3e-6
    assert broken_by_nearest >= 30  # the others have room to spare


@pytest.mark.parametrize(
    "policy",
    [
        PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90]),
        PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90], "avg"),
        PrivacyPolicy([0.5, 0.6, 1.0], [50, 50, 900]),
        PrivacyPolicy(np.log([4, 6]), [1, 4]),
        PrivacyPolicy([2.0], [30]),
    ],
)
def test_the_best_designs_lose_less_than_a_millionth(policy):
    design = best_design(policy)
    law = SidesCollected.of(design)
    groups = pooled(policy, design.groups)
    assert violations(groups, np.array(law.types), np.array(law.weights)) == 0
    assert violations(groups, *nearest(design.types)) > 0 or design.types.size == 1
    assert worst_error(law) < design.worst_case_mse * (1 + 1e-6)


def test_a_split_that_says_nothing_is_left_out():
    types = OutputTypes(
        [3, 4], [0.25, 0.25], [[2, 1], [2, 2]], [[2, 3], [2, 3]], [[1, 2], [0, 0]]
    )
    assert (types.weights @ types.means).tolist() == [1, 1]
    policy = PrivacyPolicy([2.0, 2.0], [3, 4])
    high_counts, _ = round_types(policy, types)
    assert high_counts.tolist() == [[0, 2], [0, 0], [0, 0]]


def test_what_the_grid_cannot_hold_is_refused_with_a_remedy():
    items = 10**9
    weight = 1 / (1.0 + np.expm1(0.1) / items)
    types = OutputTypes([items], [weight], [[1.0]], [[np.exp(0.1)]], [[1]])
    with refused("epsilons"):
        round_types(PrivacyPolicy([0.1], [items]), types)
    types = OutputTypes([3], [1.0], [[1.0]], [[1.0 + 1e-9]], [[1]])
    with refused("epsilons"):
        round_types(PrivacyPolicy([1e-9], [3]), types)


def test_a_type_that_one_of_two_levels_never_sends_is_refused():
    low = [[1, 1], [0, 1]]
    high = [[4, 4], [0, 4]]
    ones = [[1, 1], [1, 1]]
    types = OutputTypes([2, 2], [0.4, 1e-12], low, high, ones)
    with refused(
        "The design exceeds a pair's budget by inf nats", kind=VerificationError
    ):
        round_types(PrivacyPolicy([2.0, 2.0], [2, 2]), types)


def test_a_pair_that_exceeds_its_budget_is_refused_wherever_it_stands():
    """Two levels of one budget, which a report spends; either alone goes a little beyond."""
    policy = PrivacyPolicy(np.log([4.0, 4.0]), [2, 2])
    for beyond in ([1e-8, 0.0], [0.0, 1e-8]):
        high = 1.6 + np.array(beyond)
        types = OutputTypes([2, 2], [1.0], [2 - high], [high], [[1, 1]])
        with refused(
            "The design exceeds a pair's budget by 3.13e-08", kind=VerificationError
        ):
            round_types(policy, types)
