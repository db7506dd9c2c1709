"""Count reports: packed in words of 64 bits, to partial sums that add up in any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from planner.arrays import Whole
from planner.errors import InputError
from planner.mechanisms.words import rows_at_once

_WEIGHED_WORDS = 2**15  # of which ones are counted at once: in the cache, yet few calls
_ALL_ONES = ~np.uint64(0)

Reports = NDArray[np.uint8]
"""Reports as bytes, shape ``(n, report size)``."""
Packed = NDArray[np.uint64]
"""Packed reports: item ``k`` is bit ``k % 64``, from the lowest, of word ``k // 64``."""
# Byte 0 of a word holds bits 0 to 7 on every machine.
_LITTLE_ENDIAN = np.dtype("<u8")
_SLAB_WORDS = 2**14  # in the cache, yet few calls
_LAST_WORDS = 2**11  # what these slabs leave is counted bit by bit


def words_for(items: int) -> int:
    """Words that hold ``items`` bits."""
    return -(-items // 64)


def pack(bits: NDArray[np.generic]) -> Packed:
    """Rows of 0 and 1, shape ``(n, m)``, packed to shape ``(n, words_for(m))``.

    Examples
    --------
    >>> pack(np.array([[1, 0, 1], [0, 0, 1]])).tolist()
    [[5], [4]]
    """
    n, m = bits.shape
    width = 64 * words_for(m)
    padded = np.zeros((n, width), dtype=np.uint8)
    padded[:, :m] = bits
    octets = np.packbits(padded, axis=1, bitorder="little")
    words = octets.view(_LITTLE_ENDIAN)
    return words.astype(np.uint64)


def unpack(reports: Packed, items: int) -> NDArray[np.uint8]:
    """The inverse of :func:`pack`, shape ``(n, items)``."""
    words = np.ascontiguousarray(reports, dtype=_LITTLE_ENDIAN)
    octets = words.view(np.uint8)
    return np.unpackbits(octets, axis=1, bitorder="little", count=items)


def bit_of(reports: Packed, item: int) -> Whole:
    """The bit of one item in each report, 0 or 1, shape ``(n,)``.

    Examples
    --------
    >>> bit_of(pack(np.array([[1, 0, 1], [0, 0, 1]])), 0).tolist()
    [1, 0]
    """
    word = reports[:, item // 64]
    shifted = word >> np.uint64(item % 64)
    bits = shifted & np.uint64(1)
    return bits.astype(np.int64)


def require_inside(rows: Packed, bits: int, first: int = 0) -> None:
    """InputError naming the first report with a bit beyond ``bits``; ``first`` is row 0's."""
    lanes_of_last_word = bits % 64
    if lanes_of_last_word == 0:
        return
    last_word = rows[:, -1]
    beyond = last_word >> np.uint64(lanes_of_last_word)
    for u in np.flatnonzero(beyond):
        word = hex(int(last_word[u]))
        allowed = f"0 in all bits from {bits} on, as there are {bits}"
        remedy = "Read the reports with the mechanism that made them."
        raise InputError(f"reports[{first + u}]", word, allowed, remedy)


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

    def __init__(self, items: int) -> None:
        self._items = items
        self._words = words_for(items)
        self._height = rows_at_once(_SLAB_WORDS, self._words)
        self._adder = _Adder()
        shape = (self._height, self._words)
        self._slab = np.empty(shape, dtype=np.uint64)
        self._filled = 0

    def add(self, reports: Packed) -> None:
        """Add checked reports; the array may be kept for a while, and must not change."""
        slabs = _slabs_of(reports, self._height)
        for slab in slabs:
            self._adder.add(slab)
        in_slabs = len(slabs) * self._height
        self.add_some(reports, np.arange(in_slabs, len(reports)))

    def add_some(self, reports: Packed, numbers: Whole) -> None:
        """Add those of the reports that have these numbers, from 0; the array is not kept."""
        start = 0
        while start < len(numbers):
            free = self._height - self._filled
            some = numbers[start : start + free]
            filled = self._filled + len(some)
            room = self._slab[self._filled : filled]
            # Other modes than "clip" copy once more.
            reports.take(some, axis=0, out=room, mode="clip")
            start += len(some)
            self._filled = filled
            if self._filled == self._height:
                self._adder.add(self._slab)
                self._slab = np.empty_like(self._slab)
                self._filled = 0

    def counts(self) -> Whole:
        """How many of the reports set each bit, shape ``(items,)``; the counter stays usable."""
        rest = self._slab[: self._filled]
        parts = [*self._adder.parts(), (0, rest)]
        counts = np.zeros(self._items, dtype=np.int64)
        for plane, slab in _add_up(parts, self._words):
            bits = unpack(slab, self._items)
            # The narrowest type that holds the sums of so few rows is the fastest.
            narrow: type[np.unsignedinteger] = np.uint16
            if len(slab) < 2**8:
                narrow = np.uint8
            ones = bits.sum(axis=0, dtype=narrow)
            counts += ones.astype(np.int64) << plane
        return counts


def _add_up(parts: list[tuple[int, Packed]], words: int) -> list[tuple[int, Packed]]:
    """Fewer rows with as many set bits per column; parts are (plane, rows)."""
    height = rows_at_once(_LAST_WORDS, words)
    adder = _Adder()
    left = []
    for plane, rows in parts:
        slabs = _slabs_of(rows, height)
        for slab in slabs:
            adder.add(slab, plane)
        rest = rows[len(slabs) * height :]
        if len(rest):
            left.append((plane, rest))
    return left + adder.parts()


def _slabs_of(rows: Packed, height: int) -> list[Packed]:
    """As many slabs of this height as the rows fill, from the first row on."""
    slabs = []
    for start in range(0, len(rows) - height + 1, height):
        slabs.append(rows[start : start + height])
    return slabs


class _Adder:
    """Adds slabs of reports, all of one shape; plane ``j`` holds the digits worth ``2^j``."""

    def __init__(self) -> None:
        self._sums: list[Packed] = []  # one slab per plane ...
        self._waiting: list[Packed | None] = []  # ... and one without a partner yet

    def add(self, slab: Packed, plane: int = 0) -> None:
        """Add a slab worth ``2^plane``, which is only read."""
        while True:
            while len(self._sums) <= plane:
                self._sums.append(np.zeros_like(slab))
                self._waiting.append(None)
            partner = self._waiting[plane]
            if partner is None:
                self._waiting[plane] = slab
                return
            self._waiting[plane] = None
            # A full adder of three bits: the sum stays in this plane, the carry goes to the next.
            total = self._sums[plane]
            differ = slab ^ partner
            carry = partner ^ total
            carry &= differ
            carry ^= partner  # the total's bit where the two differ, else their own
            total ^= differ
            slab = carry
            plane += 1

    def parts(self) -> list[tuple[int, Packed]]:
        """What has been added up, as (plane, rows)."""
        parts = list(enumerate(self._sums))
        for plane, slab in enumerate(self._waiting):
            if slab is not None:
                parts.append((plane, slab))
        return parts


# -- counters ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Aggregate:
    """Counts over ``users`` reports; two aggregates of one mechanism add up.

    Attributes
    ----------
    users:
        Number of reports counted, at least 0.
    counts:
        The mechanism's sufficient counts, int64, ``0 <= counts <= users``.

    Raises
    ------
    InputError
        A count is negative or exceeds the number of users, or shapes differ in a sum.

    Examples
    --------
    >>> total = Aggregate(3, np.array([1, 2])) + Aggregate(2, np.array([0, 2]))
    >>> total.users, total.counts.tolist()
    (5, [1, 4])
    """

    users: int
    counts: Whole

    def __post_init__(self) -> None:
        if self.users < 0:
            remedy = "Give the number of reports that were counted."
            raise InputError("users", self.users, "at least 0", remedy)
        counts = np.array(self.counts)
        if counts.dtype.kind not in "iu":
            remedy = "Convert them by counts.astype(numpy.int64) if nothing is lost."
            raise InputError("counts", counts.dtype, "whole numbers", remedy)
        if counts.size:
            worst = int(counts.max())
            if worst <= self.users:
                worst = int(counts.min())
            if not 0 <= worst <= self.users:
                allowed = f"from 0 to the number of users, {self.users}"
                remedy = "A user adds at most 1 to a count: count each report once."
                raise InputError("counts", worst, allowed, remedy)
        counts = counts.astype(np.int64)
        counts.setflags(write=False)
        object.__setattr__(self, "counts", counts)

    def require(self, shape: tuple[int, ...]) -> None:
        """InputError unless there are users, and counts of this shape."""
        if self.users < 1:
            remedy = "Collect reports first."
            raise InputError("users", self.users, "at least 1", remedy)
        if self.counts.shape != shape:
            allowed = f"of the shape {shape}"
            remedy = "Count the reports with the mechanism that made them."
            raise InputError("counts", self.counts.shape, allowed, remedy)

    def __add__(self, other: Aggregate) -> Aggregate:
        if self.counts.shape != other.counts.shape:
            allowed = f"of the shape {self.counts.shape}"
            remedy = "Add counts of the same question only."
            raise InputError("counts", other.counts.shape, allowed, remedy)
        users = self.users + other.users
        return Aggregate(users, self.counts + other.counts)


def stacked(rounds: Sequence[Aggregate]) -> Aggregate:
    """The sums of all rounds, one above the other if they are several; the most users of them."""
    if len(rounds) == 1:
        return rounds[0]
    users = max(aggregate.users for aggregate in rounds)
    counts = np.stack([aggregate.counts for aggregate in rounds])
    return Aggregate(users, counts)


class Counter(Protocol):
    """Counts batches of reports of one question and round."""

    def add(self, rows: Reports) -> None:
        """Count at least one report, uint8, shape ``(n, report size)``."""

    def sums(self) -> Aggregate:
        """Number of reports, and for how many each cell counts: a bit, an item, an output."""


class SumCounter:
    """Reports that a function counts, a batch at a time, into ``cells`` sums."""

    def __init__(self, cells: int, count: Callable[[Reports], Whole]) -> None:
        self._counts = np.zeros(cells, dtype=np.int64)
        self._count = count
        self._users = 0

    def add(self, rows: Reports) -> None:
        """Count some reports."""
        self._counts += self._count(rows)
        self._users += len(rows)

    def sums(self) -> Aggregate:
        """What was counted."""
        return Aggregate(self._users, self._counts)


def require_below(numbers: NDArray[np.unsignedinteger], size: int) -> None:
    """InputError that names the first report whose number is not below ``size``."""
    for u in np.flatnonzero(numbers >= size):
        allowed = f"from 0 to {size - 1}"
        remedy = "Leave the damaged report out."
        raise InputError(f"report {u}", int(numbers[u]), allowed, remedy)


class CellCounter(SumCounter):
    """Reports that are a number below ``cells``, of one unsigned type.

    Examples
    --------
    >>> counter = CellCounter(4, "u1")
    >>> counter.add(np.array([[3], [3], [0]], dtype=np.uint8))
    >>> counter.sums().counts.tolist()
    [1, 0, 0, 2]
    """

    def __init__(self, cells: int, dtype: str) -> None:
        super().__init__(cells, self._named)
        self._dtype = dtype

    def _named(self, rows: Reports) -> Whole:
        cells = rows.view(self._dtype).ravel()
        require_below(cells, self._counts.size)
        return np.bincount(cells, minlength=self._counts.size)


class PackedCounter:
    """Reports of packed bits, of which each has ``held`` ones if that is fixed."""

    def __init__(self, bits: int, held: int | None = None) -> None:
        self._bits = bits
        self._held = held
        self._counter = BitCounter(bits)
        self._users = 0

    def add(self, rows: Reports) -> None:
        """Count some reports."""
        words = rows.view("<u8")
        if self._held is not None:
            ones = np.bitwise_count(words).sum(axis=1)
            for u in np.flatnonzero(ones != self._held):
                argument = f"ones of report {u}"
                allowed = f"{self._held}, the elements of a report"
                raise InputError(argument, int(ones[u]), allowed, "Leave it out.")
        require_inside(words, self._bits, self._users)
        self._counter.add(words)
        self._users += len(rows)

    def sums(self) -> Aggregate:
        """What was counted."""
        return Aggregate(self._users, self._counter.counts())


class LevelBits(NamedTuple):
    """Where a level's bits are in a packed report: its words, and which lanes of each."""

    words: slice
    mask: Packed


def level_bits(item_counts: Whole) -> list[LevelBits]:
    """The bits of levels that follow each other: a word in which two meet is one of both."""
    levels = []
    end = 0
    for size in item_counts.tolist():
        start = end
        end = start + size
        first_word = start >> 6
        last_word = (end - 1) >> 6
        mask = np.full(last_word - first_word + 1, _ALL_ONES)
        # Lanes below the start belong to the level before, those from the end on to the next one.
        mask[0] &= _ALL_ONES << np.uint64(start & 63)
        mask[-1] &= _ALL_ONES >> np.uint64(-end & 63)
        words = slice(first_word, last_word + 1)
        levels.append(LevelBits(words, mask))
    return levels


class SidesCounter:
    """Reports of types and sides: for each type its reports, then each bit's ones.

    A report is a row of words: the type's number, unless there is one type alone, then the packed
    bits of the items, level by level. A type fixes how many of each level's bits are 1, so a report
    of any other weight is none that the law can send, and is refused.

    Examples
    --------
    >>> counter = SidesCounter(np.array([3]), np.array([[1], [0]]))
    >>> counter.add(np.array([[0, 0b100], [1, 0], [0, 0b001]], dtype="<u8").view(np.uint8))
    >>> counter.sums().counts.reshape(2, 4).tolist()  # reports of the type, then each item's ones
    [[2, 1, 0, 1], [1, 0, 0, 0]]
    >>> counter.add(np.array([[0, 0b110]], dtype="<u8").view(np.uint8))
    Traceback (most recent call last):
    ...
    planner.errors.InputError: size of reports[3] is [2] but must be [1], by level, for type 0. ...
    """

    def __init__(self, counts: Whole, types: Whole) -> None:
        self._types = types
        self._levels = level_bits(counts)
        # The adders want rows without gaps, so the type's word is added up with the others.
        self._bits = 64 + int(counts.sum())
        self._counters = [BitCounter(self._bits) for _ in types]
        self._reports = np.zeros(len(types), dtype=np.int64)

    def add(self, rows: Reports) -> None:
        """Check and count some reports."""
        words = rows.view("<u8")
        first = int(self._reports.sum())
        if len(self._types) == 1:
            # The number of the only type is not sent.
            shape = (len(words), 1)
            type_column = np.zeros(shape, dtype=words.dtype)
            words = np.hstack([type_column, words])
        require_inside(words, self._bits, first)
        report_types = self._types_of(words, first)
        self._require_sizes(words, report_types, first)
        # The numbers of the reports of each type, side by side.
        order = np.argsort(report_types, kind="stable")
        reports_of_types = np.bincount(report_types, minlength=self._reports.size)
        self._reports += reports_of_types
        end = 0
        for counter, reports in zip(self._counters, reports_of_types, strict=True):
            start = end
            end = start + reports
            counter.add_some(words, order[start:end])

    def sums(self) -> Aggregate:
        """What was counted."""
        ones = np.array([counter.counts() for counter in self._counters])
        ones_of_items = ones[:, 64:]  # without the type's word
        counts = np.column_stack([self._reports, ones_of_items])
        users = int(self._reports.sum())
        return Aggregate(users, counts.ravel())

    def _types_of(self, rows: Packed, first: int) -> NDArray[np.unsignedinteger]:
        """The reports' types, all checked; ``first`` is the number of the first, for errors."""
        last = len(self._types) - 1
        numbers = rows[:, 0]
        for u in np.flatnonzero(numbers > last):
            allowed = f"a type from 0 to {last}"
            remedy = "Read the reports with the mechanism that made them."
            raise InputError(
                f"reports[{first + u}][0]", int(numbers[u]), allowed, remedy
            )
        return numbers.astype(np.min_scalar_type(last))

    def _require_sizes(
        self, rows: Packed, report_types: NDArray[np.unsignedinteger], first: int
    ) -> None:
        """InputError for a report without as many ones in each level as its type has."""
        sizes = self._sizes_of(rows)
        sizes_of_types = self._types.T.astype(np.int32)
        expected = sizes_of_types.take(report_types, axis=1)
        is_wrong = (sizes != expected).any(axis=0)
        for u in np.flatnonzero(is_wrong):
            report_type = report_types[u]
            size_of_type = self._types[report_type].tolist()
            argument = f"size of reports[{first + u}]"
            size = sizes[:, u].tolist()
            allowed = f"{size_of_type}, by level, for type {report_type}"
            remedy = "The mechanism sends no such report."
            raise InputError(argument, size, allowed, remedy)

    def _sizes_of(self, rows: Packed) -> NDArray[np.int32]:
        """Ones of each report in each level, ``(levels, reports)``, without the type's word."""
        shape = (len(self._levels), len(rows))
        sizes = np.empty(shape, dtype=np.int32)
        step = rows_at_once(_WEIGHED_WORDS, rows.shape[1])
        for start in range(0, len(rows), step):
            end = start + step
            words = rows[start:end, 1:].T.copy()  # long loops are fast loops
            sizes_here = sizes[:, start:end]
            for size, level in zip(sizes_here, self._levels, strict=True):
                bits = words[level.words] & level.mask[:, None]
                ones = np.bitwise_count(bits)
                ones.sum(axis=0, dtype=np.int32, out=size)
        return sizes
