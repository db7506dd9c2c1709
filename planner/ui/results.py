"""Planning results, remembered by the frozen question they belong to; bounded, never stale.

Equal questions share one entry, whoever asks: an entry can only be had by someone who
already holds the very same question.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from planner.planning.frequency import MODELS, QuestionPlan, plan_question
from planner.planning.frontier import Frontier, frontier, usual_scales
from planner.planning.targets import BudgetAnswer, smallest_budgets
from planner.prediction import plain_rivals
from planner.survey import Question
from planner.target import Target

__all__ = ["LABELS", "error_curve", "plan_of", "target_answer", "total_errors"]

LABELS = {
    "opt0": "IDUE opt0",
    "opt1": "IDUE opt1",
    "opt2": "IDUE opt2",
    "rappor": "RAPPOR",
    "oue": "OUE",
    "grr": "Randomised response (GRR)",
    "subset": "Subset selection",
    "olh": "Local hashing (OLH)",
}
_MOST_RIVAL_ITEMS = 10**6
_ENTRIES = 64


@lru_cache(maxsize=_ENTRIES)
def plan_of(question: Question, model: str = "opt0") -> QuestionPlan:
    """The certified plan of a categorical question."""
    return plan_question(question, model)


@lru_cache(maxsize=_ENTRIES)
def total_errors(question: Question) -> dict[str, float]:
    """Worst-case total squared error per user of every mechanism, by label.

    Above a million items only the unary mechanisms are compared.
    """
    plan = plan_of(question)
    found = {LABELS[name]: table.worst_case_mse for name, table in plan.alternatives.items()}
    policy = question.policy
    if policy.item_counts.sum() <= _MOST_RIVAL_ITEMS and policy.item_counts.sum() > 1:
        for name, rival in plain_rivals(policy).items():
            if LABELS[name] not in found:
                noise, signal = rival.variance_terms()
                found[LABELS[name]] = float(noise.sum() + signal.max())
    return found


@lru_cache(maxsize=_ENTRIES)
def error_curve(question: Question, users: int, model: str = "opt0") -> Frontier:
    """Error against a common scale of the budgets; fewer points where each is costly."""
    policy = question.policy
    if policy.rule_name == "matrix":
        points = 13
    else:
        points = 41 if policy.size <= 1000 else 9
    return frontier(policy, users, usual_scales(policy, points), model)


@lru_cache(maxsize=_ENTRIES)
def target_answer(
    question: Question, users: int, target: Target, adjustable: tuple[str, ...] | None
) -> BudgetAnswer:
    """The smallest budgets that reach a target."""
    return smallest_budgets(question.policy, users, target, adjustable=adjustable)


def root(error_per_user: float, users: int) -> float:
    """Root of the total mean squared error, in people."""
    return float(np.sqrt(users * error_per_user))
