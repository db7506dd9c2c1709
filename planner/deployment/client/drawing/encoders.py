"""From an answer to the bytes of a report: check first, then draw exactly.

An encoder turns a question's law into two steps. ``code`` checks an answer and draws
nothing; ``draw`` randomises a checked answer, from bytes alone, in an order that its
docstring fixes for ports. The size of a report never depends on the answer. Standard
library only.
"""

from __future__ import annotations

import operator
from itertools import chain, repeat
from typing import Any, Protocol

from planner.deployment.client.drawing.answers import item_number, item_set, number
from planner.deployment.client.drawing.entropy import Source, choose, coin, words
from planner.deployment.client.drawing.xxh32 import xxh32
from planner.deployment.client.laws.exact import DENOMINATOR
from planner.deployment.client.laws.levels import Levels
from planner.deployment.client.laws.output import (
    HashingLaw,
    Law,
    ResponseLaw,
    SamplingLaw,
    SignLaw,
    SubsetLaw,
    UnaryLaw,
)
from planner.errors import InputError

__all__ = [
    "MAX_BITS",
    "Encoder",
    "HashingEncoder",
    "ResponseEncoder",
    "SamplingEncoder",
    "SetEncoder",
    "SignEncoder",
    "SubsetEncoder",
    "UnaryEncoder",
    "encoder_for",
]

MAX_BITS = 2**24
_DIGITS = bytes.maketrans(b"\x00\x01", b"01")


class Encoder(Protocol):
    """Checks and randomises the answers to one question."""

    size: int
    """Bytes of a report."""
    rounds: tuple[int | None, ...]
    """The rounds in which reports are made; ``None`` if the question has no rounds."""

    def code(self, answer: Any) -> Any:
        """The answer in the form that :meth:`draw` takes; InputError if it is none."""

    def draw(self, code: Any, source: Source) -> bytes:
        """A report of ``size`` bytes."""


def encoder_for(law: Law) -> Encoder:
    """The encoder of a verified law.

    Raises
    ------
    InputError
        A report would have more than 2^24 bits.
    """
    if isinstance(law, UnaryLaw) and law.padding_length:
        return SetEncoder(law)
    if type(law) not in _ENCODERS:
        raise InputError("law", type(law).__name__, "one that has an encoder")
    encoder: Encoder = _ENCODERS[type(law)](law)
    return encoder


class _ItemEncoder:
    """Takes one item of the levels as an answer."""

    rounds: tuple[int | None, ...] = (None,)

    def __init__(self, levels: Levels) -> None:
        self._levels = levels
        self._numbers = levels.numbers()

    def code(self, answer: Any) -> Any:
        return item_number(self._levels, self._numbers, answer)


class UnaryEncoder(_ItemEncoder):
    """Bit ``k`` of the report is bit ``k % 8`` of byte ``k // 8``; bytes fill 64-bit words.

    Draws one word per bit in order, all at once; a bit is 1 if its word is below
    its threshold: ``a`` for the answer's bit, ``b`` for all others.
    """

    def __init__(self, law: UnaryLaw) -> None:
        self.size = _octets(law.bits)
        super().__init__(law.levels)
        counts = [*law.levels.item_counts, law.padding_length]
        a, b = (
            list(chain.from_iterable(map(repeat, [*column, column[law.dummy_level]], counts)))
            for column in (law.a, law.b)
        )
        self._a, self._b = a, b

    def draw(self, code: Any, source: Source) -> bytes:
        return self._report(code, source)

    def _report(self, true: int, source: Source) -> bytes:
        drawn = words(source, len(self._b))
        bits = bytearray(map(operator.lt, drawn, self._b))
        bits[true] = drawn[true] < self._a[true]
        bits.reverse()
        return int(bytes(bits.translate(_DIGITS)), 2).to_bytes(self.size, "little")


class SetEncoder(UnaryEncoder):
    """One item of the set, in ascending order, or a dummy; then as :class:`UnaryEncoder`.

    Draws a slot from 0 to ``max(set size, padding length) - 1``, then, if no item of the set
    has this slot, a dummy from 0 to ``padding length - 1``.
    """

    def __init__(self, law: UnaryLaw) -> None:
        super().__init__(law)
        self._length = law.padding_length

    def code(self, answer: Any) -> Any:
        return item_set(self._levels, self._numbers, answer)

    def draw(self, code: Any, source: Source) -> bytes:
        slot = choose(source, max(len(code), self._length))
        if slot < len(code):
            return self._report(code[slot], source)
        return self._report(self._levels.total + choose(source, self._length), source)


class ResponseEncoder(_ItemEncoder):
    """The reported item's number in four bytes, little-endian.

    Draws a coin for the truth; if it fails, a uniform choice of any item.
    """

    size = 4

    def __init__(self, law: ResponseLaw) -> None:
        _at_most(law.values, DENOMINATOR)
        super().__init__(law.levels)
        self._law = law

    def draw(self, code: Any, source: Source) -> bytes:
        return _respond(code, self._law, source).to_bytes(4, "little")


