"""What a bound without a search says, and how it is rounded down (docs/theory/many-levels.md)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from planner.arrays import Array
from planner.solvers.counts import DesignProblem
from planner.solvers.game import SLACK


class Relaxed(NamedTuple):
    """A bound, and what types are like where it is reached.

    ``bounds``: errors per item that no mechanism undercuts, for the weights that are solved and
    those that are asked for. ``people``: least favourable shares, or those assumed. Of the ``k``
    windows: the ``mass`` of their types, ``sum theta_o / w_o`` up to a factor, ``(k,)``, the mean
    of ``u`` over them, ``(k, t)``, and its covariance, ``(k, t, t)``, or nothing of one window
    alone. ``within`` is ``d``, ``shared`` is ``S``.
    """

    bounds: Array
    people: Array
    mass: Array
    mean: Array
    varied: Array
    within: Array
    shared: Array


def box_of(problem: DesignProblem) -> tuple[Array, Array]:
    """The low and the high end of the means of every window's levels, ``(k, t)`` each."""
    low, high = problem.windows
    middle = (low.min(axis=1, keepdims=True) + high.max(axis=1, keepdims=True)) / 2
    root = np.sqrt(problem.item_counts / problem.items)
    return np.exp(low - middle) * root, np.exp(high - middle) * root


def proven_bounds(
    problem: DesignProblem,
    within: Array,
    square: Array,
    doubt: Array,
    total: float,
    people: Array,
) -> Array:
    """``reach^2 / (4 total) - people's weights``, rounded down.

    ``square`` is ``A' A``, ``doubt`` the sizes of what was added up for it; or both are ``d``: one
    eigenvalue of what explicit bounds add to it is below 0, so that all but the largest stay.
    """
    unit = 1 / problem.items
    bounds = []
    several = 2 * unit * problem.differences
    for weights in problem.both_weights:
        if square.ndim == 1:
            values = np.sort(weights * square)[:-1]
        else:
            root = np.sqrt(weights)
            off = SLACK * np.linalg.norm(root[:, None] * doubt * root)
            values = np.linalg.eigvalsh(root[:, None] * square * root) - off
        reach = 2 * unit * np.sqrt(np.maximum(values, 0)).sum()
        reach += several @ np.sqrt(weights * within)
        bound = reach**2 / (4 * total)
        bounds.append(bound - unit * (weights @ people) - 4 * SLACK * bound)
    return np.array(bounds)
