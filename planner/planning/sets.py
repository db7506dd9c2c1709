"""Questions about item sets: each mechanism at its padding length, and what padding costs."""

from __future__ import annotations

from dataclasses import replace
from math import exp, inf, log
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError, VerificationError
from planner.mechanisms.catalogue import CATALOGUE
from planner.mechanisms.itemsets import PaddedUnaryMechanism
from planner.mechanisms.set_design import SetDesignMechanism, smallest_budget
from planner.mechanisms.unary import UnaryMechanism
from planner.planning.choice import (
    Details,
    LevelTerms,
    SetPromises,
    explain,
    levels_of,
    solved,
)
from planner.planning.option import ErrorLaw, Option
from planner.planning.padding import (
    Drawn,
    PaddedError,
    Padding,
    PaddingPlan,
    drawn_objective,
    plan_padding,
    plan_whole_sets,
)
from planner.planning.part import Part
from planner.planning.pilot import set_model_of
from planner.planning.solve import TOTAL, solve_for
from planner.planning.what_if import scaled
from planner.policy.objective import Objective
from planner.solvers.models import MODELS
from planner.solvers.solving import BASELINES
from planner.survey.questions import BEST, SET_DESIGN, ItemSet, Question
from planner.survey.sets import SetModel

Array = NDArray[np.float64]
_MOST_NATS = 20.0  # more budget is of no use to a set design


def settled(question: ItemSet, users: float, share: float = 1.0) -> ItemSet:
    """The question with a padding length: its own, else the best for so many people.

    Of ``"best"`` it is that of the set design, or of the best table if its error is smaller.

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
    plans = []
    if question.mechanism in (BEST, SET_DESIGN):
        cap = None if question.cap is None else share * question.cap
        plans.append(plan_whole_sets(policy, cap, people, sets))
    if question.mechanism != SET_DESIGN and policy.rule.covers_sets:
        table = solve_for(policy, "opt0" if question.mechanism == BEST else question.mechanism)
        plans.append(plan_padding(cast("Drawn", table), people, sets))
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
    """A set design, and tables for one item that is drawn of a set, at the planned length.

    Raises
    ------
    SolverError
        The mechanism asked for could not be proven.
    """
    question = _of(part.deployed)
    policy, objective = question.policy, objective_of(question)
    errors, length = errors_of(_of(part.question), part.everybody), _length(part)
    found = [
        solved(policy, name, objective, errors, must=name == part.asked.mechanism)
        for name in (*MODELS, *BASELINES)
    ]
    if not policy.rule.covers_sets:
        reason = "budgets of sets are defined for the rule min alone"
        found = [replace(one, refused=reason) for one in found]
    whole = whole_sets(part, length)
    if whole.refused and part.asked.mechanism == SET_DESIGN:
        raise InputError.because(SET_DESIGN, whole.refused, "Choose another mechanism.")
    return [replace(one, note=f"l = {length}") for one in (whole, *found)]


def whole_sets(part: Part, length: int, cap: float | None = None) -> Option:
    """The set design at a padding length, or why there is none."""
    question = _of(part.deployed)
    policy, sets = question.policy, set_model_of(question)
    length = min(length, int(policy.item_counts.sum()))
    spread = float(length) if sets is None else sets.mean_size
    nothing = Option(SET_DESIGN, inf, ErrorLaw(spread=spread))
    if question.objective != TOTAL:
        return replace(nothing, refused="it is made for the total error, unweighted")
    longer = None if sets is None else sets.longer(length, int(policy.item_counts.sum()))
    cap = cap or question.cap
    if cap is not None and _of(part.asked).padding_length is None:  # for a length that is found
        cap = min(cap, length * smallest_budget(policy))
    try:
        found = SetDesignMechanism.of(policy, length, cap, longer)
    except (InputError, VerificationError) as error:
        return replace(nothing, refused=error.reason)
    a, b = found.support
    terms = LevelTerms.with_probabilities(policy, *np.full((2, policy.size), [[a], [b]]))
    law = replace(terms, mechanism=found)
    if sets is None:
        return Option(
            SET_DESIGN, found.worst_case_mse, nothing.errors, law, found.lower_bound or None
        )
    at = sets.moments(length, policy.item_counts)
    noise, signal = found.items * b * (1 - b) / (a - b) ** 2, (1 - 2 * b) / (a - b)
    value = noise + signal * length * float(at.once.sum()) - length**2 * float(at.twice)
    bias = float((part.everybody - 1) * at.lost2 + at.spread2)
    return Option(SET_DESIGN, value, ErrorLaw(bias=bias, spread=spread), law)


def at_best_length(part: Part, option: Option) -> Option:
    """A rival at the padding length that is best for it."""
    question = _of(part.deployed)
    sets = set_model_of(question)
    if option.law is None or sets is None or _of(part.asked).padding_length is not None:
        return option
    length = _padding(part, option, sets).length
    if option.name == SET_DESIGN:
        return replace(whole_sets(part, length), note=f"l = {length}")
    at = law_at(_of(part.question), part.everybody, length)
    value = option.law.value(at.objective)
    return replace(option, value=value, errors=at.errors, note=f"l = {length}")


def _padding(part: Part, option: Option, sets: SetModel) -> PaddingPlan:
    if option.name == SET_DESIGN:
        question = _of(part.deployed)
        return plan_whole_sets(question.policy, question.cap, part.people, sets)
    return plan_padding(option.law, part.people, sets)


def total(part: Part, planned: Option) -> tuple[float, ErrorLaw]:
    """The value and the law of the total error, whatever the question's objective weighs."""
    if set_model_of(_of(part.deployed)) is not None:
        return planned.value, planned.errors  # expected, of all items alike
    if planned.name == SET_DESIGN:
        return planned.value, planned.errors
    length = _of(part.question).padding_length or 1
    law = Padding(None, length).at(length, part.everybody, part.question.policy)
    return planned.law.value(law.objective), law.errors


