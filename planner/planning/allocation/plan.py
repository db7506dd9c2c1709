"""Several questions asked of the same people: how to spend each person's budget.

Two designs are compared. *Split*: everybody answers everything, question ``j`` with the
share ``g_j`` of its budgets, ``sum g_j <= 1``; by sequential composition (theorem 2 of the
IDUE paper) what a person spends adds up over the questions, per input. *Some each*:
everybody answers ``k`` questions, each drawn with probability ``f_j``, at ``1/k`` of its budgets;
with ``k = 1``, *one each*, at its full budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import whole_number
from planner.errors import ConvergenceError, InputError
from planner.frames import Framed
from planner.planning.allocation.blocks import AtShare, Block
from planner.planning.allocation.goal import Goal
from planner.planning.allocation.joint_program import solve_shares
from planner.planning.allocation.search import search_shares
from planner.planning.allocation.some_each import SomeEach, best_some_each, some_each
from planner.planning.solve import Certified

Array = NDArray[np.float64]
_PROVEN = 1e-6  # largest proven relative gap of an allocation that is returned
_TIGHT = 1e-10


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Allocation(Framed):
    """The best split of everybody's budget, proven, beside asking each person some questions.

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
        questions' errors, or where these are not convex from their falling, to a few per cent.
    certified:
        One table or design per question at its share; None for a mean.
    some_each, best_each:
        The alternative, of so many questions a person as were asked for, or else are best; and
        with the best number.
    """

    names: tuple[str, ...]
    objective: str
    shares: Array
    errors: Array
    value: float
    lower_bound: float
    relative_gap: float
    certified: tuple[Certified | None, ...]
    some_each: SomeEach
    best_each: SomeEach

    @property
    def better(self) -> str:
        """The design of the smallest objective, sampling included.

        ``"split"``, ``"one-each"``, or ``"some-each"`` where more than one question a person is
        best.
        """
        if self.best_each.value >= self.value:
            return "split"
        return "one-each" if self.best_each.asked == 1 else "some-each"

    @property
    def reason(self) -> str:
        """Why, in a sentence or two."""
        if len(self.names) == 1:
            return "There is one question: it gets the whole budget."
        split, each = self.value, self.best_each.value
        if self.better == "split":
            return (
                f"Ask everybody everything: the objective is {split:,.6g}, and may be as large as "
                f"{each:,.6g} if each person answers {self.best_each.in_words}. The budgets are so "
                "large that leaving people out costs more than splitting."
            )
        return (
            f"Ask each person {self.best_each.in_words}: the objective is at most {each:,.6g}, "
            f"{split / each:.2g} times smaller than {split:,.6g} when everybody answers "
            "everything. A budget split over questions hurts more than fewer answers do: at "
            "small budgets the error grows with the square of what is split, and only "
            "in proportion to the people left out."
        )

    @property
    def summary(self) -> str:
        """The better of the two designs, and what is proven of the split."""
        proven = f"the split is proven best to within {self.relative_gap:.1g}"
        return f"Better: {self.better}; {proven}."

    def columns(self) -> dict[str, Any]:
        """One row a question: split, and some questions each; errors per user."""
        return {
            "question": list(self.names),
            "share": self.shares,
            "error": self.errors,
            "fraction_some_each": self.some_each.fractions,
            "error_some_each": self.some_each.errors,
        }


def allocate(
    blocks: Sequence[Block],
    objective: str = "sum",
    targets: ArrayLike | None = None,
    alone: Sequence[Block] | None = None,
    asked: int | None = None,
) -> Allocation:
    """The shares with the smallest error, with proof: by one convex program, or a search.

    The search is for questions with subset designs, or opt1 and opt2: see
    :mod:`planner.planning.allocation.search`.

    Parameters
    ----------
    blocks:
        The questions; at least one.
    objective:
        ``"sum"``: the weighted sum of the errors per user. ``"minimax"``: the largest ratio of
        error per user to its target.
    targets:
        For the minimax, and only for it: a target error per user for each question, above 0.
    alone:
        The questions as they are asked if each person answers some, in the same order, where
        that is not as in ``blocks``: item sets may have another padding length.
    asked:
        How many questions each person answers then, 1 to all; the best number when omitted.

    Raises
    ------
    InputError
        No question, a repeated name, targets that do not fit, or more asked than there are.
    ConvergenceError
        The convex program could not be proven optimal to a relative 1e-6.

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
    >>> round(found.some_each.noise_value, 3), found.better
    (45.675, 'one-each')
    """
    names = tuple(block.name for block in blocks)
    if not names or len(set(names)) < len(names):
        allowed = "one or more, each with a name of its own"
        remedy = "Add a question, or rename those that share a name."
        raise InputError("questions", list(names), allowed, remedy)
    goal = Goal.of(blocks, objective, targets)
    errors, shares, bound, certified = _solved(blocks, goal)
    value = goal.value(errors)
    bound = min(bound, value)
    gap = (value - bound) / abs(bound) if bound else float(np.inf)
    if all(block.convex for block in blocks) and not gap <= _PROVEN:
        raise ConvergenceError(
            f"The shares are proven optimal only to {gap:.1e}",
            "Bring the weights or targets of the questions closer together.",
        )
    each = best = best_some_each(blocks if alone is None else alone, goal)
    if asked not in (None, best.asked):
        number = whole_number("asked", asked, 1, len(blocks))
        each = some_each(blocks if alone is None else alone, goal, number)
    return Allocation(names, objective, shares, errors, value, bound, gap, certified, each, best)


def _solved(
    blocks: Sequence[Block], goal: Goal
) -> tuple[Array, Array, float, tuple[Certified | None, ...]]:
    """Errors, shares, a lower bound, and what was solved."""
    if len(blocks) == 1:
        shares = np.ones(1)
        points = _at(blocks, shares)
        bound = goal.value(np.array([blocks[0].bounds_at(1.0)[1]]))
    elif all(block.convex for block in blocks):
        shares, points, bound = _improved(blocks, solve_shares(blocks, goal), goal)
    else:
        shares, bound = search_shares(blocks, goal)
        points = _at(blocks, shares)
    return _errors(points), shares, bound, tuple(point.certified for point in points)


def _improved(
    blocks: Sequence[Block], shares: Array, goal: Goal
) -> tuple[Array, list[AtShare], float]:
    """Shares after Newton steps for as long as they help, every block there, a lower bound."""
    points = _at(blocks, shares)
    bound = _lower_bound(points, goal)
    for _ in range(20):
        value = goal.value(_errors(points))
        if value - bound <= _TIGHT * abs(bound):
            break
        moved = _balanced(shares, points, goal)
        nearer = _at(blocks, moved)
        bound = max(bound, _lower_bound(nearer, goal))
        if goal.value(_errors(nearer)) >= value:
            break
        shares, points = moved, nearer
    return shares, points, bound


def _at(blocks: Sequence[Block], shares: Array) -> list[AtShare]:
    return [block.at(share) for block, share in zip(blocks, shares.tolist(), strict=True)]


def _errors(points: Sequence[AtShare]) -> Array:
    return np.array([point.error for point in points])


def _lower_bound(points: Sequence[AtShare], goal: Goal) -> float:
    """A lower bound of the objective over all shares, from the tangents at ``points``.

    For the sum, the tangents' total falls fastest along the steepest one. For the minimax, the
    multipliers that make all slopes equal give ``(sum C/K - 1) / (sum T/K)``.
    """
    constant = np.array([point.constant for point in points])
    slope = np.array([point.slope for point in points])
    if goal.targets is None:
        return float(goal.weights @ constant - np.max(goal.weights * slope))
    return float((np.sum(constant / slope) - 1) / np.sum(goal.targets / slope))


def _balanced(shares: Array, points: Sequence[AtShare], goal: Goal) -> Array:
    """One Newton step towards equal weighted slopes, or equal ratios.

    The errors behave locally like ``c / g^r``; ``r`` is read off the tangent.
    """
    error = _errors(points)
    slope = np.array([point.slope for point in points])
    power = slope * shares / error
    if goal.targets is None:
        pull, power = np.log(goal.weights * slope), 1 + power
    else:
        pull = np.log(error / goal.targets)
    level = np.sum(shares * pull / power) / np.sum(shares / power)
    moved = shares * np.exp((pull - level) / power)
    return moved / moved.sum()
