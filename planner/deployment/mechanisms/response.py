"""Generalised randomised response in the file, and counted."""

from __future__ import annotations

from typing import Any

from planner.deployment.client.laws.exact import DENOMINATOR
from planner.deployment.client.mechanisms.response import ResponseLaw
from planner.deployment.mechanisms.counting import CellTally, Counter
from planner.deployment.mechanisms.items import DeployedOneRatio, one_ratio
from planner.mechanisms.direct import GeneralizedRandomizedResponse
from planner.survey import Question

__all__ = ["DeployedResponse", "truth_of"]


class DeployedResponse(DeployedOneRatio[ResponseLaw]):
    """Reports are item numbers."""

    law_type = ResponseLaw
    sources = (GeneralizedRandomizedResponse,)

    @classmethod
    def describe(cls, source: Any, question: Question) -> dict[str, Any]:
        return one_ratio(source, question) | {"truth": truth_of(source)}

    def counter(self) -> Counter:
        return CellTally(self.law.values, "<u4")


def truth_of(mechanism: GeneralizedRandomizedResponse) -> int:
    """``p - q`` as an integer over 2^32, which it is but for the rounding of two doubles."""
    return round((mechanism.p - mechanism.q) * DENOMINATOR)
