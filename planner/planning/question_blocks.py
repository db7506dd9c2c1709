"""Questions of a survey as blocks of a joint allocation."""

from __future__ import annotations

import numpy as np

from planner.errors import InputError
from planner.mechanisms.bisample_variance import first_order
from planner.objective import Objective
from planner.planning.answer_rate.model import AnswerRateModel
from planner.planning.blocks import Block, ChoiceBlock, MeanBlock
from planner.planning.padding import PaddingPlan, plan_padding
from planner.planning.pilot import set_model_of
from planner.planning.relax import scaled
from planner.preferences import EmpiricalPreferences
from planner.solvers import solve
from planner.survey import Question

__all__ = ["answering", "block_of", "mean_model", "padding_of", "share_of_error"]


def block_of(question: Question, users: int, share: float = 1.0) -> Block:
    """The question as a block; for item sets with the padding length that is best at ``share``.

    Raises
    ------
    InputError
        A numeric question without a budget, or item sets of which nothing is known.
    """
    if question.numeric is not None:
        return _mean_block(question, users)
    policy, objective = question.policy, question.objective
    if question.kind == "categorical":
        return ChoiceBlock(question.name, policy, question.weight, objective)
    _, length, expected = padding_of(question, users, share)
    sets = set_model_of(question)
    if sets is None:
        # Sets of at most l items: noise l^2, and at most l items of signal l (signal + 1) - 1.
        offset, spread = float(length * (length - 1)), float(length)
        return ChoiceBlock(
            question.name, policy, question.weight, objective, length**2, offset, 0.0, spread
        )
    at = sets.moments(length, policy.item_counts)
    bias2 = (users - 1) * at.lost2 + at.spread2
    offset = length**2 * (float(at.once.sum()) - at.twice) + bias2
    spread = sets.mean_size  # sum f (1 - f) is at most sum f
    return ChoiceBlock(
        question.name,
        policy,
        question.weight,
        expected or objective,
        length**2,
        offset,
        bias2,
        spread,
    )


def padding_of(
    question: Question, users: int, share: float = 1.0
) -> tuple[PaddingPlan | None, int, Objective | None]:
    """Padding plan, padding length and objective of an item-set question at ``share``.

    The expected total variance at length ``l`` is ``l^2`` times the expected objective whose
    prior is what is sampled per level, so that the table is made for the sets at hand. For
    other questions ``(None, 1, None)``.

    Raises
    ------
    InputError
        Neither a padding length nor anything about the sets is given.
    """
    if question.kind != "item-set":
        return None, 1, None
    sets, fixed = set_model_of(question), question.padding_length
    if sets is None:
        if fixed is None:
            remedy = (
                "Add padding_length, or a table [question.sets] with the share of people with "
                "0, 1, 2, ... items (sizes) or the file of a pilot."
            )
            what = f"sets of question {question.name!r}"
            raise InputError(what, None, "given, or a padding length", remedy)
        return None, fixed, None
    policy = scaled(question.policy, share)
    plan = plan_padding(solve(policy), users, sets)
    length = fixed or plan.length
    objective = Objective("expected", prior=sets.moments(length, policy.item_counts).once.tolist())
    return plan, length, objective


def mean_model(question: Question, users: int) -> tuple[float, AnswerRateModel]:
    """Budget of a numeric question and what its answers are predicted from.

    Without preferences everybody answers. Without a budget it is the best one for the
    preferences.

    Raises
    ------
    InputError
        Neither a budget nor preferences, or not a numeric question.
    """
    about = question.numeric
    if about is None:
        raise InputError(f"kind of question {question.name!r}", question.kind, "numeric")
    everybody = EmpiricalPreferences([50.0])
    model = AnswerRateModel(
        about.preferences or everybody, users, about.domain, about.mean, about.sd, about.correlation
    )
    if about.epsilon is not None:
        return about.epsilon, model
    if about.preferences is None:
        remedy = "Add epsilon, or [question.preferences] to have the best budget found."
        raise InputError(f"epsilon of question {question.name!r}", None, "given", remedy)
    return model.best().epsilon, model


def answering(question: Question, users: int) -> float | None:
    """Share of the people who answer a numeric question at the budget of the whole survey.

    None where everybody answers. People decide by that budget, whatever share the question
    gets of it.

    Raises
    ------
    InputError
        Nobody answers.
    """
    about = question.numeric
    if about is None or about.preferences is None:
        return None
    epsilon, _ = mean_model(question, users)
    rate = float(about.preferences.answer_rate(np.array([epsilon]))[0])
    if rate <= 0:
        remedy = "Nobody answers at this budget: lower it."
        raise InputError(f"epsilon of question {question.name!r}", epsilon, "tolerated", remedy)
    return rate


def share_of_error(question: Question, users: int) -> float:
    """The question's total error target as an error per user, for the minimax.

    Choices and sets: ``users * share^2``. Means: the same on [-1, 1].
    """
    for target in question.targets:
        if target.kind == "error" and target.level is None:
            return users * target.value**2
    raise InputError(f"targets of question {question.name!r}", None, "an error without a level")


def _mean_block(question: Question, users: int) -> MeanBlock:
    """With missing answers the error is ``A / tanh^2(eps/2) + B`` at the answer rate."""
    epsilon, model = mean_model(question, users)
    about = question.numeric
    mean = 0.0
    if about is not None and about.mean is not None:
        mean = float(about.domain.to_unit(np.array([about.mean]))[0])
    rate = answering(question, users)
    if rate is None:
        return MeanBlock(question.name, epsilon, question.weight, 1.0, -(mean**2))
    curve = model.curve([epsilon])
    bias = float(curve.mean_bias[0]) / model.domain.radius
    # The variance is affine in 1/theta^2: two values give both terms.
    full, half = (float(first_order(t, rate, mean + bias, 1).mean) for t in (1.0, 0.5))
    scale = (half - full) / 3
    fixed = users * bias**2
    return MeanBlock(question.name, epsilon, question.weight, scale, full - scale + fixed, fixed)
