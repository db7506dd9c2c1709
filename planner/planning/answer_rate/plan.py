"""Everything the planner says about the budget of a numeric question, in one object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.errors import InputError
from planner.frames import Framed
from planner.limits import MAX_EPSILON
from planner.planning.answer_rate.best_budget import BestBudget
from planner.planning.answer_rate.model import AnswerRateModel
from planner.planning.answer_rate.predictions import AnswerRateCurve, ForcedAnswerCurve
from planner.planning.channels.curve import ChannelCurve, channel_curve
from planner.survey import Numeric, Survey
from planner.survey.preferences import EmpiricalPreferences

_USUAL = ", if the spread, which is left open, is 0.3 of half the range"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AnswerRatePlan(Framed):
    """Predictions over budgets, the best budget, the budget in use, and the alternatives.

    Attributes
    ----------
    model:
        What was predicted from.
    curve:
        BiSample-MD at 200 budgets.
    best:
        The budget with the smallest error of the mean.
    offered:
        Predictions at the budget that the question states (one row); ``None`` if none.
    forced:
        Per fake answer (``"top"``, ``"random"``): Harmony at the budgets of ``curve``.
    """

    model: AnswerRateModel
    curve: AnswerRateCurve
    best: BestBudget
    offered: AnswerRateCurve | None
    forced: dict[str, ForcedAnswerCurve]

    def channels(self) -> ChannelCurve | None:
        """The same people with the best channel of every budget, beside BiSample-MD.

        Computed when asked for, in about a second. None where so few answer that no budget is
        predicted.
        """
        found = channel_curve(self.model)
        return found if np.isfinite(found.channel_rmse).sum() > 1 else None

    @property
    def summary(self) -> str:
        """The best budget and its error."""
        best = self.best
        rate = f"{best.answer_rate:.1%} answer"
        return f"Best budget {best.epsilon:.4g} nats: {rate}, RMSE of the mean {best.rmse:.4g}."

    def columns(self) -> dict[str, Any]:
        """The curve, one row a budget."""
        return self.curve.columns()


def channel_sentence(plan: AnswerRatePlan, channels: ChannelCurve) -> str:
    """The best channel's best budget, and what it gains on BiSample-MD's."""
    best = channels.best()
    gain = 1 - best.rmse / plan.best.rmse
    less = f"{gain:.0%} less" if gain >= 0.01 else "about as large as that of BiSample-MD"
    return (
        f'With the best channel (mechanism = "channel"): epsilon {best.epsilon:.3f}. '
        f"{best.answer_rate:.1%} answer, and the mean's error is {best.rmse:.4g}, "
        f"{less}{'' if plan.model.sd is not None else _USUAL}."
    )


def model_of(about: Numeric, users: int) -> AnswerRateModel:
    """What a survey's numeric question is predicted from; without preferences all answer."""
    everybody = EmpiricalPreferences([MAX_EPSILON])
    return AnswerRateModel(
        about.preferences or everybody, users, about.domain, about.mean, about.sd
    )


def plan_answer_rate(model: AnswerRateModel, epsilon: float | None = None) -> AnswerRatePlan:
    """Plan one question; ``epsilon`` is the budget in use, if there is one.

    Raises
    ------
    InputError
        The budget is outside 0 to 50, or nobody answers at any budget.

    Examples
    --------
    >>> from planner.survey.preferences import NormalPreferences
    >>> plan = plan_answer_rate(AnswerRateModel(NormalPreferences(5, 1.5), 100_000), epsilon=6.0)
    >>> round(plan.best.epsilon, 2), round(float(plan.offered.mean_rmse[0] / plan.best.rmse), 1)
    (2.94, 2.2)
    """
    curve = model.curve()
    return AnswerRatePlan(
        model,
        curve,
        model.best(),
        None if epsilon is None else model.curve([epsilon]),
        {fake: model.forced("harmony", fake, curve.epsilon) for fake in ("top", "random")},
    )


def plan_answer_rates(survey: Survey) -> dict[str, AnswerRatePlan]:
    """Plan every numeric question of a survey that states its people's preferences, by name.

    Raises
    ------
    InputError
        There is no such question, or one of its numbers is out of range.
    """
    plans = {
        question.name: plan_answer_rate(model_of(about, survey.users), about.epsilon)
        for question in survey.questions
        if (about := question.numeric) is not None and about.preferences is not None
    }
    if not plans:
        kinds = ", ".join(sorted({question.kind for question in survey.questions}))
        allowed = "'numeric', with [question.preferences], for one question at least"
        remedy = "Add [question.preferences] to a numeric question."
        raise InputError("kind", kinds, allowed, remedy)
    return plans
