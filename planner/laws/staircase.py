"""Set designs: a report is a set of elements, likelier the more it has of one's own."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from math import comb, perm
from operator import mul
from typing import ClassVar

from planner.errors import InputError, VerificationError
from planner.laws.exact import check_ratio, log_upper_bound
from planner.laws.schema import BUDGET, Schema, list_of, whole
from planner.laws.shape import Own, Shape, Wanted, octets
from planner.laws.source import Source, below, order, words
from planner.limits import DENOMINATOR as D
from planner.limits import EXPORT_REMEDY, MAX_COUNT, MAX_PADDING_LENGTH


@dataclass(frozen=True)
class Staircase(Shape):
    """With ``weights[c]/2^32`` a report that has from ``steps[c]`` own elements, below the next.

    Within a step all reports of ``held`` of the elements are equally likely. The own elements are
    as many as dummies, which fill up every set (docs/theory/set-designs.md). Two padded sets that
    differ in one element keep the smallest pair budget, any two ``cap``.

    A report is the numbers of its elements, ascending, each in two bytes, or four if there are
    over 65,536 elements, little-endian; or, where that is no longer, a bit an element, laid out
    as in :class:`~planner.laws.bits.Bits`.

    Draws one word: the step. Then, for every step, an integer below the number of its reports, up
    to a factor: that of the step says the number of hits. Then an order of the own elements, and
    one of the others, each as far as a report could need it, whatever the hits. Reported are the
    first ones of both: hits, and the rest.
    """

    name: ClassVar[str] = "staircase"
    asked: ClassVar[tuple[str, ...]] = ("whole-set",)
    keys: ClassVar[Mapping[str, Schema]] = {
        "held": whole(1, MAX_COUNT) | {"description": "Elements of a report."},
        "cap": {**BUDGET, "description": "Budget of any two sets."},
        "steps": list_of(whole(0, MAX_PADDING_LENGTH))
        | {"description": "The least number of own elements in a report of each step, from 0."},
        "weights": list_of(whole(1, D))
        | {"description": "2^32 times the probability of each step; they sum to 2^32."},
    }

    held: int
    cap: float
    steps: tuple[int, ...]
    weights: tuple[int, ...]

    def require_fit(self) -> None:
        elements, length = self.levels.elements, self.levels.dummies
        if not 1 <= self.held < elements:
            raise InputError("held", self.held, f"from 1 to {elements - 1}", EXPORT_REMEDY)
        if len(self.steps) < 2 or len(self.steps) != len(self.weights):
            allowed = f"two numbers or more, one a step of the {len(self.steps)}"
            raise InputError("weights", list(self.weights), allowed, EXPORT_REMEDY)
        most = min(length, self.held)
        if list(self.steps) != sorted({0, *self.steps}) or self.steps[-1] > most:
            allowed = f"rising from 0 to at most {most}"
            raise InputError("steps", list(self.steps), allowed, EXPORT_REMEDY)

    def check(self, wanted: Wanted | None) -> None:
        del wanted
        if sum(self.weights) != D:
            raise VerificationError("The integers of the steps do not sum to 2^32")
        least = self.levels.least_demanded()
        if self.cap < least:
            raise VerificationError(f"cap is {self.cap:g}, below the smallest budget {least:g}")
        if not all(ends[-1] for ends in self._within):
            raise VerificationError("A step has no report")
        check_ratio(self.ratio(0, 0), least, "Sets that differ in one item: a report")
        check_ratio(max(self._heights) / min(self._heights), self.cap, "Two sets: a report")
        self.require_telling()

    def ratio(self, i: int, j: int) -> Fraction | None:
        """The largest of two sets that differ in one element, whatever its level."""
        del i, j
        return max(max(one / two, two / one) for one, two in pairwise(self._heights))

    def largest(self) -> float:
        """Largest log-ratio of any two sets in one report, in nats, rounded up."""
        return log_upper_bound(max(self._heights) / min(self._heights))

    def support(self) -> list[tuple[Fraction, Fraction]]:
        elements, length = self.levels.elements, self.levels.dummies
        sums = (sum(j * self._ways[j] for j in hits) for hits in self._hits)
        mean = sum(map(mul, self._heights, sums), Fraction(0)) / D
        pair = mean / length, (self.held - mean) / (elements - length)
        return [pair] * len(self.levels.names)

    @property
    def cells(self) -> int:
        return self.levels.elements

    @property
    def size(self) -> int:
        return self.held * self.width if self.width else octets(self.levels.elements)

    @property
    def width(self) -> int:
        """Bytes of an element's number in a report; 0 where a report is a bit an element."""
        width = 2 if self.levels.elements <= 2**16 else 4
        return width if self.held * width < octets(self.levels.elements) else 0

    def draw(self, own: Own, source: Source) -> bytes:
        step = bisect_right(list(accumulate(self.weights)), words(source, 1)[0])
        numbers = [below(source, ends[-1]) for ends in self._within]
        number = self.steps[step] + bisect_right(self._within[step], numbers[step])
        mine = sorted(own)
        first = order(source, len(mine), min(self.held, len(mine)))
        rest = self.cells - len(mine)
        others = order(source, rest, min(self.held, rest))
        shifts = [element - place for place, element in enumerate(mine)]
        chosen = [mine[place] for place in first[:number]]
        chosen += [place + bisect_right(shifts, place) for place in others[: self.held - number]]
        return self.written(sorted(chosen))

    def written(self, elements: Sequence[int]) -> bytes:
        """The report that has these elements, ascending."""
        if self.width:
            return b"".join(one.to_bytes(self.width, "little") for one in elements)
        return sum(1 << one for one in elements).to_bytes(self.size, "little")

    @cached_property
    def _ways(self) -> list[int]:
        """Reports by own elements, up to a factor: they add up to falling powers."""
        length, rest = self.levels.dummies, self.levels.elements - self.held
        return [
            comb(length, j) * perm(self.held, j) * perm(rest, length - j) for j in range(length + 1)
        ]

    @cached_property
    def _hits(self) -> list[range]:
        return [range(a, b) for a, b in pairwise([*self.steps, self.levels.dummies + 1])]

    @cached_property
    def _within(self) -> list[list[int]]:
        """Of each step the reports with so many hits or fewer, up to a factor."""
        return [list(accumulate(self._ways[j] for j in hits)) for hits in self._hits]

    @cached_property
    def _heights(self) -> list[Fraction]:
        """The chance of one report of each step, up to a factor."""
        counts = (ends[-1] for ends in self._within)
        return [Fraction(weight, count) for weight, count in zip(self.weights, counts, strict=True)]
