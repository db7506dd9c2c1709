"""What all mechanisms share that count how many people have each item of some levels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.deployment.client.mechanisms.law import ItemLaw, OneRatioLaw
from planner.deployment.mechanisms.answers import AnswerRows, item_rows
from planner.deployment.mechanisms.deployed import Cells, Deployed
from planner.errors import InputError
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.frequency import linear_estimates
from planner.policy.policy import PrivacyPolicy
from planner.survey import Question

__all__ = [
    "DeployedOneRatio",
    "OneBudget",
    "described_levels",
    "described_rule",
    "linear_rows",
    "one_ratio",
    "promised_rule",
]

L = TypeVar("L", bound=OneRatioLaw)


class OneBudget(Protocol):
    """A mechanism that protects all items alike, by one budget."""

    @property
    def epsilon(self) -> float:
        """The budget, in nats."""

    @property
    def items(self) -> int:
        """Number of items."""

    def variance(self, true_counts: ArrayLike) -> NDArray[np.float64]:
        """Of each estimated count."""


class DeployedOneRatio(Deployed[L]):
    """Mechanisms that treat all items alike; a report supports some of them."""

    slack = 0.0
    """How far the probabilities of support may be from the law's."""

    def cells(self, round_number: int | None) -> Cells:
        del round_number
        levels = self.law.levels
        own, other = (np.full(levels.total, float(chance)) for chance in self.law.support)
        low, high = np.minimum(own, other), np.maximum(own, other)
        return Cells(levels.item_names(), low - self.slack, high + self.slack)

    def estimate(self, rounds: Sequence[Aggregate], confidence: float) -> AnswerRows:
        return linear_rows(self.law, rounds[0], confidence)


def linear_rows(law: ItemLaw, aggregate: Aggregate, confidence: float) -> AnswerRows:
    """Estimates by the file's constants, and beside them the nearest that add up."""
    constants, counts = law.estimator(), law.levels.item_counts
    offsets = np.repeat(constants["offsets"], counts)
    slopes = np.repeat(constants["slopes"], counts)
    estimates = linear_estimates(aggregate, offsets + slopes, offsets)
    return item_rows(law.levels, estimates, estimates.on_simplex(), confidence)


def one_ratio(mechanism: OneBudget, question: Question) -> dict[str, Any]:
    """The keys that all mechanisms with one ratio share."""
    items = sum(level.item_count for level in question.levels)
    if mechanism.items != items:
        allowed = f"{items}, as in its levels"
        remedy = "Plan the mechanism for this question."
        raise InputError(f"items of question {question.name!r}", mechanism.items, allowed, remedy)
    counts = np.zeros(mechanism.items, dtype=np.int64)
    counts[0] = 1  # the variance is linear in the counts, with equal terms for all items
    error = float(mechanism.variance(counts).sum())
    policy = question.policy
    least = float(policy.with_changes(self_pairs=True).room(np.zeros(policy.size)).min())
    rule = promised_rule(policy, keeps_all=mechanism.epsilon <= least)
    return {
        "rule": described_rule(rule),
        "levels": described_levels(question),
        "predicted": {"worst_case_mse": error, "lower_bound": None, "relative_gap": None},
    }


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
