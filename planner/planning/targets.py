"""What becomes of targets, and the smallest budgets or the fewest people that would meet them.

Smallest budgets are one search over the logarithm of their common scale: the error falls in the
budgets, as whatever keeps smaller ones keeps larger ones, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from math import exp, inf, log, sqrt

import numpy as np

from planner.arguments import whole_number
from planner.errors import ConvergenceError, InputError
from planner.limits import MAX_EPSILON
from planner.planning.detection import achieved, check_targets, power, users_needed
from planner.planning.kind import AnyKind, PlanFacts
from planner.planning.option import AnyPart, Curve, Option, choice_curve
from planner.planning.power import HALVES, ComparedGroups, compared_groups
from planner.planning.solve import crossing, scaled
from planner.planning.what_if import largest_scale
from planner.policy.policy import PrivacyPolicy
from planner.solvers.models import MODELS
from planner.survey.levels import Target

_SMALLEST_EPSILON = 1e-3  # a budget that any smaller one could only pretend to undercut
_PROVEN_TARGET = 1e-4  # of an error: what leaves next to nothing of the scale unproven
# Precision of the logarithm of the scale.
_STEP = 1e-12
_STEP_OF_DESIGNS = 1e-5
_FAR = 1.1  # times an excess: about how far off it is 0 at most


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
    sampling, truncation:
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
    sampling: float = 0.0
    truncation: float = 0.0

    @property
    def proven(self) -> bool:
        """Whether no smaller budgets in proportion meet them, with a mechanism of this form.

        Not where a sample's part, known from above alone, is in the error.
        """
        if self.sampling or not all(target.of_all for target in self.targets):
            return False
        proven = (1 + _PROVEN_TARGET) * self.option.squared_bound
        return self.option.squared <= proven


@dataclass(frozen=True, slots=True)
class FileBudget:
    """A budget as a survey file states it, in nats.

    ``level`` is the name of a level of the ``question``; of a number it is the question's own. A
    joint question's budgets are those of the questions that it is of.
    """

    question: str
    level: str
    epsilon: float


@dataclass(frozen=True, slots=True)
class TargetAnswer:
    """One target: what the plan ``reached``, in the target's unit, and what would reach it.

    Of a missed one ``budgets`` are the smallest ones, as they are spent, that would be enough for
    these users, or the best there are; None where they are not searched for, and where it is met.
    ``in_file`` are the same as the survey file would state them, if shares of budgets and people
    stayed as they are; empty where pairs of levels have budgets of their own. ``users`` is how many
    people the whole survey would have to ask with the budgets as they are; None if no number is
    enough, because a bias is larger than the target. Of a difference ``power`` is how often these
    people would show it, between the ``groups`` that have the fewest people.
    """

    target: Target
    reached: float
    budgets: BudgetAnswer | None
    users: int | None
    of_mean: bool = False
    in_file: tuple[FileBudget, ...] = ()
    power: float | None = None
    groups: ComparedGroups | None = None

    @property
    def met(self) -> bool:
        """Whether what is reached is enough."""
        return self.reached <= self.target.value


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
    here = min(max(start, low), high)
    # From the start in growing steps, each about as long as the excess says, until it changes its
    # sign: budgets far from the start, which take longer to solve for, are seldom looked at.
    width = step
    while low < here and excess(here) <= 0:
        width = max(4 * width, -_FAR * excess(here))
        high = here
        here = max(here - width, low)
    while here < high and excess(here) > 0:
        width = max(4 * width, _FAR * excess(here))
        low = here
        here = min(here + width, high)
    if excess(here) <= 0:
        high = here
    smallest = crossing(excess, low, high, step / 10)
    # Never promise what misses by rounding.
    while smallest < high and excess(smallest) > -1e-14:
        smallest = min(smallest + step, high)
        step = 2 * step
    return smallest


@dataclass(frozen=True, slots=True, eq=False)
class _TargetSearch:
    """What targets reach at a scale of the budgets.

    ``curve`` is that of a mechanism for the total error, and ``reach`` what an option does for a
    target; no scale is above ``largest``.
    """

    curve: Curve
    policy: PrivacyPolicy
    targets: tuple[Target, ...]
    reach: Callable[[Option, Target], float]
    largest: float

    def excess(self, log_scale: float) -> float:
        """Logarithm of the error over the target's, of the target that is missed by most."""
        try:
            option = self.curve.at(exp(log_scale))
        except ConvergenceError:  # the error cannot be told from rounding
            return -1.0
        largest = 0.0
        for target in self.targets:
            ratio = self.reach(option, target) / target.value
            largest = max(largest, ratio)
        # What is not detected at all is infinitely far off: the search needs a number.
        return log(min(largest, 1e300))

    def smallest(self) -> BudgetAnswer:
        """The smallest budgets in proportion that meet all targets."""
        smallest_budget = float(self.policy.epsilons.min())
        smallest = min(smallest_budget, self.policy.smallest_pair)
        low = log(_SMALLEST_EPSILON / smallest)
        # A little below, so that rounding leaves no budget above the largest allowed.
        high = log(self.largest) - 1e-12
        step = _STEP_OF_DESIGNS
        if self.curve.mechanism in MODELS:
            # Tables are solved quickly, and to more digits.
            step = _STEP
        as_they_are = 0.0
        log_scale = smallest_scale(self.excess, low, high, as_they_are, step)
        scale = exp(log_scale)
        option = self.curve.at(scale)
        policy = scaled(self.policy, scale)
        possible = log_scale < high or self.excess(high) <= 0
        # The budget of a level above which more buys nothing, where the mechanism knows one.
        limit = getattr(option.law, "saturation_epsilon", None) or inf
        past_limit = policy.epsilons.max() > limit * (1 + 1e-9)
        saturated = possible and policy.rule.by_level and past_limit
        if saturated:  # what is planned keeps these, too
            useful = np.minimum(policy.epsilons, limit)
            policy = policy.with_changes(useful)
        return BudgetAnswer(
            possible=possible,
            scale=scale,
            option=option,
            policy=policy,
            targets=self.targets,
            reached=tuple(self.reach(option, target) for target in self.targets),
            lowest=log_scale == low,
            saturated=saturated,
        )


