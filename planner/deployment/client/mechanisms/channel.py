"""Channels: a table of probabilities, a row a possible answer; a report is one small number."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple, Self

from planner.deployment.client.drawing.entropy import Source, words
from planner.deployment.client.laws.bounds import log_upper_bound
from planner.deployment.client.laws.exact import DENOMINATOR as D
from planner.deployment.client.laws.exact import check_ratio
from planner.deployment.client.laws.pairs import PairBudget
from planner.deployment.client.mechanisms.channel_rows import (
    MAX_SYMBOLS,
    REPORT_BYTES,
    VALUES,
    Rows,
    Values,
    largest_ratios,
    require_law,
    require_shape,
    require_unbiased,
    row_tuples,
)
from planner.deployment.client.mechanisms.law import Estimator
from planner.deployment.client.mechanisms.numbers import ANY_ANSWER, NumberEncoder, NumberLaw
from planner.deployment.client.schema import (
    BUDGET,
    PROBABILITY,
    TEXT,
    Schema,
    list_of,
    record,
    whole,
)
from planner.errors import InputError
from planner.limits import EXPORT_REMEDY


class SymbolLevel(NamedTuple):
    """Rows of a channel for a mean that share a budget."""

    name: str
    epsilon: float
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MeanChannelLaw(NumberLaw):
    """A channel for a mean: with ``rows[x][y]/D`` the report ``y``, if the answer is symbol ``x``.

    Symbols are even grid points from the lower to the upper end, then "no answer". Levels have the
    name, budget and symbols of answers with budgets of their own: each symbol is in one, and two
    answers are protected by the smaller budget of theirs; ``epsilon`` is the largest.
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
    stated: ClassVar[Mapping[str, Schema]] = {
        "levels": list_of(
            record({"name": TEXT, "epsilon": BUDGET, "rows": list_of(whole(0, MAX_SYMBOLS - 1))})
        )
        | {
            "description": "Which rows have which budget; every row is in one level. Two answers "
            "are protected by the smaller budget of theirs; one between two grid points has the "
            "larger of theirs. Left out where all have the same."
        }
    }
    estimates: ClassVar[Schema] = record(
        {"values": VALUES | {"minItems": 2}},
        "What each report adds to the sum of all answers on [-1, 1], and to their number; the "
        "mean is the one over the other.",
    )

    rows: Rows
    values: Values
    symbol_levels: tuple[SymbolLevel, ...] = ()

    @classmethod
    def read(cls, question: Mapping[str, Any]) -> Self:
        rows, values = question["rows"], question["estimator"]["values"]
        if question["yes_no"] and len(rows) != 3:
            allowed = "3: no, yes and no answer"
            raise InputError("rows", len(rows), allowed, EXPORT_REMEDY)
        require_shape(rows, values, numbers=2)
        about = cls.read_range(question)
        levels = _read_levels(question.get("levels", ()), len(rows), about[0])
        return cls(*about, row_tuples(rows), row_tuples(values), levels)

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
        for (i, j), ratio in self._realised().items():
            names = " and ".join(repr(self.symbol_levels[k].name) for k in (i, j))
            check_ratio(ratio, self._demanded(i, j), f"Levels {names}")
        last = self.points - 1
        grid = [Fraction(2 * k - last, last) for k in range(self.points)]
        one = [Fraction(1)] * self.points
        require_unbiased(self.rows, self.values, [[*grid, Fraction(0)], [*one, Fraction(0)]])

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(level.name for level in self.symbol_levels) or ANY_ANSWER

    def pairs(self) -> list[PairBudget]:
        return [
            PairBudget(i, j, log_upper_bound(ratio), self._demanded(i, j))
            for (i, j), ratio in self._realised().items()
        ] or NumberLaw.pairs(self)

    def place(self, code: float | None) -> int:
        """Which of :attr:`labels` an answer has; between two grid points that of more budget."""
        encoder = self.encoder()
        symbols = {encoder.symbol(code, 0), encoder.symbol(code, D - 1)}
        reached = [k for k, level in enumerate(self.symbol_levels) if symbols & set(level.rows)]
        return max(reached, key=lambda k: self.symbol_levels[k].epsilon, default=0)

    def _realised(self) -> dict[tuple[int, int], Fraction]:
        return largest_ratios([[self.rows[x] for x in level.rows] for level in self.symbol_levels])

    def _demanded(self, i: int, j: int) -> float:
        return min(self.symbol_levels[i].epsilon, self.symbol_levels[j].epsilon)

    def estimator(self) -> Estimator:
        return {"values": [list(row) for row in self.values]}

    def encoder(self) -> MeanChannelEncoder:
        return MeanChannelEncoder(self)


def _read_levels(
    stated: Sequence[Mapping[str, Any]], rows: int, epsilon: float
) -> tuple[SymbolLevel, ...]:
    """The levels, each row in one; InputError if they do not fit."""
    levels = tuple(
        SymbolLevel(level["name"], float(level["epsilon"]), tuple(level["rows"]))
        for level in stated
    )
    if not levels:
        return ()
    if sorted(x for level in levels for x in level.rows) != list(range(rows)):
        raise InputError(
            "levels", [level.rows for level in levels], "every row once", EXPORT_REMEDY
        )
    names = [level.name for level in levels]
    if len(set(names)) < len(names):
        raise InputError("levels", names, "of different names", EXPORT_REMEDY)
    if max(level.epsilon for level in levels) != epsilon:
        raise InputError("epsilon", epsilon, "the largest of the levels'", EXPORT_REMEDY)
    return levels


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
        return bisect_right(self._ends[self.symbol(code, rounding)], word).to_bytes(
            REPORT_BYTES, "little"
        )

    def symbol(self, code: float | None, word: int) -> int:
        """The row that an answer takes with this word."""
        if code is None:
            return self._points
        share = self.share(code) * (self._points - 1)
        below = min(int(share), self._points - 2)
        return below + (word < int((share - below) * D + 0.5))
