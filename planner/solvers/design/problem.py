"""The convex program of a subset design in normalised numbers: what its parts share.

Items are counted in shares of all ``M`` items, and errors per item, so that every number
stays near 1 for ten items and for a million. In these numbers a type ``u`` is a *column*:
``mean`` (its levels' mean likelihoods) and ``spread`` (``(high - low)^2 x (1 - x)`` with
``x = k / m``), and multipliers ``c, S, lam, pi`` prove a bound if, for every type,

    sum_i omega_i c_i^2 f_i spread_i + |Omega^(1/2) S F^(1/2) mean|^2 <= (lam.mean) (pi.mean),

where ``f_i = m_i / M`` are the shares of the items (docs/theory/designs.md, the dual). Where
guesses are limited, ``lam.mean + mu guess`` stands for ``lam.mean``, with the success that the
type adds to the best guess, over what is allowed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.solvers.rays import Windows

GUESS_ROOM = 1e-7
"""Share of a limit on guesses that designs leave for rounding; no bound counts on it."""

_LEAST_WEIGHT = 1e-6  # of the largest

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


class Columns(NamedTuple):
    """Types: the window of each, shape ``(n,)``, and its high items, shape ``(n, t)``."""

    window: NDArray[np.int64]
    high_counts: Counts

    def joined(self, other: Columns) -> Columns:
        """Both, each type once."""
        both = [np.column_stack([part.window, part.high_counts]) for part in (self, other)]
        rows = np.vstack(both)
        rows = rows[np.lexsort(rows.T[::-1])]  # several times as fast as np.unique
        first = np.ones(len(rows), dtype=np.bool_)
        first[1:] = (rows[1:] != rows[:-1]).any(axis=1)
        return Columns(rows[first, 0], rows[first, 1:])

    def chosen(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> Columns:
        """Some of them."""
        return Columns(self.window[which], self.high_counts[which])


class Multipliers(NamedTuple):
    """Values of the dual program, in normalised numbers.

    ``contrasts`` ``c``, shape ``(t,)``, 0 for one-item levels; ``means`` ``S``, symmetric
    ``(t, t)``; ``slack`` ``lam`` and ``prior`` ``pi``, by level, shape ``(t,)``; ``guess`` ``mu``,
    at least 0.
    """

    contrasts: Array
    means: Array
    slack: Array
    prior: Array
    guess: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class DesignProblem:
    """Levels, windows and weights of one component; ``prior`` is ``None`` for the worst case.

    ``most_guessed`` is the largest success of the best guess, all items alike before.
    """

    item_counts: Counts
    windows: Windows  # logarithms
    weights: Array
    prior: Array | None = None
    most_guessed: float | None = None

    @property
    def size(self) -> int:
        """Number of levels."""
        return self.item_counts.size

    @property
    def items(self) -> int:
        """Number of items, ``M``."""
        return int(self.item_counts.sum())

    @property
    def shares(self) -> Array:
        """``f_i``, shape ``(t,)``."""
        return self.item_counts / self.items

    @property
    def weights_above_zero(self) -> Array:
        """The weights, none quite 0: a design estimates every count, also those no one minds."""
        return np.maximum(self.weights, _LEAST_WEIGHT * self.weights.max())

    def sides(self, columns: Columns) -> tuple[Array, Array]:
        """Likelihoods ``low`` and ``high`` of types, the smallest one present scaled to 1."""
        low, high = (part[columns.window] for part in self.windows)
        lowest = np.where(columns.high_counts < self.item_counts, low, high).min(axis=1)
        return np.exp(low - lowest[:, None]), np.exp(high - lowest[:, None])

    def columns(self, columns: Columns) -> tuple[Array, Array, Array]:
        """``mean``, ``spread`` and ``scale`` of types, shapes ``(n, t), (n, t), (n,)``.

        A type is scaled so that its mean over all items is 1; ``scale`` is that mean before.
        """
        low, high = self.sides(columns)
        x = columns.high_counts / self.item_counts
        mean = low + (high - low) * x
        scale = mean @ self.shares
        spread = np.square((high - low) / scale[:, None])
        spread *= x * ((self.item_counts - columns.high_counts) / self.item_counts)
        return mean / scale[:, None], spread, scale

    @property
    def guess_of_one(self) -> float:
        """Success over what is allowed of a type whose largest likelihood is 1; 0 if all is."""
        if self.most_guessed is None:
            return 0.0
        return 1 / (self.items * self.most_guessed * (1 - GUESS_ROOM))

    def guesses(self, columns: Columns) -> Array:
        """Success that types of mean 1 add, over what is allowed: sums that must be 1.

        Shape ``(n, 1)``, or ``(n, 0)`` without a limit. A type counts with its window's largest
        likelihood, which is its own in all types that are needed.
        """
        if self.most_guessed is None:
            return np.zeros((len(columns.window), 0))
        low, high = (part[columns.window] for part in self.windows)
        lowest = np.where(columns.high_counts < self.item_counts, low, high).min(axis=1)
        top = np.exp(high.max(axis=1) - lowest) / self.columns(columns)[2]
        return self.guess_of_one * top[:, None]
