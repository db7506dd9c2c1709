"""Signs of poisoned reports: counts that honest reports would not show, whatever the answers.

Every test bounds the chance of an alarm for a file of honest reports by :data:`ALPHA`, whatever
people answered. Given the answers, reports are independent, each cell of the counts has a
probability between two known ones, and Bernstein's inequality bounds how far a sum of ``n``
independent draws with variance ``V`` in all strays from its mean:

    Pr[S - E S >= t] <= exp(-t^2 / (2 V + 2 t / 3))

No sign is no proof of honesty: reports that imitate the law pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from planner.mechanisms.aggregate import Aggregate

ALPHA = 1e-6
"""Largest chance that a file of honest reports of one question and round raises a sign."""
_SHOWN = 3
_BLOCK_CELLS = 2**18
Array = NDArray[np.float64]


def bernstein_reach(variance: Array | float, alpha: float) -> Array:
    """How far a sum strays from its mean to one side with probability ``alpha`` at most.

    Examples
    --------
    >>> round(float(bernstein_reach(250_000.0, 1e-6)), 1)  # normal: 2376.7
    2632.9
    """
    size = log(1 / alpha)
    return np.asarray(size / 3 + np.sqrt(size * size / 9 + 2 * size * np.asarray(variance)))


def cell_signs(
    aggregate: Aggregate, low: Array, high: Array, names: Sequence[str], alpha: float
) -> list[str]:
    """Cells whose counts no honest reports would have, in sentences.

    Parameters
    ----------
    aggregate:
        The counts.
    low, high:
        Smallest and largest probability, over all answers, that a report counts for a cell.
    names:
        One per cell.
    alpha:
        Largest chance of an alarm, all cells together.
    """
    n, counts = aggregate.users, aggregate.counts
    strange, shown = 0, {}
    for start in range(0, counts.size, _BLOCK_CELLS):  # there may be millions
        part = slice(start, start + _BLOCK_CELLS)
        least, most = _range(n, low[part], high[part], alpha / (2 * counts.size))
        places = np.flatnonzero((counts[part] < least) | (counts[part] > most))
        for k in places[: max(0, _SHOWN - strange)].tolist():
            shown[start + k] = max(0, least[k]), min(n, most[k])
        strange += places.size
    signs = [
        f"{names[k]!r} has {counts[k]:,} of {n:,} reports; honest ones have "
        f"{least:,.0f} to {most:,.0f}"
        for k, (least, most) in shown.items()
    ]
    if strange > _SHOWN:
        signs.append(f"{strange - _SHOWN:,} more counts are out of range")
    return signs


def _range(n: int, low: Array, high: Array, alpha: float) -> tuple[Array, Array]:
    """Counts that a report fewer or more has with probability ``alpha`` at most, by cell."""
    half = (low < 0.5) & (high > 0.5)
    each = np.where(half, 0.25, np.maximum(low * (1 - low), high * (1 - high)))
    reach = bernstein_reach(n * each, alpha)
    return n * low - reach, n * high + reach
