"""Levels and rules of items as the file has them, and estimates of how many people have each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from planner.deployment.client.mechanisms.law import ItemLaw
from planner.deployment.mechanisms.answers import AnswerRows, item_rows
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.frequency import linear_estimates
from planner.policy.policy import PrivacyPolicy
from planner.survey import Question


def linear_rows(law: ItemLaw, aggregate: Aggregate, confidence: float) -> AnswerRows:
    """Estimates by the file's constants, and beside them the nearest that add up."""
    constants, counts = law.estimator(), law.levels.item_counts
    offsets = np.repeat(constants["offsets"], counts)
    slopes = np.repeat(constants["slopes"], counts)
    estimates = linear_estimates(aggregate, offsets + slopes, offsets)
    return item_rows(law.levels, estimates, estimates.on_simplex(), confidence)


def described_levels(question: Question) -> list[dict[str, Any]]:
    """A question's levels, as JSON."""
    return [
        {
            "name": level.name,
            "epsilon": float(level.epsilon),
            "item_count": level.item_count,
            "items": list(level.items),
        }
        for level in question.levels
    ]


def promised_rule(policy: PrivacyPolicy, *, keeps_all: bool) -> Any:
    """The rule that a mechanism keeps: by name if it keeps all pairs, else pair by pair.

    A categorical question does not need the pair of two items of a level that has only one.
    """
    return policy.rule.plain(policy.epsilons) if keeps_all else policy.bounds().tolist()


def described_rule(rule: Any) -> Any:
    """A rule as JSON: ``null`` stands for a pair without protection."""
    if isinstance(rule, str):
        return rule
    return [[None if math.isinf(budget) else float(budget) for budget in row] for row in rule]
