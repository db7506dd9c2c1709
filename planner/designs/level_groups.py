"""Groups of levels: the policy over them, what merging costs, and what they are called."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.policy.policy import PrivacyPolicy


def pooled(
    policy: PrivacyPolicy, groups: NDArray[np.int64], least: np.ufunc = np.minimum
) -> PrivacyPolicy:
    """The policy over groups of levels, a pair's budget being the least of all that it stands for.

    Parameters
    ----------
    policy:
        The levels.
    groups:
        The group of each level, from 0, shape ``(t,)``.
    least:
        ``np.minimum``: whoever keeps the result keeps the policy. ``np.maximum``: the reverse.

    Examples
    --------
    >>> policy = PrivacyPolicy([1.0, 2.0, 3.0, 1.0], [5, 1, 1, 5])
    >>> groups = pooled(policy, np.array([0, 1, 1, 0]))
    >>> groups.epsilons.tolist(), groups.item_counts.tolist()
    ([1.0, 2.0], [10, 2])
    """
    size = np.arange(int(groups.max()) + 1)
    items = np.bincount(groups, policy.item_counts).astype(np.int64)
    epsilons = np.array([least.reduce(policy.epsilons[groups == g]) for g in size])
    if policy.rule.by_level:
        return PrivacyPolicy(epsilons, items, policy.rule)
    bounds, rule = policy.bounds(), np.empty((size.size, size.size))
    # A level's only item has no other to be told from.
    alone = (policy.item_counts == 1) & (np.bincount(groups)[groups] > 1)
    for g in size:
        for h in size:
            block = bounds[np.ix_(groups == g, groups == h)]
            if g == h and alone.any():
                block = block[~np.diag(alone[groups == g])]
            rule[g, h] = least.reduce(block, axis=None)
    return PrivacyPolicy(epsilons, items, rule)


def merges_budgets(policy: PrivacyPolicy, groups: NDArray[np.int64]) -> bool:
    """Whether levels of one group differ in budgets that matter, so that some give up budget.

    Under the rule ``"min"`` no mechanism can use more than twice the smallest budget.

    Examples
    --------
    >>> groups = np.array([0, 1, 1])
    >>> merges_budgets(PrivacyPolicy([1.0, 2.0, 3.0], [5, 5, 5]), groups)
    False
    >>> merges_budgets(PrivacyPolicy([1.0, 1.5, 1.8], [5, 5, 5]), groups)
    True
    """
    if policy.rule.saturates:
        used = np.minimum(policy.epsilons, 2 * policy.epsilons.min())
        policy = PrivacyPolicy(used, policy.item_counts, policy.rule)
    least, most = (pooled(policy, groups, one).bounds() for one in (np.minimum, np.maximum))
    return not np.array_equal(least, most)


def group_name(names: NDArray[np.object_]) -> str:
    """What a group is called: by its levels, the first of them if many."""
    return ", ".join(names) if names.size <= 3 else f"{names[0]} and {names.size - 1} more"


def group_items(policy: PrivacyPolicy, groups: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """Items of every group, shape ``(groups,)``."""
    return np.bincount(groups, policy.item_counts, minlength=size).astype(np.float64)
