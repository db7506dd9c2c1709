"""Levels that are one: alike, beyond what a rule can use, and components that never meet."""

from decimal import Decimal, localcontext
from math import inf

import numpy as np
import pytest

from planner import Objective, PrivacyPolicy, best_design, best_ordered_channel
from planner.solvers.rays import components_of, windows_of
from planner.solvers.types import pooled
from tests.policies import RULES
from tests.refusals import refused
from tests.solvers.questions import by_hand, pairs_of, rays_of


def test_equal_budgets_are_one_level_and_its_best_design_is_subset_selection():
    """Ye and Barg: the best size d and the error of its estimator, in closed form.

    Likelihoods that small budgets bring near each other lost digits, and bounds were too high.
    """
    sizes = {1.0: 100, 0.5: 7, 2.5: 12, 4.0: 5, 0.3: 1000, 1e-3: 7, 1e-5: 3, 1e-6: 9}
    for epsilon, items in sizes.items():
        policy = PrivacyPolicy(
            np.full(3, epsilon), [items - items // 2 - 1, items // 2, 1]
        )
        design = best_design(policy, tolerance=1e-10)
        assert design.types.item_counts.tolist() == [items]
        with localcontext(prec=50):
            odds = Decimal(epsilon).exp()
            smallest = Decimal("inf")
            for d in range(1, items):
                spread = (odds - 1) ** 2 * d * (items - d) / items / (items - 1)
                mean = (d * odds + items - d) / items
                error = (items - 1) * mean**2 / spread + 1 / Decimal(items) - 1
                smallest = min(smallest, error)
        assert design.certificate.lower_bound <= smallest
        assert design.worst_case_mse == pytest.approx(float(smallest), rel=1e-9)


def test_budget_above_twice_the_smallest_is_one_level():
    policy = PrivacyPolicy([1.0, 2.0, 3.0, 40.0], [1, 2, 3, 4])
    design = best_design(policy)
    assert design.groups.tolist() == [0, 1, 1, 1]
    policy = PrivacyPolicy([1.0, 2.0], [3, 4])
    near = best_design(policy)
    policy = PrivacyPolicy([1.0, 9.0], [3, 4])
    far = best_design(policy)
    assert near.worst_case_mse == far.worst_case_mse


def test_levels_of_other_weights_or_people_stay_apart():
    policy = PrivacyPolicy([1.0, 2.0, 3.0, 1.0], [5, 1, 1, 5])
    assert best_design(policy).groups.tolist() == [0, 1, 1, 0]
    objective = Objective(weights=[1, 1, 2, 1])
    weighed = best_design(policy, objective)
    assert weighed.groups.tolist() == [0, 1, 2, 0]
    expected = Objective("expected", prior=[0.1, 0.3, 0.3, 0.3])
    design = best_design(policy, expected)
    assert design.groups.tolist() == [0, 1, 1, 2]


def test_a_group_of_single_items_has_the_budgets_of_their_pairs_alone():
    pairs = [
        [9.0, 0.5, 0.6],
        [0.5, 9.0, 0.6],
        [0.6, 0.6, 0.7],
    ]
    policy = PrivacyPolicy([0.5, 0.5, 0.7], [1, 1, 4], pairs)
    for least in (np.minimum, np.maximum):
        of_groups = pooled(policy, np.array([0, 0, 1]), least).bounds()
        assert of_groups.tolist() == [[0.5, 0.6], [0.6, 0.7]]


def test_components_are_solved_alone_and_the_worst_counts():
    gaps = [
        [1, 2, inf, inf],
        [2, 1, inf, inf],
        [inf, inf, 3, inf],
        [inf, inf, inf, 1],
    ]
    policy = PrivacyPolicy(np.ones(4), [2, 2, 3, 1], gaps)
    assert [part.tolist() for part in components_of(policy)] == [[0, 1], [2], [3]]
    design = best_design(policy)
    first_alone = PrivacyPolicy([1, 1], [2, 2], [[1, 2], [2, 1]])
    first = best_design(first_alone)
    second = best_design(PrivacyPolicy([3], [3]))
    expected = [*first.level_errors, second.worst_case_mse, 0.0]
    np.testing.assert_allclose(design.level_errors, expected, rtol=1e-6, atol=1e-12)
    assert design.certificate.lower_bound == pytest.approx(
        first.certificate.lower_bound, rel=1e-6
    )
    expected = np.ones(4)
    assert design.types.probabilities.sum(axis=(1, 2)) == pytest.approx(expected)
    prior = Objective("expected", prior=[0.2, 0.1, 0.4, 0.3])
    assumed = best_design(policy, prior)
    assert assumed.certificate.relative_gap < 1e-6
    given_first = Objective("expected", prior=[2 / 3, 1 / 3])
    first_error = best_design(first_alone, given_first).objective_value
    total = 0.3 * first_error + 0.4 * second.worst_case_mse
    assert assumed.objective_value == pytest.approx(total, rel=1e-6)


def test_one_item_has_nothing_to_be_told_from():
    policy = PrivacyPolicy([1.0], [1])
    design = best_design(policy)
    assert design.worst_case_mse == 0.0
    assert design.certificate.relative_gap == 0.0


# -- the lists of extreme rays and of windows are complete: against all sets of tight pairs --


def matrix_policy(rng, counts, digits=2):
    matrix = np.round(rng.uniform(0.5, 3, (len(counts), len(counts))), digits)
    return PrivacyPolicy(np.ones(len(counts)), counts, matrix)


@pytest.mark.parametrize("seed", range(4))
def test_the_walk_finds_every_ray(seed):
    policy = matrix_policy(
        np.random.default_rng(seed), np.ones(4, dtype=int), digits=seed * 5
    )
    if seed == 3:  # a pair that needs no protection
        open_pair = policy.bounds().copy()
        open_pair[0, 1] = open_pair[1, 0] = np.inf
        policy = PrivacyPolicy(policy.epsilons, policy.item_counts, open_pair)
    budgets, _ = pairs_of(policy)
    rays = np.unique(np.round(rays_of(policy), 9), axis=0)
    assert np.array_equal(rays, by_hand(budgets))


@pytest.mark.parametrize("seed", [0, 5])
def test_budgets_that_differ_in_the_last_digits_lose_no_ray(seed):
    """With rounding of a billionth whole rays were lost, and a bound twice the truth claimed."""
    rng = np.random.default_rng(seed)
    drawn = rng.choice([np.log(3), 1.0986123], (5, 5))
    pairs = np.triu(drawn, 1) + np.triu(drawn, 1).T + np.log(3) * np.eye(5)
    policy = PrivacyPolicy([np.log(3)] * 5, [1] * 5)
    stricter = best_ordered_channel(policy).worst_error
    assert stricter == pytest.approx(7.823894, abs=1e-6)
    certificate = best_ordered_channel(
        PrivacyPolicy([1.0] * 5, [1] * 5, pairs)
    ).certificate
    assert certificate.lower_bound <= stricter
    assert certificate.relative_gap < 1e-6


@pytest.mark.parametrize("rule", RULES)
def test_every_ray_has_all_its_values_at_ends_of_one_window(rule):
    rng = np.random.default_rng(30)
    tried = 0
    for counts in ([2, 2], [1, 3], [3, 1], [1, 1, 3], [2, 2, 1], [1, 2, 2]):
        policy = matrix_policy(rng, counts)
        if rule != "matrix":
            against = rng.choice([0.4, 1, 1.7, inf], len(counts))
            if rule != "one-sided":
                against = None
            epsilons = np.round(rng.uniform(0.5, 3, len(counts)), 2)
            policy = PrivacyPolicy(epsilons, counts, rule, against=against)
        budgets, level = pairs_of(policy)
        windows = windows_of(policy, np.arange(policy.size))
        low = windows.low[:, level]
        high = windows.high[:, level]
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
        policy = PrivacyPolicy(
            np.ones(size), np.full(size, items), np.ones((size, size))
        )
        with refused("rule"):
            windows_of(policy, np.arange(size))
