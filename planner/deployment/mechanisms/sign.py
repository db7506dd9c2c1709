"""BiSample-MD in the file, counted, and estimated."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any

import numpy as np

from planner.deployment.client.laws.exact import DENOMINATOR
from planner.deployment.client.mechanisms.sign import SignLaw
from planner.deployment.mechanisms.answers import AnswerRows
from planner.deployment.mechanisms.counting import CellTally, Counter, Tally
from planner.deployment.mechanisms.deployed import Cells, Deployed
from planner.deployment.mechanisms.numbers import described_range, number_rows
from planner.deployment.mechanisms.signs import ALPHA, cell_signs
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.bisample import BiSampleMD
from planner.mechanisms.numeric import SignCoin
from planner.survey import Question
from planner.survey.numeric_domain import NumericDomain

__all__ = ["DeployedSign"]


class DeployedSign(Deployed[SignLaw]):
    """Reports of two bits; what is looked at for poisoning is each bit by itself."""

    law_type = SignLaw
    sources = (BiSampleMD,)

    @classmethod
    def describe(cls, source: Any, question: Question) -> dict[str, Any]:
        return described_range(source, question) | {"low": SignCoin(source.epsilon).low}

    def counter(self) -> Counter:
        return CellTally(4, "u1")

    def cells(self, round_number: int | None) -> Cells:
        del round_number
        noise = self.law.low / DENOMINATOR
        names = ["positive sampling", "bit 1"]
        return Cells(names, np.array([0.5, noise]), np.array([0.5, 1 - noise]))

    def signs(self, tally: Tally, round_number: int | None) -> list[str]:
        n, counts = tally.aggregate.users, tally.aggregate.counts
        pair = Aggregate(n, np.array([counts[2] + counts[3], counts[1] + counts[3]]))
        one = self.cells(round_number)
        return cell_signs(pair, one.low, one.high, one.names, ALPHA)

    def estimate(self, rounds: Sequence[Aggregate], confidence: float) -> AnswerRows:
        # The budget at which the mechanism draws with exactly this "low".
        law = self.law
        epsilon = log((DENOMINATOR - (law.low - 0.5)) / (law.low - 0.5))
        domain = NumericDomain(law.lower, law.upper, law.yes_no)
        return number_rows(BiSampleMD(epsilon, domain).estimate(rounds[0], confidence), domain)
