"""Binomial probabilities up to 10^7 trials, with a known bound on their rounding.

Probabilities are products of exact ratios from the mode, at most 1.3e5 steps of 6
roundings, so any sum of them errs by less than ``ROUNDING`` of itself.
"""

from __future__ import annotations

from functools import lru_cache
from math import sqrt

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
ROUNDING = 1e-10


@lru_cache(maxsize=32)
def binomial_window(size: int, chance: float) -> tuple[int, Array]:
    """First outcome and probabilities of every outcome that a float can weigh.

    ``size`` is the number of trials, 0 to 10^7; ``chance`` lies inside (0, 1).
    Bernstein's inequality leaves less than 2 e^-710 < 1e-307 outside the window.
    """
    half = int(710 / 3 + sqrt((710 / 3) ** 2 + 2 * 710 * size * chance * (1 - chance))) + 2
    mode = min(size, int((size + 1) * chance))
    first, last = max(0, mode - half), min(size, mode + half)
    odds = chance / (1 - chance)
    above = np.arange(mode + 1, last + 1)
    below = np.arange(mode, first, -1)
    weights = np.concatenate(
        [
            np.cumprod(below / (size - below + 1) / odds)[::-1],
            [1.0],
            np.cumprod((size - above + 1) / above * odds),
        ]
    )
    pmf = weights / weights.sum()
    pmf.setflags(write=False)
    return first, pmf


def upper_tail(size: int, chance: float, start: NDArray[np.int64]) -> Array:
    """``Pr[Binomial >= start]``."""
    first, pmf = binomial_window(size, chance)
    tails = np.append(np.cumsum(pmf[::-1])[::-1], 0.0)
    return tails[np.clip(start - first, 0, pmf.size)]


def lower_tail(size: int, chance: float, stop: NDArray[np.int64]) -> Array:
    """``Pr[Binomial <= stop]``."""
    first, pmf = binomial_window(size, chance)
    tails = np.concatenate([[0.0], np.cumsum(pmf)])
    return tails[np.clip(stop - first + 1, 0, pmf.size)]


def raised(value: float, used: float | None = None) -> float:
    """``value`` plus the rounding errors of everything that went into it, at most 1.

    ``used`` is the sum of all terms before they cancelled, ``value`` itself if nothing did.
    """
    below_floats = 1e-300  # outside the window, or too small for full precision
    return min(1.0, value + 2 * ROUNDING * (value if used is None else used) + below_floats)
