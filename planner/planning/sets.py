"""Questions about item sets: each mechanism at its padding length, and what padding costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from planner.designs.set_design import SetDesign
from planner.errors import InputError
from planner.mechanisms.catalogue import CATALOGUE
from planner.mechanisms.itemsets import PaddedUnaryMechanism
from planner.mechanisms.padded_design import PaddedDesignMechanism
from planner.mechanisms.unary import UnaryMechanism
from planner.planning.choice import Details, explain, levels_of, solved
from planner.planning.option import ErrorLaw, Option
from planner.planning.padding import (
    Drawn,
    PaddedError,
    Padding,
    PaddingPlan,
    drawn_objective,
    plan_padding,
)
from planner.planning.part import Part
from planner.planning.pilot import set_model_of
from planner.planning.solve import DESIGN, TOTAL, solve_for, tried
from planner.planning.what_if import scaled
from planner.policy.objective import Objective
from planner.solvers import BASELINES, MODELS
from planner.survey.questions import BEST, ItemSet, Question

Array = NDArray[np.float64]


def settled(question: ItemSet, users: float, share: float = 1.0) -> ItemSet:
    """The question with a padding length: its own, else the best for so many people.

    Of ``"best"`` it is that of the best design, or of the best table if its error is smaller.

    Raises
    ------
    InputError
        Neither a padding length nor anything about the sets is given; or sets are known, and an
        objective is asked for that their sizes do not tell.
    """
    if question.padding_length is not None:
        return question
    sets = set_model_of(question)
    if sets is None:
        remedy = (
            "Add padding_length, or a table [question.sets] with the share of people with "
            "0, 1, 2, ... items (sizes) or the file of a pilot."
        )
        what = f"sets of question {question.name!r}"
        raise InputError(what, None, "given, or a padding length", remedy)
    _refuse_objective(question)
    policy, people = scaled(question.policy, share), max(1, round(users))
    drawn = [solve_for(policy, question.mechanism, sets=True)] if question.mechanism != BEST else []
    if not drawn:
        design, reason = tried(policy, DESIGN, sets=True)
        drawn = [solve_for(policy)]  # no other table is better
        if design is not None and not reason:
            drawn.insert(0, design)
    plans = [plan_padding(cast("Drawn", one), people, sets) for one in drawn]
    return question.replacing(padding_length=min(plans, key=lambda plan: plan.mse.min()).length)


def objective_of(question: ItemSet) -> Objective:
    """What is made small at the question's padding length.

    The expected total variance of sets at length ``l`` is ``l^2`` times the expected objective
    whose prior is what is sampled per level, so that the table is made for the sets at hand.
    Without anything known of the sets it is the question's own.

    Raises
    ------
    InputError
        Sets are known, and an objective is asked for that their sizes do not tell.
    """
    sets = set_model_of(question)
    if sets is None or question.padding_length is None:
        return question.objective
    _refuse_objective(question)
    return drawn_objective(question.padding_length, question.policy, sets)


def law_at(question: ItemSet, users: int, length: int) -> PaddedError:
    """The objective and the error law of ``users`` people at a padding length."""
    objective = objective_of(question.replacing(padding_length=length))
    return Padding(set_model_of(question), length, objective).at(length, users, question.policy)


def errors_of(question: ItemSet, users: int) -> ErrorLaw:
    """The error law at the question's padding length."""
    return law_at(question, users, question.padding_length or 1).errors


def options(part: Part) -> list[Option]:
    """Tables and designs for what is drawn of a set, each at its own best padding length.

    Raises
    ------
    SolverError
        The mechanism asked for could not be proven.
    """
    policy, objective = part.deployed.policy, objective_of(_of(part.deployed))
    errors = errors_of(_of(part.question), part.everybody)
    found = [
        solved(policy, name, objective, errors, must=name == part.asked.mechanism, sets=True)
        for name in (DESIGN, *MODELS, *BASELINES)
    ]
    length = _of(part.question).padding_length
    return [replace(one, note=f"l = {length}") for one in found]


def at_best_length(part: Part, option: Option) -> Option:
    """A rival at the padding length that is best for it."""
    sets = set_model_of(_of(part.deployed))
    if option.law is None or sets is None or _of(part.asked).padding_length is not None:
        return option
    length = plan_padding(option.law, part.people, sets).length
    at = law_at(_of(part.question), part.everybody, length)
    value = option.law.value(at.objective)
    return replace(option, value=value, errors=at.errors, note=f"l = {length}")


def total(part: Part, planned: Option) -> tuple[float, ErrorLaw]:
    """The value and the law of the total error, whatever the question's objective weighs."""
    if set_model_of(_of(part.deployed)) is not None:
        return planned.value, planned.errors  # expected, of all items alike
    length = _of(part.question).padding_length or 1
    law = Padding(None, length).at(length, part.everybody, part.question.policy)
    return planned.law.value(law.objective), law.errors


def deployed(part: Part, planned: Option) -> Any:
    """The mechanism as a parameter file takes it."""
    question, length = _of(part.deployed), _of(part.question).padding_length or 1
    sets, items = set_model_of(question), int(question.policy.item_counts.sum())
    longer = None if sets is None else sets.longer(length, items)
    if isinstance(planned.law, SetDesign):
        return PaddedDesignMechanism.of(planned.law, length, longer)
    return PaddedUnaryMechanism(UnaryMechanism(planned.law), length, longer)


def details(part: Part, planned: Option, price: float, mechanism: Any) -> Details:
    """Its levels, and every padding length's error with the very table that is planned."""
    length, law = _of(part.question).padding_length, planned.law
    leakage = np.full(part.deployed.policy.size, mechanism.privacy_loss())
    sends = CATALOGUE[planned.name].sends
    explained = explain(law, part.asked.name, length, sends, leakage)
    found = Details(levels_of(part, law, price, length), explained, law)
    sets = set_model_of(_of(part.deployed))
    if sets is None:
        return found
    padding = plan_padding(law, part.people, sets)
    errors, _ = every_length(part, padding)
    return replace(found, padding=padding, padding_errors=np.array([part.total(e) for e in errors]))


def every_length(part: Part, padding: PaddingPlan) -> tuple[Array, Array]:
    """Error per person of the survey, and the bias in it, at every padding length."""
    bias = padding.bias2 / part.people * part.everybody
    spread = errors_of(_of(part.question), part.everybody).spread
    return padding.variance / part.fraction + spread * (1 / part.fraction - 1) + bias, bias


def _refuse_objective(question: ItemSet) -> None:
    if question.objective != TOTAL:
        remedy = (
            "Leave importance, prior and criterion out: what is known of the sets says what to "
            "expect. Or give padding_length instead of [question.sets]."
        )
        what = f"objective of question {question.name!r}"
        raise InputError(what, question.objective.kind, "the total error, unweighted", remedy)


def _of(question: Question) -> ItemSet:
    assert isinstance(question, ItemSet)  # noqa: S101 - by its kind
    return question
