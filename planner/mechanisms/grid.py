"""Probabilities as mechanisms draw them: multiples of 2^-32, rounded outward."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.limits import DENOMINATOR

__all__ = ["thresholds_above", "thresholds_below"]


def thresholds_below(probabilities: ArrayLike) -> NDArray[np.int64]:
    """The largest integers ``k`` with ``k / 2^32 <= probability``."""
    return np.floor(np.asarray(probabilities, dtype=np.float64) * DENOMINATOR).astype(np.int64)


def thresholds_above(probabilities: ArrayLike) -> NDArray[np.int64]:
    """The smallest integers ``k`` with ``k / 2^32 >= probability``."""
    return np.ceil(np.asarray(probabilities, dtype=np.float64) * DENOMINATOR).astype(np.int64)
