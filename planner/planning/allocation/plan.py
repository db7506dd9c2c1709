"""Several questions asked of the same people: how to spend each person's budget.

Two designs are compared. *Split*: everybody answers everything, question ``j`` with the
share ``g_j`` of its budgets, ``sum g_j <= 1``; by sequential composition (theorem 2 of the
IDUE paper) what a person spends adds up over the questions, per input. *One each*:
everybody answers one question, drawn with probability ``f_j``, at its full budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.errors import ConvergenceError, InputError
from planner.planning.allocation.blocks import AtShare, Block
from planner.planning.allocation.joint_program import solve_shares
from planner.table import UnaryTable

__all__ = ["Allocation", "OneEach", "allocate", "one_each"]

Array = NDArray[np.float64]
_PROVEN = 1e-6  # largest proven relative gap of an allocation that is returned
_TIGHT = 1e-10


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
    tables:
        One per question at its full budget; None for a mean.
    """

    fractions: Array
    errors: Array
    value: float
    noise_value: float
    tables: tuple[UnaryTable | None, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    """The best split of everybody's budget, proven, beside asking each person one question.

    Attributes
    ----------
    names:
        The questions.
    objective:
        ``"sum"`` (weighted sum of the errors) or ``"minimax"`` (largest error over target).
    shares:
        Share of its budgets that each question gets, sum at most 1, shape ``(k,)``.
    errors:
        Error per user of each question, shape ``(k,)``.
    value:
        The objective at these shares.
    lower_bound, relative_gap:
        No shares have a smaller objective than ``lower_bound``: proven from tangents of the
        questions' errors.
    tables:
        One per question at its share; None for a mean.
    one_each:
        The alternative.
    """

    names: tuple[str, ...]
    objective: str
    shares: Array
    errors: Array
    value: float
    lower_bound: float
    relative_gap: float
    tables: tuple[UnaryTable | None, ...]
    one_each: OneEach

    @property
    def better(self) -> str:
        """``"split"`` or ``"one-each"``, whichever has the smaller objective, sampling included."""
        return "one-each" if self.one_each.value < self.value else "split"

    @property
    def reason(self) -> str:
        """Why, in a sentence or two."""
        if len(self.names) == 1:
            return "There is one question: it gets the whole budget."
        split, each = self.value, self.one_each.value
        if self.better == "one-each":
            return (
                f"Ask each person one question: the objective is at most {each:,.6g}, "
                f"{split / each:.2g} times smaller than {split:,.6g} when everybody answers "
                "everything. A budget split over questions hurts more than fewer answers do: at "
                "small budgets the error grows with the square of what is split, and only "
                "in proportion to the people left out."
            )
        return (
            f"Ask everybody everything: the objective is {split:,.6g}, and may be as large as "
            f"{each:,.6g} if each person answers one question. The budgets are so large that "
            "leaving people out costs more than splitting."
        )


def allocate(
    blocks: Sequence[Block], objective: str = "sum", targets: ArrayLike | None = None
) -> Allocation:
    """The shares with the smallest error, by one convex program, with proof.

    Parameters
    ----------
    blocks:
        The questions; at least one.
    objective:
        ``"sum"``: the weighted sum of the errors per user. ``"minimax"``: the largest ratio of
        error per user to its target.
    targets:
        For the minimax, and only for it: a target error per user for each question, above 0.

    Raises
    ------
    InputError
        No question, a repeated name, or targets that do not fit.
    ConvergenceError
        No allocation could be proven optimal to a relative 1e-6.

    Examples
    --------
    >>> from planner import PrivacyPolicy
    >>> from planner.planning.allocation.blocks import ChoiceBlock, MeanBlock
    >>> found = allocate([
    ...     ChoiceBlock("diagnosis", PrivacyPolicy(np.log([4, 6]), [1, 4])),
    ...     ChoiceBlock("page", PrivacyPolicy([2, 2.4, 4], [5, 5, 90]), weight=0.05),
    ...     MeanBlock("income", 2.0, weight=3),
    ... ])
    >>> round(found.value, 3), found.shares.round(3).tolist()
    (125.735, [0.416, 0.296, 0.288])
    >>> round(found.one_each.noise_value, 3), found.better
    (45.675, 'one-each')
    """
    names = tuple(block.name for block in blocks)
    if not names or len(set(names)) < len(names):
        raise InputError("questions", list(names), "one or more, each with a name of its own")
    goals = _checked(objective, targets, len(names))
    weights = np.array([block.weight for block in blocks])
    shares = np.ones(1) if len(names) == 1 else solve_shares(blocks, goals)
    points, bound = _proven(blocks, shares, weights, goals)
    for _ in range(20):
        value = _value(np.array([p.error for p in points]), weights, goals)
        if value - bound <= _TIGHT * abs(bound):
            break
        moved = _balanced(shares, points, weights, goals)
        nearer, better = _proven(blocks, moved, weights, goals)
        after = _value(np.array([p.error for p in nearer]), weights, goals)
        bound = max(bound, better)
        if after >= value:
            break
        shares, points = moved, nearer
    errors = np.array([p.error for p in points])
    value = _value(errors, weights, goals)
    bound = min(bound, value)
    gap = (value - bound) / abs(bound)
    if not gap <= _PROVEN:
        raise ConvergenceError(
            f"The shares are proven optimal only to {gap:.1e}",
            "Bring the weights or targets of the questions closer together.",
        )
    tables = tuple(p.table for p in points)
    each = one_each(blocks, goals)
    return Allocation(names, objective, shares, errors, value, bound, gap, tables, each)


def one_each(blocks: Sequence[Block], targets: Array | None = None) -> OneEach:
    """Everybody answers one question: the fractions with the smallest objective.

    With full-budget errors ``V_j`` and sampling variances ``S_j`` the weighted sum of
    ``(V_j + S_j) / f_j - S_j`` is least at ``f_j ~ sqrt(w_j (V_j + S_j))``; the largest ratio to
    the targets is least where all ratios are equal, one equation in that ratio.
    """
    points = [block.at(1.0) for block in blocks]
    error = np.array([p.error for p in points])
    weights = np.array([block.weight for block in blocks])
    fixed = np.array([block.fixed for block in blocks])
    spread = np.array([block.sampling_variance for block in blocks], dtype=np.float64)
    plain = _fractions(error - fixed, fixed, weights, targets)
    careful = _fractions(error - fixed + spread, fixed - spread, weights, targets)
    sampled = (error - fixed + spread) / careful + fixed - spread
    return OneEach(
        careful,
        sampled,
        _value(sampled, weights, targets),
        _value((error - fixed) / plain + fixed, weights, targets),
        tuple(p.table for p in points),
    )


def _fractions(growing: Array, rest: Array, weights: Array, targets: Array | None) -> Array:
    """Fractions for errors ``growing / f + rest``."""
    if targets is None:
        root = np.sqrt(weights * growing)
        return root / root.sum()
    from scipy.optimize import brentq

    def left(ratio: float) -> float:  # fractions that keep this ratio, over what there is
        return float(np.sum(growing / (ratio * targets - rest))) - 1

    low = max(0.0, float(np.max(rest / targets)))  # there a fraction is infinite
    top = low + float(np.sum((growing + np.abs(rest)) / targets))
    low += 1e-12 * top
    ratio = brentq(left, low, top, xtol=1e-14 * top, rtol=1e-14) if left(top) < 0 else top
    found = growing / (ratio * targets - rest)
    return found / found.sum()


def _checked(objective: str, targets: ArrayLike | None, size: int) -> Array | None:
    if objective not in ("sum", "minimax"):
        raise InputError("objective", objective, '"sum" or "minimax"')
    if (objective == "minimax") != (targets is not None):
        raise InputError("targets", targets, 'given for "minimax", and only for it')
    if targets is None:
        return None
    goals = np.asarray(targets, dtype=np.float64)
    if goals.shape != (size,) or not all(isfinite(t) and t > 0 for t in goals.ravel()):
        raise InputError("targets", targets, f"{size} numbers above 0, one per question")
    return goals


def _value(errors: Array, weights: Array, targets: Array | None) -> float:
    return float(weights @ errors if targets is None else np.max(errors / targets))


def _proven(
    blocks: Sequence[Block], shares: Array, weights: Array, targets: Array | None
) -> tuple[list[AtShare], float]:
    """Every block at its share, and a lower bound of the objective over all shares.

    For the sum, the tangents' total falls fastest along the steepest one. For the minimax, the
    multipliers that make all slopes equal give ``(sum C/K - 1) / (sum T/K)``.
    """
    points = [block.at(float(g)) for block, g in zip(blocks, shares, strict=True)]
    constant = np.array([p.constant for p in points])
    slope = np.array([p.slope for p in points])
    if targets is None:
        return points, float(weights @ constant - np.max(weights * slope))
    return points, float((np.sum(constant / slope) - 1) / np.sum(targets / slope))


def _balanced(
    shares: Array, points: Sequence[AtShare], weights: Array, targets: Array | None
) -> Array:
    """One Newton step towards equal weighted slopes, or equal ratios.

    The errors behave locally like ``c / g^r``; ``r`` is read off the tangent.
    """
    error = np.array([p.error for p in points])
    slope = np.array([p.slope for p in points])
    if targets is None:
        pull = np.log(weights * slope)
        power = 1 + slope * shares / error
    else:
        pull = np.log(error / targets)
        power = slope * shares / error
    level = np.sum(shares * pull / power) / np.sum(shares / power)
    moved = shares * np.exp((pull - level) / power)
    return moved / moved.sum()
