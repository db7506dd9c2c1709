"""Optimised local hashing: a hash value of the item, by randomised response."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from planner.laws.exact import check_ratio
from planner.laws.schema import PROBABILITY, Keys, choice, whole
from planner.laws.shape import Own, Shape, Wanted
from planner.laws.source import Source, choose, words
from planner.limits import DENOMINATOR as D

# About 1 + e^20: beyond, seeds of 32 bits no longer spread items evenly.
MAX_VALUES = 2**29
_MASK = 2**32 - 1
# Constants of XXH32's specification, by their numbers there.
_PRIME_2 = 2246822519
_PRIME_3 = 3266489917
_PRIME_4 = 668265263
_PRIME_5 = 374761393


@dataclass(frozen=True)
class Hash(Shape):
    """A seed and, with ``truth/2^32``, XXH32 of the item modulo ``values``, else any value alike.

    Seed and value have four bytes each, little-endian. Draws a word as the seed, a word that tells
    the truth if it is below ``truth``, and if it is not a choice of any value.

    Examples
    --------
    The seed 7 hashes item 1 to value 2 of 4; without the truth the last word chooses 3.

    >>> from planner.laws.levels import Levels
    >>> law = Hash(Levels(("all",), (1.0,), (9,), ((),)), "xxh32", truth=2**31, values=4)
    >>> for word in (2**31 - 1, 2**31):
    ...     played = iter([7, word, 3])
    ...     law.draw((1,), lambda count: next(played).to_bytes(count, "little")).hex()
    '0700000002000000'
    '0700000003000000'
    """

    name: ClassVar[str] = "hash"
    size = 8
    asked: ClassVar[tuple[str, ...]] = ("item",)
    keys: ClassVar[Keys] = {
        "hash_function": choice("xxh32"),
        "truth": PROBABILITY,
        "values": whole(2, MAX_VALUES),
    }

    hash_function: str
    truth: int
    values: int

    def check(self, counts_as: Wanted | None) -> None:
        check_ratio(self.ratio(0, 0), self.levels.least_demanded())
        self.require_telling()

    def ratio(self, i: int, j: int) -> Fraction:
        # A report has the true hash value with truth + (1 - truth) / values, another with
        # (1 - truth) / values, whatever the seed.
        by_chance = D - self.truth
        return Fraction(self.truth * self.values + by_chance, by_chance)

    def support(self) -> list[tuple[Fraction, Fraction]]:
        # The true value is reported on purpose, or else by chance, one in so many.
        truthful = Fraction(self.truth, D)
        by_chance = Fraction(D - self.truth, D * self.values)
        true_chance = truthful + by_chance
        # Another item has the reported value with the seeds under which it hashes to it.
        other_chance = Fraction(1, self.values)
        return [(true_chance, other_chance)] * len(self.levels.names)

    @property
    def addends(self) -> int:
        return 2

    @property
    def cells(self) -> int:
        return self.levels.total

    def draw(self, elements: Own, source: Source) -> bytes:
        # Each from a call of its own, as ports read them.
        (seed,) = words(source, 1)
        (word,) = words(source, 1)
        if word < self.truth:
            (element,) = elements
            value = xxh32(element, seed) % self.values
        else:
            value = choose(source, self.values)
        return struct.pack("<2I", seed, value)


def xxh32(item: int, seed: int) -> int:
    """XXH32 of the item's four little-endian bytes under a seed.

    Examples
    --------
    >>> hex(xxh32(1, 7))
    '0x57848006'
    """
    # XXH32 of an input of four bytes: one 32-bit round, then the final mix of its specification.
    h = (seed + _PRIME_5 + 4 + item * _PRIME_3) & _MASK
    rotated = (h << 17 | h >> 15) & _MASK
    h = rotated * _PRIME_4 & _MASK
    h = (h ^ h >> 15) * _PRIME_2 & _MASK
    h = (h ^ h >> 13) * _PRIME_3 & _MASK
    return h ^ h >> 16
