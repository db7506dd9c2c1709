"""Build parameter files: from a plan, or from any mechanism for each question of a survey."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import singledispatch
from typing import Any

import numpy as np

from planner import __version__
from planner.deployment.document.canonical import FORMAT, content_hash
from planner.deployment.document.questions import listed
from planner.deployment.laws.exact import DENOMINATOR, round_inward
from planner.deployment.laws.reading import read_law
from planner.deployment.parameters import Parameters
from planner.errors import InputError
from planner.mechanisms.bisample import BiSampleMD
from planner.mechanisms.direct import GeneralizedRandomizedResponse
from planner.mechanisms.frequency import FrequencyMechanism
from planner.mechanisms.hashing import OptimizedLocalHashing
from planner.mechanisms.numeric import SignCoin
from planner.mechanisms.padding import PaddedUnaryMechanism
from planner.mechanisms.subset import SubsetSelection
from planner.mechanisms.unary import UnaryMechanism
from planner.objective import Objective
from planner.planning.frequency import Plan, QuestionPlan
from planner.planning.sampling.plan import SamplingPlan
from planner.survey import Question, Survey
from planner.table import UnaryTable

__all__ = ["parameters_from_mechanisms", "parameters_from_plan", "question_document"]


def parameters_from_plan(plan: Plan) -> Parameters:
    """Round a plan's probabilities inward to integers over 2^32, and verify them exactly.

    Raises
    ------
    InputError
        A budget is too small for probabilities on this grid.
    VerificationError
        The integers do not keep the policy.

    Examples
    --------
    >>> from planner import Level, Question, Survey
    >>> from planner.planning.frequency import plan_survey
    >>> survey = Survey("s", 10, (Question("q", (Level("only", 1.0, item_count=3),)),))
    >>> parameters_from_plan(plan_survey(survey)).questions[0].levels[0].a > 2**30
    True
    """
    for question in plan.questions:
        if question.table.certificate is None:
            allowed = "one with a certificate: opt0, opt1 or opt2"
            raise InputError("model", question.table.model, allowed)
    mechanisms = {question.question.name: _planned(question) for question in plan.questions}
    return parameters_from_mechanisms(plan.survey, mechanisms)


def parameters_from_mechanisms(survey: Survey, mechanisms: Mapping[str, Any]) -> Parameters:
    """Parameters with a chosen mechanism for each question, verified exactly.

    Parameters
    ----------
    survey:
        The questions with their levels, items and rule.
    mechanisms:
        For each question's name a :class:`UnaryTable`, a frequency mechanism, a
        :class:`BiSampleMD` or an acknowledged :class:`SamplingPlan`. Levels and items are the
        question's, in its order.

    Raises
    ------
    InputError
        A question without a mechanism, or a mechanism that does not fit its question.
    VerificationError
        The integers do not keep the question's budgets.

    Examples
    --------
    >>> from planner import Level, Question, Survey
    >>> survey = Survey("s", 10, (Question("q", (Level("only", 1.0, item_count=3),)),))
    >>> mechanisms = {"q": GeneralizedRandomizedResponse(1.0, items=3)}
    >>> parameters = parameters_from_mechanisms(survey, mechanisms)
    >>> parameters.questions[0].mechanism, parameters.questions[0].pairs[0].realised <= 1
    ('grr', True)
    """
    names = [question.name for question in survey.questions]
    if sorted(names) != sorted(mechanisms):
        raise InputError("mechanisms", sorted(mechanisms), f"one for each of {sorted(names)}")
    questions = [question_document(q, mechanisms[q.name]) for q in survey.questions]
    document = {
        "format": FORMAT,
        "version": 2,
        "planner_version": __version__,
        "created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "survey": survey.name,
        "users": survey.users,
        "questions": questions,
    }
    parameters = Parameters.model_validate(document | {"hash": content_hash(document)})
    parameters.verify()
    return parameters


def question_document(question: Question, mechanism: Any) -> dict[str, Any]:
    """One question of the file: the mechanism's integers, pairs and estimator constants.

    Raises
    ------
    InputError
        The mechanism cannot be deployed, or does not fit the question.
    """
    items = sum(level.item_count for level in question.levels)
    size = items if isinstance(mechanism, UnaryTable) else getattr(mechanism, "items", items)
    if size != items:
        raise InputError(f"items of question {question.name!r}", size, f"{items}, as in its levels")
    common = {"name": question.name, "denominator": DENOMINATOR}
    document = common | _describe(mechanism, question)
    law = read_law(document)
    return document | {"estimator": law.estimator(), "pairs": listed(law.pairs())}


def _planned(plan: QuestionPlan) -> UnaryTable | PaddedUnaryMechanism:
    """The mechanism of a planned question; a set is never reported without padding."""
    question = plan.question
    if question.kind != "item-set":
        return plan.table
    if question.padding_length is None:
        remedy = "Plan the whole survey, or add padding_length to the question."
        what = f"padding_length of question {question.name!r}"
        raise InputError(what, None, "given for item sets", remedy)
    return PaddedUnaryMechanism(UnaryMechanism(plan.table), question.padding_length)


@singledispatch
def _describe(mechanism: Any, question: Question) -> dict[str, Any]:
    name = type(mechanism).__name__
    raise InputError(f"mechanism of question {question.name!r}", name, "one that can be deployed")


@_describe.register
def _(table: UnaryTable, question: Question) -> dict[str, Any]:
    policy = question.policy
    if table.policy != policy:
        raise InputError(f"table of question {question.name!r}", "another policy", "its own")
    a, b = round_inward(table.a.tolist(), table.b.tolist(), policy.epsilons.tolist(), _rule(policy))
    grid = np.array([a, b]) / DENOMINATOR
    error = replace(table, a=grid[0], b=grid[1]).worst_case_mse
    proven = table.certificate is not None and table.objective == Objective()
    bound = table.certificate.lower_bound if proven and table.certificate else None
    gap = None if bound is None else max(0.0, (error - bound) / bound)
    levels = _levels(question)
    for i, level in enumerate(levels):
        level |= {"a": a[i], "b": b[i]}
    return {
        "kind": "categorical",
        "mechanism": "idue",
        "model": table.model,
        "rule": _nullable(question),
        "levels": levels,
        "predicted": {"worst_case_mse": error, "lower_bound": bound, "relative_gap": gap},
    }


@_describe.register
def _(mechanism: UnaryMechanism, question: Question) -> dict[str, Any]:
    table = mechanism.table
    order = np.repeat(np.arange(table.policy.size), table.policy.item_counts)
    if not np.array_equal(mechanism.level_of, order):
        remedy = "Number the items through the levels, one level after the other."
        raise InputError("level_of", mechanism.level_of, "in the order of the levels", remedy)
    policy = question.policy
    if table.model in ("rappor", "oue") and table.policy.size == 1 != policy.size:
        # A baseline of one budget protects every level as the strictest one needs.
        table = replace(
            table,
            policy=policy,
            a=np.repeat(table.a, policy.size),
            b=np.repeat(table.b, policy.size),
        )
    elif table.policy != policy and table.policy.size == policy.size:
        table = replace(table, policy=policy)
    return _describe(table, question)


@_describe.register
def _(mechanism: PaddedUnaryMechanism, question: Question) -> dict[str, Any]:
    document = _describe(mechanism.unary, question)
    if document["rule"] != "min":
        raise InputError("rule", question.policy.rule_name, '"min": eq. 16 defines set budgets')
    padded = {
        "kind": "item-set",
        "mechanism": "idue-ps",
        "padding_length": mechanism.padding_length,
    }
    return document | padded


@_describe.register
def _(mechanism: GeneralizedRandomizedResponse, question: Question) -> dict[str, Any]:
    return _one_ratio("grr", mechanism, question) | {"truth": _truth(mechanism)}


@_describe.register
def _(mechanism: OptimizedLocalHashing, question: Question) -> dict[str, Any]:
    response = GeneralizedRandomizedResponse(mechanism.epsilon, mechanism.values)
    hashed = {"hash_function": "xxh32", "values": mechanism.values, "truth": _truth(response)}
    return _one_ratio("olh", mechanism, question) | hashed


@_describe.register
def _(mechanism: SubsetSelection, question: Question) -> dict[str, Any]:
    held = round(float(mechanism.a[0]) * DENOMINATOR)
    numbers = {"size": mechanism.size, "held": held}
    return _one_ratio("subset-selection", mechanism, question) | numbers


@_describe.register
def _(mechanism: BiSampleMD, question: Question) -> dict[str, Any]:
    domain = mechanism.domain
    if question.numeric is None or question.numeric.domain != domain:
        raise InputError(f"domain for {question.name!r}", domain, "that of a numeric question")
    promised = question.numeric.epsilon
    if promised is not None and mechanism.epsilon > promised:
        raise InputError("epsilon", mechanism.epsilon, f"at most {promised}, as promised")
    return {
        "kind": "numeric",
        "mechanism": "bisample-md",
        "epsilon": float(mechanism.epsilon),
        "lower": domain.lower,
        "upper": domain.upper,
        "yes_no": domain.yes_no,
        "low": SignCoin(mechanism.epsilon).low,
    }


@_describe.register
def _(plan: SamplingPlan, question: Question) -> dict[str, Any]:
    made = plan.to_document()  # refuses while the weak point is not acknowledged
    keys = ("kind", "sampling", "zero", "decoys", "everyone_has_value", "guarantee")
    added = {
        "mechanism": "sampling-privacy",
        "rule": "min",
        "none_epsilon": plan.design.question.none_epsilon,
        "levels": _levels(question),
    }
    return {key: made[key] for key in keys} | added


def _truth(mechanism: GeneralizedRandomizedResponse) -> int:
    """``p - q`` as an integer over 2^32, which it is but for the rounding of two doubles."""
    return round((mechanism.p - mechanism.q) * DENOMINATOR)


def _one_ratio(name: str, mechanism: FrequencyMechanism, question: Question) -> dict[str, Any]:
    counts = np.zeros(mechanism.items, dtype=np.int64)
    counts[0] = 1  # the variance is linear in the counts, with equal terms for all items
    error = float(mechanism.variance(counts).sum())
    return {
        "kind": "categorical",
        "mechanism": name,
        "rule": _nullable(question),
        "levels": _levels(question),
        "predicted": {"worst_case_mse": error, "lower_bound": None, "relative_gap": None},
    }


def _levels(question: Question) -> list[dict[str, Any]]:
    return [
        {
            "name": level.name,
            "epsilon": float(level.epsilon),
            "item_count": level.item_count,
            "items": list(level.items),
        }
        for level in question.levels
    ]


def _rule(policy: Any) -> Any:
    return policy.rule if isinstance(policy.rule, str) else policy.rule.tolist()


def _nullable(question: Question) -> Any:
    """The rule for JSON: ``null`` stands for a pair without protection."""
    rule = _rule(question.policy)
    if isinstance(rule, str):
        return rule
    return [[None if math.isinf(budget) else budget for budget in row] for row in rule]
