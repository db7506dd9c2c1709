"""The extreme rays of the cone of allowed output columns, for any pair rule.

A column ``v(x) = Pr[y | x]`` keeps the pairs if ``v(x) <= exp(r(x, x')) v(x')``. In an
extreme ray the pairs that hold with equality connect all symbols. The rules "min" and
"avg" put every log value at an end of its window (a box of ends, given here in full).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from planner.policy.policy import PrivacyPolicy

Array = NDArray[np.float64]

INWARD = 1 - 2.0**-46  # of a budget: no rounding of a logarithm carries a pair past it


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Least and largest log value of each symbol in one kind of output, shape ``(m,)``."""

    low: Array
    high: Array

    def columns(self, highs: NDArray[np.bool_]) -> Array:
        """The columns in which these symbols have their larger value, shape ``(k, m)``."""
        return np.where(highs, np.exp(self.high), np.exp(self.low))


def windows(policy: PrivacyPolicy) -> tuple[Window, ...]:
    """All windows of the rules "min" and "avg": any end of each symbol's is allowed.

    Rule "min": with ``E`` the range of a ray's log values, ``[max(0, E - eps), min(E,
    eps)]``; only ``E`` among the budgets up to ``2 min eps``, and that itself, can be the
    range of an extreme ray. Rule "avg": ``[-eps/2, eps/2]``.

    Examples
    --------
    >>> [w.high.round(6).tolist() for w in windows(PrivacyPolicy([1.0, 1.5, 3.0], [1, 1, 1]))]
    [[1.0, 1.0, 1.0], [1.0, 1.5, 1.5], [1.0, 1.5, 2.0]]
    """
    ends = policy.rule.windows(policy.epsilons * INWARD)
    return tuple(Window(low, high) for low, high in ends or ())


@lru_cache(maxsize=8)
def bits(m: int) -> Array:
    """All subsets of ``m`` symbols as rows of zeros and ones, shape ``(2^m, m)``."""
    rows: Array = ((np.arange(2**m)[:, None] >> np.arange(m)) & 1).astype(np.float64)
    rows.setflags(write=False)
    return rows
