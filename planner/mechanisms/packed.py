"""Packed reports: 64 bits a word, and counting how many reports set each bit.

Report ``u`` is row ``u`` of a uint64 array of shape ``(n, words)``; item ``k`` is bit
``k % 64`` (from the lowest) of word ``k // 64``; bits beyond the domain are 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError

Words = NDArray[np.uint64]
_LITTLE = np.dtype("<u8")  # so that byte 0 of a word holds bits 0 to 7 on every machine
_SLAB_WORDS = 2**14  # in the cache, yet few calls
_LAST_WORDS = 2**11  # what these slabs leave is counted bit by bit


def words_for(items: int) -> int:
    """Words that hold ``items`` bits."""
    return -(-items // 64)


def pack(bits: NDArray[Any]) -> Words:
    """Rows of 0 and 1, shape ``(n, m)``, packed to shape ``(n, words_for(m))``.

    Examples
    --------
    >>> pack(np.array([[1, 0, 1], [0, 0, 1]])).tolist()
    [[5], [4]]
    """
    n, m = bits.shape
    padded = np.zeros((n, 64 * words_for(m)), dtype=np.uint8)
    padded[:, :m] = bits
    return np.packbits(padded, axis=1, bitorder="little").view(_LITTLE).astype(np.uint64)


def unpack(reports: Words, items: int) -> NDArray[np.uint8]:
    """The inverse of :func:`pack`, shape ``(n, items)``."""
    octets = np.ascontiguousarray(reports, dtype=_LITTLE).view(np.uint8)
    return np.unpackbits(octets, axis=1, bitorder="little", count=items)


def require_inside(rows: Words, bits: int, first: int = 0) -> None:
    """InputError naming the first report with a bit beyond ``bits``; ``first`` is row 0's."""
    if bits % 64:
        beyond = rows[:, -1] >> np.uint64(bits % 64)
        for u in np.flatnonzero(beyond)[:1]:
            allowed = f"0 in all bits from {bits} on, as there are {bits}"
            remedy = "Read the reports with the mechanism that made them."
            raise InputError(f"reports[{first + u}]", hex(int(rows[u, -1])), allowed, remedy)


