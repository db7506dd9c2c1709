"""Pricing for one or two wanted numbers and any number of symbols, with proof.

A column ``u`` refutes the ratio ``rho`` if some estimate ``T`` has

    sum_x u_x c_x(T) > 0,    c_x(T) = 2 alpha_x.T - T' H_x T - rho rows_x,

(the best ``T`` for ``u`` gives back the ratio). For a given ``T`` the worst column of a
window is plain to see: the high value where ``c_x(T) > 0``, else the low one. So the search
is over ``T``, a number or a point of the plane, not over ``2^m`` columns. On a box of
points each ``c_x`` lies below its tangent, the sum of the larger ends of linear functions
is convex, and a convex function is largest at a corner: boxes whose corners are not
above 0 are done, the others are divided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from planner.solvers.channel.pricing import Priced, ratios, runs
from planner.solvers.channel.program import Multipliers, Program
from planner.solvers.channel.rays import Window

Array = NDArray[np.float64]
_MOST_BOXES = 400_000
_KEPT = 100
_STEPS = 4
_NEAR = 1.2
_FLOATING = 1e-9  # relative: far above what sums of doubles lose


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """Prices all columns of the windows for at most two numbers in the program.

    Attributes
    ----------
    windows:
        Ends of each symbol's window.
    tolerance:
        Ratios up to ``1 + tolerance`` are proven together, not one by one.
    """

    windows: Sequence[Window]
    tolerance: float

    def start(self, highs: NDArray[np.bool_] | None = None) -> Array:
        """Those given; else one symbol, or all but one, and the ends of the range."""
        m = self.windows[0].low.size
        one = np.eye(m) > 0
        chosen = runs(m, ends=True) if highs is None else highs
        chosen = np.unique(np.vstack([chosen, one, ~one]), axis=0)
        return np.vstack([window.columns(chosen) for window in self.windows])

    def price(self, program: Program, multipliers: Multipliers, most: int) -> Priced:
        """Columns above ``1 + tolerance``, or the proof that there is none."""
        largest, columns = self._search(program, multipliers, 1 + self.tolerance)
        if not len(columns):
            return Priced(largest, columns)
        ratio = ratios(program, multipliers, columns)
        order = np.argsort(-ratio)[:most]
        best = float(ratio[order[0]])
        if best < _NEAR:  # perhaps no other is much above the best one: a bound already
            largest, _ = self._search(program, multipliers, best * (1 + self.tolerance))
        return Priced(largest, columns[order[ratio[order] > 1 + _FLOATING]])

    def _search(
        self, program: Program, multipliers: Multipliers, rho: float
    ) -> tuple[float, Array]:
        points, found = _Points(program, multipliers, rho), []
        for window in self.windows:
            columns = points.search(np.exp(window.low), np.exp(window.high))
            if columns is not None:
                found.append(columns)
        if found:
            return np.inf, np.unique(np.vstack(found), axis=0)
        return rho * (1 + _FLOATING), np.empty((0, points.rows.size))


class _Points:
    """The functions ``c_x`` in coordinates in which the sum of the ``H_x`` is the identity."""

    def __init__(self, program: Program, multipliers: Multipliers, rho: float) -> None:
        shares = program.populations * multipliers.scenarios[:, None]
        forms = np.einsum("kx,kpq->xpq", shares, program.squares)
        turn = np.linalg.inv(np.linalg.cholesky(forms.sum(axis=0)))
        self.forms = turn @ forms @ turn.T
        self.linear = multipliers.alpha @ turn.T
        self.rows = rho * multipliers.rows
        self.size = self.linear.shape[1]
        self.corners = np.array(list(product([-1.0, 1.0], repeat=self.size)))

    def search(self, low: Array, high: Array) -> Array | None:
        """Columns of this window that may be above 0 somewhere; ``None`` if none is."""
        reach = float(high @ np.linalg.norm(self.linear, axis=1))
        extra = float(np.maximum(-low * self.rows, -high * self.rows).sum())
        least = float(low.min())
        # Beyond it the sum is at most extra + 2 reach |T| - least |T|^2 < 0.
        radius = (reach + np.sqrt(reach**2 + least * max(extra, 0.0))) / least * 1.01
        half = radius
        centers = np.zeros((1, self.size))
        seen: list[Array] = []
        while len(centers):
            values = self._at(centers)
            slopes = 2 * (self.linear - np.einsum("xpq,bq->bxp", self.forms, centers))
            reached = np.full(len(centers), -np.inf)
            for corner in self.corners:
                moved = values + half * (slopes @ corner)
                worst = np.maximum(low * moved, high * moved).sum(axis=1)
                reached = np.maximum(reached, worst)
            here = np.maximum(low * values, high * values).sum(axis=1)
            best = np.argsort(-here)[:_KEPT]
            best = best[here[best] > 0]
            if len(best):
                seen.append(self._climb(np.where(values[best] > 0, high, low), low, high))
            centers = centers[reached > 0]
            if (seen and half < radius / 64) or len(centers) * len(self.corners) > _MOST_BOXES:
                break
            half /= 2
            centers = (centers[:, None, :] + half * self.corners).reshape(-1, self.size)
        else:
            return None
        return np.vstack([np.empty((0, low.size)), *seen])

    def _climb(self, columns: Array, low: Array, high: Array) -> Array:
        """Each column's best point, that point's worst column, and so on: never a smaller sum."""
        for _ in range(_STEPS):
            forms = np.einsum("ox,xpq->opq", columns, self.forms)
            points = np.linalg.solve(forms, (columns @ self.linear)[..., None])[..., 0]
            columns = np.unique(np.where(self._at(points) > 0, high, low), axis=0)
        return columns

    def _at(self, points: Array) -> Array:
        quadratic = np.einsum("bp,xpq,bq->bx", points, self.forms, points, optimize=True)
        return 2 * points @ self.linear.T - quadratic - self.rows
