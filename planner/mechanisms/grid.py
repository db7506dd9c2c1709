"""The grid of probabilities that mechanisms draw on: multiples of 2^-32, rounded outward."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["GRID", "GRID_BITS", "thresholds_above", "thresholds_below"]

GRID_BITS = 32
GRID = 2**GRID_BITS


def thresholds_below(probabilities: ArrayLike) -> NDArray[np.int64]:
    """The largest integers ``k`` with ``k / 2^32 <= probability``."""
    return np.floor(np.asarray(probabilities, dtype=np.float64) * GRID).astype(np.int64)


def thresholds_above(probabilities: ArrayLike) -> NDArray[np.int64]:
    """The smallest integers ``k`` with ``k / 2^32 >= probability``."""
    return np.ceil(np.asarray(probabilities, dtype=np.float64) * GRID).astype(np.int64)
