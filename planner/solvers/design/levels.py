"""Levels that may be treated as one: alike, beyond what the rule can use, or too many.

Levels with the same budgets towards everybody are one level to every mechanism worth having
(averaging over permutations of their items never hurts), and so is all budget above twice the
smallest under the rule "min". Merging these is exact. If too many levels are left, neighbours
are merged: with the smaller budgets the design still keeps the policy, with the larger ones
and the smaller weights the bound still holds for all mechanisms. A level whose errors nobody
minds, such as the dummy of item sets, stays apart from the others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.designs.level_groups import pooled
from planner.policy.policy import PrivacyPolicy

Array = NDArray[np.float64]
Groups = NDArray[np.int64]

MOST_GROUPS = 60
MOST_OF_A_MATRIX = 5  # its windows are vertices, of which there are more with every level
_KINDS = 4  # of weights, and of assumed people, where levels are too many
_EACH = 3  # groups by their budgets at least, of levels of one kind
_NARROW = 0.0025  # budgets this close, relative, cost less than more groups would
_BINS = 200  # of budgets, before the best few groups are chosen among them
_OPEN = 60.0  # stands for "no budget" when rows of a matrix are compared


class Merged(NamedTuple):
    """``groups``: the group of each level, shape ``(t,)``; two policies over the groups.

    ``kept`` demands no less than the levels' policy, ``allowed`` no more.
    """

    groups: Groups
    kept: PrivacyPolicy
    allowed: PrivacyPolicy
    exact: bool  # whether nothing is lost


def merge(policy: PrivacyPolicy, alike: Array, most: int | None = None) -> Merged:
    """Group the levels, into at most ``most`` groups.

    Parameters
    ----------
    policy:
        The levels.
    alike:
        Numbers by level, not negative, shape ``(t, k)``, the first the importance. Where merging
        is exact, levels that differ in them are never merged; levels of no importance are never
        merged with others.
    most:
        Groups beyond which merging is no longer exact, those of no importance aside; 60 when
        omitted, 6 for a matrix.

    Examples
    --------
    >>> policy = PrivacyPolicy([1.0, 2.0, 3.0, 1.0], [5, 1, 1, 5])
    >>> merged = merge(policy, np.zeros((4, 1)))
    >>> merged.groups.tolist(), merged.kept.item_counts.tolist(), merged.exact
    ([0, 1, 1, 0], [10, 2], True)
    """
    if most is None:
        most = MOST_GROUPS if policy.rule.by_level else MOST_OF_A_MATRIX
    groups, exact = _alike(policy, alike), True
    matters = alike[:, 0] > 0 if alike[:, 0].any() else np.ones(policy.size, dtype=bool)
    if np.unique(groups[matters]).size > most:
        groups, exact = _nearest(policy, alike, matters, most), False
    order = np.unique(groups, return_index=True)[1].argsort().argsort()
    groups = order[groups]
    kept, allowed = (_grouped(policy, groups, least) for least in (np.minimum, np.maximum))
    return Merged(groups, kept, allowed, exact)


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


def _nearest(policy: PrivacyPolicy, alike: Array, matters: NDArray[np.bool_], most: int) -> Groups:
    """At most ``most`` groups of levels with similar budgets and numbers, and of those without."""
    numbers = np.log(np.maximum(alike, 1e-6 * np.maximum(alike.max(axis=0), 1e-300)))
    if not policy.rule.by_level:
        return _clusters(np.column_stack([policy.bounds(), numbers]), most)
    limit = max(1, min(_KINDS, int((most / _EACH) ** (1 / max(1, alike.shape[1])))))
    items = policy.item_counts
    kinds = np.zeros(policy.size, dtype=np.int64)
    columns = [cut_line(column, items[matters], limit) for column in numbers[matters].T]
    kinds[matters] = _kinds(np.column_stack(columns))
    each = max(1, most // (int(kinds.max()) + 1))
    kinds[~matters] = kinds.max() + 1
    groups, first = np.zeros(policy.size, dtype=np.int64), 0
    budgets = np.log(_used(policy))
    for kind in range(int(kinds.max()) + 1):
        levels = np.flatnonzero(kinds == kind)
        narrow = 1 + int(np.ptp(budgets[levels]) / _NARROW)
        inner = cut_line(budgets[levels], items[levels], min(each, narrow))
        groups[levels] = first + inner
        first += int(inner.max()) + 1
    return groups


def cut_line(places: Array, items: NDArray[np.int64], most: int) -> Groups:
    """Cut a line where the items' total distance to their group's ends is least.

    Parameters
    ----------
    places, items:
        Where the levels stand, and how many items they have, each of shape ``(t,)``.
    most:
        The number of groups.

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
