"""Which pairs of likelihoods the levels may have in one report: the windows of a pair rule.

In an extreme ray of the cone of allowed outputs every level has at most two values. A
*window* is one choice of ``ln low_i <= ln high_i`` for all levels; the rays of a policy are
the splits of the items over the ends of finitely many windows (docs/theory/designs.md).
The rule itself says which, or the vertices of its pair budgets do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.policy.policy import PrivacyPolicy
from planner.solvers.design.vertices import window_vertices

Array = NDArray[np.float64]


class Windows(NamedTuple):
    """Natural logarithms of the two likelihoods, each of shape ``(windows, t)``."""

    low: Array
    high: Array


def windows_of(policy: PrivacyPolicy, levels: NDArray[np.int64]) -> Windows:
    """All windows of one component's levels; superfluous ones are harmless.

    Raises
    ------
    InputError
        A matrix of pair budgets has too many windows to list.

    Examples
    --------
    >>> policy = PrivacyPolicy([1.0, 1.5, 4.0], [2, 2, 2])
    >>> windows = windows_of(policy, np.arange(3))
    >>> windows.low.tolist(), windows.high.tolist()
    ([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [1.0, 0.5, 0.0]],
     [[1.0, 1.0, 1.0], [1.0, 1.5, 1.5], [1.0, 1.5, 2.0]])
    """
    rule, epsilons = policy.rule, policy.epsilons[levels]
    ends = rule.windows(epsilons)
    if ends is not None:
        low, high = (np.array(values) for values in zip(*ends, strict=True))
        least = low.min(axis=1, keepdims=True)
        return Windows(low - least, high - least)
    return Windows(*window_vertices(_demanded(policy)[np.ix_(levels, levels)]))


def components_of(policy: PrivacyPolicy) -> list[NDArray[np.int64]]:
    """Levels in groups between which no pair has a finite budget.

    Examples
    --------
    >>> from math import inf
    >>> policy = PrivacyPolicy([1, 1, 1], [1, 2, 3], [[1, 2, inf], [2, 1, inf], [inf, inf, 3]])
    >>> [levels.tolist() for levels in components_of(policy)]
    [[0, 1], [2]]
    """
    if not policy.rule.open_pairs:
        return [np.arange(policy.size)]
    from scipy.sparse.csgraph import connected_components

    count, label = connected_components(np.isfinite(_demanded(policy)), directed=False)
    return [np.flatnonzero(label == component) for component in range(count)]


def _demanded(policy: PrivacyPolicy) -> Array:
    """Budgets of pairs of two different items; infinite within a one-item level."""
    bounds = policy.bounds().copy()
    alone = np.flatnonzero(policy.item_counts == 1)
    bounds[alone, alone] = np.inf
    return bounds
