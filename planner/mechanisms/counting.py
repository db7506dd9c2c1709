"""Count reports: from the bytes of many reports to partial sums that add up in any order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError
from planner.mechanisms.fixed_weight import Segments
from planner.mechanisms.packed import BitCounter, require_inside

Words = NDArray[np.uint64]
_CHUNK_WORDS = 2**16  # weighed at once: in the cache, yet few calls
_EXACT = 2**24  # whole numbers up to here are exact in 32 bits

Rows = NDArray[np.uint8]
"""Reports as bytes, shape ``(n, report size)``."""


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
    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.users < 0:
            raise InputError(
                "users", self.users, "at least 0", "Give the number of reports that were counted."
            )
        counts = np.array(self.counts)
        if counts.dtype.kind not in "iu":
            remedy = "Convert them by counts.astype(numpy.int64) if nothing is lost."
            raise InputError("counts", counts.dtype, "whole numbers", remedy)
        if counts.size and not (counts.min() >= 0 and counts.max() <= self.users):
            worst = int(counts.max() if counts.max() > self.users else counts.min())
            allowed = f"from 0 to the number of users, {self.users}"
            remedy = "A user adds at most 1 to a count: count each report once."
            raise InputError("counts", worst, allowed, remedy)
        counts = counts.astype(np.int64)
        counts.setflags(write=False)
        object.__setattr__(self, "counts", counts)

    def __add__(self, other: Aggregate) -> Aggregate:
        if self.counts.shape != other.counts.shape:
            allowed = f"of the shape {self.counts.shape}"
            remedy = "Add counts of the same question only."
            raise InputError("counts", other.counts.shape, allowed, remedy)
        return Aggregate(self.users + other.users, self.counts + other.counts)


class Counter(Protocol):
    """Counts batches of reports of one question and round."""

    def add(self, rows: Rows) -> None:
        """Count at least one report, uint8, shape ``(n, report size)``.

        Raises
        ------
        InputError
            A report that the law cannot produce.
        """

    def sums(self) -> Aggregate:
        """Number of reports, and for how many each cell counts: a bit, an item, an output."""


class SumCounter:
    """Reports that a function counts, a batch at a time, into ``cells`` sums."""

    def __init__(self, cells: int, count: Callable[[Rows], NDArray[np.int64]]) -> None:
        self._counts = np.zeros(cells, dtype=np.int64)
        self._count = count
        self._users = 0

    def add(self, rows: Rows) -> None:
        """Count some reports."""
        self._counts += self._count(rows)
        self._users += len(rows)

    def sums(self) -> Aggregate:
        """What was counted."""
        return Aggregate(self._users, self._counts)


def require_below(numbers: NDArray[Any], size: int) -> None:
    """InputError that names the first report whose number is not below ``size``."""
    for u in np.flatnonzero(numbers >= size)[:1]:
        remedy = "Leave the damaged report out."
        raise InputError(f"report {u}", int(numbers[u]), f"from 0 to {size - 1}", remedy)


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

    def _named(self, rows: Rows) -> NDArray[np.int64]:
        cells = rows.view(self._dtype).ravel()
        require_below(cells, self._counts.size)
        return np.bincount(cells, minlength=self._counts.size)


class PackedCounter:
    """Reports of packed bits."""

    def __init__(self, bits: int) -> None:
        self._bits, self._counter, self._users = bits, BitCounter(bits), 0

    def add(self, rows: Rows) -> None:
        """Count some reports."""
        words = rows.view("<u8")
        require_inside(words, self._bits, self._users)
        self._counter.add(words)
        self._users += len(rows)

    def sums(self) -> Aggregate:
        """What was counted."""
        return Aggregate(self._users, self._counter.counts())


class SidesCounter:
    """Reports of types and sides: for each type its reports, then each bit's ones.

    A report is a row of words: the type's number, unless there is one type alone, then the packed
    bits of the items, level by level. A type fixes how many of each level's bits are 1, so a report
    of any other weight is none that the law can send, and is refused.

    Parameters
    ----------
    counts:
        Items in each level, shape ``(t,)``.
    types:
        Ones in each level by type, shape ``(n, t)``.

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

    def __init__(self, counts: NDArray[np.int64], types: NDArray[np.int64]) -> None:
        self._items = int(counts.sum())
        # The adders want rows without gaps, so the type's word is added up with the others.
        self._counters = [BitCounter(64 + self._items) for _ in types]
        self._reports = np.zeros(len(types), dtype=np.int64)
        self._weights = _Weights(counts, types)

    def add(self, rows: Rows) -> None:
        """Check and count some reports."""
        words, first = rows.view("<u8"), int(self._reports.sum())
        if len(self._counters) == 1:
            words = np.hstack([np.zeros((len(words), 1), dtype=words.dtype), words])
        require_inside(words, 64 + self._items, first)
        kinds = self._weights.types_of(words, first)
        order = np.argsort(kinds, kind="stable")
        ends = np.searchsorted(kinds.take(order), np.arange(self._reports.size), side="right")
        self._reports += np.diff(ends, prepend=0)
        for counter, numbers in zip(self._counters, np.split(order, ends[:-1]), strict=True):
            counter.add_some(words, numbers)

    def sums(self) -> Aggregate:
        """What was counted."""
        bits = [counter.counts()[64 : 64 + self._items] for counter in self._counters]
        counts = np.column_stack([self._reports, np.array(bits)])
        return Aggregate(int(self._reports.sum()), counts.ravel())


