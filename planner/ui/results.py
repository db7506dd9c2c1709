"""Planning results, remembered by the frozen question they belong to; bounded, never stale.

Equal questions share one entry, whoever asks: an entry can only be had by someone who
already holds the very same question.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from planner.planning.choice import Choice, choose_for_choices, choose_for_sets
from planner.planning.frequency import QuestionPlan, plan_question
from planner.planning.frontier import Frontier, frontier, usual_scales
from planner.planning.padding import PaddingPlan
from planner.planning.pilot import set_model_of
from planner.planning.question_blocks import padding_of
from planner.planning.targets import BudgetAnswer, smallest_budgets
from planner.survey import Question
from planner.target import Target

__all__ = ["Answer", "answer", "error_curve", "root", "target_answer"]

_ENTRIES = 64


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
    """Error against a common scale of the budgets; fewer points where each is costly."""
    policy = question.policy
    if policy.rule_name == "matrix":
        points = 9 if policy.size <= 4 else 5
    else:
        points = 41 if policy.size <= 1000 else 9
    return frontier(policy, users, usual_scales(policy, points))


@lru_cache(maxsize=_ENTRIES)
def target_answer(
    question: Question, users: int, target: Target, adjustable: tuple[str, ...] | None
) -> BudgetAnswer:
    """The smallest budgets that reach a target."""
    return smallest_budgets(question.policy, users, target, adjustable=adjustable)


def root(error_per_user: float, users: int) -> float:
    """Root of the total mean squared error, in people."""
    return float(np.sqrt(users * error_per_user))
