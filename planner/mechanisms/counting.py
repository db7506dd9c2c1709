"""Count reports: from the bytes of many reports to partial sums that add up in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.packed import BitCounter, check_reports
from planner.mechanisms.typed_counts import TypedCounter

Rows = NDArray[np.uint8]
"""Reports as bytes, shape ``(n, report size)``."""


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
        self._counter.add(check_reports(rows.view("<u8"), self._bits))
        self._users += len(rows)

    def sums(self) -> Aggregate:
        """What was counted."""
        return Aggregate(self._users, self._counter.counts())


class SidesCounter:
    """Reports of types and sides: for each type its reports, then each bit's ones."""

    def __init__(self, counts: NDArray[np.int64], types: NDArray[np.int64]) -> None:
        self._counter, self._types, self._users = TypedCounter(counts, types), len(types), 0

    def add(self, rows: Rows) -> None:
        """Count some reports; of one type alone they do not say it."""
        words = rows.view("<u8")
        if self._types == 1:
            words = np.hstack([np.zeros((len(words), 1), dtype=words.dtype), words])
        self._counter.add(words)
        self._users += len(rows)

    def sums(self) -> Aggregate:
        """What was counted."""
        return Aggregate(self._users, self._counter.counts().ravel())