class _Weights:
    """Compares the ones of each level in packed reports with those of their types.

    The levels' weights are the digits of a number (of several, where levels are many), which a
    matrix product gives. Of levels that share a word, all but the last are counted by their
    lanes; what remains of the word's ones is the last one's.
    """

    __slots__ = ("_high_counts", "_lanes", "_masked", "_right", "_room", "_segments", "_words")

    def __init__(self, item_counts: NDArray[np.int64], high_counts: NDArray[np.int64]) -> None:
        self._high_counts, self._segments = high_counts, Segments.of(item_counts)
        segments, places = self._segments, _places(item_counts.tolist())
        levels = item_counts.size
        level = np.repeat(np.arange(levels), segments.last - segments.first + 1)
        last = np.append(segments.word[1:] != segments.word[:-1], True)  # bits beyond them are 0
        words = np.zeros((levels, int(segments.word[-1]) + 2))
        words[level[last], 1 + segments.word[last]] = 1
        lanes = -words[:, 1 + segments.word[~last]]
        lanes[level[~last], np.arange(lanes.shape[1])] = 1
        exact = np.float32 if item_counts.max() < _EXACT - 64 else np.float64
        self._words, self._lanes = (places @ words).astype(exact), (places @ lanes).astype(exact)
        self._right = (places @ high_counts.T).astype(exact)
        # The type and the lanes are read alike: a column of words, and which of its bits.
        self._masked = [(0, ~np.uint64(0))]
        self._masked += zip(1 + segments.word[~last], segments.mask[~last], strict=True)
        shape = max(1, _CHUNK_WORDS // words.shape[1]), words.shape[1]
        self._room = np.empty(shape, dtype=np.uint8), np.empty(shape, dtype=exact)

    def types_of(self, rows: Words, first: int) -> NDArray[np.unsignedinteger]:
        """The reports' types, all checked; ``first`` is the number of the first, for errors."""
        types, step = len(self._high_counts), len(self._room[0])
        columns = np.empty((len(self._masked), len(rows)), dtype=np.uint64)
        weights = np.empty((len(self._words), len(rows)), dtype=self._words.dtype)
        for start in range(0, len(rows), step):
            some = slice(start, min(start + step, len(rows)))
            part = rows[some]
            ones, numbers = (memory[: len(part)] for memory in self._room)
            np.bitwise_count(part, out=ones)
            np.copyto(numbers, ones)
            np.matmul(self._words, numbers.T, out=weights[:, some])
            for column, (word, mask) in zip(columns, self._masked, strict=True):
                np.bitwise_and(part[:, word], mask, out=column[some])
        if columns[0].max() >= types:
            u = int(np.argmax(columns[0] >= types))
            allowed = f"a type from 0 to {types - 1}"
            remedy = "Read the reports with the mechanism that made them."
            raise InputError(f"reports[{first + u}][0]", int(columns[0, u]), allowed, remedy)
        kinds = columns[0].astype(np.min_scalar_type(types - 1))
        weights += self._lanes @ np.bitwise_count(columns[1:]).astype(weights.dtype)
        wrong = weights != self._right.take(kinds, axis=1)
        if wrong.any():
            u = int(wrong.any(axis=0).argmax())
            raise self._wrong(rows[u], first + u)
        return kinds

    def _wrong(self, report: Words, number: int) -> InputError:
        segments, kind = self._segments, int(report[0])
        ones = np.bitwise_count(report[1 + segments.word] & segments.mask)
        seen = np.add.reduceat(ones, segments.first, dtype=np.int64)
        allowed = f"{self._high_counts[kind].tolist()}, by level, for type {kind}"
        remedy = "The mechanism sends no such report."
        return InputError(f"size of reports[{number}]", seen.tolist(), allowed, remedy)


def _places(item_counts: list[int]) -> NDArray[np.float64]:
    """What a one of each level is worth in each number, such that all that is added is exact."""
    places = np.zeros((len(item_counts), len(item_counts)))
    number, place, most = 0, 1, 0
    for level, items in enumerate(item_counts):
        most += (items + 64) * place  # with what a shared word has of others for a moment
        if most > _EXACT and place > 1:
            number, place, most = number + 1, 1, items + 64
        places[number, level] = place
        place *= items + 1
    return places[: number + 1]
