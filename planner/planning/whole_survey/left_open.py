"""What a question may leave open: the budget of a mean, and the padding length of item sets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.errors import InputError
from planner.planning.answer_rate.plan import model_of
from planner.planning.budgets import scaled
from planner.planning.padding import PaddingPlan, plan_padding
from planner.planning.pilot import set_model_of
from planner.policy.objective import Objective
from planner.solvers import solve
from planner.survey import Question

__all__ = ["answer_rate", "budget_of", "padding_of", "with_budget", "with_padding"]


def with_budget(question: Question, users: int) -> Question:
    """A numeric question with the best budget for its preferences, if it states none.

    Other questions are returned as they are.
    """
    about = question.numeric
    if about is None or about.epsilon is not None or about.preferences is None:
        return question
    return replace(question, numeric=replace(about, epsilon=model_of(about, users).best().epsilon))


def budget_of(question: Question) -> float:
    """Budget of a numeric question, in nats.

    Raises
    ------
    InputError
        It has none.
    """
    if question.numeric is None or question.numeric.epsilon is None:
        remedy = "Add epsilon, or [question.preferences] to have the best budget found."
        raise InputError(f"epsilon of question {question.name!r}", None, "given", remedy)
    return question.numeric.epsilon


def answer_rate(question: Question) -> float | None:
    """Share of the people who answer a numeric question at its budget; None if everybody does.

    People decide by the budget of the whole survey, whatever share the question gets of it.

    Raises
    ------
    InputError
        Nobody answers, or there is no budget.
    """
    if question.numeric is None or question.numeric.preferences is None:
        return None
    epsilon = budget_of(question)
    rate = float(question.numeric.preferences.answer_rate(np.array([epsilon]))[0])
    if rate <= 0:
        remedy = "Nobody answers at this budget: lower it."
        what = f"epsilon of question {question.name!r}"
        raise InputError(what, epsilon, "tolerated by somebody", remedy)
    return rate


def with_padding(question: Question, users: float, share: float = 1.0) -> Question:
    """An item-set question with the padding length of :func:`padding_of`; others as they are."""
    if question.kind != "item-set":
        return question
    _, length, _ = padding_of(question, users, share)
    return replace(question, padding_length=length)


def padding_of(
    question: Question, users: float, share: float = 1.0
) -> tuple[PaddingPlan | None, int, Objective]:
    """Padding plan, padding length and objective of an item-set question.

    The length is the question's own, else the best for ``users`` people at ``share`` of the
    budgets. The expected total variance at length ``l`` is ``l^2`` times the expected objective
    whose prior is what is sampled per level, so that the table is made for the sets at hand.
    Without anything known of the sets there is no plan, and the objective is the question's own;
    so it is for other questions, with the length 1.

    Raises
    ------
    InputError
        Neither a padding length nor anything about the sets is given; or sets are known, and an
        objective is asked for that their sizes do not tell.
    """
    if question.kind != "item-set":
        return None, 1, question.objective
    sets, fixed = set_model_of(question), question.padding_length
    if sets is None:
        if fixed is None:
            remedy = (
                "Add padding_length, or a table [question.sets] with the share of people with "
                "0, 1, 2, ... items (sizes) or the file of a pilot."
            )
            what = f"sets of question {question.name!r}"
            raise InputError(what, None, "given, or a padding length", remedy)
        return None, fixed, question.objective
    if question.objective != Objective():
        remedy = (
            "Leave importance, prior and criterion out: what is known of the sets says what to "
            "expect. Or give padding_length instead of [question.sets]."
        )
        what = f"objective of question {question.name!r}"
        raise InputError(what, question.objective.kind, "the total error, unweighted", remedy)
    policy = scaled(question.policy, share)
    plan = plan_padding(solve(policy), max(1, round(users)), sets)
    length = fixed or plan.length
    prior = sets.moments(length, policy.item_counts).once.tolist()
    return plan, length, Objective("expected", prior=prior)
