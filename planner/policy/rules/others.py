"""Extremes over all levels, or over all others where a level is not compared with itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def smallest_other(values: Array, own: NDArray[np.bool_]) -> Array:
    """Per level the smallest value of all levels; its own counts only where ``own`` says so.

    Examples
    --------
    >>> smallest_other(np.array([1.0, 2.0, 3.0]), np.array([False, False, True])).tolist()
    [2.0, 1.0, 1.0]
    """
    result = np.full(values.size, values.min())
    first = int(np.argmin(values))
    if not own[first]:
        result[first] = np.min(np.delete(values, first), initial=np.inf)
    return result


def largest_other(values: Array, own: NDArray[np.bool_]) -> Array:
    """The largest one likewise."""
    return -smallest_other(-values, own)
