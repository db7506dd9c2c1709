"""Reports of a subset design, a type and one bit an item: checked, and counted type by type.

A report is a row of uint64: first the type's number, then the packed bits of the items, level by
level. A type fixes how many of each level's bits are 1, so a report of any other weight is none
that the mechanism can send, and is refused.
"""

from __future__ import annotations

from itertools import accumulate, combinations, product
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError
from planner.mechanisms.fixed_weight import Segments
from planner.mechanisms.packed import BitCounter, check_reports, words_for

__all__ = ["TypedCounter", "list_reports"]

Words = NDArray[np.uint64]
_CHUNK_WORDS = 2**14  # of one type at a time: in the cache, and as much as is added up at once
_MAX_LISTED, _MAX_LISTED_ITEMS = 2**16, 48


class TypedCounter:
    """Counts, for every type, its reports and how many of them set each bit.

    Parameters
    ----------
    item_counts:
        Items in each level, shape ``(t,)``.
    high_counts:
        Ones in each level by type, shape ``(n, t)``.

    Examples
    --------
    >>> counter = TypedCounter(np.array([3]), np.array([[1], [0]]))
    >>> counter.add(np.array([[0, 0b100], [1, 0], [0, 0b001]], dtype=np.uint64))
    >>> counter.counts().tolist()  # reports of the type, then each item's ones
    [[2, 1, 0, 1], [1, 0, 0, 0]]
    >>> counter.add(np.array([[0, 0b110]], dtype=np.uint64))
    Traceback (most recent call last):
    ...
    planner.errors.InputError: size of reports[0] is [2] but must be [1], by level, for type 0. ...
    """

    __slots__ = ("_counters", "_high_counts", "_items", "_reports", "_weights", "_width")

    def __init__(self, item_counts: NDArray[np.int64], high_counts: NDArray[np.int64]) -> None:
        self._items = int(item_counts.sum())
        self._high_counts = high_counts[:, :, None].astype(np.float32)  # as the weights are
        self._width = 1 + words_for(self._items)
        # The adders want rows without gaps, so the type's word is added up with the others.
        self._counters = [BitCounter(64 * self._width) for _ in high_counts]
        self._reports = np.zeros(len(high_counts), dtype=np.int64)
        self._weights = _Weights(Segments.of(item_counts))

    def add(self, reports: Words, first: int = 0) -> None:
        """Check and count at least one report, uint64, shape ``(n, 1 + words)``.

        ``first`` is the number of the first one, for errors.

        Raises
        ------
        InputError
            Reports of the wrong shape, or one that the mechanism cannot send.
        """
        rows = check_reports(reports, self._items + 64)
        kinds = rows[:, 0].copy()  # side by side: they are read more than once
        for u in np.flatnonzero(kinds >= self._reports.size)[:1]:
            allowed = f"a type from 0 to {self._reports.size - 1}"
            remedy = "Read the reports with the mechanism that made them."
            raise InputError(f"reports[{first + u}][0]", int(kinds[u]), allowed, remedy)
        small = kinds.astype(np.uint16) if self._reports.size <= 2**16 else kinds
        order = np.argsort(small, kind="stable")
        sizes = np.bincount(small, minlength=self._reports.size)
        self._reports += sizes
        ends = np.cumsum(sizes).tolist()
        chunk = max(1, _CHUNK_WORDS // self._width)
        for kind, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
            for low in range(start, end, chunk):
                self._add(rows, order[low : min(low + chunk, end)], kind, first)

    def counts(self) -> NDArray[np.int64]:
        """By type: its reports, then how many of them set each bit; shape ``(n, 1 + items)``."""
        bits = [counter.counts()[64 : 64 + self._items] for counter in self._counters]
        return np.column_stack([self._reports, np.array(bits)])

    def _add(self, rows: Words, numbers: NDArray[np.int64], kind: int, first: int) -> None:
        """Reports of one type, by their numbers: each type is added up alone."""
        part = rows.take(numbers, axis=0)
        weights, right = self._weights.of(part), self._high_counts[kind]
        wrong = weights != right
        if np.count_nonzero(wrong):
            u = int(wrong.any(axis=0).argmax())
            name = f"size of reports[{first + numbers[u]}]"
            allowed = f"{right[:, 0].astype(int).tolist()}, by level, for type {kind}"
            seen = weights[:, u].astype(int).tolist()
            raise InputError(name, seen, allowed, "The mechanism sends no such report.")
        self._counters[kind].add(part)


def list_reports(
    item_counts: NDArray[np.int64], high_counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Words]:
    """All reports, type by type: their types, and their bits as a number, for small domains.

    Raises
    ------
    InputError
        There are more than 2^16.

    Examples
    --------
    >>> kinds, bits = list_reports(np.array([3]), np.array([[1], [0]]))
    >>> kinds.tolist(), bits.tolist()
    ([0, 0, 0, 1], [1, 2, 4, 0])
    """
    counts, rows = item_counts.tolist(), high_counts.tolist()
    ends = list(accumulate(counts))
    sizes = [prod(map(comb, counts, row)) for row in rows]
    if ends[-1] > _MAX_LISTED_ITEMS or sum(sizes) > _MAX_LISTED:
        allowed = f"small enough to list all reports ({_MAX_LISTED} at most)"
        raise InputError("items", ends[-1], allowed, "List the reports of a smaller example.")
    bits = []
    for row in rows:
        levels = zip(ends, counts, row, strict=True)
        splits = [list(combinations(range(end - m, end), k)) for end, m, k in levels]
        bits += [sum(1 << item for part in parts for item in part) for parts in product(*splits)]
    return np.repeat(np.arange(len(rows)), sizes), np.array(bits, dtype=np.uint64)


class _Weights:
    """Ones of each level in packed reports, by one matrix product.

    Of levels that share a word, all but the last are counted by their lanes; what remains of the
    word's ones is the last one's.
    """

    __slots__ = ("_lanes", "_mask", "_word", "_words")

    def __init__(self, segments: Segments) -> None:
        levels = segments.first.size
        level = np.repeat(np.arange(levels), segments.last - segments.first + 1)
        last = np.append(segments.word[1:] != segments.word[:-1], True)  # bits beyond them are 0
        self._words = np.zeros((levels, int(segments.word[-1]) + 2), dtype=np.float32)
        self._words[level[last], 1 + segments.word[last]] = 1
        self._word, self._mask = 1 + segments.word[~last], segments.mask[~last]
        self._lanes = -self._words[:, self._word]
        self._lanes[level[~last], np.arange(self._word.size)] = 1

    def of(self, rows: Words) -> NDArray[np.float32]:
        """Shape ``(t, n)``; whole numbers below 2^24, which such floats hold exactly."""
        weights = self._words @ np.bitwise_count(rows).T.astype(np.float32)
        if self._word.size:
            lanes = np.bitwise_count(rows.T[self._word] & self._mask[:, None])
            weights += self._lanes @ lanes.astype(np.float32)
        return weights
