"""Which types of reports a design needs: for every window, how many items stand on the high side.

Items are counted in shares of all ``M`` items, and errors per item, so that every number
stays near 1 for ten items and for a million. A type is scaled so that its mean over all items is 1;
``mean`` are its levels' mean likelihoods, ``spread`` is ``(high - low)^2 x (1 - x)`` with
``x = k / m``. As a column of the game (:mod:`planner.solvers.game`) it has the part
``mean sqrt(f)``, ``f = m / M``, and ``sqrt(spread m / (m - 1))`` for each level of several items.

For one window ``mean = low + gap x`` is affine in ``x``, so that a type's charge less ``rho`` times
what covers it, both times its people, is a quadratic over a box, whose Hessian does not depend on
``x``. The ratio is at most ``rho`` for every type exactly when this is at most 0 for all whole
``k``: :meth:`Counts.price` climbs to types with a large ratio, :meth:`Counts.prove` bounds it by
branch and bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.solvers.branching import Bounded, Boxes, largest_ratio
from planner.solvers.game import ROUNDING, Columns, Game, Multipliers
from planner.solvers.rays import Windows

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

_LEAST_WEIGHT = 1e-6  # of the largest
_FIRST = 300  # types to begin with, over all windows
_RANDOM = 20
_MOST_NEW = 4  # types a level
_SWEEPS, _MOST_SWEEPS = 12, 60
_SETTLED = 1e-3  # of a box's sides: more digits are not worth a sweep
_WORK = 200_000  # boxes divided


@dataclass(frozen=True, slots=True, eq=False)
class DesignProblem:
    """Levels, windows and weights of one component; ``prior`` is ``None`` for the worst case."""

    item_counts: Whole
    windows: Windows  # logarithms
    weights: Array
    prior: Array | None = None

    @property
    def items(self) -> int:
        """Number of items, ``M``."""
        return int(self.item_counts.sum())

    @property
    def several(self) -> Whole:
        """The levels of more than one item."""
        return np.flatnonzero(self.item_counts > 1)

    def game(self, weights: Array) -> Game:
        """The game in which these are the weights of the levels' errors; values are per item."""
        M, root = self.items, np.sqrt(weights)
        within = [
            np.array([[root[i] * np.sqrt((self.item_counts[i] - 1) / M)]]) for i in self.several
        ]
        wanted = (np.diag(root) / M, *within)
        offsets = weights / M
        if self.prior is not None:
            offsets = np.array([offsets @ self.prior])
        return Game(wanted, np.ones(root.size), offsets, np.ones(offsets.size))

    @property
    def weights_above_zero(self) -> Array:
        """The weights, none quite 0: a design estimates every count, also those no one minds."""
        return np.maximum(self.weights, _LEAST_WEIGHT * self.weights.max())

    def sides(self, about: Whole) -> tuple[Array, Array]:
        """Likelihoods ``low`` and ``high`` of types, the smallest one present scaled to 1."""
        low, high = (part[about[:, 0]] for part in self.windows)
        lowest = np.where(about[:, 1:] < self.item_counts, low, high).min(axis=1)
        return np.exp(low - lowest[:, None]), np.exp(high - lowest[:, None])

    def scale(self, about: Whole) -> Array:
        """Mean likelihood over all items of types whose smallest is 1, shape ``(n,)``."""
        low, high = self.sides(about)
        x = about[:, 1:] / self.item_counts
        return np.asarray((low + (high - low) * x) @ self.item_counts / self.items)

    def columns(self, about: Whole) -> Columns:
        """Types as columns: their window, then the counts of every level, a row each."""
        low, high = self.sides(about)
        scale = self.scale(about)[:, None]
        m, x = self.item_counts, about[:, 1:] / self.item_counts
        mean = (low + (high - low) * x) / scale
        spread = np.square((high - low) / scale) * x * ((m - about[:, 1:]) / m)
        within = [np.sqrt(spread[:, [i]] * (m[i] / (m[i] - 1))) for i in self.several]
        people = mean if self.prior is None else mean @ self.prior[:, None]
        return Columns((mean * np.sqrt(m / self.items), *within), people, mean, about)


