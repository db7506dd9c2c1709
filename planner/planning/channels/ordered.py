"""The best channel for ordered answers: brackets, ages, agreement from 1 to 5."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import number_column
from planner.designs.channel import Channel, Scenario
from planner.errors import InputError
from planner.policy.policy import PrivacyPolicy
from planner.solvers.channel_search import MOST_ANSWERS, solve_channel
from planner.survey.questions import COUNTS, SHARES_UP_TO

Array = NDArray[np.float64]
_LEAST_WEIGHT = 1e-4


def best_ordered_channel(
    policy: PrivacyPolicy,
    wanted: str | ArrayLike = SHARES_UP_TO,
    *,
    weights: ArrayLike | None = None,
    tolerance: float = 1e-6,
) -> Channel:
    """The channel of least worst-case error for ordered answers, over all mechanisms.

    Minimises the variance that any one person can add, summed over the wanted numbers with
    their weights. Cumulative shares serve for quantiles too:
    :class:`~planner.estimates.ordered.OrderedEstimates` reads off the median with an interval.

    Parameters
    ----------
    policy:
        One level of one item per answer, in order; its names are the answers.
    wanted:
        ``"shares up to"``: the share up to each answer but the last; ``"counts"``: the share of
        each answer; or scores, shape ``(answers,)``: the mean score.
    weights:
        Importance of each wanted number, shape ``(p,)``, not negative; equal when omitted. 0
        counts as one ten-thousandth of the largest: every number wanted can be estimated.
    tolerance:
        Proven relative distance from the optimum.

    Raises
    ------
    InputError
        Fewer than 2 or more than 16 answers, unknown wanted numbers, or bad weights.
    SolverError
        No channel could be proven near the best.

    Examples
    --------
    >>> policy = PrivacyPolicy([1.0] * 5, [1] * 5, names=["0", "1-2", "3-5", "6-9", "10+"])
    >>> channel = best_ordered_channel(policy)
    >>> round(channel.worst_error, 4), channel.wanted_names[:2]
    (9.6463, ('up to 0', 'up to 1-2'))
    >>> mean = best_ordered_channel(policy, wanted=[0, 1.5, 4, 7.5, 12])
    >>> round(mean.worst_error, 2), mean.wanted_names
    (143.09, ('mean score',))
    """
    if not 2 <= policy.size <= MOST_ANSWERS:
        remedy = "Group neighbouring answers."
        raise InputError("answers", policy.size, f"from 2 to {MOST_ANSWERS}", remedy)
    table, names = _wanted(policy, wanted)
    importance = _weights(weights, len(table))
    directions = np.diag(np.sqrt(importance))
    people = [
        Scenario(f"everybody has {name}", one, directions)
        for name, one in zip(policy.names, np.eye(policy.size), strict=True)
    ]
    return solve_channel(policy, table, people, names, tolerance=tolerance)


def _wanted(policy: PrivacyPolicy, wanted: str | ArrayLike) -> tuple[Array, Sequence[str]]:
    size = policy.size
    if isinstance(wanted, str):
        if wanted == SHARES_UP_TO:
            names = [f"up to {name}" for name in policy.names[:-1]]
            return np.tril(np.ones((size, size)))[:-1], names
        if wanted == COUNTS:
            return np.eye(size), policy.names
        remedy = "Choose one of them, or give a score for each answer."
        raise InputError("wanted", wanted, f"{SHARES_UP_TO!r}, {COUNTS!r} or scores", remedy)
    scores = number_column("wanted", wanted)
    if scores.size != size or np.ptp(scores) == 0:
        allowed = f"{size} scores, one an answer, not all the same"
        remedy = "Give each answer a score, two of them different."
        raise InputError("wanted", wanted, allowed, remedy)
    return scores[None, :], ["mean score"]


def _weights(weights: ArrayLike | None, size: int) -> Array:
    if weights is None:
        return np.ones(size)
    importance = number_column("weights", weights)
    if importance.size != size or importance.min() < 0 or importance.max() == 0:
        remedy = "Give each number wanted a weight; 0 for one that hardly matters."
        raise InputError("weights", weights, f"{size} numbers, none negative, not all 0", remedy)
    return np.maximum(importance, _LEAST_WEIGHT * importance.max())
