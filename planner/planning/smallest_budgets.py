"""Smallest budgets: the smallest common scale of the budgets that reaches a given error.

The error falls monotonically in a common scale of all budgets (whatever keeps the smaller
budgets keeps the larger ones), so the answer is a search in one variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import exp, log

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from planner.arguments import whole_number
from planner.errors import ConvergenceError, InputError
from planner.limits import MAX_EPSILON
from planner.planning.budgets import largest_budgets, scaled
from planner.planning.certified import DESIGN, Certified, CertifiedSolver, solve_named
from planner.planning.relax import most_binding
from planner.planning.targets import achieved, users_needed
from planner.policy.policy import PrivacyPolicy
from planner.survey.target import Target, check_targets

__all__ = ["BudgetAnswer", "smallest_budgets"]

_SMALLEST_EPSILON = 1e-3  # a budget that any smaller one could only pretend to undercut
_STEP, _STEP_OF_DESIGNS = 1e-12, 1e-5  # of the logarithm of the scale


@dataclass(frozen=True, slots=True, eq=False)
class BudgetAnswer:
    """The smallest budgets that meet all targets, or why there are none.

    Attributes
    ----------
    possible:
        Whether the targets can be met.
    scale:
        Common factor on the adjustable budgets; the largest tried if impossible.
    certified:
        The table or design at these budgets.
    reached:
        What it reaches for each target, shares of the users.
    reason:
        The answer as a sentence.
    binding_level:
        The level that limits the answer: whose budget has the highest shadow price, or of a
        design, which has none, is the smallest.
    """

    possible: bool
    scale: float
    certified: Certified
    reached: tuple[float, ...]
    reason: str
    binding_level: str


def smallest_budgets(
    policy: PrivacyPolicy,
    users: int,
    targets: Target | Sequence[Target],
    model: str = "opt0",
    adjustable: Sequence[str] | None = None,
    solver: CertifiedSolver = solve_named,
) -> BudgetAnswer:
    """The smallest common scale of the budgets at which all targets are met.

    Parameters
    ----------
    policy:
        The levels and their budgets now.
    users:
        Number of reports, at least 1.
    targets:
        One target or several; all must be met.
    model:
        ``"opt0"``, ``"opt1"``, ``"opt2"`` or ``"subset-design"``; its total error is minimised.
    adjustable:
        Names of the levels whose budgets may change, rules min and avg only; all if omitted. No
        budget is raised above 50.
    solver:
        Solves: :func:`~planner.planning.certified.solve_named`, or one that remembers.

    Raises
    ------
    InputError
        No target, contradicting targets, an unknown level, or an argument out of range.
    SolverError
        No certified table could be produced.

    Examples
    --------
    >>> policy = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90], names=["A", "B", "C"])
    >>> answer = smallest_budgets(policy, 1_000_000, Target(error=0.01))
    >>> round(answer.scale, 4), [round(x, 6) for x in answer.reached]
    (1.482, [0.01])
    >>> print(smallest_budgets(policy, 1_000_000, Target(error=0.01), adjustable=["B", "C"]).reason)
    Impossible, because 'A' stays at 1: ...
    """
    wanted = (targets,) if isinstance(targets, Target) else tuple(targets)
    if not wanted:
        remedy = "Add a target, such as an error that one level must reach."
        raise InputError("targets", targets, "at least one target", remedy)
    whole_number("users", users)
    check_targets(wanted, policy.names)
    search = _Search(policy, users, wanted, model, _adjustable(policy, adjustable), solver)
    low, high = search.bracket(*search.limits())
    if search.excess(high) > 0:
        return search.impossible(high)
    if search.excess(low) <= 0:
        return search.answer(low, "The targets are met even with next to no budget")
    step = _STEP_OF_DESIGNS if model == DESIGN else _STEP
    found = brentq(search.excess, low, high, xtol=step, rtol=1e-12)
    while search.excess(found) > 0:  # never promise what misses by a rounding error
        found, step = found + step, 2 * step
    return search.answer(found, "These are the smallest budgets that meet the targets")


@dataclass(slots=True, eq=False)
class _Search:
    """The targets' excess over the logarithm of the scale; every one is solved once."""

    policy: PrivacyPolicy
    users: int
    targets: tuple[Target, ...]
    model: str
    free: NDArray[np.bool_]
    solver: CertifiedSolver
    _solved: dict[float, Certified] = field(default_factory=dict)

    def limits(self) -> tuple[float, float]:
        """Logarithms of the smallest and the largest scale worth trying."""
        smallest = top = float(self.policy.epsilons[self.free].min())
        if self.free.all():
            pairs = self.policy.room(np.zeros(self.policy.size))
            smallest = min(smallest, float(pairs.min()))
            top = float(largest_budgets(self.policy).max())
        return log(_SMALLEST_EPSILON / smallest), log(MAX_EPSILON / top) - 1e-12

    def bracket(self, low: float, high: float) -> tuple[float, float]:
        """A short interval around the crossing, which lies at or beyond its end if at a limit.

        Upwards it ends, too, where errors can no longer be told from rounding.
        """
        at, step = self.resolvable(low, min(max(0.0, low), high)), 0.5
        if self.excess(at) <= 0:
            while at > low and self.excess(at) <= 0:
                high, at, step = at, max(at - step, low), 2 * step
            return at, high
        while at < high and self.excess(at) > 0:
            wanted = min(at + step, high)
            low, at, step = at, self.resolvable(at, wanted), 2 * step
            if at < wanted:
                break
        return low, at

    def resolvable(self, low: float, high: float) -> float:
        """The largest scale between these at which the error can be told from rounding."""
        while high > low:
            with suppress(ConvergenceError):
                self.solved(high)
                return high
            high -= 0.1
        return low

    def solved(self, at: float) -> Certified:
        if at not in self._solved:
            self._solved[at] = self.solver(self._scaled(at), self.model)
        return self._solved[at]

    def excess(self, at: float) -> float:
        """Largest logarithm of reached over wanted; at most 0 where all targets are met."""
        reached = self._reached(self.solved(at))
        return max(log(r / t.value) for r, t in zip(reached, self.targets, strict=True))

    def answer(self, at: float, opening: str) -> BudgetAnswer:
        certified = self.solved(at)
        budgets = _named_budgets(certified.policy, self.free)
        reason = f"{opening}: {budgets} ({exp(at):.4g} times what they are)."
        return self._result(certified, at, reason, most_binding(certified), possible=True)

    def impossible(self, at: float) -> BudgetAnswer:
        certified = self.solved(at)
        reached = self._reached(certified)
        missed = [k for k, t in enumerate(self.targets) if reached[k] > t.value]
        worst = max(missed, key=lambda k: reached[k] / self.targets[k].value)
        target, fixed = self.targets[worst], ~self.free
        binding = most_binding(certified, fixed if fixed.any() else None)
        if fixed.any():
            held = float(self.policy.epsilons[self.policy.names.index(binding)])
            cause = f"{binding!r} stays at {held:.4g}: however large the other budgets"
        else:
            largest = float(certified.policy.epsilons.max())
            cause = f"even at budgets up to {largest:.4g}"
        floor = f"{100 * reached[worst]:.4g} %" if reached[worst] < 1 else "no share at all"
        reason = f"Impossible, because {cause}, the best is {floor}; wanted: {target.text}."
        if certified.saturation_epsilon is not None and fixed.any():
            reason += f" Budget above {certified.saturation_epsilon:.4g} buys nothing."
        more = users_needed(certified, target).users
        reason += f" Raise {binding!r}, or ask {more:,} users." if fixed.any() else ""
        return self._result(certified, at, reason, binding, possible=False)

    def _scaled(self, at: float) -> PrivacyPolicy:
        if self.free.all():
            return scaled(self.policy, exp(at))
        now = self.policy
        budgets = np.where(self.free, np.minimum(now.epsilons * exp(at), MAX_EPSILON), now.epsilons)
        return now.with_changes(budgets)

    def _reached(self, certified: Certified) -> list[float]:
        return [min(achieved(certified, self.users, t), 1e300) for t in self.targets]

    def _result(
        self, certified: Certified, at: float, reason: str, binding: str, *, possible: bool
    ) -> BudgetAnswer:
        reached = tuple(self._reached(certified))
        return BudgetAnswer(possible, exp(at), certified, reached, reason, binding)


def _adjustable(policy: PrivacyPolicy, names: Sequence[str] | None) -> NDArray[np.bool_]:
    if names is None:
        return np.ones(policy.size, dtype=bool)
    if not policy.rule.by_level:
        remedy = "With a matrix of pair budgets all of them are scaled together."
        raise InputError("adjustable", names, "left out", remedy)
    for name in names:
        if name not in policy.names:
            remedy = "Choose a level of the policy."
            raise InputError.unknown("adjustable", name, policy.names, remedy)
    if not names:
        remedy = "Name a level whose budget may change."
        raise InputError("adjustable", names, "at least one level", remedy)
    return np.isin(policy.names, list(names))


def _named_budgets(policy: PrivacyPolicy, free: NDArray[np.bool_]) -> str:
    shown = [f"{policy.names[i]} {policy.epsilons[i]:.4g}" for i in np.flatnonzero(free)[:6]]
    more = int(free.sum()) - len(shown)
    return ", ".join(shown) + (f" and {more} more levels" if more else "")
