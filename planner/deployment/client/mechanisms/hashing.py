"""Optimised local hashing: a hash value of the item, by randomised response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from planner.deployment.client.drawing.entropy import Source, words
from planner.deployment.client.laws.exact import DENOMINATOR as D
from planner.deployment.client.laws.levels import Levels
from planner.deployment.client.mechanisms.law import Encoder, ItemEncoder, OneRatioLaw
from planner.deployment.client.mechanisms.response import respond, response_ratio
from planner.deployment.client.schema import PROBABILITY, Schema, choice, whole

_MASK = 2**32 - 1


@dataclass(frozen=True, slots=True)
class HashingLaw(OneRatioLaw):
    """Local hashing: seed and, by randomised response, XXH32 of the item modulo ``values``."""

    mechanism: ClassVar[str] = "olh"
    keys: ClassVar[Mapping[str, Schema]] = OneRatioLaw.shared | {  # type: ignore[operator]
        "hash_function": choice("xxh32"),
        "truth": PROBABILITY,
        "values": whole(2, D - 1),
    }

    truth: int
    values: int

    @classmethod
    def read(cls, question: Mapping[str, Any]) -> Self:
        return cls(Levels.read(question, least=2), question["truth"], question["values"])

    @property
    def cells(self) -> int:
        return self.levels.total

    @property
    def size(self) -> int:
        return 8

    @property
    def ratio(self) -> Fraction:
        return response_ratio(self.truth, self.values)  # of two hash values, whatever the seed

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        own = Fraction(self.truth, D) + Fraction(D - self.truth, D * self.values)
        return own, Fraction(1, self.values)

    def encoder(self) -> Encoder:
        return HashingEncoder(self)


class HashingEncoder(ItemEncoder):
    """Seed and randomised hash value, four bytes each, little-endian.

    Draws a word as the seed, then the value as
    :class:`~planner.deployment.client.mechanisms.response.ResponseEncoder` does.
    """

    def __init__(self, law: HashingLaw) -> None:
        super().__init__(law.levels)
        self._law = law

    def draw(self, code: Any, source: Source) -> bytes:
        """The report."""
        seed = words(source, 1)[0]
        hashed = xxh32(code, seed) % self._law.values
        value = respond(hashed, self._law.truth, self._law.values, source)
        return seed.to_bytes(4, "little") + value.to_bytes(4, "little")


def xxh32(item: int, seed: int) -> int:
    """XXH32 of the item's four little-endian bytes under a seed.

    Examples
    --------
    >>> hex(xxh32(1, 7))
    '0x57848006'
    """
    h = (seed + 374761393 + 4 + item * 3266489917) & _MASK
    h = ((h << 17 | h >> 15) & _MASK) * 668265263 & _MASK
    h = (h ^ h >> 15) * 2246822519 & _MASK
    h = (h ^ h >> 13) * 3266489917 & _MASK
    return h ^ h >> 16
