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
from functools import cache
from math import exp, log, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import positive_numbers, whole_number
from planner.errors import ConvergenceError, InputError, SolverError
from planner.frames import Columns, Framed
from planner.limits import MAX_EPSILON
from planner.mechanisms.catalogue import CATALOGUE
from planner.patience import still_wanted
from planner.planning import mean
from planner.planning.choice import achieved, check_targets, users_needed
from planner.planning.curve import Curve, choice_curve
from planner.planning.datasets import set_model_of
from planner.planning.kind import Facts, Kind
from planner.planning.option import AnyPart, Option, Part
from planner.planning.sets import law_at, least_error, plan_padding
from planner.planning.solve import (
    DESIGN,
    TOTAL,
    Certified,
    crossing,
    largest_budgets,
    scaled,
    solve_for,
)
from planner.policy.budget_text import digits_up
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.solvers.answers import UnaryTable
from planner.solvers.models import MODELS
from planner.survey.questions import SET_DESIGN, ItemSet, Numeric, Question, Target

Array = NDArray[np.float64]
RELAX_BY = 0.1  # nats
_MOST = 10
_MOST_WITHOUT_PRICES = 5  # then each level is tried, and designs take longer
_NOTHING = 1e-5  # of the error: what designs leave unproven, with room to spare
_SMALLEST_EPSILON = 1e-3  # a budget that any smaller one could only pretend to undercut
_TURNS = 5
_MOST_IMPORTANT = 20.0  # times the least important level: of tables more gains nothing
_MOST_IMPORTANT_OF_DESIGNS = 50_000.0  # then the others still have an error
_STEP, _STEP_OF_DESIGNS = 1e-12, 1e-5  # of the logarithm of the scale
_FAR = 1.1  # times an excess: how far off it is 0 at most, about
_ROUNDS, _LESS = 2, 0.99  # budgets that one more turn must lower them to


@dataclass(frozen=True, slots=True)
class Relaxation:
    """The share of the total error, 0 to 1, that ``amount`` nats more for one level save."""

    level: str
    amount: float
    saving: float


