"""What if budgets were others: one level's raised, all scaled, or as small as targets allow.

The error falls in the budgets, as whatever keeps smaller ones keeps larger ones, too. The
multipliers of the privacy rows are the slopes of the smallest error by the budgets: they rank the
levels that are worth relaxing; what a step really buys is found by solving the relaxed problem.
Smallest budgets are one search over the logarithm of their common scale. Targets of single levels
have the importance of their levels searched for in turn, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from math import exp, inf, log, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import positive_numbers, whole_number
from planner.arrays import Array
from planner.errors import ConvergenceError, InputError, PlannerError, SolverError
from planner.frames import Columns, Framed
from planner.limits import MAX_EPSILON
from planner.patience import still_wanted
from planner.planning.choice import achieved, check_targets, users_needed
from planner.planning.kind import AnyKind, Importance, PlanFacts
from planner.planning.option import AnyPart, Curve, Option, choice_curve
from planner.planning.solve import (
    DESIGN,
    ROUGH,
    TOTAL,
    crossing,
    largest_budgets,
    scaled,
)
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.solvers.models import MODELS
from planner.survey.levels import Target

RELAX_BY = 0.1  # nats
_MOST_PRICED = 10
_MOST_WITHOUT_PRICES = 5  # then each level is tried, and designs take longer
_SMALLEST_EPSILON = 1e-3  # a budget that any smaller one could only pretend to undercut
_TURNS = 5
_MOST_IMPORTANT = 20.0  # times the least important level: of tables more gains nothing
_MOST_IMPORTANT_OF_DESIGNS = 50_000.0  # then the others still have an error
_PROVEN_TARGET = 1e-4  # of an error: what leaves next to nothing of the scale unproven
# of the logarithm of the scale
_STEP = 1e-12
_STEP_OF_DESIGNS = 1e-5
_FAR = 1.1  # times an excess: how far off it is 0 at most, about
# budgets that one more turn must lower them to
_TARGET_ROUNDS = 2
_LESS = 0.99


@dataclass(frozen=True, slots=True)
class Relaxation:
    """The share of the total error, 0 to 1, that ``amount`` nats more for one level save."""

    level: str
    amount: float
    saving: float


def relaxations(
    curve: Curve, now: Option, fraction: float = 1.0
) -> tuple[Relaxation, ...]:
    """What a little more would buy for each of the ten levels with the highest prices.

    ``now`` is the curve's option at these budgets, where a ``fraction`` of the people is asked. Of
    a subset design, which has no prices: for the five levels with the smallest budgets. Best
    first; empty for a baseline. Levels whose budget buys nothing, or would pass the largest
    allowed, are left out.

    Examples
    --------
    >>> from planner import PrivacyPolicy
    >>> policy = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90], names=["A", "B", "C"])
    >>> curves = [choice_curve("q", policy, mechanism=name) for name in ("opt0", "subset-design")]
    >>> [round(relaxations(curve, curve.at())[0].saving, 3) for curve in curves]
    [0.076, 0.065]
    """
    certified = now.law
    error = now.sampled(fraction)
    if certified.certificate is None or not error:
        return ()
    policy = certified.policy
    found = []
    largest = largest_budgets(certified.policy)
    for i in _worth_trying(now).tolist():
        if largest[i] + RELAX_BY > MAX_EPSILON:
            continue
        name = policy.names[i]
        raised = 1 + RELAX_BY / float(policy.epsilons[i])
        after = curve.at(raised, level=name, tolerance=ROUGH)
        # What is planned now keeps the relaxed budgets, too.
        value = min(after.value, now.value)
        saving = 1 - sqrt(min(now.errors.error(value, fraction) / error, 1.0))
        if certified.shadow_prices is not None or saving > ROUGH:
            found.append(Relaxation(name, RELAX_BY, saving))
    return tuple(sorted(found, key=lambda relaxation: -relaxation.saving))


def _worth_trying(now: Option) -> NDArray[np.intp]:
    """Levels whose budgets limit the error most, or may do so."""
    certified = now.law
    prices = certified.shadow_prices
    if prices is not None:
        first = np.argsort(-prices)[:_MOST_PRICED]
        return first[prices[first] > 0]
    epsilons = certified.policy.epsilons
    limit = certified.saturation_epsilon
    first = np.argsort(epsilons, kind="stable")[:_MOST_WITHOUT_PRICES]
    return first if limit is None else first[epsilons[first] < limit]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Frontier(Framed):
    """Errors over a common scale of all budgets, rising; ``k`` scales, ``t`` levels.

    Attributes
    ----------
    names, scale:
        The levels; common factors, shape ``(k,)``.
    total_error:
        Root of the objective as a share of the users, shape ``(k,)``.
    level_errors:
        Standard error of a rare item's share per level, shape ``(k, t)``.
    largest_gap:
        Largest proven relative distance of any point from the optimum; ``inf`` without a proof.
    """

    names: tuple[str, ...]
    scale: Array
    total_error: Array
    level_errors: Array
    largest_gap: float

    @property
    def summary(self) -> str:
        """How far the scales reach, and what is proven of every point, if anything is."""
        reach = f"{self.scale[0]:.3g} to {self.scale[-1]:.3g} times the budgets"
        proven = f"; every point is proven optimal to within {self.largest_gap:.1g}"
        return f"{reach}{proven * (self.largest_gap < inf)}."

    def columns(self) -> Columns:
        """One row a scale; errors as shares of the users."""
        levels = {
            f"error of {name}": self.level_errors[:, i]
            for i, name in enumerate(self.names)
        }
        return {"scale": self.scale, "total_error": self.total_error, **levels}


def frontier(
    policy: PrivacyPolicy,
    users: int,
    scales: ArrayLike | None = None,
    model: str = "opt0",
    objective: Objective | None = None,
) -> Frontier:
    """Solve ``policy`` at each common scale of its budgets; what is not certified is left out.

    Parameters
    ----------
    policy, users:
        The levels and their budgets at scale 1; number of reports, at least 1.
    scales:
        Factors above 0 that leave every budget at most 50, any order; 50 around 1 if omitted.
    model, objective:
        ``"opt0"``, ``"opt1"``, ``"opt2"`` or ``"subset-design"``, and what is minimised; the total
        error for the least favourable answers when omitted.

    Raises
    ------
    InputError, SolverError
        A scale or the number of users is out of range; no point could be certified.

    Examples
    --------
    >>> curve = frontier(PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90]), 10_000, [0.5, 1, 2])
    >>> np.square(curve.total_error * 100).round(3).tolist()  # theory: per user
    [1015.294, 239.723, 48.49]
    """
    whole_number("users", users)
    chosen = usual_scales(policy)
    if scales is not None:
        chosen = np.sort(positive_numbers("scales", scales, _largest_scale(policy)))
    curve = choice_curve("", policy, objective=objective or TOTAL, mechanism=model)
    return frontier_of(curve, policy.names, chosen, (users, users, 1.0))


def frontier_of(
    curve: Curve,
    names: tuple[str, ...],
    scales: Array,
    people: tuple[int, int, float],
    **about: object,
) -> Frontier:
    """The points of a curve: of so many ``people`` who are asked, of all, a fraction.

    With the errors of the levels that have ``names``; ``about`` says more of each point.
    """
    found = dict[float, Option]()
    failures = list[PlannerError]()
    for one in sorted(scales.tolist(), key=lambda one: abs(log(one))):
        try:
            found[one] = curve.at(one, **about)
        except (
            InputError,
            SolverError,
        ) as error:  # budgets too small or too large for it
            failures.append(error)
    if not found:
        raise failures[0]
    solved = [found[one] for one in sorted(found)]
    (asked, everybody, fraction) = people
    proofs = [getattr(one.law, "certificate", None) for one in solved]
    return Frontier(
        names,
        np.array(sorted(found)),
        np.sqrt([one.sampled(fraction) / everybody for one in solved]),
        np.sqrt([one.law.noise / asked if names else [] for one in solved]),
        max(inf if proof is None else proof.relative_gap for proof in proofs),
    )


def usual_scales(policy: PrivacyPolicy, points: int = 50) -> Array:
    """Scales from a quarter to four times the budgets, evenly spaced in their logarithm."""
    top = min(4.0, _largest_scale(policy))
    return np.geomspace(min(0.25, top / 16), top, points)


def _largest_scale(policy: PrivacyPolicy) -> float:
    return float(MAX_EPSILON / largest_budgets(policy).max())


@dataclass(frozen=True, slots=True, eq=False)
class BudgetAnswer:
    """The smallest budgets that meet all targets, or the best that is reached.

    Attributes
    ----------
    possible, scale:
        Whether any budgets meet them; the common factor on the budgets, else the largest tried.
    option, policy:
        What is planned there, and the budgets, none of which is so large that more buys nothing.
    targets, reached:
        What is wanted, and what is reached for it, as shares of the users.
    lowest, saturated:
        Whether even the smallest budget that is tried meets them; whether a budget is left at where
        more buys nothing.
    importance:
        That of every level's error, which targets of single levels may need.
    aside, cut:
        Parts of ``reached`` that no budget lowers: as only some of the people are asked, or long
        sets are cut.
    """

    possible: bool
    scale: float
    option: Option
    policy: PrivacyPolicy
    targets: tuple[Target, ...]
    reached: tuple[float, ...]
    lowest: bool
    saturated: bool
    importance: Importance = None
    aside: float = 0.0
    cut: float = 0.0

    @property
    def proven(self) -> bool:
        """Whether no smaller budgets in proportion meet them, with a mechanism of this form.

        Not where a sample's part, known from above alone, is in the error.
        """
        option = self.option
        of_all = all(target.of_all for target in self.targets)
        known = of_all and not self.aside
        return known and option.squared <= (1 + _PROVEN_TARGET) * option.squared_bound


def smallest_scale(
    excess_at: Callable[[float], float],
    low: float,
    high: float,
    start: float,
    step: float,
) -> float:
    """The smallest logarithm of a scale, to a ``step``, at which a falling excess is at most 0.

    It is a logarithm of errors, which fall about as budgets grow. ``low`` if it is there already;
    ``high`` if it is not even there, which the caller checks.
    """
    excess = cache(excess_at)
    at = min(max(start, low), high)
    width = step
    while low < at and excess(at) <= 0:
        width = max(4 * width, -_FAR * excess(at))
        high = at
        at = max(at - width, low)
    while at < high and excess(at) > 0:
        width = max(4 * width, _FAR * excess(at))
        low = at
        at = min(at + width, high)
    found = crossing(excess, low, at if excess(at) <= 0 else high, step / 10)
    while (
        found < high and excess(found) > -1e-14
    ):  # never promise what misses by rounding
        found = min(found + step, high)
        step = 2 * step
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _TargetSearch:
    """What targets reach at a scale of the budgets.

    ``curve`` is that of a mechanism, for the total error with some importance of the levels, and
    ``reach`` what an option does for a target; no scale is above ``largest``.
    """

    curve: Callable[[str, Importance], Curve]
    mechanism: str
    policy: PrivacyPolicy
    targets: tuple[Target, ...]
    reach: Callable[[Option, Target], float]
    largest: float
    start: float = 0.0
    importance: Importance = None

    def smallest(self) -> BudgetAnswer:
        """The answer at this importance."""
        curve = self.curve(self.mechanism, self.importance)
        smallest = min(float(self.policy.epsilons.min()), self.policy.smallest_pair)
        low = log(_SMALLEST_EPSILON / smallest)
        high = log(self.largest) - 1e-12

        def excess(at: float) -> float:
            try:
                option = curve.at(exp(at))
            except ConvergenceError:  # the error cannot be told from rounding
                return -1.0
            return max(
                log(min(self.reach(option, t), 1e300) / t.value) for t in self.targets
            )

        step = _STEP if self.mechanism in MODELS else _STEP_OF_DESIGNS
        at = smallest_scale(excess, low, high, self.start, step)
        option = curve.at(exp(at))
        policy = scaled(self.policy, exp(at))
        possible = at < high or excess(high) <= 0
        limit = getattr(option.law, "saturation_epsilon", None) or inf
        over = (
            possible
            and policy.rule.by_level
            and policy.epsilons.max() > limit * (1 + 1e-9)
        )
        if over:  # what is planned keeps these, too
            policy = policy.with_changes(np.minimum(policy.epsilons, limit))
        reached = tuple(self.reach(option, target) for target in self.targets)
        about = possible, exp(at), option, policy, self.targets, reached
        return BudgetAnswer(*about, at == low, over, self.importance)

    def weighed(self, scale: float) -> tuple[float, ...]:
        """The importance of the levels at which the targets are met best at a scale; at least 1.

        Multiplicative weights on the targets: each turn those missed by more count more, and the
        total error is made small in which every target's part has its weight. Of tables, which are
        quick.
        """
        size = self.policy.size
        best = (np.inf, np.ones(size))
        parts = [part for target in self.targets for part in self._parts(target)]
        share = np.full(len(parts), 1 / len(parts))
        weights = best[1]
        least = 1 / (
            _MOST_IMPORTANT_OF_DESIGNS if self.mechanism == DESIGN else _MOST_IMPORTANT
        )
        for _ in range(_TURNS):
            still_wanted()
            option = self.curve("opt0", tuple(weights.tolist())).at(scale)
            missed = np.array([self.reach(option, one) / one.value for one, _ in parts])
            if missed.max() < best[0]:
                best = float(missed.max()), weights
            share = share * np.minimum(missed, 1e6) ** 2
            share /= share.sum()
            per_item = 1 / (self.policy.item_counts * option.law.noise)
            alike = np.full(size, 1 / option.law.worst_case_mse)
            pull = [
                alike if one.level is None else per_item * here for one, here in parts
            ]
            weights = np.sum(share[:, None] * np.array(pull), axis=0)
            weights = np.maximum(weights / weights.max(), least)
        found = best[1] / best[1].min()
        return tuple(float(f"{one:.2g}") for one in found)

    def _parts(self, target: Target) -> list[tuple[Target, Array]]:
        """A target of every item is one of every level."""
        names = self.policy.names
        levels = (
            names
            if target.kind == "detect" and target.level is None
            else [target.level]
        )
        here = [
            np.array([name == level for name in names], dtype=float) for level in levels
        ]
        return [
            (target.replacing(level=one), at)
            for one, at in zip(levels, here, strict=True)
        ]

    def with_importance(self) -> BudgetAnswer:
        """The answer with the importance of the levels that targets of single ones need."""
        if self.policy.size == 1 or all(target.of_all for target in self.targets):
            return self.smallest()
        tables = replace(self, mechanism="opt0")
        best = tables.smallest()  # a table is quick, and needs nearly that
        for _ in range(_TARGET_ROUNDS):
            importance = self.weighed(best.scale)
            if importance == best.importance or len(set(importance)) == 1:
                break
            found = replace(
                tables, importance=importance, start=log(best.scale)
            ).smallest()
            if not found.possible or (
                best.possible and found.scale > _LESS * best.scale
            ):
                break
            best = found
        if self.mechanism == "opt0":
            return best
        return replace(
            self, importance=best.importance, start=log(best.scale)
        ).smallest()


def smallest_budgets(
    policy: PrivacyPolicy,
    users: int,
    targets: Target | Sequence[Target],
    model: str = "opt0",
) -> BudgetAnswer:
    """The smallest common scale of the budgets at which all targets are met; of one answer.

    Targets of single levels may need some importance for these levels: it is searched for, too,
    and part of the answer.

    Parameters
    ----------
    policy, users:
        The levels and their budgets now; number of reports, at least 1.
    targets:
        One target or several; all must be met.
    model:
        ``"opt0"``, ``"opt1"``, ``"opt2"`` or ``"subset-design"``; its total error is minimised. No
        budget is raised above 50.

    Raises
    ------
    InputError, SolverError
        A wrong argument, or targets that contradict each other; no table could be certified.

    Examples
    --------
    >>> policy = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90], names=["A", "B", "C"])
    >>> answer = smallest_budgets(policy, 1_000_000, Target(error=0.01))
    >>> round(answer.scale, 4), [round(x, 6) for x in answer.reached]
    (1.482, [0.01])
    """
    wanted = (targets,) if isinstance(targets, Target) else tuple(targets)
    if not wanted:
        remedy = "Add a target, such as an error that one level must reach."
        raise InputError("targets", targets, "at least one target", remedy)
    whole_number("users", users)
    check_targets(wanted, policy.names)

    def curve(mechanism: str, importance: Importance) -> Curve:
        return choice_curve(
            "", policy, 1.0, Objective(weights=importance), mechanism=mechanism
        )

    def reach(option: Option, target: Target) -> float:
        return achieved(option.law, users, target)

    search = _TargetSearch(curve, model, policy, wanted, reach, _largest_scale(policy))
    return search.with_importance()


@dataclass(frozen=True, slots=True)
class TargetAnswer:
    """One target: what the plan ``reached``, in the target's unit, and what would reach it.

    Of a missed one ``budgets`` are the smallest ones that would be enough for these users, or the
    best there are; None where they are not searched for, and where it is met. ``users`` is how many
    people the whole survey would have to ask with the budgets as they are; None if no number is
    enough, because a bias is larger than the target.
    """

    target: Target
    reached: float
    budgets: BudgetAnswer | None
    users: int | None
    of_mean: bool = False

    @property
    def met(self) -> bool:
        """Whether what is reached is enough."""
        return self.reached <= self.target.value


def answer_targets(
    kind: AnyKind, part: AnyPart, planned: Option, facts: PlanFacts
) -> tuple[TargetAnswer, ...]:
    """What becomes of each target, with the option that is deployed.

    Targets are about the total error, unweighted, whatever the question's objective weighs; of one
    answer also about a level or about what is detected. Asked again, they are of one round.
    """
    (few, total) = part.in_round(kind.total(part, planned))
    answers = []
    for target in part.asked.targets:
        if not target.of_all and not part.asked.draws_one:
            key = "detect" if target.level is None else "level"
            what = f"{key} in a target of question {part.asked.name!r}"
            remedy = "Of sets, ordered answers and means give the total error alone."
            raise InputError(what, getattr(target, key), "left out", remedy)
        reached = _reached(kind, part, planned, target)
        budgets = None
        if target.of_all:
            people = kind.people_for(few, facts, total, target.value)
        else:
            people = users_needed(planned.law, target, few.fraction)
        if reached > target.value and kind.searched(part, planned) is not None:
            budgets = _smallest(kind, part, planned, target)
        answers.append(
            TargetAnswer(target, reached, budgets, people, part.asked.of_mean)
        )
    return tuple(answers)


def _reached(kind: AnyKind, part: AnyPart, option: Option, target: Target) -> float:
    """What an option reaches for a target, in a round."""
    few, total = part.in_round(kind.total(part, option))
    if target.of_all:
        return sqrt(total.sampled(few.fraction) / part.everybody)
    return achieved(option.law, few.fraction * part.everybody, target)


def _smallest(
    kind: AnyKind, part: AnyPart, planned: Option, target: Target
) -> BudgetAnswer:
    """Which budgets would be enough."""

    def curve(mechanism: str, importance: Importance) -> Curve:
        found = kind.searched(part, replace(planned, name=mechanism), importance)
        assert found is not None  # noqa: S101 - asked of those that are searched
        return found

    policy = part.deployed.policy
    cap = getattr(part.deployed, "cap", None)
    largest = min(_largest_scale(policy), MAX_EPSILON / cap if cap else inf)
    about = (
        curve,
        planned.name,
        policy,
        (target,),
        partial(_reached, kind, part),
        largest,
    )
    found = _TargetSearch(*about).with_importance()
    few, total = part.in_round(kind.total(part, found.option))
    errors = total.errors
    aside = (
        errors.spread * (1 / few.fraction - 1) / part.everybody
        if target.of_all
        else 0.0
    )
    return replace(found, aside=sqrt(aside), cut=sqrt(errors.bias / part.everybody))
