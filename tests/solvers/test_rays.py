"""The lists of extreme rays and of windows are complete: against all sets of tight pairs."""

from math import inf

import numpy as np
import pytest

from planner import PrivacyPolicy, best_ordered_channel
from planner.solvers.rays import windows_of
from tests.policies import RULES
from tests.refusals import refused
from tests.solvers.questions import by_hand, pairs_of, rays_of


def matrix_policy(rng, counts, digits=2):
    matrix = np.round(rng.uniform(0.5, 3, (len(counts), len(counts))), digits)
    return PrivacyPolicy(np.ones(len(counts)), counts, matrix)


@pytest.mark.parametrize("seed", range(4))
def test_the_walk_finds_every_ray(seed):
    policy = matrix_policy(np.random.default_rng(seed), np.ones(4, dtype=int), digits=seed * 5)
    if seed == 3:  # a pair that needs no protection
        open_pair = policy.bounds().copy()
        open_pair[0, 1] = open_pair[1, 0] = np.inf
        policy = PrivacyPolicy(policy.epsilons, policy.item_counts, open_pair)
    budgets, _ = pairs_of(policy)
    found = np.unique(np.round(rays_of(policy), 9), axis=0)
    assert np.array_equal(found, by_hand(budgets))


@pytest.mark.parametrize("seed", [0, 5])
def test_budgets_that_differ_in_the_last_digits_lose_no_ray(seed):
    """With rounding of a billionth whole rays were lost, and a bound twice the truth claimed."""
    drawn = np.random.default_rng(seed).choice([np.log(3), 1.0986123], (5, 5))
    pairs = np.triu(drawn, 1) + np.triu(drawn, 1).T + np.log(3) * np.eye(5)
    stricter = best_ordered_channel(PrivacyPolicy([np.log(3)] * 5, [1] * 5)).worst_error
    assert stricter == pytest.approx(7.823894, abs=1e-6)
    certificate = best_ordered_channel(PrivacyPolicy([1.0] * 5, [1] * 5, pairs)).certificate
    assert certificate.lower_bound <= stricter
    assert certificate.relative_gap < 1e-6


@pytest.mark.parametrize("rule", RULES)
def test_every_ray_has_all_its_values_at_ends_of_one_window(rule):
    rng = np.random.default_rng(30)
    tried = 0
    for counts in ([2, 2], [1, 3], [3, 1], [1, 1, 3], [2, 2, 1], [1, 2, 2]):
        policy = matrix_policy(rng, counts)
        if rule != "matrix":
            stated = {"against": rng.choice([0.4, 1, 1.7, inf], len(counts))}
            against = stated if rule == "one-sided" else {}
            epsilons = np.round(rng.uniform(0.5, 3, len(counts)), 2)
            policy = PrivacyPolicy(epsilons, counts, rule, **against)
        budgets, level = pairs_of(policy)
        low, high = (part[:, level] for part in windows_of(policy, np.arange(policy.size)))
        for window in zip(low, high, strict=True):  # every window keeps every pair
            assert np.all(window[1][:, None] - window[0][None, :] <= budgets + 1e-9)
        for ray in by_hand(budgets):
            ends = np.stack([low, high], axis=2)  # window, item, end
            # Shift the ray so that its first item is at either end; all others must follow.
            shifted = ray[None, None, :] - ray[0] + ends[:, 0, :, None]
            gaps = np.abs(shifted[:, :, :, None] - ends[:, None, :, :]).min(axis=3)
            assert gaps.max(axis=2).min() < 1e-6
            tried += 1
    assert tried > 50


def test_what_cannot_be_listed_is_refused():
    for size, items in ((9, 1), (6, 2)):
        policy = PrivacyPolicy(np.ones(size), np.full(size, items), np.ones((size, size)))
        with refused():
            windows_of(policy, np.arange(size))
