"""What if budgets were others: one level's raised, all scaled, or as small as targets allow.

The error falls in the budgets, as whatever keeps smaller ones keeps larger ones, too.

*What to relax.* The multipliers of the privacy rows are the slopes of the smallest error by the
budgets (shadow prices). They rank the levels; what a step of, say, 0.1 really buys is then found
by solving the relaxed problem, since the slope alone overstates it (the error is convex in them).

*The frontier*: the smallest error for every common scale of the budgets, data for a plot.

*Smallest budgets*: a search in one variable, the logarithm of their common scale. Of item sets
whose padding length is open both are found in turn: the smallest budgets at one length, then the
length that a plan with these budgets has. As that is no worse a length, each turn lowers the
budgets. Targets of single levels have the importance of their levels searched for in turn, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import exp, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import positive_numbers, whole_number
from planner.errors import ConvergenceError, InputError
from planner.frames import Framed
from planner.limits import MAX_EPSILON
from planner.patience import still_wanted
from planner.planning.padding import PaddedError, Padding, PaddingPlan, plan_padding
from planner.planning.solve import DESIGN, Certified, solve_for
from planner.planning.targets import achieved, check_targets, users_needed
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.solvers.answers import SubsetDesign, UnaryTable
from planner.survey.questions import Target

Array = NDArray[np.float64]
_MOST = 10
_MOST_WITHOUT_PRICES = 5  # then each level is tried, and designs take longer
_NOTHING = 1e-5  # of the error: what designs leave unproven, with room to spare
_SMALLEST_EPSILON = 1e-3  # a budget that any smaller one could only pretend to undercut
_TURNS, _MOST_IMPORTANT = 5, 20.0
_STEP, _STEP_OF_DESIGNS = 1e-12, 1e-5  # of the logarithm of the scale
_ROUNDS, _LESS = 2, 0.99  # budgets that one more turn must lower them to


def crossing(excess: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling ``excess`` is 0 between these; an end if it is beyond."""
    from scipy.optimize import brentq

    if excess(low) <= 0:
        return low
    return high if excess(high) >= 0 else float(brentq(excess, low, high, xtol=1e-13, rtol=1e-14))


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


@dataclass(frozen=True, slots=True)
class Relaxation:
    """What it buys to raise one level's budget by ``amount`` nats.

    ``saving`` is the share of the objective that goes away, 0 to 1, from solving the
    relaxed problem; levels that are merged may be merged otherwise then. ``price`` is the slope:
    by how much the objective falls per nat; None for a subset design, which has none.
    """

    level: str
    amount: float
    saving: float
    price: float | None


def relaxations(certified: Certified, amount: float = 0.1) -> tuple[Relaxation, ...]:
    """What ``amount`` nats more would buy for each of the ten levels with the highest prices.

    Of a subset design, which has no prices: for the five levels with the smallest budgets.

    Parameters
    ----------
    certified:
        A solved table or design.
    amount:
        Extra budget in nats, above 0.

    Returns
    -------
    tuple of Relaxation
        Best first; empty for a baseline, which has no prices. Levels whose budget buys
        nothing, or would pass the largest allowed, are left out.

    Raises
    ------
    InputError
        ``amount`` is not above 0.

    Examples
    --------
    >>> from planner import PrivacyPolicy
    >>> policy = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90], names=["A", "B", "C"])
    >>> for name in ("opt0", "subset-design"):
    ...     best = relaxations(solve_for(policy, name))[0]
    ...     print(best.level, round(best.saving, 3))
    A 0.146
    A 0.125
    """
    if not 0 < amount < MAX_EPSILON:
        remedy = "Relax by a smaller amount, such as 0.1."
        raise InputError("relax_by", amount, f"above 0 and below {MAX_EPSILON:g}", remedy)
    policy, prices = certified.policy, certified.shadow_prices
    if certified.certificate is None:
        return ()
    largest, found = largest_budgets(policy), []
    for i in _worth_trying(certified).tolist():
        if largest[i] + amount > MAX_EPSILON:
            continue
        about = relaxed(policy, i, amount), certified.model, certified.objective
        after = solve_for(*about)
        # What is planned now keeps the relaxed budgets, too.
        saving = max(0.0, 1 - after.objective_value / certified.objective_value)
        if prices is not None or saving > _NOTHING:
            price = None if prices is None else float(prices[i])
            found.append(Relaxation(policy.names[i], amount, saving, price))
    return tuple(sorted(found, key=lambda relaxation: -relaxation.saving))


def _worth_trying(certified: Certified) -> NDArray[np.intp]:
    """Levels whose budgets limit the error most, or may do so."""
    prices = certified.shadow_prices
    if prices is not None:
        first = np.argsort(-prices)[:_MOST]
        return first[prices[first] > 0]
    epsilons, limit = certified.policy.epsilons, certified.saturation_epsilon
    first = np.argsort(epsilons, kind="stable")[:_MOST_WITHOUT_PRICES]
    return first if limit is None else first[epsilons[first] < limit]


