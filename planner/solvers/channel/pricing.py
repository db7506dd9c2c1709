"""How far multipliers are from proving a bound: the largest ratio over all extreme rays.

For multipliers ``(alpha, rows, scenarios)`` the ratio of a column ``u`` is

    rho(u) = (alpha' u)' H(u)^-1 (alpha' u) / (rows.u),    H(u) = sum_s scenarios_s (pi_s.u) G_s

and if it is at most ``rho`` on all rays, ``(tr W alpha)^2 / (rho sum rows) - offsets .
scenarios`` is a lower bound for every mechanism. A largest ratio overestimated makes the
bound weaker, never wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from planner.solvers.channel.program import Multipliers, Program
from planner.solvers.channel.rays import Window, bits

Array = NDArray[np.float64]

MOST_ENUMERATED = 16  # symbols: 65,536 columns a window, round after round
MOST_LISTED = 24  # symbols: 16,777,216 columns a window, once
_FEW = 5  # symbols
_AT_ONCE = 2**20  # columns
_ROUNDING = 2.0**-53


class Priced(NamedTuple):
    """An upper bound of the largest ratio, and columns of large ratio, the largest first."""

    largest: float
    columns: Array


class Pricing(Protocol):
    """Finds the columns that refute multipliers, and bounds what it did not find."""

    def start(self, highs: NDArray[np.bool_] | None = None) -> Array:
        """Columns to begin with, shape ``(N, m)``; ``highs`` had high values in a like case."""

    def price(self, program: Program, multipliers: Multipliers, most: int) -> Priced:
        """The largest ratio over all rays, and up to ``most`` columns above 1."""


@dataclass(frozen=True, slots=True, eq=False)
class RayList:
    """Prices a complete list of rays."""

    rays: Array

    def start(self, highs: NDArray[np.bool_] | None = None) -> Array:  # noqa: ARG002
        """All rays: a matrix of pair budgets is for few symbols."""
        return self.rays

    def price(self, program: Program, multipliers: Multipliers, most: int) -> Priced:
        """Exact, up to rounding that is charged."""
        found = ratios(program, multipliers, self.rays)
        return _best(found, self.rays, most)


@dataclass(frozen=True, slots=True, eq=False)
class Enumeration:
    """Prices every end of every symbol's window: ``2^m`` columns a window."""

    windows: Sequence[Window]

    def start(self, highs: NDArray[np.bool_] | None = None) -> Array:
        """Those given; else all if they are few, or those whose high symbols are neighbours."""
        m = self.windows[0].low.size
        if highs is not None:
            one = np.eye(m) > 0
            chosen = np.unique(np.vstack([highs, one, ~one]), axis=0)
        else:
            chosen = bits(m)[1:-1] > 0 if m <= _FEW else runs(m)
        return np.vstack([window.columns(chosen) for window in self.windows])

    def price(self, program: Program, multipliers: Multipliers, most: int) -> Priced:
        """Exact, up to rounding that is charged."""
        if program.common:
            parts = [_halves(program, multipliers, window, most) for window in self.windows]
        else:
            highs = bits(self.windows[0].low.size) > 0
            listed = [window.columns(highs) for window in self.windows]
            parts = [_best(ratios(program, multipliers, one), one, most) for one in listed]
        largest = max(part.largest for part in parts)
        columns = np.vstack([part.columns for part in parts])
        return Priced(largest, columns[np.argsort(-ratios(program, multipliers, columns))[:most]])


