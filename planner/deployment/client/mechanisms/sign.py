"""BiSample-MD: a number, or no answer, in two bits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from planner.deployment.client.drawing.answers import number
from planner.deployment.client.drawing.entropy import Source, words
from planner.deployment.client.laws.bounds import log_upper_bound
from planner.deployment.client.laws.exact import DENOMINATOR as D
from planner.deployment.client.laws.exact import check_ratio
from planner.deployment.client.laws.pairs import PairBudget
from planner.deployment.client.mechanisms.law import Encoder, Estimator
from planner.deployment.client.schema import BUDGET, FINITE, FLAG, Schema, record, whole
from planner.errors import InputError
from planner.limits import EXPORT_REMEDY

__all__ = ["SignEncoder", "SignLaw"]


@dataclass(frozen=True, slots=True)
class SignLaw:
    """BiSample-MD: two bits; ``low/D`` is the probability of a 1 for the lowest answer."""

    mechanism: ClassVar[str] = "bisample-md"
    kind: ClassVar[str] = "numeric"
    keys: ClassVar[Mapping[str, Schema]] = {
        "epsilon": BUDGET,
        "lower": FINITE,
        "upper": FINITE,
        "yes_no": FLAG,
        "low": whole(1, D // 2 - 1),
    }
    estimates: ClassVar[Schema] = record(
        {
            "noise": {"type": "number", "exclusiveMinimum": 0, "maximum": 0.5},
            "theta": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        },
        "With f1, f0 the shares of 1 among reports by positive and by negative sampling: answer "
        "rate (f1 + f0 - 2 noise) / theta, mean (f1 - f0) / (f1 + f0 - 2 noise) on [-1, 1].",
    )

    since: ClassVar[int] = 2
    stated: ClassVar[Mapping[str, Schema]] = {}
    rounds: ClassVar[tuple[int | None, ...]] = (None,)

    epsilon: float
    low: int
    lower: float
    upper: float
    yes_no: bool

    @classmethod
    def read(cls, question: Mapping[str, Any]) -> Self:
        lower, upper = (float(question[key]) for key in ("lower", "upper"))
        if not lower < upper or not math.isfinite(upper - lower):
            allowed = f"above lower, which is {lower!r}, by a finite amount"
            raise InputError("upper", upper, allowed, EXPORT_REMEDY)
        numbers = float(question["epsilon"]), question["low"]
        return cls(*numbers, lower, upper, question["yes_no"])

    @property
    def cells(self) -> int:
        return 4

    @property
    def size(self) -> int:
        return 1

    @property
    def labels(self) -> tuple[str, ...]:
        return ("any answer or none",)

    @property
    def ratio(self) -> Fraction:
        """Largest ratio of two answers' probabilities of one report."""
        return Fraction(D - self.low, self.low)

    def verify(self) -> None:
        check_ratio(self.ratio, self.epsilon)

    def pairs(self) -> list[PairBudget]:
        return [PairBudget(0, 0, log_upper_bound(self.ratio), self.epsilon)]

    def estimator(self) -> Estimator:
        return {"noise": self.low / D, "theta": (D - 2 * self.low) / D}

    def encoder(self) -> Encoder:
        return SignEncoder(self)

    def examples(self) -> Iterator[Any]:
        yield from (self.lower, self.upper, None)
        if not self.yes_no:
            yield from (self.lower + (self.upper - self.lower) * share for share in (0.5, 0.7))

    def from_text(self, cell: str) -> Any:
        try:
            return float(cell) if cell.strip() else None
        except ValueError:
            return cell


class SignEncoder:
    """One byte, ``2 s + b``: by positive (1) or negative (0) sampling, a bit.

    The threshold of a 1 is ``low`` for no answer, else ``low + floor(share (2^32 - 2 low)
    + 1/2)`` with ``share = (answer - lower) / (upper - lower)``, all in doubles, at most
    ``2^32 - low``. Draws the bit's word, then a word whose lowest bit is ``s``; by negative
    sampling an answer's bit is turned over.
    """

    def __init__(self, law: SignLaw) -> None:
        self._law = law

    def code(self, answer: Any) -> Any:
        """The number, or ``None``."""
        return number(answer, self._law.lower, self._law.upper, self._law.yes_no)

    def draw(self, code: Any, source: Source) -> bytes:
        """The report."""
        bit, sign = words(source, 2)
        one, positive = bit < self._threshold(code), sign & 1
        if not positive and code is not None:
            one = not one
        return bytes([2 * positive + one])

    def output(self, drawn: bytes, code: Any, round_number: int | None) -> bytes:
        """What was drawn."""
        del code, round_number
        return drawn

    def _threshold(self, answer: float | None) -> int:
        low, law = self._law.low, self._law
        if answer is None:
            return low
        share = (answer - law.lower) / (law.upper - law.lower)
        threshold = low + int(share * (D - 2 * low) + 0.5)
        return min(max(threshold, low), D - low)
