"""Numbers: BiSample-MD in the file, counted and estimated; the range and rows of all mechanisms."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any

import numpy as np

from planner.deployment.client.laws.exact import DENOMINATOR
from planner.deployment.client.mechanisms.sign import SignLaw
from planner.deployment.mechanisms.answers import AnswerRows, quantity_rows
from planner.deployment.mechanisms.counting import CellTally, Counter
from planner.deployment.mechanisms.deployed import Cells, Deployed
from planner.errors import InputError
from planner.estimates.means import NumericEstimates
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.means import BiSampleMD, NumericMechanism, SignCoin
from planner.survey import Question
from planner.survey.numeric_domain import NumericDomain


class DeployedSign(Deployed[SignLaw]):
    """Reports of two bits."""

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

    def estimate(self, rounds: Sequence[Aggregate], confidence: float) -> AnswerRows:
        # The budget at which the mechanism draws with exactly this "low".
        law = self.law
        epsilon = log((DENOMINATOR - (law.low - 0.5)) / (law.low - 0.5))
        domain = NumericDomain(law.lower, law.upper, law.yes_no)
        return number_rows(BiSampleMD(epsilon, domain).estimate(rounds[0], confidence), domain)


def described_range(mechanism: NumericMechanism, question: Question) -> dict[str, Any]:
    """Budget and range, as the file has them.

    Raises
    ------
    InputError
        The question has another range, or promises a smaller budget.
    """
    domain = mechanism.domain
    if question.numeric is None or question.numeric.domain != domain:
        allowed = "that of a numeric question"
        remedy = "Plan the mechanism for this question's range."
        raise InputError(f"domain for {question.name!r}", domain, allowed, remedy)
    promised = question.numeric.epsilon
    if promised is not None and mechanism.epsilon > promised:
        remedy = "Plan the mechanism with the promised budget."
        raise InputError("epsilon", mechanism.epsilon, f"at most {promised}, as promised", remedy)
    return {
        "epsilon": float(mechanism.epsilon),
        "lower": domain.lower,
        "upper": domain.upper,
        "yes_no": domain.yes_no,
    }


def number_rows(estimates: NumericEstimates, domain: NumericDomain) -> AnswerRows:
    """A row for the mean, the total, the missing rate and, of yes and no, the share of yes."""
    quantities = (
        ("mean", estimates.mean, (domain.lower, domain.upper)),
        ("total", estimates.total, None),
        ("missing rate", estimates.missing_rate, (0.0, 1.0)),
        ("frequency", estimates.frequency, (0.0, 1.0)),
    )
    wanted = [(name, one, possible) for name, one, possible in quantities if one is not None]
    return quantity_rows(estimates.users, wanted)
