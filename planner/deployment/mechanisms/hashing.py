"""Local hashing in the file, and counted."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.deployment.client.laws.exact import DENOMINATOR
from planner.deployment.client.mechanisms.hashing import HashingLaw
from planner.deployment.mechanisms.counting import Counter, SumTally
from planner.deployment.mechanisms.deployed import Rows
from planner.deployment.mechanisms.items import DeployedOneRatio, one_ratio
from planner.deployment.mechanisms.response import truth_of
from planner.mechanisms.direct import GeneralizedRandomizedResponse
from planner.mechanisms.hashing import OptimizedLocalHashing
from planner.survey import Question

__all__ = ["DeployedHashing"]


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
        hashed = {"hash_function": "xxh32", "values": source.values, "truth": truth_of(response)}
        return one_ratio(source, question) | hashed

    def counter(self) -> Counter:
        return SumTally(self.law.levels.total, self._supports)

    def _supports(self, rows: Rows) -> NDArray[np.int64]:
        # The hash and its support are the mechanism's own; the budget only fixes their number.
        law = self.law
        mechanism = OptimizedLocalHashing(log(max(law.values - 1, 1.25)), law.levels.total)
        return mechanism.aggregate(rows.view("<u4").astype(np.uint32)).counts
