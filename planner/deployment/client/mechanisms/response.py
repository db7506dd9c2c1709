"""Generalised randomised response: the true item, or any other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from planner.deployment.client.drawing.entropy import Source, choose, coin
from planner.deployment.client.laws.exact import DENOMINATOR as D
from planner.deployment.client.laws.levels import Levels
from planner.deployment.client.mechanisms.law import Encoder, ItemEncoder, OneRatioLaw
from planner.deployment.client.schema import PROBABILITY, Schema


@dataclass(frozen=True, slots=True)
class ResponseLaw(OneRatioLaw):
    """Generalised randomised response: the truth with ``truth/D``, else any item alike."""

    mechanism: ClassVar[str] = "grr"
    keys: ClassVar[Mapping[str, Schema]] = OneRatioLaw.shared | {  # type: ignore[operator]
        "truth": PROBABILITY,
    }

    truth: int

    @classmethod
    def read(cls, question: Mapping[str, Any]) -> Self:
        return cls(Levels.read(question, least=2), question["truth"])

    @property
    def values(self) -> int:
        """Number of different reports."""
        return self.levels.total

    @property
    def cells(self) -> int:
        return self.values

    @property
    def size(self) -> int:
        return 4

    @property
    def ratio(self) -> Fraction:
        return response_ratio(self.truth, self.values)

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        other = Fraction(D - self.truth, D * self.values)
        return Fraction(self.truth, D) + other, other

    def encoder(self) -> Encoder:
        return ResponseEncoder(self)


class ResponseEncoder(ItemEncoder):
    """The reported item's number in four bytes, little-endian.

    Draws a coin for the truth; if it fails, a uniform choice of any item.
    """

    def __init__(self, law: ResponseLaw) -> None:
        super().__init__(law.levels)
        self._law = law

    def draw(self, code: Any, source: Source) -> bytes:
        """The report."""
        return respond(code, self._law.truth, self._law.values, source).to_bytes(4, "little")


def respond(value: int, truth: int, values: int, source: Source) -> int:
    """The value with probability ``truth/D``, else one of ``values`` at random."""
    return value if coin(source, truth) else choose(source, values)


def response_ratio(truth: int, values: int) -> Fraction:
    """The truth with ``truth/D``, else any of the values: the true one's odds to another's."""
    return Fraction(truth * values + D - truth, D - truth)