def relaxations(curve: Curve, now: Option, fraction: float = 1.0) -> tuple[Relaxation, ...]:
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
    certified: Certified = now.law
    error = now.errors.error(now.value, fraction)
    if certified.certificate is None or not error:
        return ()
    policy, found, largest = certified.policy, [], largest_budgets(certified.policy)
    for i in _worth_trying(certified).tolist():
        if largest[i] + RELAX_BY > MAX_EPSILON:
            continue
        name = policy.names[i]
        after = curve.at(1 + RELAX_BY / float(policy.epsilons[i]), name, near=now)
        # What is planned now keeps the relaxed budgets, too.
        value = min(after.value, now.value)
        saving = 1 - sqrt(min(now.errors.error(value, fraction) / error, 1.0))
        if certified.shadow_prices is not None or saving > _NOTHING:
            found.append(Relaxation(name, RELAX_BY, saving))
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
        Largest proven relative distance of any point from the optimum.
    """

    names: tuple[str, ...]
    scale: Array
    total_error: Array
    level_errors: Array
    largest_gap: float

    @property
    def summary(self) -> str:
        """How far the scales reach, and what is proven of every point."""
        reach = f"{self.scale[0]:.3g} to {self.scale[-1]:.3g} times the budgets"
        return f"{reach}; every point is proven optimal to within {self.largest_gap:.1g}."

    def columns(self) -> Columns:
        """One row a scale; errors as shares of the users."""
        levels = {f"error of {name}": self.level_errors[:, i] for i, name in enumerate(self.names)}
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
    return frontier_of(curve, policy, chosen, (users, users))


def frontier_of(
    curve: Curve,
    policy: PrivacyPolicy,
    scales: Array,
    people: tuple[int, int],
    near: Option | None = None,
    fraction: float = 1.0,
) -> Frontier:
    """The points of a curve: of so many ``people`` who are asked, of all, a ``fraction``."""
    found, failures = dict[float, Option](), list[SolverError]()
    for one in sorted(scales.tolist(), key=lambda one: abs(log(one))):
        beside = min(found, key=lambda other: abs(log(other / one)), default=one)
        try:
            found[one] = curve.at(one, near=found.get(beside, near))
        except SolverError as error:
            failures.append(error)
    if not found:
        raise failures[0]
    solved, (asked, everybody) = [found[one] for one in sorted(found)], people
    return Frontier(
        policy.names,
        np.array(sorted(found)),
        np.sqrt([one.errors.error(one.value, fraction) / everybody for one in solved]),
        np.sqrt([one.law.noise / asked for one in solved]),
        max(one.law.certificate.relative_gap for one in solved),
    )


def usual_scales(policy: PrivacyPolicy, points: int = 50) -> Array:
    """Scales from a quarter to four times the budgets, evenly spaced in their logarithm."""
    top = min(4.0, _largest_scale(policy))
    return np.geomspace(min(0.25, top / 16), top, points)


def _largest_scale(policy: PrivacyPolicy) -> float:
    return float(MAX_EPSILON / largest_budgets(policy).max())


@dataclass(frozen=True, slots=True, eq=False)
class BudgetAnswer:
    """The smallest budgets that meet all targets, or why there are none.

    ``scale`` is the common factor on the budgets, the largest tried if it is not ``possible``;
    ``certified`` the table or design there, ``reached`` what it reaches for each target, as shares
    of the users, and ``reason`` the answer as a sentence. ``importance`` is that of every level's
    error, None if all are alike.
    """

    possible: bool
    scale: float
    certified: Certified
    reached: tuple[float, ...]
    reason: str
    importance: tuple[float, ...] | None = None


def smallest_scale(
    excess_at: Callable[[float], float], low: float, high: float, start: float, step: float
) -> float:
    """The smallest logarithm of a scale, to a ``step``, at which a falling excess is at most 0.

    It is a logarithm of errors, which fall about as budgets grow. ``low`` if it is there already;
    ``high`` if it is not even there, which the caller checks.
    """
    excess, at, width = cache(excess_at), min(max(start, low), high), step
    while low < at and excess(at) <= 0:
        width = max(4 * width, -_FAR * excess(at))
        high, at = at, max(at - width, low)
    while at < high and excess(at) > 0:
        width = max(4 * width, _FAR * excess(at))
        low, at = at, min(at + width, high)
    found = crossing(excess, low, at if excess(at) <= 0 else high, step / 10)
    while found < high and excess(found) > -1e-14:  # never promise what misses by rounding
        found, step = min(found + step, high), 2 * step
    return found


def _limits(policy: PrivacyPolicy, most: float) -> tuple[float, float]:
    """Logarithms of the smallest and the largest scale worth trying."""
    pair = policy.smallest_pair
    smallest = min(float(policy.epsilons.min()), pair)
    return log(_SMALLEST_EPSILON / smallest), log(most) - 1e-12


class _Reached(NamedTuple):
    """What is best at some budgets, and what it reaches for each target."""

    certified: Certified
    shares: list[float]
    length: int | None = None
    bias: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """What targets reach at a scale of the budgets; arguments as of :func:`smallest_budgets`."""

    policy: PrivacyPolicy
    users: int
    targets: tuple[Target, ...]
    model: str
    sets: ItemSet | None = None
    start: float = 0.0
    importance: tuple[float, ...] | None = None
    near: Certified | None = None

    def smallest(self) -> BudgetAnswer:
        """The answer at this importance."""
        low, high = _limits(self.policy, _largest_scale(self.policy))
        step = _STEP_OF_DESIGNS if self.model == DESIGN else _STEP
        at = smallest_scale(self._excess, low, high, self.start, step)
        found = self._at(scaled(self.policy, exp(at)))
        possible = at < high or self._excess(high) <= 0
        if not possible:
            reason = self._impossible(found)
        else:
            opening = "These budgets meet the targets"
            if at == low:
                opening = "The targets are met even with next to no budget"
            elif all(target.of_all for target in self.targets):  # what the certificate is about
                opening = "These are the smallest budgets in proportion that meet the targets"
            factor, enough = _times(exp(at)), self._saturated(found.certified)
            if enough is not None:
                found, factor = enough, f"{factor}, or where more buys nothing"
            where = "" if found.length is None else f", at padding length {found.length}"
            budgets = f"{_named_budgets(found.certified.policy)} ({factor})"
            reason = f"{opening}: {budgets}{where}{self._counted()}."
        about = possible, exp(at), found.certified, tuple(found.shares), reason
        return BudgetAnswer(*about, self.importance)

    def weighed(self, at: float) -> tuple[float, ...]:
        """The importance of the levels at which the targets are met best at a scale; at least 1.

        Multiplicative weights on the targets: each turn those missed by more count more, and the
        total error is made small in which every target's part has its weight. Of tables, which are
        quick.
        """
        policy, best = scaled(self.policy, exp(at)), (np.inf, np.ones(self.policy.size))
        parts = [part for target in self.targets for part in self._parts(target)]
        share, weights = np.full(len(parts), 1 / len(parts)), best[1]
        least = 1 / (_MOST_IMPORTANT_OF_DESIGNS if self.model == DESIGN else _MOST_IMPORTANT)
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
            weights = np.maximum(weights / weights.max(), least)
        found = best[1] / best[1].min()
        return tuple(float(f"{one:.2g}") for one in found)

    def _parts(self, target: Target) -> list[tuple[Target, Array]]:
        """A target of every item is one of every level."""
        names = self.policy.names
        levels = names if target.kind == "detect" and target.level is None else [target.level]
        here = [np.array([name == level for name in names], dtype=float) for level in levels]
        return [(target.replacing(level=one), at) for one, at in zip(levels, here, strict=True)]

    def _at(self, policy: PrivacyPolicy) -> _Reached:
        """What is best with budgets; of sets at the length that a plan with them has."""
        objective = Objective(weights=self.importance)
        if self.sets is None:
            return self._reached(solve_for(policy, self.model, objective, near=self.near))
        length, known = self.sets.padding_length, set_model_of(self.sets)
        if length is None and known is not None:
            drawn = solve_for(policy, self.model)
            assert isinstance(drawn, UnaryTable)  # noqa: S101 - of sets nothing else is searched
            length = plan_padding(drawn, self.users, known).length
        objective, errors = law_at(self.sets, self.users, length, objective)
        found = solve_for(policy, self.model, objective)
        reached = sqrt(errors.error(found.objective_value) / self.users)
        return _Reached(found, [reached] * len(self.targets), length, errors.bias)

    def _reached(self, found: Certified) -> _Reached:
        return _Reached(found, [min(achieved(found, self.users, t), 1e300) for t in self.targets])

    def _excess(self, at: float) -> float:
        """Largest logarithm of reached over wanted; at most 0 where all targets are met."""
        try:
            reached = self._at(scaled(self.policy, exp(at))).shares
        except ConvergenceError:  # the error cannot be told from rounding
            return -1.0
        return max(log(r / t.value) for r, t in zip(reached, self.targets, strict=True))

    def _saturated(self, certified: Certified) -> _Reached | None:
        """The same without budgets that buy nothing; None if there are none such."""
        policy, limit = certified.policy, certified.saturation_epsilon
        if limit is None or not policy.rule.by_level:
            return None
        over = policy.epsilons > limit * (1 + 1e-9)
        if not over.any():
            return None
        found = self._at(policy.with_changes(np.where(over, limit, policy.epsilons)))
        reached = zip(found.shares, self.targets, strict=True)
        return found if max(r / t.value for r, t in reached) <= 1 + 1e-9 else None

    def _counted(self) -> str:
        """The importance that the levels need, in words."""
        pairs = zip(self.policy.names, self.importance or (), strict=self.importance is not None)
        more = [f"{one:g} for {name!r}" for name, one in pairs if one > 1][:6]
        return f", with importance {', '.join(more)}" if more else ""

    def _impossible(self, found: _Reached) -> str:
        reached = zip(found.shares, self.targets, strict=True)
        least, target = max(reached, key=lambda one: one[0] / one[1].value)
        cause = f"even at budgets up to {float(found.certified.policy.epsilons.max()):.4g}"
        if found.bias >= self.users * target.value**2:
            cause = f"sets of more than {found.length} items are cut: whatever the budgets"
        floor = f"{100 * least:.4g} %" if least < 1 else "no share at all"
        return f"Impossible, because {cause}, the best is {floor}; wanted: {target.text}."


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
    return _with_importance(_Search(policy, users, wanted, model))


def _with_importance(search: _Search) -> BudgetAnswer:
    """The smallest budgets, with the importance of the levels that targets of single ones need."""
    if search.policy.size == 1 or all(target.of_all for target in search.targets):
        return search.smallest()
    best = replace(search, model="opt0").smallest()  # a table is quick, and needs nearly that
    for _ in range(_ROUNDS):
        importance = search.weighed(log(best.scale))
        if importance == best.importance or len(set(importance)) == 1:
            break
        near = replace(search, model="opt0", importance=importance, start=log(best.scale))
        found = near.smallest()
        if not found.possible or (best.possible and found.scale > _LESS * best.scale):
            break
        best = found
    if search.model == "opt0":
        return best
    return replace(search, importance=best.importance, start=log(best.scale)).smallest()


def _named_budgets(policy: PrivacyPolicy) -> str:
    pairs = zip(policy.names[:6], policy.epsilons, strict=False)
    shown = [f"{name} {digits_up(epsilon)}" for name, epsilon in pairs]
    more = policy.size - len(shown)
    return ", ".join(shown) + (f" and {more} more levels" if more else "")


def _times(scale: float) -> str:
    if abs(scale - 1) >= 0.0005:  # of four digits
        return f"{digits_up(scale)} times what they are"
    return f"a little {'more' if scale > 1 else 'less'} than they are"


@dataclass(frozen=True, slots=True)
class TargetAnswer:
    """One target: what the plan ``reached``, in the target's unit, and what would reach it.

    Of a missed one ``budgets`` says which smallest ones would be enough for these users, or why
    none are. ``users`` is how many people the whole survey would have to ask with the budgets as
    they are; None if no number is enough, because a bias is larger than the target.
    """

    target: Target
    reached: float
    budgets: str
    users: int | None
    of_mean: bool = False

    @property
    def met(self) -> bool:
        """Whether what is reached is enough."""
        return self.reached <= self.target.value

    @property
    def wanted(self) -> str:
        """The requirement in words."""
        if self.of_mean:
            return f"error of the mean at most {100 * self.target.value:.4g} % of half the range"
        return self.target.text


def answer_targets(
    kind: Kind[Any], part: AnyPart, planned: Option, facts: Facts
) -> tuple[TargetAnswer, ...]:
    """What becomes of each target, with the option that is deployed.

    Targets are about the total error, unweighted, whatever the question's objective weighs; of one
    answer also about a level or about what is detected.
    """
    total, answers = kind.total(part, planned), []
    for target in part.asked.targets:
        if not target.of_all and not kind.of_levels:
            raise _of_total_alone(part.asked, target)
        reached = sqrt(total.errors.error(total.value, part.fraction) / part.everybody)
        people = kind.people_for(part, facts, total, target.value)
        aside = total.errors.spread * (1 / part.fraction - 1) / part.everybody
        if not target.of_all:
            aside = 0.0
            reached = achieved(planned.law, part.fraction * part.everybody, target)
            people = users_needed(planned.law, target, part.fraction)
        budgets = ""
        if reached > target.value:
            budgets = _smallest(part, planned, target, aside)
        answers.append(TargetAnswer(target, reached, budgets, people, part.asked.of_mean))
    return tuple(answers)


def _of_total_alone(asked: Question, target: Target) -> InputError:
    what, allowed = f"target of question {asked.name!r}", "a total error"
    remedy = "Of sets and ordered answers give the total error alone."
    if isinstance(asked, Numeric):
        allowed, remedy = "an error", "A mean has an error and no items to detect."
    return InputError(what, target.text, allowed, remedy)


def _smallest(part: Part[Any], planned: Option, target: Target, aside: float) -> str:
    """Which budgets would be enough; ``aside`` is the squared error that no budget lowers."""
    if planned.name in (SET_DESIGN, mean.BISAMPLE):
        return _smallest_of_curve(part, planned, target)
    if planned.name not in (*MODELS, DESIGN):
        return f"Not searched for {CATALOGUE[planned.name].label}: ask for other budgets."
    room = target.value**2 - aside
    if room <= 0:
        left = f"{100 * sqrt(aside):.4g} %"
        return f"Impossible, because asking only some of the people leaves an error of {left}."
    wanted = target.replacing(error=sqrt(room)) if aside else target
    sets = part.asked if isinstance(part.asked, ItemSet) else None
    about = part.deployed.policy, part.people, (wanted,), planned.name, sets
    return _with_importance(_Search(*about, near=planned.law)).reason


def _smallest_of_curve(part: Part[Any], planned: Option, target: Target) -> str:
    """Of what has one budget: where the error at all budgets times a number is the target."""
    whole = planned.name == SET_DESIGN

    def error(at: float) -> float:
        share = part.share * exp(at)
        if whole:
            return sqrt(least_error(replace(part, share=share)) / part.everybody)
        found = mean.NumberKind().shared(part.question, part.everybody).at(share).squared
        return sqrt(planned.errors.of_sample(found, part.fraction) / part.everybody)

    policy, cap = part.deployed.policy, getattr(part.deployed, "cap", None)
    epsilon, most = policy.smallest_pair, _largest_scale(policy)
    low, high = _limits(policy, min(most, MAX_EPSILON / cap) if cap else most)
    if error(high) > target.value:
        return f"Impossible: whatever the budgets, the best is {100 * error(high):.4g} %."
    at = smallest_scale(lambda at: log(error(at) / target.value), low, high, 0.0, _STEP_OF_DESIGNS)
    budget = digits_up(exp(at) * epsilon)
    if not whole:
        return f"The smallest budget that meets the target: {budget}."
    return (
        f"With a set design all budgets times {digits_up(exp(at))} meet the target: the smallest "
        f"pair budget is then {budget}."
    )
