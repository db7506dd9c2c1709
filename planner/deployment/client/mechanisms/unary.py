"""Unary encoding: IDUE, RAPPOR, OUE. One bit an item."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, repeat
from typing import Any, ClassVar, Self

from planner.deployment.client.drawing.entropy import Source, words
from planner.deployment.client.laws.exact import (
    DENOMINATOR,
    PairViolation,
    check_budgets,
    log_ratios,
)
from planner.deployment.client.laws.levels import LEVEL, RULE, Levels
from planner.deployment.client.laws.pairs import PairBudget, listed_pairs
from planner.deployment.client.mechanisms.law import (
    PREDICTED,
    Encoder,
    Estimator,
    ItemEncoder,
    ItemLaw,
    linear,
    octets,
)
from planner.deployment.client.schema import PROBABILITY, Schema, choice, list_of, record
from planner.errors import InputError, VerificationError
from planner.limits import EXPORT_REMEDY

_DIGITS = bytes.maketrans(b"\x00\x01", b"01")
_UNARY_LEVEL = record(
    LEVEL["properties"] | {"a": PROBABILITY, "b": PROBABILITY},
    "A level whose bits are 1 with probability a / 2^32 (the answer's) or b / 2^32 (others).",
)


@dataclass(frozen=True, slots=True)
class UnaryLaw(ItemLaw):
    """IDUE, RAPPOR, OUE: bit ``k`` is 1 with ``a/D`` if it is the answer's, else ``b/D``."""

    mechanism: ClassVar[str] = "idue"
    keys: ClassVar[Mapping[str, Schema]] = {
        "model": choice("opt0", "opt1", "opt2", "rappor", "oue"),
        "rule": RULE,
        "levels": list_of(_UNARY_LEVEL),
        "predicted": PREDICTED,
    }

    a: tuple[int, ...]
    b: tuple[int, ...]

    @classmethod
    def read(cls, question: Mapping[str, Any]) -> Self:
        levels = Levels.read(question)
        a, b = (tuple(level[key] for level in question["levels"]) for key in "ab")
        for name, top, bottom in zip(levels.names, a, b, strict=True):
            if bottom >= top:
                raise InputError(f"b of level {name!r}", bottom, f"below a = {top}", EXPORT_REMEDY)
        return cls(levels, a, b, *cls._more(question))

    @classmethod
    def _more(cls, question: Mapping[str, Any]) -> tuple[Any, ...]:
        del question
        return ()

    @property
    def dummies(self) -> int:
        """Bits that stand for no item, with the probabilities of the least budget's."""
        return 0

    @property
    def bits(self) -> int:
        """Bits of a report."""
        return self.levels.total + self.dummies

    @property
    def cells(self) -> int:
        return self.bits

    @property
    def size(self) -> int:
        return octets(self.bits)

    @property
    def bits_per_level(self) -> tuple[int, ...]:
        """Bits with the probabilities of each level, dummies included."""
        counts = list(self.levels.item_counts)
        counts[self.levels.dummy_level] += self.dummies
        return tuple(counts)

    def verify(self) -> None:
        try:
            check_budgets(self.a, self.b, self.levels.epsilons, self.levels.rule)
        except PairViolation as broken:
            first, second = (self.labels[i] for i in (broken.first, broken.second))
            raise VerificationError(
                f"Levels {first!r} and {second!r} realise {broken.realised:.9f} nats "
                f"but are promised {broken.demanded:.9f}"
            ) from broken

    def pairs(self) -> list[PairBudget]:
        return listed_pairs(*log_ratios(self.a, self.b), self.levels.epsilons, self.levels.rule)

    def estimator(self) -> Estimator:
        offsets = [Fraction(b, DENOMINATOR) for b in self.b]
        slopes = [Fraction(a - b, DENOMINATOR) for a, b in zip(self.a, self.b, strict=True)]
        return linear(offsets, slopes, max(1, self.dummies))

    def encoder(self) -> Encoder:
        return UnaryEncoder(self)


class UnaryEncoder(ItemEncoder):
    """Bit ``k`` of the report is bit ``k % 8`` of byte ``k // 8``; bytes fill 64-bit words.

    Draws one word per bit in order, all at once; a bit is 1 if its word is below
    its threshold: ``a`` for the answer's bit, ``b`` for all others.
    """

    def __init__(self, law: UnaryLaw) -> None:
        self._size = law.size
        super().__init__(law.levels)
        counts = [*law.levels.item_counts, law.dummies]
        self._a, self._b = (
            list(
                chain.from_iterable(map(repeat, [*column, column[law.levels.dummy_level]], counts))
            )
            for column in (law.a, law.b)
        )

    def draw(self, code: Any, source: Source) -> bytes:
        """The report."""
        return self._report(code, source)

    def _report(self, true: int, source: Source) -> bytes:
        drawn = words(source, len(self._b))
        bits = bytearray(map(operator.lt, drawn, self._b))
        bits[true] = drawn[true] < self._a[true]
        bits.reverse()
        return int(bytes(bits.translate(_DIGITS)), 2).to_bytes(self._size, "little")
