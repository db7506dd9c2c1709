"""Levels that may be treated as one: alike, beyond what the rule can use, or too many.

Averaging over permutations of items with the same budgets never hurts, and under the rule "min"
all budget above twice the smallest is of no use: merging such levels is exact. If too many are
left, neighbours are merged: with the smaller budgets the design still keeps the policy, with the
larger ones and the smaller weights the bound still holds for all mechanisms. A level whose errors
nobody minds stays apart. Levels of a matrix are never merged.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.arrays import Array
from planner.policy.objective import LEAST_WEIGHT
from planner.policy.policy import PrivacyPolicy
from planner.solvers.types import pooled, usable

GroupOfLevel = NDArray[np.int64]

MOST_SOLVED = 5
"""Levels that differ of which a design is made: more cost more time than they are worth."""

_BINS = 200  # of budgets, before the best few groups are chosen among them


class MergedLevels(NamedTuple):
    """``groups``: the group of each level, shape ``(t,)``; two policies over the groups.

    ``kept`` demands no less than the levels' policy, ``allowed`` no more.
    """

    groups: GroupOfLevel
    kept: PrivacyPolicy
    allowed: PrivacyPolicy
    exact: bool  # whether nothing is lost


def merge(policy: PrivacyPolicy, alike: Array) -> MergedLevels:
    """Group the levels, into at most five groups, those of no importance aside.

    ``alike`` has numbers by level, not negative, shape ``(t, k)``, the first the importance. Where
    merging is exact, levels that differ in them are never merged; levels of no importance are
    never merged with others.

    Examples
    --------
    >>> policy = PrivacyPolicy([1.0, 2.0, 3.0, 1.0], [5, 1, 1, 5])
    >>> merged = merge(policy, np.zeros((4, 1)))
    >>> merged.groups.tolist(), merged.kept.item_counts.tolist(), merged.exact
    ([0, 1, 1, 0], [10, 2], True)
    """
    budgets, groups, exact = usable(policy), np.arange(policy.size), True
    if policy.rule.by_level:  # under a matrix each is alone
        lowering = np.zeros(policy.size) if policy.against is None else policy.against
        groups = _kinds(np.column_stack([budgets, lowering, alike]))
    matters = alike[:, 0] > LEAST_WEIGHT * alike[:, 0].max()
    if policy.rule.by_level and np.unique(groups[matters]).size > MOST_SOLVED:
        groups, exact = _nearest(policy.item_counts, budgets, matters), False
    order = np.unique(groups, return_index=True)[1].argsort().argsort()
    groups = order[groups]
    used = PrivacyPolicy(budgets, policy.item_counts, policy.rule)
    kept, allowed = (pooled(used, groups, least) for least in (np.minimum, np.maximum))
    return MergedLevels(groups, kept, allowed, exact)


def cut_line(places: Array, items: GroupOfLevel, most: int) -> GroupOfLevel:
    """Cut a line where the items' total distance to their group's ends is least.

    Examples
    --------
    >>> cut_line(np.array([1.0, 5.0, 1.1, 5.2]), np.array([3, 3, 3, 3]), 2).tolist()
    [0, 1, 0, 1]
    """
    low, high = float(places.min()), float(places.max())
    width = max(high - low, np.finfo(float).tiny)
    bin_of = np.minimum((places - low) / width * _BINS, _BINS - 1).astype(np.int64)
    used, bins = np.unique(bin_of, return_inverse=True)
    size = used.size
    weight = np.concatenate([[0.0], np.cumsum(np.bincount(bins, items))])
    bottom = np.array([places[bins == b].min() for b in range(size)])
    top = np.array([places[bins == b].max() for b in range(size)])
    cost = (weight[None, 1:] - weight[:-1, None]) * (top[None, :] - bottom[:, None])
    cost[np.tril_indices(size, -1)] = np.inf
    best, cuts = cost[0], []  # of the bins up to b in one group, then in more
    for _ in range(min(most, size) - 1):
        total = np.vstack([np.full(size, np.inf), best[:-1, None] + cost[1:]])
        cuts.append(total.argmin(axis=0))
        best = total.min(axis=0)
    label, end = np.zeros(size, dtype=np.int64), size - 1
    for group in range(len(cuts), 0, -1):
        start = int(cuts[group - 1][end])
        label[start : end + 1] = group
        end = start - 1
    return label[bins]


def _nearest(items: GroupOfLevel, budgets: Array, matters: NDArray[np.bool_]) -> GroupOfLevel:
    """Five groups of levels with similar budgets, and one of those of no importance."""
    groups = np.full(items.size, MOST_SOLVED)
    groups[matters] = cut_line(np.log(budgets[matters]), items[matters], MOST_SOLVED)
    return _kinds(groups[:, None])


def _kinds(rows: NDArray[Any]) -> GroupOfLevel:
    """The number of each row's kind, equal for equal rows."""
    return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
