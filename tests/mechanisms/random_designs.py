"""Random subset designs that keep a policy, for any pair rule: not good ones, but many."""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse.csgraph import floyd_warshall

from planner import OutputTypes, SubsetDesign

COLUMNS = 40
MIXED = 4


def random_design(policy, rng, windows=None):
    """A design of random types, or with windows ``(low, high)`` of log values from a list."""
    m = policy.item_counts
    t = policy.size
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
    low = np.exp(low)
    high = np.exp(high)
    means = low + (high - low) * counts / m
    vertices = [
        linprog(
            rng.normal(size=COLUMNS), A_eq=means.T, b_eq=np.ones(t), bounds=(0, None)
        )
        for _ in range(MIXED)
    ]
    points = [vertex.x for vertex in vertices if vertex.status == 0]
    if not points:
        return None  # no weights make these types a law
    weights = np.mean(points, axis=0)
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
