"""What a question may leave open: the budget of a mean, and the padding length of item sets."""

from __future__ import annotations

from typing import cast

import numpy as np

from planner.errors import InputError
from planner.planning.answer_rates import channel_curve, model_of
from planner.planning.budgets import scaled
from planner.planning.padded_error import drawn_objective
from planner.planning.padding import Drawn, PaddingPlan, plan_padding
from planner.planning.pilot import set_model_of
from planner.planning.solve import DESIGN, solve_for, tried
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.survey.questions import BEST, CHANNEL, ItemSet, LevelledQuestion, Numeric, Question


def with_budget(question: Question, users: int) -> Question:
    """A numeric question with its mechanism's best budget for its preferences, if it states none.

    Other questions are returned as they are.
    """
    if not isinstance(question, Numeric) or question.epsilon or question.preferences is None:
        return question
    model = model_of(question, users)
    best = channel_curve(model).best() if question.mechanism == CHANNEL else model.best()
    return question.replacing(epsilon=best.epsilon)


def answer_rate(question: Numeric) -> float | None:
    """Share of the people who answer a numeric question at its budget; None if everybody does.

    People decide by the budget of the whole survey, whatever share the question gets of it.

    Raises
    ------
    InputError
        Nobody answers, or there is no budget.
    """
    if question.preferences is None:
        return None
    epsilon = float(question.policy.epsilons[0])
    rate = float(question.preferences.answer_rate(np.array([epsilon]))[0])
    if rate <= 0:
        remedy = "Nobody answers at this budget: lower it."
        what = f"epsilon of question {question.name!r}"
        raise InputError(what, epsilon, "tolerated by somebody", remedy)
    return rate


def with_padding(question: Question, users: float, share: float = 1.0) -> Question:
    """An item-set question with a padding length; others as they are.

    The length is the question's own, else the best for ``users`` people at ``share`` of the
    budgets.

    Raises
    ------
    InputError
        Neither a padding length nor anything about the sets is given; or sets are known, and an
        objective is asked for that their sizes do not tell.
    """
    if question.kind != "item-set" or question.padding_length is not None:
        return question
    plan = _padding_plan(question, users, share)
    if plan is None:
        remedy = (
            "Add padding_length, or a table [question.sets] with the share of people with "
            "0, 1, 2, ... items (sizes) or the file of a pilot."
        )
        what = f"sets of question {question.name!r}"
        raise InputError(what, None, "given, or a padding length", remedy)
    return question.replacing(padding_length=plan.length)


def _padding_plan(question: ItemSet, users: float, share: float = 1.0) -> PaddingPlan | None:
    """Every padding length's error, for the question's mechanism; None if nothing is known of sets.

    Of ``"best"`` those of the best design, or of the best table if its smallest is smaller.

    Raises
    ------
    InputError
        As :func:`settled_objective`.
    """
    sets = set_model_of(question)
    if sets is None:
        return None
    _refuse_objective(question)
    people = max(1, round(users))
    drawn = _may_be_drawn(scaled(question.policy, share), question.mechanism)
    return min((plan_padding(one, people, sets) for one in drawn), key=lambda plan: plan.mse.min())


def _may_be_drawn(policy: PrivacyPolicy, name: str) -> list[Drawn]:
    """What a mechanism reports drawn items with; of the best, what may turn out to be it."""
    if name != BEST:
        return [cast("Drawn", solve_for(policy, name, sets=True))]
    design, reason = tried(policy, DESIGN, sets=True)
    found = [solve_for(policy)] if design is None or reason else [design, solve_for(policy)]
    return [cast("Drawn", one) for one in found]  # no other table is better than opt0


def settled_objective(question: LevelledQuestion) -> Objective:
    """What is made small for a question whose padding length, if it needs one, is settled.

    The expected total variance of sets at length ``l`` is ``l^2`` times the expected objective
    whose prior is what is sampled per level, so that the table is made for the sets at hand.
    Without anything known of the sets, and for other questions, it is the question's own.

    Raises
    ------
    InputError
        Sets are known, and an objective is asked for that their sizes do not tell.
    """
    if not isinstance(question, ItemSet) or question.padding_length is None:
        return question.objective
    sets = set_model_of(question)
    if sets is None:
        return question.objective
    _refuse_objective(question)
    return drawn_objective(question.padding_length, question.policy, sets)


def _refuse_objective(question: ItemSet) -> None:
    if question.objective != Objective():
        remedy = (
            "Leave importance, prior and criterion out: what is known of the sets says what to "
            "expect. Or give padding_length instead of [question.sets]."
        )
        what = f"objective of question {question.name!r}"
        raise InputError(what, question.objective.kind, "the total error, unweighted", remedy)