class HashingEncoder(_ItemEncoder):
    """Seed and randomised hash value, four bytes each, little-endian.

    Draws a word as the seed, then the value as :class:`ResponseEncoder` does.
    """

    size = 8

    def __init__(self, law: HashingLaw) -> None:
        _at_most(law.levels.total, DENOMINATOR)
        super().__init__(law.levels)
        self._law = law

    def draw(self, code: Any, source: Source) -> bytes:
        seed = words(source, 1)[0]
        value = _respond(xxh32(code, seed) % self._law.values, self._law, source)
        return seed.to_bytes(4, "little") + value.to_bytes(4, "little")


class SubsetEncoder(_ItemEncoder):
    """A set of items as bits, laid out as :class:`UnaryEncoder` does.

    Draws a coin for holding the true item, then the others by Floyd's method from the
    ``m - 1`` other items in order: for ``j`` from ``m - 1 - k`` to ``m - 2`` a choice from 0 to
    ``j``, or ``j`` itself if that one is in the set already, for the ``k`` items that are missing.
    """

    def __init__(self, law: SubsetLaw) -> None:
        self.size = _octets(law.levels.total)
        super().__init__(law.levels)
        self._law = law

    def draw(self, code: Any, source: Source) -> bytes:
        held = coin(source, self._law.held)
        others = self._levels.total - 1
        chosen: set[int] = set()
        for last in range(others - (self._law.size - held), others):
            pick = choose(source, last + 1)
            chosen.add(last if pick in chosen else pick)
        bits = int(held) << code
        for pick in chosen:
            bits |= 1 << (pick + (pick >= code))
        return bits.to_bytes(self.size, "little")


class SignEncoder:
    """One byte, ``2 s + b``: by positive (1) or negative (0) sampling, a bit.

    The threshold of a 1 is ``low`` for no answer, else ``low + floor(share (2^32 - 2 low)
    + 1/2)`` with ``share = (answer - lower) / (upper - lower)``, all in doubles, at most
    ``2^32 - low``. Draws the bit's word, then a word whose lowest bit is ``s``; by negative
    sampling an answer's bit is turned over.
    """

    size = 1
    rounds: tuple[int | None, ...] = (None,)

    def __init__(self, law: SignLaw) -> None:
        self._law = law

    def code(self, answer: Any) -> Any:
        return number(self._law, answer)

    def draw(self, code: Any, source: Source) -> bytes:
        bit, sign = words(source, 2)
        one, positive = bit < self._threshold(code), sign & 1
        if not positive and code is not None:
            one = not one
        return bytes([2 * positive + one])

    def _threshold(self, answer: float | None) -> int:
        low, law = self._law.low, self._law
        if answer is None:
            return low
        share = (answer - law.lower) / (law.upper - law.lower)
        threshold = low + int(share * (DENOMINATOR - 2 * low) + 0.5)
        return min(max(threshold, low), DENOMINATOR - low)


class SamplingEncoder(_ItemEncoder):
    """The die of Sampling Privacy: four bytes, kept by the person, thrown once for both rounds.

    Draws one word. The faces follow each other: staying at 0, each value's decoy, "sampled".
    """

    size = 4
    rounds: tuple[int | None, ...] = (1, 2)

    def __init__(self, law: SamplingLaw) -> None:
        super().__init__(law.levels)
        self._law = law

    def code(self, answer: Any) -> Any:
        """0 for none of the values, else the value's number from 1."""
        if answer is None and not self._law.everyone_has_value:
            return 0
        return 1 + int(super().code(answer))

    def draw(self, code: Any, source: Source) -> bytes:  # noqa: ARG002 - the die is blind
        return words(source, 1)[0].to_bytes(4, "little")

    def output(self, die: bytes, code: int, round_number: int) -> bytes:
        """The report of a round: round one tells nothing, round two the truth if sampled."""
        left = int.from_bytes(die, "little")
        for face, width in enumerate((self._law.zero, *self._law.decoys)):
            if left < width:
                return face.to_bytes(4, "little")
            left -= width
        return (code if round_number == 2 else 0).to_bytes(4, "little")


_ENCODERS: dict[type[Any], type[Any]] = {
    UnaryLaw: UnaryEncoder,
    ResponseLaw: ResponseEncoder,
    HashingLaw: HashingEncoder,
    SubsetLaw: SubsetEncoder,
    SignLaw: SignEncoder,
    SamplingLaw: SamplingEncoder,
}


def _respond(value: int, law: ResponseLaw | HashingLaw, source: Source) -> int:
    return value if coin(source, law.truth) else choose(source, law.values)


def _octets(bits: int) -> int:
    _at_most(bits, MAX_BITS)
    return 8 * -(-bits // 64)


def _at_most(size: int, limit: int) -> None:
    if size > limit:
        remedy = "Use local hashing, or merge items."
        raise InputError("items", size, f"at most {limit} for this mechanism's reports", remedy)
