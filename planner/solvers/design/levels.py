"""Levels that may be treated as one: alike, beyond what the rule can use, or too many.

Levels with the same budgets towards everybody are one level to every mechanism worth having
(averaging over permutations of their items never hurts), and so is all budget above twice the
smallest under the rule "min". Merging these is exact. If too many levels are left, neighbours
are merged: with the smaller budgets the design still keeps the policy, with the larger ones
the bound still holds for all mechanisms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.designs.subset_design import pooled
from planner.policy.policy import PrivacyPolicy

__all__ = ["MOST_GROUPS", "Merged", "merge"]

Array = NDArray[np.float64]
Groups = NDArray[np.int64]

MOST_GROUPS = 6
_BINS = 200  # of budgets, before the best few groups are chosen among them
_OPEN = 60.0  # stands for "no budget" when rows of a matrix are compared


class Merged(NamedTuple):
    """``groups``: the group of each level, shape ``(t,)``; two policies over the groups.

    ``kept`` demands no less than the levels' policy, ``allowed`` no more.
    """

    groups: Groups
    kept: PrivacyPolicy
    allowed: PrivacyPolicy

    @property
    def exact(self) -> bool:
        """Whether nothing is lost."""
        return self.kept == self.allowed


def merge(policy: PrivacyPolicy, alike: Array, most: int = MOST_GROUPS) -> Merged:
    """Group the levels, into at most ``most`` groups if levels alike in ``alike`` allow it.

    Parameters
    ----------
    policy:
        The levels.
    alike:
        Numbers by level, shape ``(t, k)``, for example importance: levels that differ in
        them are never merged.
    most:
        Groups beyond which merging is no longer exact.

    Examples
    --------
    >>> policy = PrivacyPolicy([1.0, 2.0, 3.0, 1.0], [5, 1, 1, 5])
    >>> merged = merge(policy, np.zeros((4, 1)))
    >>> merged.groups.tolist(), merged.kept.item_counts.tolist(), merged.exact
    ([0, 1, 1, 0], [10, 2], True)
    """
    groups = _alike(policy, alike)
    if int(groups.max()) >= most:
        groups = _nearest(policy, alike, most)
    order = np.unique(groups, return_index=True)[1].argsort().argsort()
    groups = order[groups]
    kept, allowed = (_grouped(policy, groups, least) for least in (np.minimum, np.maximum))
    return Merged(groups, kept, allowed)


def _used(policy: PrivacyPolicy) -> Array:
    """Budgets as far as a mechanism can use them."""
    if policy.rule.saturates:
        return np.minimum(policy.epsilons, 2 * policy.epsilons.min())
    return policy.epsilons


def _alike(policy: PrivacyPolicy, alike: Array) -> Groups:
    """Groups of levels that differ in nothing."""
    if policy.rule.by_level:
        return _kinds(np.column_stack([_used(policy), alike]))
    bounds, kinds = policy.bounds(), _kinds(alike)
    groups = np.arange(policy.size)
    for i in range(policy.size):
        for j in range(i):
            others = np.delete(np.arange(policy.size), [i, j])
            inner = {bounds[k, k] for k in (i, j) if policy.item_counts[k] > 1} | {bounds[i, j]}
            same = kinds[i] == kinds[j] and np.array_equal(bounds[i, others], bounds[j, others])
            if same and len(inner) == 1:
                groups[i] = groups[j]
                break
    return _kinds(groups[:, None])


def _nearest(policy: PrivacyPolicy, alike: Array, most: int) -> Groups:
    """At most ``most`` groups of levels with similar budgets, or one a kind if that is more."""
    kinds = _kinds(alike)
    groups, first = np.zeros(policy.size, dtype=np.int64), 0
    each = max(1, most // (int(kinds.max()) + 1))
    for kind in range(int(kinds.max()) + 1):
        levels = np.flatnonzero(kinds == kind)
        if not policy.rule.by_level:
            inner = _clusters(policy.bounds()[levels], each)
        else:
            inner = _intervals(np.log(_used(policy)[levels]), policy.item_counts[levels], each)
        groups[levels] = first + inner
        first += int(inner.max()) + 1
    return groups


def _intervals(budgets: Array, items: NDArray[np.int64], most: int) -> Groups:
    """Cut the line of budgets where the items' total distance to their group's ends is least."""
    low, high = float(budgets.min()), float(budgets.max())
    width = max(high - low, np.finfo(float).tiny)
    place = np.minimum((budgets - low) / width * _BINS, _BINS - 1).astype(np.int64)
    used, bins = np.unique(place, return_inverse=True)
    size = used.size
    weight = np.concatenate([[0.0], np.cumsum(np.bincount(bins, items))])
    bottom = np.array([budgets[bins == b].min() for b in range(size)])
    top = np.array([budgets[bins == b].max() for b in range(size)])
    cost = (weight[None, 1:] - weight[:-1, None]) * (top[None, :] - bottom[:, None])
    best, cuts = cost[0].copy(), []  # of the bins up to b in one group, then in more
    for _ in range(min(most, size) - 1):
        total = np.full((size, size), np.inf)
        for start in range(1, size):
            total[start, start:] = best[start - 1] + cost[start, start:]
        cuts.append(total.argmin(axis=0))
        best = total.min(axis=0)
    label, end = np.zeros(size, dtype=np.int64), size - 1
    for group in range(len(cuts), 0, -1):
        start = int(cuts[group - 1][end])
        label[start : end + 1] = group
        end = start - 1
    return label[bins]


def _clusters(rows: Array, most: int) -> Groups:
    if len(rows) == 1:
        return np.zeros(1, dtype=np.int64)
    from scipy.cluster.hierarchy import fcluster, linkage

    tree = linkage(np.where(np.isfinite(rows), rows, _OPEN), "complete", "chebyshev")
    return np.asarray(fcluster(tree, most, "maxclust") - 1, dtype=np.int64)


def _grouped(policy: PrivacyPolicy, groups: Groups, least: np.ufunc) -> PrivacyPolicy:
    """The policy over groups, with budgets as far as a mechanism can use them."""
    return pooled(PrivacyPolicy(_used(policy), policy.item_counts, policy.rule), groups, least)


def _kinds(rows: NDArray[Any]) -> Groups:
    """The number of each row's kind, equal for equal rows."""
    return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
