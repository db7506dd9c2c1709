"""Everybody answers some of the questions, each with an even part of the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.planning.allocation.blocks import Block
from planner.planning.allocation.goal import Goal
from planner.planning.solve import Certified

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SomeEach:
    """Everybody answers ``asked`` questions, each with the share ``1 / asked`` of its budgets.

    Attributes
    ----------
    asked:
        Number of questions that each person answers.
    fractions:
        Share of the people asked each question, at most 1, sum ``asked``, shape ``(k,)``.
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
        One table or design per question at this share of its budgets; None for a mean.
    """

    asked: int
    fractions: Array
    errors: Array
    value: float
    noise_value: float
    certified: tuple[Certified | None, ...]

    @property
    def in_words(self) -> str:
        """How many questions each person answers, such as ``"2 of 5 questions"``."""
        return (
            "one question" if self.asked == 1 else f"{self.asked} of {len(self.errors)} questions"
        )

    @property
    def share(self) -> float:
        """Share of its budgets that each question gets which a person answers."""
        return 1 / self.asked


def best_some_each(blocks: Sequence[Block], goal: Goal) -> SomeEach:
    """The number of questions a person above which the objective rises, counted up from one.

    Each one more leaves each question less of the budget, and more people: what is lost is about
    the square of the budget while it is small, and next to nothing when it is large. All of them
    are not asked for here: a split gives each the part that is best for it.
    """
    best = some_each(blocks, goal, 1)
    for asked in range(2, len(blocks)):
        more = some_each(blocks, goal, asked)
        if more.value >= best.value:
            break
        best = more
    return best


def some_each(blocks: Sequence[Block], goal: Goal, asked: int) -> SomeEach:
    """The fractions with the smallest objective, for so many questions a person.

    With errors ``V_j`` at the share ``1 / asked`` and sampling variances ``S_j`` the weighted sum
    of ``(V_j + S_j) / f_j - S_j`` is least at ``f_j ~ sqrt(w_j (V_j + S_j))``, where none is above
    1; the largest ratio to the targets is least where all ratios are equal, or the fraction is 1.
    """
    points = [block.at(1 / asked) for block in blocks]
    fixed = np.array([block.law.bias for block in blocks])
    noise = np.array([p.error for p in points]) - fixed
    spread = np.array([block.law.spread for block in blocks])
    alone = noise / _fractions(noise, fixed, goal, asked) + fixed
    fractions = _fractions(noise + spread, fixed - spread, goal, asked)
    errors = (noise + spread) / fractions + fixed - spread
    certified = tuple(p.certified for p in points)
    return SomeEach(asked, fractions, errors, goal.value(errors), goal.value(alone), certified)


def _fractions(growing: Array, rest: Array, goal: Goal, asked: int) -> Array:
    """The best fractions for errors ``growing / f + rest``: at most 1, sum ``asked``."""
    targets = goal.targets
    if targets is None:
        return _filled(np.sqrt(goal.weights * growing), asked)
    from scipy.optimize import brentq

    def left(ratio: float) -> float:  # fractions that keep this ratio, over what there is
        return float(np.minimum(growing / (ratio * targets - rest), 1.0).sum()) - asked

    low = float(np.max((growing + rest) / targets))  # that of asking everybody
    top = low + float(np.sum((growing + np.abs(rest)) / targets))
    low += 1e-12 * top
    ratio = low
    if left(low) > 0:
        ratio = brentq(left, low, top, xtol=1e-14 * top, rtol=1e-14)
    return _filled(growing / (ratio * targets - rest), asked)


def _filled(wanted: Array, total: int) -> Array:
    """Fractions that sum to ``total``: as ``wanted``, times one number, but at most 1."""
    fractions, full = np.ones(wanted.size), np.zeros(wanted.size, dtype=bool)
    while not full.all():
        scaled = (total - full.sum()) / wanted[~full].sum() * wanted
        over = ~full & (scaled >= 1)
        if not over.any():
            return np.where(full, fractions, scaled)
        full |= over
    return fractions