class Counts:
    """Climbs to types that refute multipliers, and proves by branch and bound what none exceeds."""

    def __init__(self, problem: DesignProblem, tolerance: float, work: float = _WORK) -> None:
        self.problem, self.slack = problem, tolerance / 400
        self.rng = np.random.default_rng(0)  # starts of climbs; what is found is proven apart
        self.work = work

    def start(self) -> Columns:
        """Items of no level high, of some, of one level, and of all but one, in every window.

        "Some" are as many as with that level alone.
        """
        m, (low, high) = self.problem.item_counts, self.problem.windows
        some = np.rint(m / (1 + np.exp(high - low))).astype(np.int64)
        each = max(2, _FIRST // (2 * m.size + 2))
        tables = []
        for window in np.unique(np.linspace(0, len(low) - 1, each).astype(np.int64)):
            middle = np.maximum(1, some[window])
            rows = np.vstack([0 * middle, middle, np.diag(middle), middle - np.diag(middle)])
            tables.append(np.column_stack([np.full(len(rows), window), rows]))
        return self.problem.columns(np.unique(np.vstack(tables), axis=0))

    def price(self, multipliers: Multipliers, columns: Columns) -> tuple[Columns, float]:
        """Types with large ratios, climbed to from those at hand and from random ones."""
        priced, m = _Priced(self.problem, multipliers), self.problem.item_counts.size
        types = np.vstack([columns.about, self._random()])
        found = np.unique(np.vstack([priced.improved(types), priced.least_covered()]), axis=0)
        charge, covered = priced.parts(found)
        ratio = _ratio(charge, covered)
        largest = float(ratio.max())
        order = np.argsort(covered - charge if np.isinf(largest) else -ratio)[
            : max(10, _MOST_NEW * m)
        ]
        return self.problem.columns(found[order[ratio[order] > 1 + 1e-12]]), largest

    def prove(self, multipliers: Multipliers) -> tuple[Columns, float]:
        """What was missed, and a ratio that no type exceeds."""
        priced = _Priced(self.problem, multipliers)
        m, windows = self.problem.item_counts, np.arange(len(priced.low))
        low = np.zeros((windows.size, m.size), dtype=np.int64)
        boxes = Boxes(windows, low, np.where(priced.gap > 0, m, 0))
        found = largest_ratio(priced, boxes, 1.0, self.slack, max(self.work, _WORK / 50))
        self.work -= found.work
        return self.problem.columns(found.types), found.ratio

    def _random(self) -> Whole:
        """Random splits of every window, half of them with all or none of a level's items high."""
        windows, t = self.problem.windows.low.shape
        size = windows * max(2, _RANDOM // windows)
        x = np.square(self.rng.random((size, t)))
        x[::2] = np.rint(x[::2])
        counts = np.rint(x * self.problem.item_counts).astype(np.int64)
        return np.column_stack([np.arange(size) % windows, counts])


class _Priced:
    """Charges and covers of all types for given multipliers, each times its people."""

    most_boxes, few = 4096, 512  # bounded at once: a limit on memory; tried one by one

    def __init__(self, problem: DesignProblem, multipliers: Multipliers) -> None:
        self.m = problem.item_counts
        self.low, self.high = _outwards(problem.windows)
        self.gap = self.high - self.low
        means, *within = multipliers.alpha
        half = means.T * np.sqrt(self.m / problem.items)
        self.square = half.T @ half
        self.rows, sigma = multipliers.rows, multipliers.scenarios
        self.people = sigma if problem.prior is None else float(sigma[0]) * problem.prior
        factor = np.zeros(self.m.size)
        for i, one in zip(problem.several, within, strict=True):
            factor[i] = one[0, 0] ** 2 * self.m[i] / (self.m[i] - 1)
        self.curve = factor * np.square(self.gap)

    # -- exact values --------------------------------------------------------

    def parts(self, types: Whole) -> tuple[Array, Array]:
        """Charge and cover, rounded against the claim: never too small, never too large."""
        window, k = types[:, 0], types[:, 1:]
        x = k / self.m
        mean = self.low[window] + self.gap[window] * x
        spread = self.curve[window] * x * ((self.m - k) / self.m)
        size = np.einsum("ni,ij,nj->n", mean, np.abs(self.square), mean)
        charge = spread.sum(axis=1) + np.einsum("ni,ij,nj->n", mean, self.square, mean)
        charge += ROUNDING * (spread.sum(axis=1) + size)
        cover = mean @ self.rows - ROUNDING * (mean @ np.abs(self.rows))
        return charge, cover * (mean @ self.people) * (1 - ROUNDING)

    def ratios(self, types: Whole) -> Array:
        """Charge over cover; infinite where that is not above 0."""
        return _ratio(*self.parts(types))

    # -- the quadratic --------------------------------------------------------

    def _core(self, rho: float) -> Array:
        """Second derivatives in the means."""
        both = np.outer(self.rows, self.people)
        return 2 * self.square - rho * (both + both.T)

    def _hessian(self, window: Whole, rho: float) -> Array:
        """Second derivatives in ``x``, shape ``(n, t, t)``."""
        gap = self.gap[window]
        hessian = gap[:, :, None] * self._core(rho) * gap[:, None, :]
        place = np.arange(self.m.size)
        hessian[:, place, place] -= 2 * self.curve[window]
        return hessian

    def _value_and_slope(self, window: Whole, x: Array, rho: float) -> tuple[Array, Array]:
        """The quadratic and its gradient in ``x``, shapes ``(n,)`` and ``(n, t)``."""
        mean, curve = self.low[window] + self.gap[window] * x, self.curve[window]
        half = mean @ self.square
        rows, people = mean @ self.rows, mean @ self.people
        value = (curve * x * (1 - x)).sum(axis=1) + (half * mean).sum(axis=1) - rho * rows * people
        pull = 2 * half - rho * (rows[:, None] * self.people + people[:, None] * self.rows)
        return value, curve * (1 - 2 * x) + self.gap[window] * pull

    # -- climbing -------------------------------------------------------------

    def improved(self, types: Whole) -> Whole:
        """Climb from types, one level's count at a time, to whole counts."""
        window, k, m = types[:, 0], types[:, 1:].copy(), self.m
        core, gap, curve = self._core(1.0), self.gap[window], self.curve[window]
        bends = np.square(gap) * np.diag(core) - 2 * curve
        pull = (self.low[window] + gap * (k / m)) @ core
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
        return np.column_stack([window, k])

    def least_covered(self) -> Whole:
        """The split of every window that the rows cover least: it must not be negative."""
        windows = np.arange(len(self.low))
        corner = np.where(self.rows < 0, self.m, 0)
        return np.column_stack([windows, np.tile(corner, (windows.size, 1))])

    # -- proof ----------------------------------------------------------------

    def bounded(self, boxes: Boxes, rho: float) -> Bounded:
        """What boxes may hold at most.

        Adding ``nu y (1 - y)`` with ``2 nu`` the largest curvature makes the quadratic concave over
        the box and never smaller; a tangent plane of that bounds it at the box's corners.
        """
        window, low, high = boxes
        start, width, wide = low / self.m, (high - low) / self.m, high > low
        hessian = self._hessian(window, rho) * width[:, :, None] * width[:, None, :]
        bends, axes = np.linalg.eigh(hessian)
        nu = np.maximum(bends[:, -1], 0) / 2 + ROUNDING * np.abs(hessian).sum(axis=(1, 2))

        def raised(y: Array) -> tuple[Array, Array]:
            value, slope = self._value_and_slope(window, start + width * y, rho)
            value = value + (nu[:, None] * y * (1 - y) * wide).sum(axis=1)
            return value, slope * width + nu[:, None] * (1 - 2 * y) * wide

        y = _peak(raised, hessian, nu, wide)
        value, slope = raised(y)
        reach = np.where(slope > 0, slope * (1 - y), -slope * y)
        base = self.low[window] + self.gap[window] * start
        top_mean = base + self.gap[window] * width
        terms = self.curve[window].sum(axis=1) + np.einsum(
            "ni,ij,nj->n", top_mean, np.abs(self.square), top_mean
        )
        terms += rho * (top_mean @ np.abs(self.rows)) * (top_mean @ self.people)
        top = value + reach.sum(axis=1) + ROUNDING * terms
        gains = np.where(self.rows > 0, base, top_mean)
        least = np.maximum(gains @ self.rows, 0) * (base @ self.people)
        with np.errstate(divide="ignore"):
            ceiling = np.where(top > 0, rho + top / least, rho)
        weight = np.square(axes[:, :, -1]) * (y * (1 - y) + 0.05) * wide
        weight += 1e-3 * wide * width
        return Bounded(top > 0, ceiling, y, weight.argmax(axis=1))


def _peak(
    raised: Callable[[Array], tuple[Array, Array]],
    hessian: Array,
    nu: Array,
    wide: NDArray[np.bool_],
) -> Array:
    """About where the concave functions are largest: a tangent plane may touch anywhere."""
    place = np.arange(wide.shape[1])
    bent = hessian.copy()
    bent[:, place, place] -= 2 * nu[:, None]
    y = np.where(wide, 0.5, 0.0)
    _, slope = raised(y)
    for _ in range(_MOST_SWEEPS):
        last = y.copy()
        for i in place:
            curve = bent[:, i, i]
            step = np.where(curve < 0, -slope[:, i] / np.minimum(curve, -1e-300), 0.0)
            step = np.where(wide[:, i], np.clip(y[:, i] + step, 0, 1) - y[:, i], 0.0)
            y[:, i] += step
            slope = slope + bent[:, :, i] * step[:, None]
        if np.abs(y - last).max() < _SETTLED:
            break
    return y


def _ratio(charge: Array, cover: Array) -> Array:
    return np.divide(charge, cover, out=np.full(charge.shape, np.inf), where=cover > 0)


def _outwards(windows: Windows) -> tuple[Array, Array]:
    """Likelihoods of windows, each at its own scale: the largest is about 1.

    Rounded outwards: what holds for a larger box holds for the smaller one.
    """
    middle = windows.high.max(axis=1, keepdims=True)
    low = np.exp(windows.low - middle) * (1 - ROUNDING)
    wide = windows.high > windows.low
    return low, np.where(wide, np.exp(windows.high - middle) * (1 + ROUNDING), low)


def _promising(count: Whole, items: int, slope: Array, bend: Array) -> Whole:
    """The present count, none, all, and those next to the peak of the parabola, ``(5, n)``."""
    tries = np.zeros((5, count.size), dtype=np.int64)
    tries[0], tries[1] = count, items
    peak = np.divide(-slope * items, bend, out=np.zeros(count.size), where=bend < 0)
    tries[2] = np.minimum(np.maximum(np.floor(count + peak), 0), items)
    tries[3] = np.minimum(tries[2] + 1, items)
    return tries