def _halves(program: Program, multipliers: Multipliers, window: Window, most: int) -> Priced:
    """The same for one form, from sums over half the symbols each: ``a + b`` for all ``a, b``."""
    m = window.low.size
    mixed = multipliers.scenarios @ program.populations
    slack = 4 * m * _ROUNDING
    most_moved = np.linalg.norm(np.exp(window.high) @ np.abs(multipliers.alpha))
    doubt = 4 * slack * most_moved**2  # of a square of norm, by its absolute size
    uncharged = slack * (np.exp(window.high) @ np.abs(multipliers.rows))
    highs = [bits(part) > 0 for part in (m // 2, m - m // 2)]
    places = slice(m // 2), slice(m // 2, m)
    sums = []
    for chosen, place in zip(highs, places, strict=True):
        columns = Window(window.low[place], window.high[place]).columns(chosen)
        moved = columns @ multipliers.alpha[place]
        square = np.sum(moved**2, axis=1)
        sums.append((moved, square, columns @ multipliers.rows[place], columns @ mixed[place]))
    (moved, square, charge, share), other = sums
    largest, found = 0.0, []
    rows = max(1, _AT_ONCE // len(highs[1]))
    for first in range(0, len(moved), rows):
        part = slice(first, first + rows)
        squares = 2 * moved[part] @ other[0].T
        squares += (square[part] + doubt)[:, None] + other[1]
        below = (charge[part, None] - uncharged) + other[2]
        below *= (share[part, None] + other[3]) * (1 - slack)
        ratio = np.divide(squares, below, out=np.full(below.shape, np.inf), where=below > 0)
        largest = max(largest, float(ratio.max()))
        above = np.flatnonzero(ratio > 1 + 1e-12)
        if above.size > most:
            above = above[np.argpartition(-ratio.flat[above], most - 1)[:most]]
        i, j = np.unravel_index(above, ratio.shape)
        found.append(np.hstack([highs[0][first + i], highs[1][j]]))
    columns = window.columns(np.vstack(found))
    return Priced(largest, _best(ratios(program, multipliers, columns), columns, most).columns)


def ratios(program: Program, multipliers: Multipliers, columns: Array) -> Array:
    """Upper ends of the columns' ratios, rounding charged; ``inf`` where none can be had."""
    slack = 4 * columns.shape[1] * _ROUNDING  # of a sum of m products, by its absolute size
    moved = columns @ multipliers.alpha
    doubt = slack * np.linalg.norm(np.abs(columns) @ np.abs(multipliers.alpha), axis=1)
    if program.common:
        size = columns @ (multipliers.scenarios @ program.populations) * (1 - slack)
        squares = np.square(np.linalg.norm(moved, axis=1) * (1 + slack) + doubt)
        squares = np.divide(squares, size, out=np.full(size.shape, np.inf), where=size > 0)
    else:
        values, vectors = np.linalg.eigh(program.weights(multipliers, columns))
        values -= slack * values[:, -1:]
        turned = np.abs(np.einsum("opq,op->oq", vectors, moved)) + doubt[:, None]
        positive = values > 0
        parts = np.divide(turned**2, values, out=np.full(values.shape, np.inf), where=positive)
        squares = parts.sum(axis=1)
    charge = columns @ multipliers.rows - slack * (columns @ np.abs(multipliers.rows))
    return np.divide(squares, charge, out=np.full(charge.shape, np.inf), where=charge > 0)


def lower_bound(program: Program, multipliers: Multipliers, largest: float) -> float:
    """The error that no mechanism beats, in the question's unit, given the largest ratio.

    ``-inf`` if the multipliers prove nothing.
    """
    slack = 8 * program.wanted.size * _ROUNDING
    products = program.wanted * multipliers.alpha.T
    reach = float(products.sum() - slack * np.abs(products).sum())
    total = float(multipliers.rows.sum() + slack * np.abs(multipliers.rows).sum())
    weight = float(multipliers.scenarios[~program.capped].sum())
    if not (reach > 0 and total > 0 and 0 < largest < np.inf and weight > 0):
        return -np.inf
    # Weights that do not sum to 1 are brought there: all three groups scale together.
    square = reach * reach / (largest * total)
    taken = float(program.offsets @ multipliers.scenarios)
    size = square + float(np.abs(program.offsets) @ multipliers.scenarios)
    return float((square - taken - slack * size) / weight) * program.unit


def _best(found: Array, columns: Array, most: int) -> Priced:
    if not found.size:
        return Priced(0.0, columns)
    largest = float(found.max())
    count = min(most, found.size)
    order = np.argpartition(-found, count - 1)[:count]
    order = order[np.argsort(-found[order])]
    order = order[found[order] > 1 + 1e-12]
    return Priced(largest, columns[order])


def runs(m: int, *, ends: bool = False) -> NDArray[np.bool_]:
    """All runs of neighbours, and their complements; only those that reach an end if asked."""
    place = np.arange(m)
    first = range(1) if ends else range(m)
    rows = [(place >= i) & (place < j) for i in first for j in range(i + 1, m + 1)]
    chosen = np.array([row for row in rows if 0 < row.sum() < m])
    return np.unique(np.vstack([chosen, ~chosen]), axis=0)
