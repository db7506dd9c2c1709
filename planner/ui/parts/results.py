"""Planning results, remembered by the frozen question they belong to; bounded, never stale.

Equal questions share one entry, whoever asks: an entry can only be had by someone who
already holds the very same question.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from planner.limits import MAX_EPSILON
from planner.planning.answer_rate.plan import AnswerRatePlan, plan_answer_rates
from planner.planning.budgets import largest_budgets
from planner.planning.frequency import QuestionPlan, plan_question
from planner.planning.frontier import Frontier, frontier
from planner.planning.mechanism_choice import Choice, choose_for_choices, choose_for_sets
from planner.planning.padding import PaddingPlan
from planner.planning.pilot import set_model_of
from planner.planning.sampling.plan import SamplingPlan, plan_sampling_survey
from planner.planning.smallest_budgets import BudgetAnswer, smallest_budgets
from planner.planning.whole_survey.left_open import padding_of
from planner.survey import Question, Survey
from planner.survey.target import Target
from planner.ui.workers import compute

__all__ = [
    "DELTA_EPSILONS",
    "Answer",
    "answer",
    "answer_rate_plan",
    "error_curve",
    "root",
    "sampling_deltas",
    "sampling_guarantees",
    "sampling_plan",
    "target_answer",
]

Array = NDArray[np.float64]
DELTA_EPSILONS = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0])

_ENTRIES = 64
_SCALES = (0.25, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """A choice or set question at its full budgets.

    ``padding`` and ``padding_length`` are for item sets: the curve over lengths, and the
    length in use.
    """

    plan: QuestionPlan
    choice: Choice
    padding: PaddingPlan | None
    padding_length: int | None


@lru_cache(maxsize=_ENTRIES)
def answer(question: Question, users: int) -> Answer:
    """The certified plan of a question, and all mechanisms on one scale.

    Raises
    ------
    PlannerError
        The question cannot be planned; nothing is remembered then.
    """
    return compute(_answer, question, users)


def _answer(question: Question, users: int) -> Answer:
    padding, length, objective = padding_of(question, users)
    plan = plan_question(question, objective=objective)
    if question.kind == "item-set":
        choice = choose_for_sets(
            plan.alternatives, users, set_model_of(question), question.padding_length, length
        )
        return Answer(plan, choice, padding, length)
    return Answer(plan, choose_for_choices(question.policy, plan.alternatives), None, None)


@lru_cache(maxsize=_ENTRIES)
def error_curve(question: Question, users: int) -> Frontier:
    """Error against a common scale of the budgets: halved and doubled twice, where allowed.

    Five points draw the curve, which is nearly straight on logarithmic axes.
    """
    return compute(_error_curve, question, users)


def _error_curve(question: Question, users: int) -> Frontier:
    policy = question.policy
    largest = float(largest_budgets(policy).max())
    return frontier(policy, users, [x for x in _SCALES if x * largest <= MAX_EPSILON])


@lru_cache(maxsize=_ENTRIES)
def target_answer(
    question: Question, users: int, target: Target, adjustable: tuple[str, ...] | None
) -> BudgetAnswer:
    """The smallest budgets that reach a target."""
    return compute(smallest_budgets, question.policy, users, target, "opt0", adjustable)


@lru_cache(maxsize=_ENTRIES)
def answer_rate_plan(question: Question, users: int) -> AnswerRatePlan:
    """The best budget to offer for a numeric question, asked alone."""
    return plan_answer_rates(Survey("survey", users, (question,)))[question.name]


@lru_cache(maxsize=_ENTRIES)
def sampling_plan(question: Question, users: int) -> SamplingPlan:
    """The design and the guarantees of a Sampling Privacy question, asked alone."""
    return plan_sampling_survey(Survey("survey", users, (question,)))[question.name]


@lru_cache(maxsize=_ENTRIES)
def sampling_guarantees(question: Question, users: int) -> tuple[str, str, str]:
    """Who is protected from whom: a sentence for each of the three views."""
    plan = sampling_plan(question, users)
    return plan.views.sentences(plan.delta)


@lru_cache(maxsize=_ENTRIES)
def sampling_deltas(question: Question, users: int) -> tuple[Array, Array]:
    """Delta at each of ``DELTA_EPSILONS`` if estimates, or both rounds' totals, are released."""
    return sampling_plan(question, users).views.aggregates.curve(DELTA_EPSILONS)


def root(error_per_user: float, users: int) -> float:
    """Root of the total mean squared error, in people."""
    return float(np.sqrt(users * error_per_user))
