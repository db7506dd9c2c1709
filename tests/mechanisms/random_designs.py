"""Random subset designs that keep a policy, for any pair rule: not good ones, but many."""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse.csgraph import floyd_warshall

from planner.policy.policy import PrivacyPolicy
from planner.solvers.answers import SubsetDesign
from planner.solvers.types import OutputTypes

COLUMNS, MIXED = 40, 4


def random_policy(rng):
    """One to five levels under any rule; budgets and items of several sizes."""
    t = int(rng.integers(1, 6))
    epsilons = rng.uniform(0.2, 4.0, size=t)
    counts = rng.choice([1, 2, 3, 5, 17, 90], size=t)
    counts[0] = max(counts[0], 2)
    kind = rng.choice(["min", "avg", "matrix"])
    if kind != "matrix":
        return PrivacyPolicy(epsilons, counts, str(kind))
    matrix = rng.uniform(0.3, 3.0, size=(t, t))
    matrix = np.triu(matrix) + np.triu(matrix, 1).T
    missing = np.triu(
        rng.random((t, t)) < 0.2, 2
    )  # neighbours stay demanded, so all hangs together
    matrix[missing | missing.T] = np.inf
    return PrivacyPolicy(epsilons, counts, matrix)


def random_design(policy, rng, windows=None):
    """A design of random types, or with windows ``(low, high)`` of log values from a list."""
    m, t = policy.item_counts, policy.size
    bounds = _sides(policy)
    low, high, counts = (np.empty((COLUMNS, t)) for _ in range(3))
    for o in range(COLUMNS):
        if windows is None:
            free = rng.exponential(2.0, size=2 * t) * rng.choice([0.3, 1.0, 3.0])
            both = np.min(free[None, :] + bounds, axis=1).reshape(t, 2)
            low[o], high[o] = np.sort(both, axis=1).T
        else:
            low[o], high[o] = windows[rng.integers(len(windows))]
        counts[o] = [rng.integers(0, items + 1) for items in m]
    counts = counts.astype(int)
    low, high = np.exp(low), np.exp(high)
    means = low + (high - low) * counts / m
    vertices = [
        linprog(rng.normal(size=COLUMNS), A_eq=means.T, b_eq=np.ones(t), bounds=(0, None))
        for _ in range(MIXED)
    ]
    weights = np.mean([one.x for one in vertices if one.status == 0], axis=0)
    if not np.all(np.isfinite(weights)):
        return None  # no weights make these types a law
    used = weights > 1e-9
    weights = weights[used]
    types = OutputTypes(m, weights, low[used], high[used], counts[used])
    weights = weights / (weights @ types.means).max()
    try:
        types = OutputTypes(m, weights, low[used], high[used], counts[used])
        types.estimator(np.full(t, 1 / t))
    except ValueError:
        return None  # too few of them to tell all items apart
    return SubsetDesign(policy, types, np.arange(t), np.full(t, 1 / t))


def _sides(policy):
    """Largest log-ratios of two sides of levels over all paths; 0 from a side to itself."""
    bounds = np.kron(policy.bounds(), np.ones((2, 2)))
    bounds[~np.isfinite(bounds)] = 1e3
    np.fill_diagonal(bounds, 1e-300)
    closed = floyd_warshall(bounds)
    np.fill_diagonal(closed, 0.0)
    return closed
