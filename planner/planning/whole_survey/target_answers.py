"""What becomes of a question's targets in a plan: met or not, and what would meet them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import atanh, ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError
from planner.limits import MAX_EPSILON
from planner.planning.allocation.blocks import MeanBlock
from planner.planning.level_terms import Terms
from planner.planning.targets import achieved, check_targets, users_needed
from planner.survey.questions import CHANNEL, Question, Target

Array = NDArray[np.float64]


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


def answer_choice_targets(
    targets: Sequence[Target],
    terms: Terms,
    users: int,
    fraction: float,
    budgets: Callable[[int, Target], str],
) -> tuple[TargetAnswer, ...]:
    """Answers for a choice question.

    Parameters
    ----------
    targets:
        What is wanted.
    terms:
        Of the mechanism that is planned.
    users, fraction:
        Of the survey, and the share of them that is asked.
    budgets:
        Says for a number of people and a target which budgets would be enough.
    """
    # What asking only some of the people adds to the total error per user of the survey.
    unasked = float(1 - 1 / terms.policy.item_counts.sum()) * (1 / fraction - 1)
    found = []
    for target in targets:
        aside = unasked if target.kind == "error" and target.level is None else 0.0
        reached = sqrt(achieved(terms, fraction * users, target) ** 2 + aside / users)
        needed = users_needed(terms, target).exact / fraction + aside / target.value**2
        enough = _choice_budgets(target, fraction * users, aside / users, budgets)
        found.append(TargetAnswer(target, reached, enough, ceil(needed * (1 - 1e-12))))
    return tuple(found)


def answer_set_targets(
    targets: Sequence[Target],
    errors: Array,
    biases: Array,
    users: int,
    fraction: float,
    unasked: float,
    budgets: Callable[[int, Target], str],
) -> tuple[TargetAnswer, ...]:
    """Answers for item sets.

    Parameters
    ----------
    targets:
        About the total error.
    errors, biases:
        Error per user of the survey, and the part of it that more people do not lower, at each
        padding length that may be chosen, shape ``(k,)`` each; the plan's comes first.
    users, fraction:
        Of the survey, and the share of them that is asked.
    unasked:
        What asking only some of the people adds to the error per user of the survey.
    budgets:
        As in :func:`answer_choice_targets`.

    Raises
    ------
    InputError
        A target is not about the total error.
    """
    check_targets(targets, (), of_sets=True)
    return tuple(
        TargetAnswer(
            one,
            sqrt(errors[0] / users),
            _choice_budgets(one, fraction * users, unasked / users, budgets),
            people_needed(one, errors, biases, users),
        )
        for one in targets
    )


def answer_mean_targets(
    question: Question, block: MeanBlock, error: float, users: int, fraction: float
) -> tuple[TargetAnswer, ...]:
    """Answers for a mean; errors are shares of half the range, ``error`` that of the plan.

    Raises
    ------
    InputError
        A target is about items.
    """
    found = []
    for target in question.targets:
        if target.kind != "error":
            remedy = "A mean has an error and no items to detect."
            raise InputError(f"target of question {question.name!r}", "detect", "error", remedy)
        budgets = "Not searched for a channel, which is made for its budget."
        if question.mechanism != CHANNEL:
            budgets = _mean_budget(block, target, users, fraction)
        people = people_needed(target, np.array([error]), np.array([block.law.bias]), users)
        found.append(TargetAnswer(target, sqrt(error / users), budgets, people, of_mean=True))
    return tuple(found)


def people_needed(target: Target, errors: Array, biases: Array, users: int) -> int | None:
    """The fewest people for whom ``(error - bias) / people + bias / users`` is small enough."""
    room = target.value**2 - biases / users
    enough = room > 0
    if not enough.any():
        return None
    needed = (errors - biases)[enough] / room[enough]
    return ceil(float(needed.min()) * (1 - 1e-12))


def _choice_budgets(
    target: Target, people: float, aside: float, budgets: Callable[[int, Target], str]
) -> str:
    """``aside`` is the part of the error, squared, that no budget lowers."""
    room = target.value**2 - aside
    if room <= 0:
        left = f"{100 * sqrt(aside):.4g} %"
        return f"Impossible, because asking only some of the people leaves an error of {left}."
    return budgets(max(1, round(people)), target.replacing(error=sqrt(room)) if aside else target)


def _mean_budget(block: MeanBlock, target: Target, users: int, fraction: float) -> str:
    """``scale / tanh^2(eps/2) + offset``, of the sample, ``= users * target^2``, solved for eps."""
    value = block.law.value_for(users * target.value**2, fraction)
    ratio = 1 / value if value > 0 else 2.0
    epsilon = 2 * atanh(sqrt(ratio)) if ratio < 1 else float("inf")
    if epsilon > MAX_EPSILON:
        least = block.law.error(1.0, fraction)
        floor = f"{100 * sqrt(least / users):.4g} %"
        return f"Impossible, because even without any noise the error is {floor}."
    return f"The smallest budget that meets the target: {epsilon:.4g}."
