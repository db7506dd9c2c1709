"""A policy with other budgets: all of them scaled, or one level's raised."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError
from planner.policy.policy import PrivacyPolicy


def relaxed(policy: PrivacyPolicy, level: int, amount: float) -> PrivacyPolicy:
    """``policy`` with ``amount`` nats more, or less if negative, for level number ``level``.

    With a matrix of pair budgets every protected pair of that level gets them.

    Raises
    ------
    InputError
        No such level, or a budget would leave its range.

    Examples
    --------
    >>> relaxed(PrivacyPolicy([1.0, 2.0], [1, 4]), 0, 0.25).epsilons.tolist()
    [1.25, 2.0]
    """
    if not 0 <= level < policy.size:
        remedy = "Count the levels from 0."
        raise InputError("level", level, f"a level number from 0 to {policy.size - 1}", remedy)
    here = np.arange(policy.size) == level
    return policy.with_changes(
        policy.epsilons + amount * here, rule=policy.rule.relaxed(level, amount)
    )


def scaled(policy: PrivacyPolicy, scale: float | NDArray[np.float64]) -> PrivacyPolicy:
    """``policy`` with all budgets, and all pair budgets of a matrix, times ``scale``.

    ``scale`` is one number, or one per level for the rules min and avg.

    Raises
    ------
    InputError
        A budget would leave its range, or a matrix got one scale per level.

    Examples
    --------
    >>> scaled(PrivacyPolicy([1.0, 2.0], [1, 4]), 0.5).epsilons.tolist()
    [0.5, 1.0]
    """
    return policy.with_changes(policy.epsilons * scale, rule=policy.rule.scaled(scale))


def largest_budgets(policy: PrivacyPolicy) -> NDArray[np.float64]:
    """Per level its own budget or the largest of its protected pairs, whichever is larger.

    Shape ``(t,)``, in nats. What is added to all of a level's budgets, or what they are
    multiplied by, must leave this one in range.

    Examples
    --------
    >>> largest_budgets(PrivacyPolicy([1.0, 2.0], [1, 4], [[1, 3], [3, np.inf]])).tolist()
    [3.0, 3.0]
    """
    return np.maximum(policy.epsilons, policy.rule.tolerated(policy.epsilons))
