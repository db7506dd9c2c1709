"""What an export promises to whom, and what that costs: sentences a lawyer can read."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from planner.planning.whole_survey.plan import SurveyPlan
from planner.planning.whole_survey.question_plan import QuestionPlan
from planner.planning.whole_survey.sentences import error_sentence
from planner.policy.budget_text import magnitude_up, rounded_up
from planner.policy.policy import PrivacyPolicy

_MOST_LEVELS = 12


def promises(plan: SurveyPlan) -> list[str]:
    """One sentence per level, question by question; numbers are rounded up."""
    return [f"{one.name}: {said}" for one in plan.questions for said in promises_of(one)]


def costs(plan: SurveyPlan) -> list[str]:
    """One sentence per question: its error with the mechanism that is deployed."""
    return [
        f"{one.name}: {error_sentence(one)} {one.users:,} people answer." for one in plan.questions
    ]


def largest_pair_budgets(policy: PrivacyPolicy) -> NDArray[np.float64]:
    """Per level the largest budget of a protected pair that it is part of, shape ``(t,)``.

    Examples
    --------
    >>> largest_pair_budgets(PrivacyPolicy([1.0, 3.0], [2, 2], "avg")).tolist()
    [2.0, 3.0]
    """
    return policy.rule.largest_pairs(policy.epsilons)


def promises_of(planned: QuestionPlan) -> list[str]:
    """What one question promises: a sentence per level, or per view of its guarantee."""
    sampled = planned.sampling
    if sampled is not None:
        return list(sampled.views.sentences(sampled.delta))
    if planned.question.numeric is not None:
        spent = planned.spending[0].spent
        return [
            "a report changes the odds between any two numbers, or a number and no "
            f"answer, at most {_factor(spent)}-fold (epsilon {rounded_up(spent, 4)}), for any "
            "observer, whatever else the observer knows."
        ]
    return _of_levels(planned, planned.deployed.policy)


def _of_levels(planned: QuestionPlan, policy: PrivacyPolicy) -> list[str]:
    budgets = largest_pair_budgets(policy).tolist()
    named = list(zip(policy.names, budgets, strict=True))
    sentences = [_promise(planned, *one, policy) for one in named[:_MOST_LEVELS]]
    if policy.size > _MOST_LEVELS:
        sentences.append(f"... and {policy.size - _MOST_LEVELS:,} more levels.")
    return sentences


def _promise(planned: QuestionPlan, level: str, budget: float, policy: PrivacyPolicy) -> str:
    graph = policy.rule.open_pairs
    other = "any other answer that the policy graph protects it from" if graph else "any other"
    whose = f"whoever has an answer of level '{level}'"
    if planned.question.kind == "item-set":
        whose = f"whoever has a set of answers, none of them less protected than level '{level}'"
        other = "any other set"
    return (
        f"{whose}: a report changes the odds between it and {other} at most "
        f"{_factor(budget)}-fold (epsilon {rounded_up(budget, 4)}), for any observer, whatever "
        "else the observer knows."
    )


def _factor(epsilon: float) -> str:
    factor = math.exp(epsilon)
    return f"{math.ceil(factor * 100 - 1e-9) / 100:,.2f}" if factor < 1e6 else magnitude_up(factor)
