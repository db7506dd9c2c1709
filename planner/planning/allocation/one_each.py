"""Everybody answers one question, drawn at random, at its full budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from planner.planning.allocation.blocks import Block, error_of_sample
from planner.planning.allocation.goal import Goal
from planner.planning.certified import Certified

__all__ = ["OneEach", "one_each"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class OneEach:
    """Everybody answers one question at its full budget.

    Attributes
    ----------
    fractions:
        Share of the people asked each question, sum 1, shape ``(k,)``.
    errors:
        Error per user of each question, shape ``(k,)``: ``V_j / f_j`` from the perturbation
        (the fixed part of ``V_j``, a bias, is not divided), plus at most ``S_j (1/f_j - 1)``
        from not asking everybody, with ``S_j`` the largest variance of the answers.
        Upper bounds.
    value:
        The objective at these errors.
    noise_value:
        The objective for the perturbation alone, at the fractions that are best for it.
    certified:
        One table or design per question at its full budget; None for a mean.
    """

    fractions: Array
    errors: Array
    value: float
    noise_value: float
    certified: tuple[Certified | None, ...]


def one_each(blocks: Sequence[Block], goal: Goal) -> OneEach:
    """The fractions with the smallest objective.

    With full-budget errors ``V_j`` and sampling variances ``S_j`` the weighted sum of
    ``(V_j + S_j) / f_j - S_j`` is least at ``f_j ~ sqrt(w_j (V_j + S_j))``; the largest ratio to
    the targets is least where all ratios are equal, one equation in that ratio.
    """
    points = [block.at(1.0) for block in blocks]
    fixed = np.array([block.fixed for block in blocks])
    noise = np.array([p.error for p in points]) - fixed
    spread = np.array([block.sampling_variance for block in blocks], dtype=np.float64)
    alone = noise / _fractions(noise, fixed, goal) + fixed
    fractions = _fractions(noise + spread, fixed - spread, goal)
    errors = np.array(
        [
            error_of_sample(block, point.error, fraction)
            for block, point, fraction in zip(blocks, points, fractions.tolist(), strict=True)
        ]
    )
    certified = tuple(p.certified for p in points)
    return OneEach(fractions, errors, goal.value(errors), goal.value(alone), certified)


def _fractions(growing: Array, rest: Array, goal: Goal) -> Array:
    """The best fractions for errors ``growing / f + rest``."""
    targets = goal.targets
    if targets is None:
        root = np.sqrt(goal.weights * growing)
        return root / root.sum()

    def left(ratio: float) -> float:  # fractions that keep this ratio, over what there is
        return float(np.sum(growing / (ratio * targets - rest))) - 1

    low = max(0.0, float(np.max(rest / targets)))  # there a fraction is infinite
    top = low + float(np.sum((growing + np.abs(rest)) / targets))
    low += 1e-12 * top
    ratio = brentq(left, low, top, xtol=1e-14 * top, rtol=1e-14) if left(top) < 0 else top
    found = growing / (ratio * targets - rest)
    return found / found.sum()
