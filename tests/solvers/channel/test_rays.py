"""The list of extreme rays is complete: windows against a walk along the edges, and both
against all sets of tight pairs."""

import itertools

import numpy as np
import pytest

from planner.errors import InputError
from planner.policy.policy import PrivacyPolicy
from planner.solvers.channel.rays import bits, matrix_rays, windows


def by_hand(bounds):
    """Every set of m - 1 tight pairs that connects all symbols, kept if it keeps the rest."""
    m = len(bounds)
    pairs = [(i, j) for i in range(m) for j in range(m) if i != j]
    found = set()
    for chosen in itertools.combinations(pairs, m - 1):
        rows, right = np.zeros((m, m)), np.zeros(m)
        for row, (i, j) in enumerate(chosen):
            rows[row, i], rows[row, j], right[row] = 1, -1, bounds[i, j]
        rows[m - 1, 0] = 1
        if np.linalg.matrix_rank(rows) < m or not np.isfinite(right).all():
            continue
        z = np.linalg.solve(rows, right)
        if all(z[i] - z[j] <= bounds[i, j] + 1e-9 for i, j in pairs):
            found.add(tuple(np.round(z - z.min(), 6) + 0.0))
    return found


def logs(rays):
    return {tuple(np.round(row - row.min(), 6) + 0.0) for row in np.log(rays)}


def random_matrix(rng, m):
    bounds = rng.uniform(0.5, 2, (m, m))
    return (bounds + bounds.T) / 2


@pytest.mark.parametrize("seed", range(4))
def test_the_walk_finds_every_ray(seed):
    bounds = random_matrix(np.random.default_rng(seed), 4)
    assert logs(matrix_rays(bounds)) == by_hand(bounds)


def test_the_walk_finds_every_ray_where_a_pair_needs_no_protection():
    bounds = random_matrix(np.random.default_rng(9), 4)
    bounds[0, 1] = bounds[1, 0] = np.inf
    assert logs(matrix_rays(bounds)) == by_hand(bounds)


@pytest.mark.parametrize("rule", ["min", "avg"])
@pytest.mark.parametrize("seed", range(6))
def test_windows_have_every_ray_and_only_allowed_columns(rule, seed):
    rng = np.random.default_rng(seed)
    budgets = rng.choice([0.7, 1.0, 1.3, 1.9, 2.6], 5)
    policy = PrivacyPolicy(budgets, [1] * 5, rule)
    bounds = policy.bounds()
    columns = np.vstack([w.columns(bits(5) > 0) for w in windows(policy)])
    assert logs(matrix_rays(bounds)) <= logs(columns)
    gaps = np.log(columns)[:, :, None] - np.log(columns)[:, None, :]
    off = ~np.eye(5, dtype=bool)
    assert (gaps - bounds)[:, off].max() <= 0  # not even by a rounding error


def test_refusals():
    with pytest.raises(InputError, match="at most 10 with a matrix"):
        matrix_rays(np.ones((11, 11)))
    apart = np.full((4, 4), np.inf)
    apart[:2, :2] = apart[2:, 2:] = 1.0
    with pytest.raises(InputError, match="inf between groups"):
        matrix_rays(apart)
