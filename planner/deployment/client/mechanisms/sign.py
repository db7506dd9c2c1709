"""BiSample-MD: a number, or no answer, in two bits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from planner.deployment.client.drawing.entropy import Source, words
from planner.deployment.client.laws.exact import DENOMINATOR as D
from planner.deployment.client.mechanisms.law import Encoder, Estimator
from planner.deployment.client.mechanisms.numbers import NumberEncoder, NumberLaw
from planner.deployment.client.schema import Schema, record, whole


@dataclass(frozen=True, slots=True)
class SignLaw(NumberLaw):
    """BiSample-MD: two bits; ``low/D`` is the probability of a 1 for the lowest answer."""

    mechanism: ClassVar[str] = "bisample-md"
    keys: ClassVar[Mapping[str, Schema]] = {**NumberLaw.shared, "low": whole(1, D // 2 - 1)}
    estimates: ClassVar[Schema] = record(
        {
            "noise": {"type": "number", "exclusiveMinimum": 0, "maximum": 0.5},
            "theta": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        },
        "With f1, f0 the shares of 1 among reports by positive and by negative sampling: answer "
        "rate (f1 + f0 - 2 noise) / theta, mean (f1 - f0) / (f1 + f0 - 2 noise) on [-1, 1].",
    )

    low: int

    @classmethod
    def read(cls, question: Mapping[str, Any]) -> Self:
        return cls(*cls.read_range(question), question["low"])

    @property
    def cells(self) -> int:
        return 4

    @property
    def size(self) -> int:
        return 1

    @property
    def ratio(self) -> Fraction:
        return Fraction(D - self.low, self.low)

    def estimator(self) -> Estimator:
        return {"noise": self.low / D, "theta": (D - 2 * self.low) / D}

    def encoder(self) -> Encoder:
        return SignEncoder(self)


class SignEncoder(NumberEncoder):
    """One byte, ``2 s + b``: by positive (1) or negative (0) sampling, a bit.

    The threshold of a 1 is ``low`` for no answer, else ``low + floor(share (2^32 - 2 low)
    + 1/2)`` with ``share = (answer - lower) / (upper - lower)``, all in doubles, at most
    ``2^32 - low``. Draws the bit's word, then a word whose lowest bit is ``s``; by negative
    sampling an answer's bit is turned over.
    """

    def __init__(self, law: SignLaw) -> None:
        super().__init__(law)
        self._low = law.low

    def draw(self, code: Any, source: Source) -> bytes:
        """The report."""
        bit, sign = words(source, 2)
        one, positive = bit < self._threshold(code), sign & 1
        if not positive and code is not None:
            one = not one
        return bytes([2 * positive + one])

    def _threshold(self, answer: float | None) -> int:
        low = self._low
        if answer is None:
            return low
        threshold = low + int(self.share(answer) * (D - 2 * low) + 0.5)
        return min(max(threshold, low), D - low)
