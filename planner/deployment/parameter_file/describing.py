"""Describe any mechanism as a question of the parameter file: its probabilities as integers."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from planner.deployment.client.laws.exact import DENOMINATOR, round_inward
from planner.designs.table import UnaryTable
from planner.errors import InputError
from planner.mechanisms.bisample import BiSampleMD
from planner.mechanisms.direct import GeneralizedRandomizedResponse
from planner.mechanisms.frequency import FrequencyMechanism
from planner.mechanisms.hashing import OptimizedLocalHashing
from planner.mechanisms.numeric import SignCoin
from planner.mechanisms.padding import PaddedUnaryMechanism
from planner.mechanisms.subset import SubsetSelection
from planner.mechanisms.unary import UnaryMechanism
from planner.planning.sampling.plan import SamplingPlan
from planner.policy.objective import Objective
from planner.survey import Question

__all__ = ["describe"]


@singledispatch
def describe(mechanism: Any, question: Question) -> dict[str, Any]:
    """What the file says about a question's mechanism, but for what follows from the integers.

    Raises
    ------
    InputError
        The mechanism cannot be deployed, or does not fit the question.
    """
    name = type(mechanism).__name__
    raise InputError(f"mechanism of question {question.name!r}", name, "one that can be deployed")


@describe.register
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


@describe.register
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
        table = replace(table, policy=policy, certificate=None)  # which speaks of its own policy
    return describe(table, question)


@describe.register
def _(mechanism: PaddedUnaryMechanism, question: Question) -> dict[str, Any]:
    document = describe(mechanism.unary, question)
    if document["rule"] != "min":
        raise InputError("rule", question.policy.rule_name, '"min": eq. 16 defines set budgets')
    padded = {
        "kind": "item-set",
        "mechanism": "idue-ps",
        "padding_length": mechanism.padding_length,
    }
    return document | padded


@describe.register
def _(mechanism: GeneralizedRandomizedResponse, question: Question) -> dict[str, Any]:
    return _one_ratio("grr", mechanism, question) | {"truth": _truth(mechanism)}


@describe.register
def _(mechanism: OptimizedLocalHashing, question: Question) -> dict[str, Any]:
    response = GeneralizedRandomizedResponse(mechanism.epsilon, mechanism.values)
    hashed = {"hash_function": "xxh32", "values": mechanism.values, "truth": _truth(response)}
    return _one_ratio("olh", mechanism, question) | hashed


@describe.register
def _(mechanism: SubsetSelection, question: Question) -> dict[str, Any]:
    held = round(float(mechanism.a[0]) * DENOMINATOR)
    numbers = {"size": mechanism.size, "held": held}
    return _one_ratio("subset-selection", mechanism, question) | numbers


@describe.register
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


@describe.register
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
