"""Channels: a table of probabilities, a row a possible answer; a report is one small number."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import floor
from typing import Any, ClassVar, Self

from planner.deployment.client.drawing.entropy import Source, words
from planner.deployment.client.laws.exact import DENOMINATOR as D
from planner.deployment.client.mechanisms.law import Encoder, Estimator
from planner.deployment.client.mechanisms.numbers import NumberEncoder, NumberLaw
from planner.deployment.client.schema import PROBABILITY, Schema, list_of, record
from planner.errors import InputError, VerificationError
from planner.limits import EXPORT_REMEDY

__all__ = ["MAX_OUTPUTS", "MAX_SYMBOLS", "MeanChannelEncoder", "MeanChannelLaw"]

MAX_SYMBOLS, MAX_OUTPUTS = 64, 4096
_BIAS = 10**7  # a person's bias is at most one part in so many of the largest value
_SCALE = 2**80
_VALUE: Schema = {"type": "number", "minimum": -(2.0**40), "maximum": 2.0**40}
_REPORT_BYTES = 2
Rows = tuple[tuple[int, ...], ...]
Values = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class MeanChannelLaw(NumberLaw):
    """A channel for a mean: with ``rows[x][y]/D`` the report ``y``, if the answer is symbol ``x``.

    Symbols are even grid points from the lower to the upper end, then "no answer".
    """

    mechanism: ClassVar[str] = "mean-channel"
    since: ClassVar[int] = 3
    keys: ClassVar[Mapping[str, Schema]] = {
        **NumberLaw.shared,
        "rows": list_of(list_of(PROBABILITY), 3)
        | {
            "description": "2^32 times the probability of each report, for every even grid point "
            "from the lower to the upper end, then for no answer; each row sums to 2^32. An "
            "answer between two points is rounded to either at random, without bias."
        },
    }
    estimates: ClassVar[Schema] = record(
        {"values": list_of(list_of(_VALUE), 2)},
        "What each report adds to the sum of all answers on [-1, 1], and to their number; the "
        "mean is the one over the other.",
    )

    rows: Rows
    values: Values

    @classmethod
    def read(cls, question: Mapping[str, Any]) -> Self:
        rows, values = question["rows"], question["estimator"]["values"]
        if question["yes_no"] and len(rows) != 3:
            allowed = "3: no, yes and no answer"
            raise InputError("rows", len(rows), allowed, EXPORT_REMEDY)
        _require_shape(rows, values, numbers=2)
        return cls(*cls.read_range(question), _tuples(rows), _tuples(values))

    @property
    def points(self) -> int:
        """Number of grid points."""
        return len(self.rows) - 1

    @property
    def cells(self) -> int:
        return len(self.rows[0])

    @property
    def size(self) -> int:
        return _REPORT_BYTES

    @property
    def ratio(self) -> Fraction:
        columns = zip(*self.rows, strict=True)
        return max(Fraction(max(column), min(column)) for column in columns)

    def verify(self) -> None:
        _require_law(self.rows)
        NumberLaw.verify(self)
        last = self.points - 1
        grid = [Fraction(2 * k - last, last) for k in range(self.points)]
        one = [Fraction(1)] * self.points
        _require_unbiased(self.rows, self.values, [[*grid, Fraction(0)], [*one, Fraction(0)]])

    def estimator(self) -> Estimator:
        return {"values": [list(row) for row in self.values]}

    def encoder(self) -> Encoder:
        return MeanChannelEncoder(self)


class MeanChannelEncoder(NumberEncoder):
    """The report's number in two bytes, little-endian.

    With ``share = (answer - lower) / (upper - lower) (points - 1)`` in doubles and ``k`` its
    whole part, at most ``points - 2``, the threshold is ``floor((share - k) 2^32 + 1/2)``. Draws
    two words: the symbol is ``k + 1`` if the first is below the threshold, else ``k``, and for no
    answer the last one whatever the word; the report is the first number whose probabilities of
    the symbol's row, added up to it, exceed the second word.
    """

    def __init__(self, law: MeanChannelLaw) -> None:
        super().__init__(law)
        self._points = law.points
        self._ends = [list(accumulate(row)) for row in law.rows]

    def draw(self, code: Any, source: Source) -> bytes:
        """The report."""
        rounding, word = words(source, 2)
        symbol = self._points if code is None else self._rounded(code, rounding)
        return bisect_right(self._ends[symbol], word).to_bytes(_REPORT_BYTES, "little")

    def _rounded(self, answer: float, word: int) -> int:
        share = self.share(answer) * (self._points - 1)
        below = min(int(share), self._points - 2)
        return below + (word < int((share - below) * D + 0.5))


def _require_shape(
    rows: Sequence[Sequence[int]], values: Sequence[Sequence[float]], numbers: int
) -> None:
    """A table of a row a symbol, and for each wanted number a value a report; else InputError."""
    outputs = len(rows[0])
    if len(rows) > MAX_SYMBOLS or outputs > MAX_OUTPUTS:
        allowed = f"at most {MAX_SYMBOLS} rows of {MAX_OUTPUTS} reports"
        raise InputError("rows", (len(rows), outputs), allowed, EXPORT_REMEDY)
    for name, table, size in (("rows", rows, len(rows)), ("estimator.values", values, numbers)):
        if len(table) != size or any(len(row) != outputs for row in table):
            reason = f"{name} is not of the shape {size} x {outputs}"
            raise InputError.because(name, reason, EXPORT_REMEDY)


def _require_law(rows: Rows) -> None:
    """Every row's integers sum to 2^32; else VerificationError."""
    for x, row in enumerate(rows):
        if sum(row) != D:
            raise VerificationError(f"The integers of row {x} do not sum to 2^32")


def _require_unbiased(rows: Rows, values: Values, wanted: Sequence[Sequence[Fraction]]) -> None:
    """Each symbol counts as what is wanted of it, on average; else VerificationError.

    To within 10^-7 of the largest value of a report, which is below the noise of a survey
    of fewer than 10^14 people: rows of whole numbers cannot always do better.
    """
    for meaning, numbers in zip(values, wanted, strict=True):
        scaled = [floor(Fraction(value) * _SCALE) for value in meaning]
        bound = D * max(map(abs, scaled)) // _BIAS
        for x, (row, number) in enumerate(zip(rows, numbers, strict=True)):
            total = sum(weight * value for weight, value in zip(row, scaled, strict=True))
            if abs(total - floor(number * (D * _SCALE))) > bound:
                raise VerificationError(f"The estimator is biased for the answers of row {x}")


def _tuples(table: Sequence[Sequence[Any]]) -> Any:
    return tuple(tuple(row) for row in table)