def smallest_budgets(
    policy: PrivacyPolicy,
    users: int,
    targets: Target | Sequence[Target],
    model: str = "opt0",
) -> BudgetAnswer:
    """The smallest common scale of the budgets at which all targets are met; of one answer.

    Parameters
    ----------
    policy, users:
        The levels and their budgets now; number of reports, at least 1.
    targets:
        One target or several; all must be met. A difference is one between two halves.
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
    if isinstance(targets, Target):
        targets = [targets]
    goals = tuple(targets)
    if not goals:
        remedy = "Add a target, such as an error that one level must reach."
        raise InputError("targets", targets, "at least one target", remedy)
    whole_number("users", users)
    check_targets(goals, policy.names)

    def reach(option: Option, target: Target) -> float:
        return achieved(option.law, users, target)

    curve = choice_curve("", policy, mechanism=model)
    search = _TargetSearch(curve, policy, goals, reach, largest_scale(policy))
    return search.smallest()


def answer_targets(
    kind: AnyKind, part: AnyPart, planned: Option, facts: PlanFacts
) -> tuple[TargetAnswer, ...]:
    """What becomes of each target, with the option that is deployed.

    Targets are about the total error, unweighted, whatever the question's objective weighs; of one
    answer also about a level or about what is detected. Asked again, they are of one round.
    """
    reporting, total = _in_round(kind, part, planned)
    answers = []
    for target in part.asked.targets:
        if not target.of_all and not part.asked.draws_one:
            key = target.kind if target.level is None else "level"
            what = f"{key} in a target of question {part.asked.name!r}"
            remedy = "Of sets, ordered answers and means give the total error alone."
            raise InputError(what, getattr(target, key), "left out", remedy)
        groups = HALVES
        chance = None
        if target.between is not None:
            groups = compared_groups(target.between, part.groups)
            reporters = reporting.fraction * part.everybody
            chance = power(planned.law, reporters, target, groups)
        reached = _reached(kind, part, planned, target)
        if target.of_all:
            people = kind.people_for(reporting, facts, total, target.value)
        else:
            people = users_needed(planned.law, target, reporting.fraction, groups)
        budgets = None
        in_file: tuple[FileBudget, ...] = ()
        if reached > target.value:
            budgets = _smallest(kind, part, planned, target)
        if budgets is not None and budgets.possible:
            in_file = _in_file(part, budgets)
        of_mean = part.asked.of_mean
        answer = TargetAnswer(
            target=target,
            reached=reached,
            budgets=budgets,
            users=people,
            of_mean=of_mean,
            in_file=in_file,
            power=chance,
            groups=None if chance is None else groups,
        )
        answers.append(answer)
    return tuple(answers)


def _in_round(kind: AnyKind, part: AnyPart, option: Option) -> tuple[AnyPart, Option]:
    """An option with its total error, of those who report in a round."""
    return part.in_round(kind.total(part, option))


def _reached(kind: AnyKind, part: AnyPart, option: Option, target: Target) -> float:
    """What an option reaches for a target, in a round."""
    reporting, total = _in_round(kind, part, option)
    if target.of_all:
        squared_error = total.sampled(reporting.fraction)
        return sqrt(squared_error / part.everybody)
    groups = HALVES
    if target.between is not None:
        groups = compared_groups(target.between, part.groups)
    # Not rounded: half a person more or less would make a step in what is searched.
    reporters = reporting.fraction * part.everybody
    return achieved(option.law, reporters, target, groups)


def _smallest(
    kind: AnyKind, part: AnyPart, planned: Option, target: Target
) -> BudgetAnswer | None:
    """The smallest budgets that would be enough; None where they are not searched for."""
    curve = kind.searched(part, planned)
    if curve is None:
        return None
    policy = part.deployed.policy
    largest = largest_scale(policy)
    cap = getattr(part.deployed, "cap", None)
    if cap:
        largest = min(largest, MAX_EPSILON / cap)
    reach = partial(_reached, kind, part)
    search = _TargetSearch(curve, policy, (target,), reach, largest)
    answer = search.smallest()
    reporting, total = _in_round(kind, part, answer.option)
    # Parts of the squared error that no budget lowers, per person of the survey.
    sampling = 0.0
    if target.of_all:
        missed = total.errors.spread * (1 / reporting.fraction - 1)
        sampling = missed / part.everybody
    truncation = total.errors.bias / part.everybody
    return replace(answer, sampling=sqrt(sampling), truncation=sqrt(truncation))


def _in_file(part: AnyPart, budgets: BudgetAnswer) -> tuple[FileBudget, ...]:
    """What the survey file would state, for budgets to be spent as they are in ``budgets``.

    A level that tolerates ``E``, of which ``L`` is left, spends the share ``g L``; for ``g L'`` the
    file states ``E - L + L'``: what was spent before is spent, whatever is tolerated.
    """
    limit = inf
    if budgets.saturated:
        limit = float(budgets.policy.epsilons.max()) / part.share
    rows = []
    pairs = zip(part.tolerated.together, part.question.together, strict=True)
    for tolerated, left in pairs:
        if not left.policy.rule.by_level:
            return ()
        names = [level.name for level in tolerated.levels]
        if not names:  # a number has one budget, by the question's own name
            names = [tolerated.name]
        stated = tolerated.policy.epsilons  # E
        now = left.policy.epsilons  # L
        needed = np.minimum(budgets.scale * now, limit)  # L'
        after = stated - now + needed
        for name, epsilon in zip(names, after.tolist(), strict=True):
            row = FileBudget(tolerated.name, name, epsilon)
            rows.append(row)
    return tuple(rows)
