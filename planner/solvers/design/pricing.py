"""Pricing: the types that the multipliers do not yet cover, and a proof that there are no others.

For one window ``mean = low + gap x`` is affine in the shares ``x_i = k_i / m_i`` of high
items, so that, with ``num`` the left and ``den`` the right side of a type's cone,

    f_rho(x) = num(x) - rho den(x)      den(x) = (lam.mean + mu guess) (pi.mean)

is a quadratic over a box, whose Hessian does not depend on ``x``. ``num / den <= rho`` for
every type exactly when ``f_rho <= 0`` for all whole ``k``. :func:`improve` climbs to types
with a large ratio; :func:`largest_ratio` bounds the ratio by branch and bound.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from planner.solvers.design.branching import ROUNDING, Bounded, Boxes, RatioBound, largest_ratio
from planner.solvers.design.problem import Columns, DesignProblem, Multipliers
from planner.solvers.rays import Windows

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

_SWEEPS = 12
_MOST_SWEEPS = 60
_SETTLED = 1e-3  # of a box's sides: more digits are not worth a sweep


class Pricer:
    """The ratio ``num / den`` of all types of a problem, for given multipliers."""

    most_boxes: ClassVar[int] = 4096
    few: ClassVar[int] = 512

    def __init__(self, problem: DesignProblem, multipliers: Multipliers) -> None:
        self.problem = problem
        self.low, self.high = outwards(problem.windows)
        self.gap = self.high - self.low
        omega, f = problem.weights, problem.shares
        half = np.sqrt(omega)[:, None] * multipliers.means * np.sqrt(f)
        self.square = half.T @ half  # P: num's part in the means
        self.slack, self.prior = multipliers.slack, multipliers.prior
        self.guess = multipliers.guess * problem.guess_of_one  # each window's largest value is 1
        self.curve = omega * np.square(multipliers.contrasts) * f * np.square(self.gap)
        self.m = problem.item_counts

    # -- exact values --------------------------------------------------------

    def parts(self, types: Columns) -> tuple[Array, Array]:
        """``num`` and ``den`` of types, rounded against the claim: never too small, too large."""
        w, k = types.window, types.high_counts
        x = k / self.m
        mean = self.low[w] + self.gap[w] * x
        spread = self.curve[w] * x * ((self.m - k) / self.m)
        size = np.einsum("ni,ij,nj->n", mean, np.abs(self.square), mean)
        num = spread.sum(axis=1) + np.einsum("ni,ij,nj->n", mean, self.square, mean)
        num += ROUNDING * (spread.sum(axis=1) + size)
        slack = mean @ self.slack + self.guess
        slack -= ROUNDING * (mean @ np.abs(self.slack) + self.guess)
        return num, slack * (mean @ self.prior) * (1 - ROUNDING)

    def ratios(self, types: Columns) -> Array:
        """``num / den``; infinite where ``den`` is not above 0."""
        num, den = self.parts(types)
        return np.divide(num, den, out=np.full(num.shape, np.inf), where=den > 0)

    # -- the quadratic --------------------------------------------------------

    def hessian(self, window: NDArray[np.int64], rho: float) -> Array:
        """Second derivatives of ``f_rho`` in ``x``, shape ``(n, t, t)``."""
        gap = self.gap[window]
        hessian = gap[:, :, None] * self._core(rho) * gap[:, None, :]
        place = np.arange(self.m.size)
        hessian[:, place, place] -= 2 * self.curve[window]
        return hessian

    def _core(self, rho: float) -> Array:
        """Second derivatives in the means."""
        both = np.outer(self.slack, self.prior)
        return 2 * self.square - rho * (both + both.T)

    def value_and_slope(
        self, window: NDArray[np.int64], x: Array, rho: float
    ) -> tuple[Array, Array]:
        """``f_rho`` and its gradient in ``x``, shapes ``(n,)`` and ``(n, t)``."""
        mean = self.low[window] + self.gap[window] * x
        curve = self.curve[window]
        half = mean @ self.square
        slack, prior = mean @ self.slack + self.guess, mean @ self.prior
        value = (curve * x * (1 - x)).sum(axis=1) + (half * mean).sum(axis=1) - rho * slack * prior
        pull = 2 * half - rho * (slack[:, None] * self.prior + prior[:, None] * self.slack)
        return value, curve * (1 - 2 * x) + self.gap[window] * pull

    # -- climbing -------------------------------------------------------------

    def improve(self, types: Columns, rho: float) -> Columns:
        """Climb from types to larger ``f_rho``, one level's count at a time, to whole counts."""
        w, k, m = types.window, types.high_counts.copy(), self.m
        core, gap, curve = self._core(rho), self.gap[w], self.curve[w]
        bends = np.square(gap) * np.diag(core) - 2 * curve
        pull = (self.low[w] + gap * (k / m)) @ core - rho * self.guess * self.prior
        rows = np.arange(len(k))
        for _ in range(_SWEEPS):
            still = True
            for i in range(m.size):
                bend = bends[:, i]
                slope = curve[:, i] * (1 - 2 * k[:, i] / m[i]) + gap[:, i] * pull[:, i]
                tries = _promising(k[:, i], int(m[i]), slope, bend)
                step = (tries - k[:, i]) / m[i]
                best = (step * (slope + 0.5 * bend * step)).argmax(axis=0)
                moved = step[best, rows]
                if moved.any():
                    still = False
                    k[:, i] = tries[best, rows]
                    pull += (gap[:, i] * moved)[:, None] * core[i]
            if still:
                break
        return Columns(w, k)

    def starts(self, rng: np.random.Generator, each: int) -> Columns:
        """Corners and random splits of every window, to climb from."""
        windows, t = self.low.shape
        corners = np.vstack([np.zeros(t), np.eye(t), 1 - np.eye(t), rng.random((each, t)) ** 2])
        k = np.rint(corners * self.m).astype(np.int64)
        return Columns(
            np.repeat(np.arange(windows), len(k)), np.tile(k, (windows, 1)).astype(np.int64)
        )

    def least_slack(self) -> Columns:
        """The split of every window whose ``lam.mean`` is least: it must not be negative."""
        windows = np.arange(self.low.shape[0])
        corner = np.where(self.slack < 0, self.m, 0)
        return Columns(windows, np.tile(corner, (windows.size, 1)))

    # -- proof ----------------------------------------------------------------

    def largest_ratio(self, seen: float, slack: float, most_nodes: int) -> RatioBound:
        """Bound ``num / den`` over all types, see :func:`largest_ratio`."""
        windows = np.arange(self.low.shape[0])
        low = np.zeros((windows.size, self.m.size), dtype=np.int64)
        boxes = Boxes(windows, low, np.where(self.gap > 0, self.m, 0))
        return largest_ratio(self, boxes, seen, slack, most_nodes)

    def bounded(self, boxes: Boxes, rho: float) -> Bounded:
        """What boxes may hold at most.

        Adding ``nu y (1 - y)`` with ``2 nu`` the largest curvature makes ``f_rho`` concave over
        the box and never smaller; a tangent plane of that bounds it at the box's corners.
        """
        window, low, high = boxes
        start, width = low / self.m, (high - low) / self.m
        wide = high > low
        hessian = self.hessian(window, rho) * width[:, :, None] * width[:, None, :]
        bends, axes = np.linalg.eigh(hessian)
        size = np.abs(hessian).sum(axis=(1, 2))
        nu = np.maximum(bends[:, -1], 0) / 2 + ROUNDING * size
        place = np.arange(self.m.size)
        bent = hessian.copy()
        bent[:, place, place] -= 2 * nu[:, None]
        y = np.full(low.shape, 0.5)
        y[~wide] = 0.0
        value, slope = self.value_and_slope(window, start + width * y, rho)
        slope = slope * width + nu[:, None] * (1 - 2 * y) * wide
        value = value + (nu[:, None] * y * (1 - y) * wide).sum(axis=1)
        for _ in range(_MOST_SWEEPS):
            last = y.copy()
            for i in range(self.m.size):
                curve = bent[:, i, i]
                step = np.where(curve < 0, -slope[:, i] / np.minimum(curve, -1e-300), 0.0)
                step = np.clip(y[:, i] + step, 0, 1) - y[:, i]
                step[~wide[:, i]] = 0.0
                y[:, i] += step
                value = value + step * (slope[:, i] + 0.5 * curve * step)
                slope = slope + bent[:, :, i] * step[:, None]
            if np.abs(y - last).max() < _SETTLED:
                break
        value, slope = self.value_and_slope(window, start + width * y, rho)
        lift = (nu[:, None] * y * (1 - y) * wide).sum(axis=1)
        slope = slope * width + nu[:, None] * (1 - 2 * y) * wide
        reach = np.where(slope > 0, slope * (1 - y), -slope * y)
        top_mean = self.low[window] + self.gap[window] * (start + width)
        terms = self.curve[window].sum(axis=1) + np.einsum(
            "ni,ij,nj->n", top_mean, np.abs(self.square), top_mean
        )
        terms += rho * (top_mean @ np.abs(self.slack) + self.guess) * (top_mean @ self.prior)
        top = value + lift + reach.sum(axis=1) + ROUNDING * terms
        base = self.low[window] + self.gap[window] * start
        gains = np.where(self.slack > 0, base, top_mean)
        least = np.maximum(gains @ self.slack + self.guess, 0) * (base @ self.prior)
        with np.errstate(divide="ignore"):
            ceiling = np.where(top > 0, rho + top / least, rho)
        weight = np.square(axes[:, :, -1]) * (y * (1 - y) + 0.05) * wide
        weight += 1e-3 * wide * width
        return Bounded(top > 0, ceiling, y, weight.argmax(axis=1))


def outwards(windows: Windows) -> tuple[Array, Array]:
    """Likelihoods of windows, each at its own scale: the largest is about 1.

    Rounded outwards: what holds for a larger box holds for the smaller one.
    """
    middle = windows.high.max(axis=1, keepdims=True)
    low = np.exp(windows.low - middle) * (1 - 2.0**-44)
    wide = windows.high > windows.low
    return low, np.where(wide, np.exp(windows.high - middle) * (1 + 2.0**-44), low)


def _promising(count: Counts, items: int, slope: Array, bend: Array) -> Counts:
    """The present count, none, all, and those next to the peak of the parabola, ``(5, n)``."""
    tries = np.zeros((5, count.size), dtype=np.int64)
    tries[0], tries[1] = count, items
    peak = np.divide(-slope * items, bend, out=np.zeros(count.size), where=bend < 0)
    tries[2] = np.minimum(np.maximum(np.floor(count + peak), 0), items)
    tries[3] = np.minimum(tries[2] + 1, items)
    return tries