def most_binding(table: Certified, among: NDArray[np.bool_] | None = None) -> str:
    """Name of the level whose budget holds the error up most; ``among`` limits the choice.

    Examples
    --------
    >>> from planner import PrivacyPolicy, solve
    >>> most_binding(solve(PrivacyPolicy([1.0, 2.0], [1, 4], names=["severe", "common"])))
    'severe'
    """
    policy = table.policy
    prices = -policy.epsilons if table.shadow_prices is None else table.shadow_prices
    if among is not None:
        prices = np.where(among, prices, -np.inf)
    return policy.names[int(np.argmax(prices))]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Frontier(Framed):
    """Errors over a common scale of all budgets, rising; ``k`` scales, ``t`` levels.

    Attributes
    ----------
    names:
        The levels.
    scale:
        Common factors, shape ``(k,)``.
    total_error:
        Root of the objective, the total mean squared error for the least favourable answers
        unless another was asked for, as a share of the users, shape ``(k,)``.
    level_errors:
        Standard error of a rare item's share per level, shape ``(k, t)``.
    saturation_epsilon:
        Budget above which a level gains nothing at that scale, nats, shape ``(k,)``; ``nan``
        for rules other than min.
    largest_gap:
        Largest proven relative distance of any point from the optimum.
    """

    names: tuple[str, ...]
    scale: Array
    total_error: Array
    level_errors: Array
    saturation_epsilon: Array
    largest_gap: float

    @property
    def summary(self) -> str:
        """How far the scales reach, and what is proven of every point."""
        reach = f"{self.scale[0]:.3g} to {self.scale[-1]:.3g} times the budgets"
        return f"{reach}; every point is proven optimal to within {self.largest_gap:.1g}."

    def columns(self) -> dict[str, Any]:
        """One row a scale; errors as shares of the users."""
        levels = {f"error of {name}": self.level_errors[:, i] for i, name in enumerate(self.names)}
        columns = {"scale": self.scale, "total_error": self.total_error, **levels}
        return {**columns, "saturation_epsilon": self.saturation_epsilon}


def frontier(
    policy: PrivacyPolicy,
    users: int,
    scales: ArrayLike | None = None,
    model: str = "opt0",
    objective: Objective | None = None,
) -> Frontier:
    """Solve ``policy`` at each common scale of its budgets; every point is certified.

    Parameters
    ----------
    policy:
        The levels and their budgets at scale 1.
    users:
        Number of reports, at least 1.
    scales:
        Factors above 0 that leave every budget at most 50, any order; 50 around 1 if omitted.
    model:
        ``"opt0"``, ``"opt1"`` or ``"opt2"`` for tables, or ``"subset-design"``.
    objective:
        What is minimised; the total error for the least favourable answers when omitted.

    Raises
    ------
    InputError
        A scale or the number of users is out of range.
    SolverError
        A point could not be certified.

    Examples
    --------
    >>> curve = frontier(PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90]), 10_000, [0.5, 1, 2])
    >>> np.square(curve.total_error * 100).round(3).tolist()  # theory: per user
    [1015.294, 239.723, 48.49]
    """
    whole_number("users", users)
    if scales is None:
        chosen = usual_scales(policy)
    else:
        chosen = np.sort(positive_numbers("scales", scales, _largest_scale(policy)))
    solved = _solved(policy, chosen, model, objective or Objective())
    return Frontier(
        policy.names,
        chosen,
        np.sqrt([one.objective_value / users for one in solved]),
        np.sqrt([one.noise / users for one in solved]),
        np.array([one.saturation_epsilon or np.nan for one in solved]),
        max(one.certificate.relative_gap for one in solved if one.certificate),
    )


def usual_scales(policy: PrivacyPolicy, points: int = 50) -> Array:
    """Scales from a quarter to four times the budgets, evenly spaced in their logarithm."""
    top = min(4.0, _largest_scale(policy))
    return np.geomspace(min(0.25, top / 16), top, points)


def _solved(
    policy: PrivacyPolicy, scales: Array, model: str, objective: Objective
) -> list[UnaryTable | SubsetDesign]:
    return [solve_for(scaled(policy, scale), model, objective) for scale in scales.tolist()]


def _largest_scale(policy: PrivacyPolicy) -> float:
    return float(MAX_EPSILON / largest_budgets(policy).max())


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
        As of :func:`~planner.planning.what_if.smallest_budgets`.
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
            self._known[at] = solve_for(self._scaled(at), self.model, wanted)
        return self._known[at]

    def _excess(self, at: float) -> float:
        """Largest logarithm of reached over wanted; at most 0 where all targets are met."""
        reached = self._reached(self._solved(at))
        return max(log(r / t.value) for r, t in zip(reached, self.targets, strict=True))

    def _answer(self, at: float, opening: str) -> BudgetAnswer:
        certified, factor = self._solved(at), _times(exp(at))
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
        found = solve_for(lowered, self.model, certified.objective)
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


