"""Absolute errors of normal estimates."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erf

__all__ = ["mean_absolute"]


def mean_absolute(bias: ArrayLike, deviation: ArrayLike) -> NDArray[np.float64]:
    """``E |X|`` for ``X ~ N(bias, deviation^2)`` (the folded normal distribution)."""
    mu = np.asarray(bias, dtype=np.float64)
    sd = np.asarray(deviation, dtype=np.float64)
    return sd * sqrt(2 / pi) * np.exp(-((mu / sd) ** 2) / 2) + mu * erf(
        mu / sd / sqrt(2)
    )
