"""The search for the smallest common scale of the budgets that meets all targets.

The error falls monotonically in a common scale of all budgets (whatever keeps the smaller
budgets keeps the larger ones), so it is a search in one variable.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from math import exp, log, sqrt

import numpy as np
from numpy.typing import NDArray

from planner.errors import ConvergenceError
from planner.limits import MAX_EPSILON
from planner.patience import still_wanted
from planner.planning.budgets import largest_budgets, scaled
from planner.planning.padding import PaddedError
from planner.planning.relax import most_binding
from planner.planning.solve import DESIGN, Certified, solve_for
from planner.planning.targets import achieved, users_needed
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.survey.questions import Target

_SMALLEST_EPSILON = 1e-3  # a budget that any smaller one could only pretend to undercut
_TURNS, _MOST_IMPORTANT = 5, 20.0
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
    padding_length:
        Of sets, the one at which they are enough; None for one answer.
    importance:
        Of every level's error, at which they are; None if all are alike.
    """

    possible: bool
    scale: float
    certified: Certified
    reached: tuple[float, ...]
    reason: str
    binding_level: str
    padding_length: int | None = None
    importance: tuple[float, ...] | None = None


@dataclass(slots=True, eq=False)
class BudgetSearch:
    """The targets' excess over the logarithm of the scale; every one is solved once.

    Attributes
    ----------
    policy, users, targets, model:
        As of :func:`~planner.planning.smallest_budgets.smallest_budgets`.
    free:
        Which levels' budgets are scaled, shape ``(t,)``.
    padded:
        Of sets, their error at one padding length.
    start:
        The logarithm of the scale that is tried first.
    importance:
        How much each level's error counts in the total that is made small.
    """

    policy: PrivacyPolicy
    users: int
    targets: tuple[Target, ...]
    model: str
    free: NDArray[np.bool_]
    padded: PaddedError | None = None
    start: float = 0.0
    importance: tuple[float, ...] | None = None
    _known: dict[float, Certified] = field(default_factory=dict, init=False)

    def smallest(self) -> BudgetAnswer:
        """The answer: the crossing is bracketed, then found."""
        from scipy.optimize import brentq

        low, high = self._bracket(*self._limits())
        if self._excess(high) > 0:
            return self._impossible(high)
        if self._excess(low) <= 0:
            return self._answer(low, "The targets are met even with next to no budget")
        step = _STEP_OF_DESIGNS if self.model == DESIGN else _STEP
        found = brentq(self._excess, low, high, xtol=step, rtol=1e-12)
        while self._excess(found) > 0:  # never promise what misses by a rounding error
            found, step = found + step, 2 * step
        if all(target.of_all for target in self.targets):  # what the certificate is about
            opening = "These are the smallest budgets, in their proportions, that meet the targets"
            return self._answer(found, opening)
        return self._answer(found, "These budgets meet the targets")

    def weighed(self, at: float) -> tuple[float, ...]:
        """The importance of the levels at which the targets are met best at a scale; at least 1.

        Multiplicative weights on the targets: each turn those missed by more count more, and the
        total error is made small in which every target's part has its weight. Of tables, which are
        quick; at most 20 times that of the least important level, which is still to be of use.
        """
        policy, best = self._scaled(at), (np.inf, np.ones(self.policy.size))
        parts = [part for target in self.targets for part in self._parts(target)]
        share, weights = np.full(len(parts), 1 / len(parts)), best[1]
        for _ in range(_TURNS):
            still_wanted()
            table = solve_for(policy, "opt0", Objective(weights=tuple(weights.tolist())))
            missed = np.array([achieved(table, self.users, one) / one.value for one, _ in parts])
            if missed.max() < best[0]:
                best = float(missed.max()), weights
            share = share * np.minimum(missed, 1e6) ** 2
            share /= share.sum()
            per_item = 1 / (policy.item_counts * table.noise)
            alike = np.full(policy.size, 1 / table.worst_case_mse)
            pull = [alike if one.level is None else per_item * here for one, here in parts]
            weights = np.sum(share[:, None] * np.array(pull), axis=0)
            weights = np.maximum(weights / weights.max(), 1 / _MOST_IMPORTANT)
        found = best[1] / best[1].min()
        return tuple(float(f"{one:.2g}") for one in found)

    def _parts(self, target: Target) -> list[tuple[Target, NDArray[np.float64]]]:
        """A target of every item is one of every level."""
        names = self.policy.names
        levels = names if target.kind == "detect" and target.level is None else [target.level]
        here = [np.array([name == level for name in names], dtype=float) for level in levels]
        return [(target.replacing(level=one), at) for one, at in zip(levels, here, strict=True)]

    def cut_too_much(self, padded: PaddedError) -> BudgetAnswer | None:
        """The answer if sets are cut so short that no budget would do; else None."""
        bias = sqrt(padded.errors.bias / self.users)
        if bias < min(one.value for one in self.targets):
            return None
        certified = self._solved(0.0)
        reason = (
            f"Impossible, because sets of more than {padded.length} items are cut, which "
            f"leaves an error of {100 * bias:.4g} %. Take a larger padding length."
        )
        return self._result(certified, 0.0, reason, most_binding(certified), possible=False)

    def _limits(self) -> tuple[float, float]:
        """Logarithms of the smallest and the largest scale worth trying."""
        smallest = top = float(self.policy.epsilons[self.free].min())
        if self.free.all():
            pairs = self.policy.room(np.zeros(self.policy.size))
            smallest = min(smallest, float(pairs.min()))
            top = float(largest_budgets(self.policy).max())
        high = log(MAX_EPSILON / top) - 1e-12
        return log(_SMALLEST_EPSILON / smallest), high

    def _bracket(self, low: float, high: float) -> tuple[float, float]:
        """A short interval around the crossing, which lies at or beyond its end if at a limit.

        Upwards it ends, too, where errors can no longer be told from rounding.
        """
        at, step = self._resolvable(low, min(max(self.start, low), high)), 0.5
        if self._excess(at) <= 0:
            while at > low and self._excess(at) <= 0:
                high, at, step = at, max(at - step, low), 2 * step
            return at, high
        while at < high and self._excess(at) > 0:
            wanted = min(at + step, high)
            low, at, step = at, self._resolvable(at, wanted), 2 * step
            if at < wanted:
                break
        return low, at

    def _resolvable(self, low: float, high: float) -> float:
        """The largest scale between these at which the error can be told from rounding."""
        while high > low:
            with suppress(ConvergenceError):
                self._solved(high)
                return high
            high -= 0.1
        return low

    def _solved(self, at: float) -> Certified:
        if at not in self._known:
            wanted = Objective(weights=self.importance)
            wanted = wanted if self.padded is None else self.padded.objective
            self._known[at] = solve_for(
                self._scaled(at),
                self.model,
                wanted,
                sets=self.padded is not None,
            )
        return self._known[at]

    def _excess(self, at: float) -> float:
        """Largest logarithm of reached over wanted; at most 0 where all targets are met."""
        reached = self._reached(self._solved(at))
        return max(log(r / t.value) for r, t in zip(reached, self.targets, strict=True))

    def _answer(self, at: float, opening: str) -> BudgetAnswer:
        certified, factor = self._solved(at), f"{exp(at):.4g} times what they are"
        if self._saturated(certified) is not None:
            certified = self._saturated(certified) or certified
            factor += ", or where more buys nothing"
        budgets = _named_budgets(certified.policy, self.free)
        where = "" if self.padded is None else f", at padding length {self.padded.length}"
        reason = f"{opening}: {budgets} ({factor}){where}{self._counted()}."
        return self._result(certified, at, reason, most_binding(certified), possible=True)

    def _saturated(self, certified: Certified) -> Certified | None:
        """The same without budgets that buy nothing; None if there are none such."""
        policy, limit = certified.policy, certified.saturation_epsilon
        if limit is None or not policy.rule.by_level:
            return None
        over = self.free & (policy.epsilons > limit * (1 + 1e-9))
        if not over.any():
            return None
        lowered = policy.with_changes(np.where(over, limit, policy.epsilons))
        found = solve_for(lowered, self.model, certified.objective, sets=self.padded is not None)
        missed = [r / t.value for r, t in zip(self._reached(found), self.targets, strict=True)]
        return found if max(missed) <= 1 + 1e-9 else None

    def _counted(self) -> str:
        """The importance that the levels need, in words."""
        if self.importance is None:
            return ""
        pairs = zip(self.policy.names, self.importance, strict=True)
        more = [f"{one:g} for {name!r}" for name, one in pairs if one > 1][:6]
        return f", with importance {', '.join(more)}" if more else ""

    def _impossible(self, at: float) -> BudgetAnswer:
        certified = self._solved(at)
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
        if fixed.any():
            more = ""
            if self.padded is None:
                more = f", or ask {users_needed(certified, target).users:,} users"
            reason += f" Raise {binding!r}{more}."
        return self._result(certified, at, reason, binding, possible=False)

    def _scaled(self, at: float) -> PrivacyPolicy:
        if self.free.all():
            return scaled(self.policy, exp(at))
        now = self.policy
        budgets = np.where(self.free, np.minimum(now.epsilons * exp(at), MAX_EPSILON), now.epsilons)
        return now.with_changes(budgets)

    def _reached(self, certified: Certified) -> list[float]:
        if self.padded is not None:
            error = self.padded.errors.error(certified.objective_value)
            return [sqrt(error / self.users) for _ in self.targets]
        return [min(achieved(certified, self.users, t), 1e300) for t in self.targets]

    def _result(
        self, certified: Certified, at: float, reason: str, binding: str, *, possible: bool
    ) -> BudgetAnswer:
        reached = tuple(self._reached(certified))
        length = None if self.padded is None else self.padded.length
        about = possible, exp(at), certified, reached, reason, binding, length
        return BudgetAnswer(*about, self.importance)


def _named_budgets(policy: PrivacyPolicy, free: NDArray[np.bool_]) -> str:
    shown = [f"{policy.names[i]} {policy.epsilons[i]:.4g}" for i in np.flatnonzero(free)[:6]]
    more = int(free.sum()) - len(shown)
    return ", ".join(shown) + (f" and {more} more levels" if more else "")