class BitCounter:
    """Counts how often each of ``items`` bits is set in many batches; the addition ends once.

    Carry-save adders: slabs of reports are added bit by bit, 64 columns a word, into sums and
    carries, so that only the last few rows are unpacked (Harley and Seal; Mula, Kurz and Lemire
    2018).

    Examples
    --------
    >>> counter = BitCounter(3)
    >>> for batch in ([[1, 0, 1]], [[0, 0, 1], [1, 0, 0]]):
    ...     counter.add(pack(np.array(batch)))
    >>> counter.counts().tolist()
    [2, 0, 2]
    """

    __slots__ = ("_adder", "_filled", "_height", "_items", "_slab", "_words")

    def __init__(self, items: int) -> None:
        self._items, self._words = items, words_for(items)
        self._height = max(1, _SLAB_WORDS // self._words)
        self._adder = _Adder((self._height, self._words))
        self._slab, self._filled = self._adder.memory(), 0

    def add(self, reports: Words) -> None:
        """Add checked reports; the array may be kept for a while, and must not change."""
        full = len(reports) - len(reports) % self._height
        for start in range(0, full, self._height):
            self._adder.add(reports[start : start + self._height], 0)
        self.add_some(reports, np.arange(full, len(reports)))

    def add_some(self, reports: Words, numbers: NDArray[np.int64]) -> None:
        """Add those of the reports that have these numbers, from 0; the array is not kept."""
        start = 0
        while start < len(numbers):
            some = numbers[start : start + self._height - self._filled]
            room = self._slab[self._filled : self._filled + len(some)]
            reports.take(some, axis=0, out=room, mode="clip")  # other modes copy once more
            start, self._filled = start + len(some), self._filled + len(some)
            if self._filled == self._height:
                self._adder.add(self._slab, 0, own=True)
                self._slab, self._filled = self._adder.memory(), 0

    def counts(self) -> NDArray[np.int64]:
        """How many of the reports set each bit, shape ``(items,)``; the counter stays usable."""
        parts = [*self._adder.parts(), (0, self._slab[: self._filled])]
        return _finish(parts, self._words)[: self._items]


def _finish(parts: list[tuple[int, Words]], words: int) -> NDArray[np.int64]:
    counts = np.zeros(64 * words, dtype=np.int64)
    for plane, slab in _add_up(parts, _LAST_WORDS):
        small = np.uint8 if len(slab) < 2**8 else np.uint16  # holds the sums of few rows
        ones = unpack(slab, 64 * words).sum(axis=0, dtype=small)
        counts += ones.astype(np.int64) << plane
    return counts


def _add_up(parts: list[tuple[int, Words]], slab_words: int) -> list[tuple[int, Words]]:
    """The same number of set bits per column in fewer rows; parts are (plane, rows)."""
    words = parts[0][1].shape[1]
    height = max(1, slab_words // words)
    adder = _Adder((height, words))
    left = []
    for plane, rows in parts:
        full = len(rows) - len(rows) % height
        for start in range(0, full, height):
            adder.add(rows[start : start + height], plane)
        if full < len(rows):
            left.append((plane, rows[full:]))
    return left + adder.parts()


class _Adder:
    """Adds slabs (rows x words) bit by bit; plane ``j`` holds the digits worth ``2^j``."""

    __slots__ = ("_free", "_half", "_shape", "_sums", "_waiting")

    def __init__(self, shape: tuple[int, int]) -> None:
        self._shape = shape
        self._sums: list[Words] = []  # one slab per plane ...
        self._waiting: list[tuple[Words, bool] | None] = []  # ... and one without a partner yet
        self._free: list[Words] = []
        self._half = _aligned(shape)

    def memory(self) -> Words:
        """A slab's memory, to be filled and added as ``own``."""
        return self._free.pop() if self._free else _aligned(self._shape)

    def add(self, slab: Words, plane: int, *, own: bool = False) -> None:
        """Add a slab worth ``2^plane``: read only, or to be used again if it is ``own``."""
        while True:
            while len(self._sums) <= plane:
                self._sums.append(_aligned(self._shape))
                self._sums[plane].fill(0)
                self._waiting.append(None)
            partner = self._waiting[plane]
            if partner is None:
                self._waiting[plane] = (slab, own)
                return
            self._waiting[plane] = None
            slab, own = self._full_add((slab, own), partner, self._sums[plane]), True
            plane += 1

    def _full_add(self, one: tuple[Words, bool], two: tuple[Words, bool], total: Words) -> Words:
        """Add two slabs to ``total`` in place and return the carry: five passes."""
        (a, a_own), (b, b_own) = (one, two) if one[1] else (two, one)
        carry = self.memory()
        half = np.bitwise_xor(a, b, out=a if a_own else self._half)
        np.bitwise_xor(b, total, out=carry)
        np.bitwise_and(carry, half, out=carry)
        np.bitwise_xor(carry, b, out=carry)  # the total where a and b differ, else b
        np.bitwise_xor(total, half, out=total)
        self._free += [slab for slab, own in ((a, a_own), (b, b_own)) if own]
        return carry

    def parts(self) -> list[tuple[int, Words]]:
        """What has been added up, as (plane, rows)."""
        waiting = [(plane, held[0]) for plane, held in enumerate(self._waiting) if held]
        return [*enumerate(self._sums), *waiting]


def _aligned(shape: tuple[int, int]) -> Words:
    """New memory that begins with a cache line, which is faster to add up."""
    memory = np.empty(shape[0] * shape[1] + 8, dtype=np.uint64)
    start = -memory.ctypes.data // 8 % 8
    return memory[start : start + shape[0] * shape[1]].reshape(shape)
