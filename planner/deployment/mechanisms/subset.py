"""Subset selection in the file, and counted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.deployment.client.laws.exact import DENOMINATOR
from planner.deployment.client.mechanisms.subset import SubsetLaw
from planner.deployment.mechanisms.counting import BitTally, Counter
from planner.deployment.mechanisms.items import DeployedOneRatio, one_ratio
from planner.errors import InputError
from planner.mechanisms.subset import SubsetSelection
from planner.survey import Question

__all__ = ["DeployedSubset"]


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
