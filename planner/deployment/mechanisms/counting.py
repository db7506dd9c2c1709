"""Count reports: from the bytes of many reports to mergeable partial sums.

The sums are all that a collector keeps of a file; those of one question add up, in any order, so
that files can be counted anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.packed import BitCounter, check_reports

Rows = NDArray[np.uint8]
Words = NDArray[np.uint64]


class Counter(Protocol):
    """Counts batches of reports of one question and round."""

    def add(self, rows: Rows) -> None:
        """Count at least one report, uint8, shape ``(n, report size)``.

        Raises
        ------
        InputError
            A report that the mechanism cannot produce.
        """

    def sums(self) -> Aggregate:
        """Number of reports, and for how many each cell counts: a bit, an item, an output."""


class SumTally:
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


class CellTally(SumTally):
    """Reports that are a number below ``cells``, of one unsigned type.

    Examples
    --------
    >>> counter = CellTally(4, "u1")
    >>> counter.add(np.array([[3], [3], [0]], dtype=np.uint8))
    >>> counter.sums().counts.tolist()
    [1, 0, 0, 2]
    """

    def __init__(self, cells: int, dtype: str) -> None:
        super().__init__(cells, self._named)
        self._dtype = dtype

    def _named(self, rows: Rows) -> NDArray[np.int64]:
        cells = rows.view(self._dtype).ravel()
        for u in np.flatnonzero(cells >= self._counts.size)[:1]:
            allowed = f"from 0 to {self._counts.size - 1}"
            remedy = "Leave the damaged report out."
            raise InputError(f"report {u}", int(cells[u]), allowed, remedy)
        return np.bincount(cells, minlength=self._counts.size)


class BitTally:
    """Reports of packed bits; ``check`` may refuse a batch of words, shape ``(n, words)``."""

    def __init__(self, bits: int, *, check: Callable[[Words], Any] | None = None) -> None:
        self._bits, self._counter, self._check = bits, BitCounter(bits), check
        self._users = 0

    def add(self, rows: Rows) -> None:
        """Count some reports."""
        words = check_reports(rows.view("<u8"), self._bits)
        if self._check is not None:
            self._check(words)
        self._counter.add(words)
        self._users += len(rows)

    def sums(self) -> Aggregate:
        """What was counted."""
        return Aggregate(self._users, self._counter.counts())
