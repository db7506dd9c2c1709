"""Channels: a table of probabilities, a row a possible answer; a report is one small number."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, ClassVar, Self

from planner.deployment.client.drawing.entropy import Source, words
from planner.deployment.client.laws.exact import DENOMINATOR as D
from planner.deployment.client.mechanisms.channel_rows import (
    REPORT_BYTES,
    VALUES,
    Rows,
    Values,
    require_law,
    require_shape,
    require_unbiased,
    row_tuples,
)
from planner.deployment.client.mechanisms.law import Encoder, Estimator
from planner.deployment.client.mechanisms.numbers import NumberEncoder, NumberLaw
from planner.deployment.client.schema import PROBABILITY, Schema, list_of, record
from planner.errors import InputError
from planner.limits import EXPORT_REMEDY

__all__ = ["MeanChannelEncoder", "MeanChannelLaw"]


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
        {"values": VALUES | {"minItems": 2}},
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
        require_shape(rows, values, numbers=2)
        return cls(*cls.read_range(question), row_tuples(rows), row_tuples(values))

    @property
    def points(self) -> int:
        """Number of grid points."""
        return len(self.rows) - 1

    @property
    def cells(self) -> int:
        return len(self.rows[0])

    @property
    def size(self) -> int:
        return REPORT_BYTES

    @property
    def ratio(self) -> Fraction:
        columns = zip(*self.rows, strict=True)
        return max(Fraction(max(column), min(column)) for column in columns)

    def verify(self) -> None:
        require_law(self.rows)
        NumberLaw.verify(self)
        last = self.points - 1
        grid = [Fraction(2 * k - last, last) for k in range(self.points)]
        one = [Fraction(1)] * self.points
        require_unbiased(self.rows, self.values, [[*grid, Fraction(0)], [*one, Fraction(0)]])

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
        return bisect_right(self._ends[symbol], word).to_bytes(REPORT_BYTES, "little")

    def _rounded(self, answer: float, word: int) -> int:
        share = self.share(answer) * (self._points - 1)
        below = min(int(share), self._points - 2)
        return below + (word < int((share - below) * D + 0.5))
