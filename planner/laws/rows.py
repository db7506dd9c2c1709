"""Channels: a table of probabilities, a row an element; a report is one small number."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, product
from math import floor
from operator import mul
from typing import ClassVar

from planner.errors import InputError, VerificationError
from planner.laws.exact import Likelihoods, check_ratio
from planner.laws.levels import spans
from planner.laws.schema import PROBABILITY, Keys, described, list_of, unfit, whole
from planner.laws.shape import BIAS, SCALE, VALUE, Own, Shape, Wanted, has_shape
from planner.laws.source import Source, words
from planner.limits import DENOMINATOR as D
from planner.limits import EXPORT_REMEDY

MAX_ROWS = 257  # 256 answers in order, and one outside the order
MAX_REPORTS = 4096


@dataclass(frozen=True)
class Rows(Shape):
    """A table of probabilities: ``rows[x][y]/2^32`` of the report ``y``, for the own element ``x``.

    Reports of a block, counted from the first one, have the same probability together in every row:
    how many they are says nothing of the answers, and estimates take them for as many as expected.

    A report is its number in two bytes, little-endian. Draws one word: the report is the first
    number whose probabilities of the row, added up to it, exceed the word.
    """

    name: ClassVar[str] = "rows"
    size = 2
    asked: ClassVar[tuple[str, ...]] = ("ordered", "number")
    keys: ClassVar[Keys] = {
        "rows": described(
            list_of(list_of(PROBABILITY), 2),
            "2^32 times the probability of each report, for every answer in the "
            "order of the levels; each row sums to 2^32.",
        ),
        "values": described(
            list_of(list_of(VALUE)),
            "What each report adds to each wanted number: of ordered answers the "
            "people up to each but the last, or the sum of the scores; of numbers the sum of all "
            "on [-1, 1], and how many there are.",
        ),
        "blocks": described(
            list_of(whole(1, MAX_REPORTS), 0),
            "Sizes of blocks of reports that together have one probability in all "
            "rows; empty if there are none.",
        ),
    }

    rows: tuple[tuple[int, ...], ...]
    values: tuple[tuple[float, ...], ...]
    blocks: tuple[int, ...] = ()

    def require_fit(self) -> None:
        size = len(self.rows)
        reports = len(self.rows[0])
        if size > MAX_ROWS or reports > MAX_REPORTS:
            allowed = f"at most {MAX_ROWS} rows of {MAX_REPORTS} reports"
            raise unfit("rows", (size, reports), allowed)
        if size != self.levels.total:
            allowed = f"one for each of {self.levels.total} answers"
            raise unfit("rows", size, allowed)
        for key in ("rows", "values"):
            table = getattr(self, key)
            if not has_shape(table, (len(table), reports)):
                reason = f"{key} is not of the shape {len(table)} x {reports}"
                raise InputError.because(key, reason, EXPORT_REMEDY)
        if self.blocks and sum(self.blocks) != reports:
            raise unfit("blocks", list(self.blocks), f"{reports} together")

    def check(self, counts_as: Wanted | None) -> None:
        totals = self._block_totals(self.rows[0])
        for x, row in enumerate(self.rows):
            if sum(row) != D:
                raise VerificationError(f"The integers of row {x} do not sum to 2^32")
            if self._block_totals(row) != totals:
                reason = f"The blocks of row {x} are not those of the first one"
                raise VerificationError(reason)
        levels = self.levels
        for i, j in product(range(len(levels.names)), repeat=2):
            names = f"Levels {levels.names[i]!r} and {levels.names[j]!r}: a report"
            check_ratio(self.ratio(i, j), levels.demanded(i, j), names)
        self._require_unbiased(counts_as or ())

    def ratio(self, i: int, j: int) -> Fraction | None:
        return self._likelihoods[i].ratio(self._likelihoods[j])

    @property
    def cells(self) -> int:
        return len(self.rows[0])

    def draw(self, elements: Own, source: Source) -> bytes:
        # The first report whose probabilities, added up to it, exceed the word.
        (element,) = elements
        (word,) = words(source, 1)
        report = bisect_right(self._ends[element], word)
        return report.to_bytes(self.size, "little")

    @cached_property
    def _ends(self) -> list[list[int]]:
        """The integers of each row, added up."""
        return [list(accumulate(row)) for row in self.rows]

    @cached_property
    def _likelihoods(self) -> list[Likelihoods]:
        """The smallest and the largest probability of each report, level by level."""
        likelihoods = []
        for first, last in spans(self.levels.item_counts):
            reports = list(zip(*self.rows[first:last], strict=True))
            least = list(map(min, reports))
            most = list(map(max, reports))
            likelihoods.append(Likelihoods(least, most))
        return likelihoods

    def _block_totals(self, row: tuple[int, ...]) -> list[int]:
        """The integers of each block of reports together."""
        return [sum(row[i:j]) for i, j in spans(self.blocks)]

    def _require_unbiased(self, counts_as: Wanted) -> None:
        """Prove ``|sum_y rows[x][y] values[y] / 2^32 - counts_as[x]| <= max |counts_as| / BIAS``.

        In whole numbers: values are scaled by ``SCALE`` and rounded down, which is exact to far
        less than the bound.
        """
        if len(counts_as) != len(self.values):
            reason = (
                f"{len(self.values)} rows of values for {len(counts_as)} wanted numbers"
            )
            raise VerificationError(reason)
        unit = D * SCALE
        for values, numbers in zip(self.values, counts_as, strict=True):
            scaled = [floor(Fraction(value) * SCALE) for value in values]
            largest = max(map(abs, numbers))
            bound = floor(largest * unit) // BIAS
            for x, (row, number) in enumerate(zip(self.rows, numbers, strict=True)):
                expected = sum(map(mul, row, scaled))
                error = expected - floor(number * unit)
                if abs(error) > bound:
                    reason = f"The estimator is biased for the answers of row {x}"
                    raise VerificationError(reason)
