"""What a planned question's error would be if all its budgets were larger or smaller."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from planner.limits import MAX_EPSILON
from planner.planning.question import QuestionPlan
from planner.planning.what_if import Frontier, frontier, largest_budgets, usual_scales

_POINTS, _DESIGNS = 50, 9  # designs take longer


def has_budget_curve(question: QuestionPlan) -> bool:
    """Whether there is a :func:`budget_curve`, which takes time: of a design, several others."""
    certified = question.certified
    proven = certified is not None and certified.certificate is not None
    return proven and question.block is not None and question.padding_length is None


def budget_curve(
    question: QuestionPlan, scales: NDArray[np.float64] | None = None
) -> Frontier | None:
    """The plan's error against a common scale of the budgets that the question spends.

    At scale 1 the total error is the plan's. None where the budgets alone do not decide: for
    means, for sets, whose padding length changes too, and for mechanisms with one budget for all.

    Parameters
    ----------
    question:
        The planned question.
    scales:
        Factors above 0; those that would raise a budget above 50 are left out. 50 around 1 when
        omitted, 9 for a subset design.

    Examples
    --------
    >>> from planner import Level, Categorical, Survey, plan_survey
    >>> levels = (Level("low", 1.0, item_count=3), Level("high", 2.0, item_count=9))
    >>> (plan,) = plan_survey(Survey("s", 1000, (Categorical("q", levels),))).questions
    >>> curve = budget_curve(plan, np.array([1.0, 2.0]))
    >>> bool(abs(curve.total_error[0] / plan.error_share - 1) < 1e-9)
    True
    """
    certified, block = question.certified, question.block
    if not has_budget_curve(question) or certified is None or block is None:
        return None
    if scales is None:
        scales = usual_scales(certified.policy, _POINTS if question.design is None else _DESIGNS)
    else:
        scales = scales[scales * largest_budgets(certified.policy).max() <= MAX_EPSILON]
    curve = frontier(certified.policy, question.users, scales, certified.model, certified.objective)
    asked = curve.total_error**2 * question.users
    errors = [block.law.of_sample(float(one), question.fraction) for one in asked]
    return replace(curve, total_error=np.sqrt(np.array(errors) / question.everybody))
