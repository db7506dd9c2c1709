"""Mechanisms of plain LDP in the file, and counted: all items are alike, and have one ratio."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.deployment.client.laws.exact import DENOMINATOR
from planner.deployment.client.mechanisms.hashing import HashingLaw
from planner.deployment.client.mechanisms.law import OneRatioLaw
from planner.deployment.client.mechanisms.response import ResponseLaw
from planner.deployment.client.mechanisms.subset import SubsetLaw
from planner.deployment.mechanisms.answers import AnswerRows
from planner.deployment.mechanisms.counting import BitTally, CellTally, Counter, SumTally
from planner.deployment.mechanisms.deployed import Cells, Deployed, Rows
from planner.deployment.mechanisms.items import (
    described_levels,
    described_rule,
    linear_rows,
    promised_rule,
)
from planner.errors import InputError
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.direct import GeneralizedRandomizedResponse
from planner.mechanisms.hashing import OptimizedLocalHashing
from planner.mechanisms.subset import SubsetSelection
from planner.survey import Question

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


class DeployedResponse(DeployedOneRatio[ResponseLaw]):
    """Reports are item numbers."""

    law_type = ResponseLaw
    sources = (GeneralizedRandomizedResponse,)

    @classmethod
    def describe(cls, source: Any, question: Question) -> dict[str, Any]:
        return one_ratio(source, question) | {"truth": _truth_of(source)}

    def counter(self) -> Counter:
        return CellTally(self.law.values, "<u4")


class DeployedSubset(DeployedOneRatio[SubsetLaw]):
    """Reports are sets of items, all of one size."""

    law_type = SubsetLaw
    sources = (SubsetSelection,)

    @classmethod
    def describe(cls, source: Any, question: Question) -> dict[str, Any]:
        held = round(float(source.a[0]) * DENOMINATOR)
        return one_ratio(source, question) | {"size": source.size, "held": held}

    def counter(self) -> Counter:
        return BitTally(self.law.levels.total, check=self._check_sizes)

    def _check_sizes(self, words: NDArray[np.uint64]) -> None:
        sizes = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
        for u in np.flatnonzero(sizes != self.law.size_of_set)[:1]:
            allowed = f"{self.law.size_of_set} items"
            remedy = "Leave the damaged report out."
            raise InputError(f"size of report {u}", int(sizes[u]), allowed, remedy)


class DeployedHashing(DeployedOneRatio[HashingLaw]):
    """Reports support the items that hash to their value."""

    law_type = HashingLaw
    sources = (OptimizedLocalHashing,)

    def __init__(self, law: HashingLaw) -> None:
        super().__init__(law)
        self.slack = law.values / DENOMINATOR  # 2^32 seeds do not divide evenly

    @classmethod
    def describe(cls, source: Any, question: Question) -> dict[str, Any]:
        response = GeneralizedRandomizedResponse(source.epsilon, source.values)
        hashed = {"hash_function": "xxh32", "values": source.values, "truth": _truth_of(response)}
        return one_ratio(source, question) | hashed

    def counter(self) -> Counter:
        return SumTally(self.law.levels.total, self._supports)

    def _supports(self, rows: Rows) -> NDArray[np.int64]:
        # The hash and its support are the mechanism's own; the budget only fixes their number.
        law = self.law
        mechanism = OptimizedLocalHashing(log(max(law.values - 1, 1.25)), law.levels.total)
        return mechanism.aggregate(rows.view("<u4").astype(np.uint32)).counts


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


def _truth_of(mechanism: GeneralizedRandomizedResponse) -> int:
    """``p - q`` as an integer over 2^32, which it is but for the rounding of two doubles."""
    return round((mechanism.p - mechanism.q) * DENOMINATOR)
