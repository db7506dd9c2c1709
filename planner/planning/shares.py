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

import numpy as np

from planner.arguments import whole_number
from planner.arrays import Array
from planner.errors import ConvergenceError, InputError
from planner.planning.option import Curve
from planner.planning.share_search import search_shares

# Largest relative gap of shares of convex errors that are returned. It is below 1e-8, but where
# errors are themselves known to fewer digits: of large budgets.
_PROVEN = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class SomeEach:
    """The design in which all answer ``asked`` questions, each with ``1 / asked`` of its budgets.

    Attributes
    ----------
    asked, fractions:
        Number of questions that each person answers; share of the people asked each question, at
        most 1, sum ``asked``, shape ``(k,)``.
    errors:
        Upper bounds of the error per user of each question, shape ``(k,)``: ``V_j / f_j`` from the
        perturbation (a bias in ``V_j`` is not divided), plus at most ``S_j (1/f_j - 1)`` from not
        asking everybody, with ``S_j`` the largest variance of the answers.
    value, noise_value:
        The objective at these errors, and for the perturbation alone, at its own best fractions.
    """

    asked: int
    fractions: Array
    errors: Array
    value: float
    noise_value: float

    def errors_of(self, users: int) -> Array:
        """The errors as shares of so many people, roots, shape ``(k,)``."""
        return np.sqrt(np.maximum(self.errors, 0.0) / users)

    @property
    def share(self) -> float:
        """Share of its budgets that each question gets which a person answers."""
        return 1 / self.asked


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    """The best split of everybody's budget, proven, beside asking each person some questions.

    Attributes
    ----------
    names, shares, errors:
        The questions, the share of its budgets that each gets, sum at most 1, and its error per
        user, shape ``(k,)``.
    value, lower_bound, relative_gap:
        The objective at these shares; no others have one below the bound: to 1e-3, and mostly
        1e-8, where all errors are convex, else to a few per cent.
    some_each, best_each:
        The alternative, of so many questions a person as were asked for, or else are best; and
        with the best number.
    """

    names: tuple[str, ...]
    shares: Array
    errors: Array
    value: float
    lower_bound: float
    relative_gap: float
    some_each: SomeEach
    best_each: SomeEach

    def errors_of(self, users: int) -> Array:
        """The errors as shares of so many people, roots, shape ``(k,)``."""
        return np.sqrt(self.errors / users)

    @property
    def better(self) -> str:
        """The design of the smallest objective, sampling included.

        ``"split"``, ``"one-each"``, or ``"some-each"`` where more than one question a person is
        best.
        """
        if self.best_each.value >= self.value:
            return "split"
        if self.best_each.asked == 1:
            return "one-each"
        return "some-each"


def allocate(
    curves: Sequence[Curve],
    alone: Sequence[Curve] | None = None,
    asked: int | None = None,
) -> Allocation:
    """The shares with the smallest weighted sum of the errors per user, with proof.

    Parameters
    ----------
    curves:
        The questions; at least one.
    alone:
        The questions as they are asked if each person answers some, in the same order, where
        that is not as in ``curves``: item sets may have another padding length.
    asked:
        How many questions each person answers then, 1 to all; the best number when omitted.

    Raises
    ------
    InputError, ConvergenceError
        No question, a repeated name, or more asked than there are; the shares of convex errors
        could not be proven optimal to a relative 1e-3.

    Examples
    --------
    >>> from planner import PrivacyPolicy, choice_curve, mean_curve
    >>> found = allocate([
    ...     choice_curve("diagnosis", PrivacyPolicy(np.log([4, 6]), [1, 4])),
    ...     choice_curve("page", PrivacyPolicy([2, 2.4, 4], [5, 5, 90]), weight=0.05),
    ...     mean_curve("income", 2.0, weight=3),
    ... ])
    >>> round(found.value, 3), found.shares.round(3).tolist()
    (125.735, [0.416, 0.296, 0.288])
    """
    names = tuple(curve.name for curve in curves)
    repeated = len(set(names)) < len(names)
    if repeated or not names:
        allowed = "one or more, each with a name of its own"
        remedy = "Add a question, or rename those that share a name."
        raise InputError("questions", list(names), allowed, remedy)
    shares, errors, bound = search_shares(curves)
    value = float(_weights(curves) @ errors)
    bound = min(bound, value)  # rounding may leave it above what is reached
    gap = float(np.inf)
    if bound:
        gap = (value - bound) / abs(bound)
    convex = all(curve.convex for curve in curves)
    # A gap that is no number is no proof either.
    if convex and not gap <= _PROVEN:
        raise ConvergenceError(
            f"The shares are proven optimal only to {gap:.1e}",
            "Bring weights and budgets of the questions closer together.",
        )
    if alone is None:
        alone = curves
    best = best_some_each(alone)
    some = best
    if asked is not None and asked != best.asked:
        number = whole_number("asked", asked, 1, len(curves))
        some = some_each(alone, number)
    return Allocation(
        names=names,
        shares=shares,
        errors=errors,
        value=value,
        lower_bound=bound,
        relative_gap=gap,
        some_each=some,
        best_each=best,
    )


def best_some_each(curves: Sequence[Curve]) -> SomeEach:
    """The number of questions a person above which the objective rises, counted up from one.

    Each one more leaves each question less of the budget, and more people: what is lost is about
    the square of the budget while it is small, and next to nothing when it is large. All of them
    are not asked for here: a split gives each the part that is best for it.
    """
    best = some_each(curves, 1)
    for asked in range(2, len(curves)):
        next_best = some_each(curves, asked)
        if next_best.value >= best.value:
            break
        best = next_best
    return best


def some_each(curves: Sequence[Curve], asked: int) -> SomeEach:
    """The fractions with the smallest objective, for so many questions a person.

    With errors ``V_j`` at the share ``1 / asked`` and sampling variances ``S_j`` the weighted sum
    of ``(V_j + S_j) / f_j - S_j`` is least at ``f_j ~ sqrt(w_j (V_j + S_j))``, where none is above
    1. A squared bias is the same whatever the fraction.
    """
    weights = _weights(curves)
    bias = np.array([curve.errors.bias for curve in curves])
    spread = np.array([curve.errors.spread for curve in curves])  # S_j
    options = [curve.at(1 / asked) for curve in curves]
    squared_errors = np.array([option.squared for option in options])
    noise = squared_errors - bias  # V_j, of which a bias is no part
    fractions_of_noise = _filled(np.sqrt(weights * noise), asked)
    noise_errors = noise / fractions_of_noise + bias
    variance = noise + spread
    fractions = _filled(np.sqrt(weights * variance), asked)
    errors = variance / fractions + bias - spread
    return SomeEach(
        asked=asked,
        fractions=fractions,
        errors=errors,
        value=float(weights @ errors),
        noise_value=float(weights @ noise_errors),
    )


def _weights(curves: Sequence[Curve]) -> Array:
    return np.array([curve.weight for curve in curves])


def _filled(proportions: Array, total: int) -> Array:
    """Fractions that sum to ``total``: in these proportions, but at most 1.

    Whatever would be above 1 is 1, and the others share the rest, until none is above.
    """
    full = np.zeros(proportions.size, dtype=bool)
    while not full.all():
        rest = total - full.sum()
        factor = rest / proportions[~full].sum()
        scaled = factor * proportions
        over = ~full & (scaled >= 1)
        if not over.any():
            return np.where(full, 1.0, scaled)
        full |= over
    return np.ones(proportions.size)