def smallest_budgets(
    policy: PrivacyPolicy,
    users: int,
    targets: Target | Sequence[Target],
    model: str = "opt0",
    adjustable: Sequence[str] | None = None,
    sets: Padding | None = None,
) -> BudgetAnswer:
    """The smallest common scale of the budgets at which all targets are met.

    Targets of single levels may need some importance for these levels: it is searched for, too, up
    to 20 times that of the others, and part of the answer.

    Parameters
    ----------
    policy:
        The levels and their budgets now.
    users:
        Number of reports, at least 1.
    targets:
        One target or several; all must be met. Of sets, about the total error.
    model:
        ``"opt0"``, ``"opt1"``, ``"opt2"`` or ``"subset-design"``; its total error is minimised.
    adjustable:
        Names of the levels whose budgets may change, rules min and avg only; all if omitted. No
        budget is raised above 50.
    sets:
        For item sets, and only for these: how they are padded.

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
    >>> from planner import AssumedSets, Padding
    >>> baskets = Padding(AssumedSets([0, 4, 3, 2, 1]))
    >>> answer = smallest_budgets(policy, 1_000_000, Target(error=0.05), sets=baskets)
    >>> round(answer.scale, 4), answer.padding_length
    (1.0586, 3)
    """
    wanted = (targets,) if isinstance(targets, Target) else tuple(targets)
    if not wanted:
        remedy = "Add a target, such as an error that one level must reach."
        raise InputError("targets", targets, "at least one target", remedy)
    whole_number("users", users)
    check_targets(wanted, policy.names, of_sets=sets is not None)
    free = _adjustable(policy, adjustable)
    search = BudgetSearch(policy, users, wanted, model, free)
    if sets is None:
        return _with_importance(search)
    if sets.length is not None:
        padded = sets.at(sets.length, users, policy)
        search = replace(search, padded=padded)
        return search.cut_too_much(padded) or search.smallest()
    return _at_best_length(search, sets)


def _with_importance(search: BudgetSearch) -> BudgetAnswer:
    """The smallest budgets, with the importance of the levels that targets of single ones need."""
    if search.policy.size == 1 or all(target.of_all for target in search.targets):
        return search.smallest()
    if search.model != "opt0":  # a table is quick, and needs nearly the same
        near = _with_importance(replace(search, model="opt0"))
        return replace(search, importance=near.importance, start=log(near.scale)).smallest()
    best = search.smallest()
    for _ in range(_ROUNDS):
        importance = search.weighed(log(best.scale))
        if importance == best.importance or len(set(importance)) == 1:
            break
        found = replace(search, importance=importance, start=log(best.scale)).smallest()
        if not found.possible or (best.possible and found.scale > _LESS * best.scale):
            break
        best = found
    return best


def _at_best_length(search: BudgetSearch, sets: Padding) -> BudgetAnswer:
    """Smallest budgets at one length and the best length at these, in turn, until both stay."""
    start, answers = 0.0, dict[int, BudgetAnswer]()
    length = _first_length(search, _padding_plan(search, search.policy, sets))
    while length not in answers:
        padded = sets.at(length, search.users, search.policy)
        answers[length] = answer = replace(search, padded=padded, start=start).smallest()
        start = log(answer.scale)
        length = _padding_plan(search, answer.certified.policy, sets).length
    turns = list(answers)
    # At the largest budgets of several turns the others' lengths are no worse.
    last = [answers[one] for one in turns[turns.index(length) :]]
    return max(last, key=lambda one: (one.possible, one.scale))


def _first_length(search: BudgetSearch, plan: PaddingPlan) -> int:
    """The best padding length at the budgets as they are, of those whose bias leaves room."""
    room = search.users * min(one.value for one in search.targets) ** 2 / 2
    return int(plan.lengths[np.argmin(np.where(plan.bias2 <= room, plan.mse, np.inf))])


def _padding_plan(search: BudgetSearch, policy: PrivacyPolicy, sets: Padding) -> PaddingPlan:
    """Every length's error with what is best whatever the sets, as plans choose by."""
    drawn = solve_for(policy, search.model)
    if isinstance(drawn, SubsetDesign) or sets.sets is None:
        remedy = "Say what is known of the sets, or give a padding length."
        raise InputError("sets", sets.sets, "known", remedy)
    return plan_padding(drawn, search.users, sets.sets)


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


def _times(scale: float) -> str:
    if abs(scale - 1) >= 0.0005:  # of four digits
        return f"{scale:.4g} times what they are"
    return f"a little {'more' if scale > 1 else 'less'} than they are"
