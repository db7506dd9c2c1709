"""Windows against all extreme rays of small cones, found by trying all sets of tight pairs."""

from itertools import combinations, permutations

import numpy as np
import pytest

from planner import InputError, PrivacyPolicy
from planner.solvers.design.vertices import window_vertices
from planner.solvers.design.windows import windows_of
from tests.policies import RULES


def _rays(budgets):
    """Log values of all extreme rays, smallest 0: ``m - 1`` tight pairs that connect all items."""
    m = len(budgets)
    rays = set()
    for tight in combinations(permutations(range(m), 2), m - 1):
        value = {0: 0.0}
        for _ in range(m):
            for x, y in tight:
                if x in value and y not in value:
                    value[y] = value[x] - budgets[x, y]
                if y in value and x not in value:
                    value[x] = value[y] + budgets[x, y]
        if len(value) < m:
            continue
        z = np.array([value[x] for x in range(m)])
        gaps = z[:, None] - z[None, :]
        if all(abs(gaps[x, y] - budgets[x, y]) < 1e-9 for x, y in tight) and np.all(
            gaps <= budgets + 1e-9
        ):
            rays.add(tuple(np.round(z - z.min(), 9)))
    return np.array(sorted(rays))


def _random(rng, rule):
    t = int(rng.integers(2, 4))
    counts = rng.integers(1, 4, t)
    while counts.sum() > 5:
        counts[counts.argmax()] -= 1
    if rule != "matrix":
        return PrivacyPolicy(np.round(rng.uniform(0.5, 3, t), 2), counts, rule)
    matrix = np.triu(np.round(rng.uniform(0.5, 3, (t, t)), 2))
    return PrivacyPolicy(np.ones(t), counts, matrix + np.triu(matrix, 1).T)


@pytest.mark.parametrize("rule", RULES)
def test_every_ray_has_all_its_values_at_ends_of_one_window(rule):
    rng = np.random.default_rng(30)
    tried = 0
    for _ in range(12):
        policy = _random(rng, rule)
        level = np.repeat(np.arange(policy.size), policy.item_counts)
        if level.size < 2:
            continue
        budgets = policy.bounds()[np.ix_(level, level)].copy()
        np.fill_diagonal(budgets, np.inf)
        low, high = (part[:, level] for part in windows_of(policy, np.arange(policy.size)))
        for window in zip(low, high, strict=True):  # every window keeps every pair
            assert np.all(window[1][:, None] - window[0][None, :] <= budgets + 1e-9)
        for ray in _rays(budgets):
            ends = np.stack([low, high], axis=2)  # window, item, end
            # Shift the ray so that its first item is at either end; all others must follow.
            shifted = ray[None, None, :] - ray[0] + ends[:, 0, :, None]
            gaps = np.abs(shifted[:, :, :, None] - ends[:, None, :, :]).min(axis=3)
            assert gaps.max(axis=2).min() < 1e-6
            tried += 1
    assert tried > 50


def test_there_are_few_windows():
    rng = np.random.default_rng(31)
    for t in range(1, 6):
        policy = PrivacyPolicy(rng.uniform(0.5, 3, t), np.full(t, 3))
        assert len(windows_of(policy, np.arange(t)).low) <= t
        averaged = PrivacyPolicy(policy.epsilons, policy.item_counts, "avg")
        assert len(windows_of(averaged, np.arange(t)).low) == 1


def test_the_rules_written_as_a_matrix_have_the_same_windows():
    epsilons = np.array([0.75, 1.0, 1.25, 4.0])  # their sums and halves are exact
    for rule in ("min", "avg"):
        policy = PrivacyPolicy(epsilons, np.full(4, 2), rule)
        closed = np.column_stack(windows_of(policy, np.arange(4)))
        listed = np.column_stack(window_vertices(policy.bounds()))
        closed = closed - closed.min(axis=1, keepdims=True)
        assert np.array_equal(np.unique(closed, axis=0), np.unique(listed, axis=0))


def test_too_many_levels_of_a_matrix_are_refused():
    with pytest.raises(InputError, match="8 connected levels"):
        window_vertices(np.ones((8, 8)))
