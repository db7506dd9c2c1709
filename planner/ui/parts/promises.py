"""What an export promises to whom, and what that costs: sentences a lawyer can read."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from planner.deployment.parameter_file.survey_plans import SurveyPlan
from planner.planning.whole_survey.planned_question import PlannedQuestion
from planner.planning.whole_survey.spending import Spending
from planner.policy.budget_text import rounded_up
from planner.policy.policy import PrivacyPolicy
from planner.ui.parts.show import magnitude_up

__all__ = ["costs", "largest_pair_budgets", "promises"]

_MOST_LEVELS = 12


def promises(plan: SurveyPlan) -> list[str]:
    """One sentence per level, question by question; numbers are rounded up."""
    sentences = []
    if plan.whole is not None:
        for planned in plan.whole.questions:
            name = planned.question.name
            spending = [row for row in plan.whole.spending if row.question == name]
            sentences += _of_question(planned, spending)
    for name, sampled in plan.sampled.items():
        sentences += [f"{name}: {said}" for said in sampled.views.sentences(sampled.delta)]
    return sentences


def costs(plan: SurveyPlan, chosen: Mapping[str, str]) -> list[str]:
    """One sentence per question: the error with the mechanism that was chosen for it."""
    sentences = []
    for planned in plan.whole.questions if plan.whole else ():
        name = planned.question.name
        error, unit = planned.error, "half its range"
        if planned.plan is not None:
            unit, model = "all people", planned.plan.table.model
            mechanism = chosen.get(name, model)
            extra = planned.choice.error(mechanism) - planned.choice.error(model)
            error += extra / planned.fraction
        share = math.sqrt(max(error, 0.0) / plan.survey.users)
        sentences.append(
            f"{name}: a total error of {share:.3%} of {unit}, with {planned.users:,} people "
            "answering."
        )
    for name, sampled in plan.sampled.items():
        worst = sampled.design.absolute_errors().max()
        sentences.append(f"{name}: every count within {worst:.1f} people, at 95 %.")
    return sentences


def largest_pair_budgets(policy: PrivacyPolicy) -> NDArray[np.float64]:
    """Per level the largest budget of a protected pair that it is part of, shape ``(t,)``.

    Examples
    --------
    >>> largest_pair_budgets(PrivacyPolicy([1.0, 3.0], [2, 2], "avg")).tolist()
    [2.0, 3.0]
    """
    return policy.rule.largest_pairs(policy.epsilons)


def _of_question(planned: PlannedQuestion, spending: list[Spending]) -> list[str]:
    name = planned.question.name
    if planned.plan is None:
        spent = spending[0].spent
        return [
            f"{name}: a report changes the odds between any two numbers, or a number and no "
            f"answer, at most {_factor(spent)}-fold (epsilon {rounded_up(spent, 4)}), for any "
            "observer, whatever else the observer knows."
        ]
    policy = planned.plan.table.policy
    budgets = largest_pair_budgets(policy)
    sentences = []
    for level, budget in list(zip(policy.names, budgets.tolist(), strict=True))[:_MOST_LEVELS]:
        sentences.append(f"{name}: {_promise(planned, level, budget, policy)}")
    if policy.size > _MOST_LEVELS:
        sentences.append(f"{name}: ... and {policy.size - _MOST_LEVELS:,} more levels.")
    return sentences


def _promise(planned: PlannedQuestion, level: str, budget: float, policy: PrivacyPolicy) -> str:
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
