"""Subset selection: a set of items that holds the true one more often than another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from planner.deployment.client.drawing.entropy import Source, choose, coin
from planner.deployment.client.laws.exact import DENOMINATOR as D
from planner.deployment.client.laws.levels import Levels
from planner.deployment.client.mechanisms.law import Encoder, ItemEncoder, OneRatioLaw, octets
from planner.deployment.client.schema import PROBABILITY, Schema, whole
from planner.errors import InputError, VerificationError
from planner.limits import EXPORT_REMEDY, MAX_COUNT


@dataclass(frozen=True, slots=True)
class SubsetLaw(OneRatioLaw):
    """Subset selection: ``size_of_set`` items, the true one among them with ``held/D``."""

    mechanism: ClassVar[str] = "subset-selection"
    keys: ClassVar[Mapping[str, Schema]] = OneRatioLaw.shared | {  # type: ignore[operator]
        "size": whole(1, MAX_COUNT),
        "held": PROBABILITY,
    }

    held: int
    size_of_set: int

    @classmethod
    def read(cls, question: Mapping[str, Any]) -> Self:
        levels, size = Levels.read(question, least=2), question["size"]
        if size >= levels.total:
            raise InputError(
                "size", size, f"a whole number from 1 to {levels.total - 1}", EXPORT_REMEDY
            )
        return cls(levels, question["held"], size)

    @property
    def cells(self) -> int:
        return self.levels.total

    @property
    def size(self) -> int:
        return octets(self.levels.total)

    @property
    def ratio(self) -> Fraction:
        others = self.levels.total - self.size_of_set
        return Fraction(self.held * others, (D - self.held) * self.size_of_set)

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        held, others = Fraction(self.held, D), self.levels.total - 1
        size = self.size_of_set
        return held, (held * (size - 1) + (1 - held) * size) / others

    def verify(self) -> None:
        if not 1 <= self.size_of_set < self.levels.total:
            raise VerificationError(
                f"size {self.size_of_set} is not from 1 to {self.levels.total - 1}"
            )
        if self.ratio <= 1:
            raise VerificationError("A report must hold the true item more often than another")
        OneRatioLaw.verify(self)

    def encoder(self) -> Encoder:
        return SubsetEncoder(self)


class SubsetEncoder(ItemEncoder):
    """A set of items as bits, laid out as for unary encoding.

    Draws a coin for holding the true item, then the others by Floyd's method from the
    ``m - 1`` other items in order: for ``j`` from ``m - 1 - k`` to ``m - 2`` a choice from 0 to
    ``j``, or ``j`` itself if that one is in the set already, for the ``k`` items that are missing.
    """

    def __init__(self, law: SubsetLaw) -> None:
        super().__init__(law.levels)
        self._law = law

    def draw(self, code: Any, source: Source) -> bytes:
        """The report."""
        held = coin(source, self._law.held)
        others = self._levels.total - 1
        chosen: set[int] = set()
        for last in range(others - (self._law.size_of_set - held), others):
            pick = choose(source, last + 1)
            chosen.add(last if pick in chosen else pick)
        bits = int(held) << code
        for pick in chosen:
            bits |= 1 << (pick + (pick >= code))
        return bits.to_bytes(self._law.size, "little")
