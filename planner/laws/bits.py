"""Unary encoding (IDUE, RAPPOR, OUE): one bit an element."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

from planner.laws.exact import check_unary, log_upper_bound, unary_ratios
from planner.laws.levels import Levels
from planner.laws.schema import PROBABILITY, Keys, described, list_of, unfit
from planner.laws.shape import Own, Shape, Wanted, octets, packed
from planner.laws.source import Source, words
from planner.limits import DENOMINATOR


@dataclass(frozen=True)
class Bits(Shape):
    """Bit ``k`` is 1 with ``a/2^32`` of its level if element ``k`` is the own one, else ``b/2^32``.

    Bits are independent; dummies have the probabilities of the first level of the least budget.
    Bit ``k`` of the report is bit ``k % 8`` of byte ``k // 8``; bytes fill 64-bit words.

    Draws one word per bit in order, all at once; a bit is 1 if its word is below its threshold.
    """

    name: ClassVar[str] = "bits"
    asked: ClassVar[tuple[str, ...]] = ("item", "one-of-set")
    keys: ClassVar[Keys] = {
        "a": described(
            list_of(PROBABILITY),
            "Of each level, 2^32 times the probability that the answer's bit is 1.",
        ),
        "b": described(
            list_of(PROBABILITY),
            "Of each level, 2^32 times the probability that another's bit is 1.",
        ),
    }

    a: tuple[int, ...]
    b: tuple[int, ...]

    def require_fit(self) -> None:
        names = self.levels.names
        for key in ("a", "b"):
            integers = len(getattr(self, key))
            if integers != len(names):
                raise unfit(key, integers, f"{len(names)} integers, one a level")
        # A bit that is as often 1 for others tells nothing, and nothing could be estimated.
        for name, a, b in zip(names, self.a, self.b, strict=True):
            if b >= a:
                raise unfit(f"b of level {name!r}", b, f"below a = {a}")

    def check(self, counts_as: Wanted | None) -> None:
        check_unary(self.a, self.b, self.levels)

    def ratio(self, i: int, j: int) -> Fraction | None:
        # The likeliest report for i against j has the bit of i set and that of j not.
        ones, zeros = self._ratios
        return ones[i] * zeros[j]

    def with_levels(self, levels: Levels) -> Self:
        size = len(levels.names)
        if len(self.a) == size:
            return replace(self, levels=levels)
        # Of one level it becomes that of all of them.
        a = self.a * size
        b = self.b * size
        return replace(self, levels=levels, a=a, b=b)

    def largest(self) -> float:
        """Largest log-ratio of any two elements in one report, or of any two sets; nats, up."""
        ones, zeros = self._ratios
        return log_upper_bound(max(ones) * max(zeros))

    def support(self) -> list[tuple[Fraction, Fraction]]:
        chances = []
        for a, b in zip(self.a, self.b, strict=True):
            true_chance = Fraction(a, DENOMINATOR)
            other_chance = Fraction(b, DENOMINATOR)
            chances.append((true_chance, other_chance))
        return chances

    @property
    def addends(self) -> int:
        return 2

    @property
    def cells(self) -> int:
        return self.levels.elements

    @property
    def size(self) -> int:
        return octets(self.levels.elements)

    def draw(self, elements: Own, source: Source) -> bytes:
        # Words for all bits, the own one among them: how many are drawn says nothing.
        if_own, if_other = self._thresholds
        drawn = words(source, len(if_other))
        bits = bytearray(map(operator.lt, drawn, if_other))
        (element,) = elements
        bits[element] = drawn[element] < if_own[element]
        return packed(bits, self.size)

    @cached_property
    def _ratios(self) -> tuple[list[Fraction], list[Fraction]]:
        return unary_ratios(self.a, self.b, self.levels)

    @cached_property
    def _thresholds(self) -> tuple[list[int], list[int]]:
        """``a`` and ``b`` of each element, the dummies last, with those of their level."""
        levels = self.levels
        level_of = levels.level_of()
        level_of += [levels.dummy_level] * levels.dummies
        if_own = [self.a[level] for level in level_of]
        if_other = [self.b[level] for level in level_of]
        return if_own, if_other