def deployed(part: Part, planned: Option) -> Any:
    """The mechanism as a parameter file takes it."""
    if planned.name == SET_DESIGN:
        return planned.law.mechanism
    question, length = _of(part.deployed), _length(part)
    sets, items = set_model_of(question), int(question.policy.item_counts.sum())
    longer = None if sets is None else sets.longer(length, items)
    return PaddedUnaryMechanism(UnaryMechanism(planned.law), length, longer)


def details(part: Part, planned: Option, price: float, mechanism: Any) -> Details:
    """Its levels, and every padding length's error with the very table that is planned."""
    whole = planned.name == SET_DESIGN
    times, law = 1 if whole else _length(part), planned.law  # what estimates are multiplied by
    leakage = np.full(part.deployed.policy.size, mechanism.privacy_loss())
    sends = CATALOGUE[planned.name].sends
    about = (law, part.asked.name, _length(part), sends, leakage)
    explained = explain(*about, whole=whole)
    found = Details(levels_of(part, law, price, times), explained, None if whole else law)
    if whole:
        found = replace(found, sets=_promises(part, planned))
    sets = set_model_of(_of(part.deployed))
    if sets is None:
        return found
    padding = _padding(part, planned, sets)
    errors, _ = every_length(part, padding)
    return replace(found, padding=padding, padding_errors=np.array([part.total(e) for e in errors]))


def _promises(part: Part, planned: Option) -> SetPromises:
    """The two budgets, the bound, and what a cap of twice the budget would buy."""
    design = planned.law.mechanism.design
    epsilon, cap = design.epsilon, planned.law.mechanism.law.cap
    error = None
    if design.length > 1:
        more = whole_sets(part, design.length, min(2 * epsilon, design.length * epsilon))
        if not more.refused and cap < 2 * epsilon * (1 - 1e-9):
            error = part.total(more.errors.error(more.value, part.fraction))
    gap = inf
    if design.lower_bound > 0:
        gap = planned.law.mechanism.worst_case_mse / design.lower_bound - 1
    return SetPromises(epsilon, cap, design.length, gap, error)


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


def smallest_budgets(part: Part, squared: float) -> str:
    """By what all budgets must be multiplied for a squared error, as a share of the people."""
    from scipy.optimize import brentq

    def excess(log_scale: float) -> float:
        at = replace(part, share=part.share * exp(log_scale))
        return log(_least_error(at) / (part.people * max(squared, 1e-300)))

    epsilon = smallest_budget(part.deployed.policy)
    low, high = log(1e-3 / epsilon), log(_MOST_NATS / epsilon)
    if excess(high) > 0:
        return "Impossible with a set design, whatever the budgets."
    if excess(low) <= 0:
        return "The target is met even with next to no budget."
    scale = exp(brentq(excess, low, high, xtol=1e-3) + 1e-3)
    return (
        f"With a set design all budgets times {scale:.4g} meet the target: the smallest pair "
        f"budget is then {scale * epsilon:.4g}."
    )


def _least_error(part: Part) -> float:
    """Squared error per person asked, of the set design at the best length, or the one given."""
    question = _of(part.deployed)
    found = set_model_of(question)
    if found is not None and _of(part.asked).padding_length is None:
        return float(plan_whole_sets(question.policy, question.cap, part.people, found).mse.min())
    whole = whole_sets(part, _length(part))
    return inf if whole.refused else whole.errors.error(whole.value)


def _length(part: Part) -> int:
    return _of(part.question).padding_length or 1


def _of(question: Question) -> ItemSet:
    assert isinstance(question, ItemSet)  # noqa: S101 - by its kind
    return question
