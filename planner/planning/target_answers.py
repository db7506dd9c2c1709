"""What becomes of a question's targets in a plan: met or not, and what would meet them."""

from __future__ import annotations

from dataclasses import dataclass
from math import atanh, ceil, inf, sqrt

from planner.errors import InputError
from planner.limits import MAX_EPSILON
from planner.mechanisms.catalogue import CATALOGUE
from planner.planning import mean, ordered, sets
from planner.planning.option import ErrorLaw, Option
from planner.planning.padding import Padding, PaddingPlan
from planner.planning.part import Part
from planner.planning.pilot import set_model_of
from planner.planning.solve import DESIGN
from planner.planning.targets import achieved, check_targets, users_needed
from planner.planning.what_if import smallest_budgets
from planner.solvers.models import MODELS
from planner.survey.questions import ORDINAL, SET_DESIGN, Numeric, Target


@dataclass(frozen=True, slots=True)
class TargetAnswer:
    """One target: what the plan reaches, and what would reach it.

    Attributes
    ----------
    target:
        The requirement.
    reached:
        What the plan gives, in the target's unit.
    budgets:
        The smallest budgets that would be enough for these users, or why there are none.
    users:
        How many people the whole survey would have to ask with the budgets as they are; None if
        no number is enough, because a bias is larger than the target.
    of_mean:
        Whether it is about a mean, so that shares are of half the range.
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
    part: Part, planned: Option, padding: PaddingPlan | None
) -> tuple[TargetAnswer, ...]:
    """What becomes of each target, for the option that is deployed.

    Targets are about the total error, unweighted, whatever the question's objective weighs; of
    one answer also about a level or about what is detected.

    Raises
    ------
    InputError
        A target does not fit the question.
    """
    kind = part.asked.kind
    if kind == "categorical":
        return tuple(_of_choice(part, planned, target) for target in part.asked.targets)
    _check(part)
    value, errors = planned.value, planned.errors
    if kind == "item-set":
        value, errors = sets.total(part, planned)
    elif kind == ORDINAL:
        value, errors = ordered.total(part, planned)
    reached = sqrt(errors.error(value, part.fraction) / part.everybody)
    answers = []
    for target in part.asked.targets:
        people = errors.people(value, target.value, part.everybody, part.fraction)
        if padding is not None and getattr(part.asked, "padding_length", None) is None:
            people = _people_at_any_length(part, padding, target, people)
        budgets = _budgets(part, planned, errors, target)
        answers.append(TargetAnswer(target, reached, budgets, people, part.asked.of_mean))
    return tuple(answers)


def _of_choice(part: Part, planned: Option, target: Target) -> TargetAnswer:
    terms, users, fraction = planned.law, part.everybody, part.fraction
    # What asking only some of the people adds to the total error per user of the survey.
    whole = target.kind == "error" and target.level is None
    aside = float(1 - 1 / terms.policy.item_counts.sum()) * (1 / fraction - 1) if whole else 0.0
    reached = sqrt(achieved(terms, fraction * users, target) ** 2 + aside / users)
    needed = users_needed(terms, target).exact / fraction + aside / target.value**2
    budgets = _smallest(part, planned, target, aside / users)
    return TargetAnswer(target, reached, budgets, ceil(needed * (1 - 1e-12)))


def _check(part: Part) -> None:
    """The total error alone."""
    if part.asked.kind == "item-set":
        check_targets(part.asked.targets, (), of_sets=True)
    for target in part.asked.targets:
        if target.kind != "error" or target.level is not None:
            what = f"target of question {part.asked.name!r}"
            if isinstance(part.asked, Numeric):
                remedy = "A mean has an error and no items to detect."
                raise InputError(what, target.text, "an error", remedy)
            remedy = "For ordered answers give the total error of what is wanted alone."
            raise InputError(what, target.text, "an error without a level", remedy)


def _budgets(part: Part, planned: Option, errors: ErrorLaw, target: Target) -> str:
    """Which smaller or larger budgets would be enough, in words."""
    if part.asked.kind == "item-set":
        aside = errors.spread * (1 / part.fraction - 1) / part.everybody
        return _smallest(part, planned, target, aside)
    if planned.name == mean.BISAMPLE:
        return _mean_budget(part, target)
    return "Not searched for a channel, which is made for its budget."


def _people_at_any_length(
    part: Part, padding: PaddingPlan, target: Target, people: int | None
) -> int | None:
    """With more people another padding length may be best."""
    errors, biases = sets.every_length(part, padding)
    for error, bias in zip(errors.tolist(), biases.tolist(), strict=True):
        at = ErrorLaw(bias=bias).people(error - bias, target.value, part.everybody)
        people = min((one for one in (people, at) if one is not None), default=None)
    return people


def _smallest(part: Part, planned: Option, target: Target, aside: float) -> str:
    """``aside`` is the part of the error, squared, that no budget lowers."""
    if planned.name == SET_DESIGN:
        return sets.smallest_budgets(part, target.value**2 - aside)
    if planned.name not in (*MODELS, DESIGN):
        label = CATALOGUE[planned.name].label
        return f"Not searched for {label}, which has one budget for all levels."
    room = target.value**2 - aside
    if room <= 0:
        left = f"{100 * sqrt(aside):.4g} %"
        return f"Impossible, because asking only some of the people leaves an error of {left}."
    wanted = target.replacing(error=sqrt(room)) if aside else target
    people, padding = max(1, round(part.fraction * part.everybody)), None
    if part.asked.kind == "item-set":
        padding = Padding(set_model_of(part.asked), getattr(part.asked, "padding_length", None))
    about = part.deployed.policy, people, wanted, planned.name, None, padding
    return smallest_budgets(*about).reason


def _mean_budget(part: Part, target: Target) -> str:
    """BiSample-MD's smallest budget: its error, solved for ``u = 1 / tanh^2(eps/2)``."""
    users, law = part.everybody, mean.rough_law(part.question, part.everybody)
    value = (law or ErrorLaw()).value_for(users * target.value**2, part.fraction)
    u = value
    if law is None:
        u = (value + 2) / 2 if value >= 4 else 2 * sqrt(max(value, 0.0)) - 1
    epsilon = 2 * atanh(1 / sqrt(u)) if u > 1 else inf
    if epsilon > MAX_EPSILON:
        least = (law or ErrorLaw()).error(1.0, part.fraction)
        floor = f"{100 * sqrt(least / users):.4g} %"
        return f"Impossible, because even without any noise the error is {floor}."
    return f"The smallest budget that meets the target: {epsilon:.4g}."
