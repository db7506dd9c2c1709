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

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from planner.arrays import Array, Flags, Whole, distinct_rows
from planner.patience import still_wanted
from planner.solvers.game import (
    MOST_NEW,
    SLACK,
    Game,
    GameColumns,
    Multipliers,
    ratios,
    worst,
)
from planner.solvers.rays import Windows

_ROUNDED = 2.0**-52  # of a window's high end: more than both of its ends are off by
_WIDE = (
    5  # levels: of more, fewer boxes are bounded, as each takes the cube of the levels
)
_MOST_HIGH = 3
_MOST_LISTED = 3000  # types of few high items
_LISTED = 1.5e8  # of them times the square of the numbers that tell types apart
_FEW_HIGH = 5  # items that stand high by themselves
_NEW = 2  # columns at once for each number that tells types apart, about
_NEAR_LIKELIHOODS = 0.1  # relative differences of likelihoods
_SWEEPS = 12
_MOST_BOXES_BOUNDED = 100_000  # boxes divided
_LEAST_SHARE = 0.1  # of these, however many levels
_BOXES_AT_ONCE = 4096  # bounded at once: a limit on memory


@dataclass(frozen=True, slots=True, eq=False)
class DesignProblem:
    """Levels, windows and weights of one component; ``prior`` is ``None`` for the worst case.

    ``asked`` are the weights that a bound is about, less than those solved where nobody minds. With
    ``spread`` what stands on a side are histories of answers, any share of which can: of such a
    problem there is a bound alone, and differences within a level count that many times.
    """

    item_counts: Whole
    windows: Windows  # logarithms
    weights: Array
    prior: Array | None = None
    asked: Array | None = None
    spread: Array | None = None

    @property
    def items(self) -> int:
        """Number of items, ``M``."""
        return int(self.item_counts.sum())

    @property
    def several(self) -> Whole:
        """The levels of more than one item."""
        return np.flatnonzero(self.item_counts > 1)

    @property
    def differences(self) -> Array:
        """How much differences within a level count: its items but one, times ``spread``."""
        several = self.item_counts - 1.0
        return np.asarray(several if self.spread is None else self.spread * several)

    @property
    def both_weights(self) -> tuple[Array, Array]:
        """The weights that are solved, and those asked for."""
        return self.weights, self.weights if self.asked is None else self.asked

    def game(self, weights: Array) -> Game:
        """The game whose value is the error ``F`` of all ``M`` items, with these weights of levels.

        Scenarios are the levels of which everybody may be, or the one assumed prior.
        """
        M = self.items
        root = np.sqrt(weights)
        m = self.item_counts
        within = [np.array([[root[i] * np.sqrt((m[i] - 1) / M)]]) for i in self.several]
        workload = (root[:, None] * self.turn / M, *within)
        offsets = weights / M
        if self.prior is not None:
            offsets = np.array([offsets @ self.prior])
        return Game(workload, offsets, np.ones(offsets.size))

    def sides(self, types: Whole) -> tuple[Array, Array]:
        """Likelihoods ``low`` and ``high`` of types, the smallest one present scaled to 1."""
        low, high = (part[types[:, 0]] for part in self.windows)
        lowest = np.where(types[:, 1:] < self.item_counts, low, high).min(axis=1)
        return np.exp(low - lowest[:, None]), np.exp(high - lowest[:, None])

    @property
    def near(self) -> float:
        """The largest relative difference of likelihoods where budgets are small, else 0."""
        rise = float(self.rises.max())
        return rise if rise < _NEAR_LIKELIHOODS else 0.0

    @property
    def turn(self) -> Array:
        """The turn of the level means' block, ``(t, t)``: the numbers in its place are ``turn' u``.

        At small budgets ``u`` is nearly ``sqrt(f)`` for every type, and a matrix of its products
        would leave the differences half of the digits. So their first number is ``sqrt(f) . u``,
        which is 1, and the others are what is at right angles to it, over the largest difference.
        """
        t = self.item_counts.size
        if self.near == 0:
            return np.eye(t)
        first = np.sqrt(self.item_counts / self.items)
        axes = np.linalg.qr(np.column_stack([first, np.eye(t)]))[0]
        return np.column_stack([first, axes[:, 1:t] / self.near])

    @property
    def rises(self) -> Array:
        """``high / low - 1`` in every window, past what its ends were rounded by.

        Likelihoods that small budgets bring near each other would lose their digits.
        """
        low, high = self.windows
        return np.asarray(
            np.where(high > low, np.expm1(high - low + _ROUNDED * high), 0.0)
        )

    def scale(self, types: Whole) -> Array:
        """Mean likelihood over all items of types whose smallest is 1, shape ``(n,)``."""
        low, high = self.sides(types)
        x = types[:, 1:] / self.item_counts
        return np.asarray((low + (high - low) * x) @ self.item_counts / self.items)

    def columns(self, types: Whole) -> GameColumns:
        """Types, rows of a window and each level's number of high items, as columns of the game.

        Parts are ``sqrt(f)`` times the level means, turned by :attr:`turn`, and of each level of
        several items the root of ``E_i / (m_i - 1)`` (docs/theory/designs.md); sums are the level
        means.
        """
        scale = self.scale(types)[:, None]
        low = self.sides(types)[0] / scale
        gap = low * self.rises[types[:, 0]]
        m = self.item_counts
        x = types[:, 1:] / self.item_counts
        mean = low + gap * x
        spread = np.square(gap) * x * ((m - types[:, 1:]) / m)
        within = [np.sqrt(spread[:, [i]] * (m[i] / (m[i] - 1))) for i in self.several]
        f = m / self.items
        turned = (mean - 1) * np.sqrt(f) @ self.turn
        if self.near > 0:
            turned[:, 0] = 1.0  # as the mean over all items is 1
        else:
            turned = mean * np.sqrt(f)
        people = mean if self.prior is None else mean @ self.prior[:, None]
        return GameColumns((turned, *within), people, mean, types)


def natural_high(problem: DesignProblem) -> float:
    """How many items would stand high were each level alone, in the window of fewest.

    Of one level with ``m`` items, likelihoods being ``e^rise`` apart, ``m / (1 + e^rise)``
    (subset selection, Ye and Barg 2018).
    """
    (low, high) = problem.windows
    share = 1 / (1 + np.exp(np.minimum(high - low, 700.0)))
    return float((share @ problem.item_counts).min())


def few_high_types(problem: DesignProblem) -> Whole:
    """Types of none, one, two or three items on the high side, as long as they are few enough.

    Those of none are always there. Of each number high all are listed or none: at most 3,000, and
    where in every window more than five items would stand high, each level by itself, at most 1.5e8
    over the square of ``t (t + 1) / 2``, the numbers that tell types apart: a step of the program
    costs types times that.
    At large budgets hardly any other types are needed; with many high items these are not worth
    their program.
    """
    m = problem.item_counts
    (low, high) = problem.windows
    rank = m.size * (m.size + 1) / 2
    most = float(_MOST_LISTED)
    if natural_high(problem) > _FEW_HIGH:
        most = min(most, _LISTED / rank**2)
    counts = np.zeros((1, m.size), dtype=np.int64)
    all_low = np.zeros((len(low), m.size), int)
    types_by_number_high = [np.column_stack([np.arange(len(low)), all_low])]
    for _ in range(_MOST_HIGH):
        added = counts[:, None] + np.eye(m.size, dtype=np.int64)
        counts = distinct_rows(added.reshape(-1, m.size))
        counts = counts[(counts <= m).all(axis=1)]
        if len(low) * len(counts) > most:
            break
        for window, rise in enumerate(high - low):
            # A level whose low and high are the same in this window has no high side.
            possible = counts[(counts[:, rise <= 0] == 0).all(axis=1)]
            of_window = np.full(len(possible), window)
            types_by_number_high.append(np.column_stack([of_window, possible]))
    return np.vstack(types_by_number_high)


def split_types(problem: DesignProblem) -> Whole:
    """Types to begin with where levels are few: in every window some items high, or whole levels.

    "Some" of a level are as many as with it alone, ``m / (1 + e^rise)``, at least one (subset
    selection, Ye and Barg 2018): in all levels, in one, or in all but one. Besides, the levels of
    each of the ``2^t`` sets are high with all of their items: some weights of these let the
    probabilities of every item sum to 1.
    """
    m = problem.item_counts
    (low, high) = problem.windows
    subsets = np.arange(2**m.size)[:, None] >> np.arange(m.size) & 1
    corners = m * subsets
    tables = []
    for window, rise in enumerate(high - low):
        some = np.maximum(1, np.rint(m / (1 + np.exp(rise))).astype(np.int64))
        of_one_level = np.diag(some)
        counts = np.vstack([some, of_one_level, some - of_one_level, corners])
        # A level whose low and high are the same has no high side.
        counts = np.where(rise > 0, counts, 0)
        tables.append(np.column_stack([np.full(len(counts), window), counts]))
    return distinct_rows(np.vstack(tables))


class Boxes(NamedTuple):
    """Counts of high items from ``low`` to ``high``, shape ``(n, t)``, in a window, ``(n,)``."""

    window: Whole
    low: Whole
    high: Whole

    def chosen(self, which: Flags | slice) -> Boxes:
        """The boxes that are chosen."""
        return Boxes(self.window[which], self.low[which], self.high[which])

    def joined(self, others: Boxes) -> Boxes:
        """The boxes, then the others."""
        return Boxes(*(np.concatenate(pair) for pair in zip(self, others, strict=True)))


class Counts:
    """Climbs to types that refute multipliers, and proves by branch and bound what none exceeds."""

    def __init__(self, problem: DesignProblem, tolerance: float, first: Whole) -> None:
        self.problem = problem
        self.first = first
        self.game = problem.game(problem.weights)
        self.searched = True
        self.staged = problem.item_counts.size > _WIDE
        self.finest = tolerance / 400

    def start(self) -> GameColumns:
        """The types to begin with."""
        return self.problem.columns(self.first)

    def price(
        self, multipliers: Multipliers, columns: GameColumns
    ) -> tuple[GameColumns, float]:
        """Types with large ratios, climbed to from those at hand and from corners."""
        priced = Priced(self, multipliers)
        starts = np.vstack([columns.key, priced.corners()])
        types = distinct_rows(priced.improved(distinct_rows(starts)))
        levels = self.problem.item_counts.size
        most = min(len(columns.sums) // 3, _NEW * levels * (levels + 1))
        most = max(MOST_NEW, most)
        return worst(self.game, multipliers, self.problem.columns(types), most)

    def prove(
        self, multipliers: Multipliers, doubt: float
    ) -> tuple[GameColumns, float]:
        """What was missed, and a ratio that no type exceeds; the last time if it is cut short."""
        priced = Priced(self, multipliers)
        if not self.staged:  # of few levels a finer proof costs no more
            doubt = min(doubt, self.finest)
        types, ratio = largest_ratio(priced, priced.every, 1.0, doubt)
        seen = float(priced.ratios(types).max(initial=1.0))
        self.searched = ratio <= seen * (1 + 2 * doubt)
        return self.problem.columns(types), ratio


class Priced:
    """Charges and covers of all types for given multipliers, each times its people."""

    def __init__(self, oracle: Counts, multipliers: Multipliers) -> None:
        self.game = oracle.game
        self.problem = oracle.problem
        self.multipliers = multipliers
        problem = oracle.problem
        self.m = oracle.problem.item_counts
        middle = problem.windows.high.max(axis=1, keepdims=True)
        self.low = np.exp(problem.windows.low - middle)
        self.gap = self.low * problem.rises
        means, *within = multipliers.alpha
        half = (problem.turn @ means).T * np.sqrt(self.m / problem.items)
        self.square = half.T @ half
        self.rows = multipliers.rows
        sigma = multipliers.scenarios
        self.people = (
            sigma if problem.prior is None else float(sigma[0]) * problem.prior
        )
        factor = np.zeros(self.m.size)
        for i, multiplier in zip(problem.several, within, strict=True):
            factor[i] = multiplier[0, 0] ** 2 * self.m[i] / (self.m[i] - 1)
        self.curve = factor * np.square(self.gap)

    @property
    def every(self) -> Boxes:
        """The boxes of all types: one for every window."""
        windows = np.arange(len(self.gap))
        return Boxes(
            windows, 0 * self.gap.astype(np.int64), np.where(self.gap > 0, self.m, 0)
        )

    def ratios(self, types: Whole) -> Array:
        """Rounded up; infinite where the multipliers do not cover a type."""
        return ratios(self.game, self.multipliers, self.problem.columns(types))

    # -- the quadratic --------------------------------------------------------

    def _core(self, rho: float) -> Array:
        """The second derivatives in the means."""
        both = np.outer(self.rows, self.people)
        return 2 * self.square - rho * (both + both.T)

    def _hessian(self, window: Whole, core: Array) -> Array:
        """Second derivatives in ``x``, shape ``(n, t, t)``."""
        gap = self.gap[window]
        diagonal = np.arange(self.m.size)
        hessian = gap[:, :, None] * core * gap[:, None, :]
        hessian[:, diagonal, diagonal] -= 2 * self.curve[window]
        return hessian

    def _value_and_slope(
        self, window: Whole, x: Array, core: Array
    ) -> tuple[Array, Array]:
        """The quadratic and its gradient in ``x``, shapes ``(n,)`` and ``(n, t)``."""
        gap = self.gap[window]
        curve = self.curve[window]
        mean = self.low[window] + gap * x
        pull = mean @ core
        value = (curve * x * (1 - x)).sum(axis=1) + (pull * mean).sum(axis=1) / 2
        return value, curve * (1 - 2 * x) + gap * pull

    # -- climbing -------------------------------------------------------------

    def improved(self, types: Whole) -> Whole:
        """Climb from types, one level's count at a time, to whole counts."""
        window = types[:, 0]
        k = types[:, 1:].copy()
        m = self.m
        core = self._core(1.0)
        gap = self.gap[window]
        curve = self.curve[window]
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

    def corners(self) -> Whole:
        """The split of every window that the rows cover least."""
        corner = np.where(self.rows < 0, self.m, 0)
        return np.column_stack(
            [np.arange(len(self.low)), np.tile(corner, (len(self.low), 1))]
        )

    # -- proof ----------------------------------------------------------------

    def bounded(self, boxes: Boxes, rho: float) -> tuple[Flags, Array, Array, Whole]:
        """Whether boxes of counts may hold a ratio above ``rho``, by upper bounds of a quadratic.

        A type's ratio is above ``rho`` where ``f(x) = |R u|^2 + sum_i curve_i x_i (1 - x_i) - rho
        (rows . u) (people . u)`` is above 0, ``x`` being the shares high and ``u`` the means.

        Returned are, of each of ``n`` boxes: whether ``f`` may be above 0; a ceiling for all of its
        ratios; a point with a large one, in shares of the box's sides, ``(n, t)``; and the side to
        divide.

        Adding ``nu_i y_i (1 - y_i)`` of each level makes the quadratic concave over the box and
        never smaller; a tangent plane of that bounds it at the box's corners. Levels' curvatures
        differ by many powers of ten at large budgets: ``2 nu_i`` is a level's row sum ``s_i`` of
        the Hessian's sizes times the largest curvature of ``H_ij / sqrt(s_i s_j)``. The level that
        adds most is the one to divide.
        """
        window, low, high = boxes
        start = low / self.m
        width = (high - low) / self.m
        wide = high > low
        core = self._core(rho)

        # The Hessian in shares y of the box's sides, and its largest curvature, level by level.
        hessian = self._hessian(window, core)
        hessian = hessian * width[:, :, None] * width[:, None, :]
        nu = np.where(wide, _curvatures(hessian), 0.0)
        concave = hessian.copy()
        diagonal = np.arange(self.m.size)
        concave[:, diagonal, diagonal] -= 2 * nu

        def raised(y: Array) -> tuple[Array, Array]:
            value, slope = self._value_and_slope(window, start + width * y, core)
            value = value + (nu * y * (1 - y)).sum(axis=1)
            return value, slope * width + nu * (1 - 2 * y)

        y = np.where(wide, 0.5, 0.0)
        y = _peak(y, raised(y)[1], concave, wide)
        value, slope = raised(y)
        above_it = np.where(slope > 0, slope * (1 - y), -slope * y).sum(
            axis=1
        )  # at some corner
        least = self.low[window] + self.gap[window] * start
        most = least + self.gap[window] * width

        # What rounding may hide: of the sizes of all terms where they are largest.
        terms = self.curve[window].sum(axis=1) + nu.sum(axis=1)
        terms += np.einsum("ni,ij,nj->n", most, np.abs(self.square), most)
        terms += rho * (most @ np.abs(self.rows)) * (most @ self.people)
        top = value + above_it + SLACK * terms

        # The quadratic over what covers a type, times its people, is by how much its ratio exceeds.
        least_covered = np.where(self.rows > 0, least, most) @ self.rows
        covered = np.maximum(least_covered, 0)
        people = least @ self.people
        with np.errstate(divide="ignore"):
            excess = top / (covered * people)
        ceiling = np.where(top > 0, rho + excess, rho)
        side = np.where(wide, nu, -1.0).argmax(axis=1)
        return top > 0, ceiling, y, side


def _curvatures(hessian: Array) -> Array:
    """``nu``, ``(n, t)``: subtracted twice from the diagonal they leave no curvature above 0.

    ``2 nu_i = mu s_i`` with ``s_i`` the row sums of sizes and ``mu`` the largest eigenvalue of
    ``H_ij / sqrt(s_i s_j)``, or 0.
    """
    sums = np.abs(hessian).sum(axis=2)
    root = np.sqrt(np.where(sums > 0, sums, 1.0))
    scaled = hessian / root[:, :, None] / root[:, None, :]
    largest = np.maximum(np.linalg.eigvalsh(scaled)[:, -1], 0)
    # What rounding may take from the eigenvalues of a matrix of this size.
    largest += SLACK * np.abs(scaled).sum(axis=(1, 2))
    return np.asarray(largest[:, None] * root**2 / 2)


def _peak(y: Array, slope: Array, hessian: Array, wide: Flags) -> Array:
    """About where concave quadratics are largest in ``[0, 1]^t``, each by coordinate ascent.

    ``slope``, ``(n, t)``, are their gradients at ``y`` and ``hessian``, ``(n, t, t)``, their second
    derivatives; only coordinates that are ``wide``, more than a point, move. A tangent plane may
    touch anywhere: the nearer to the peak, the closer is its bound.
    """
    y = y.copy()
    for _ in range(_SWEEPS):
        for i in range(y.shape[1]):
            # Newton's step on this side alone: a parabola's peak, as far as the box goes.
            here = y[:, i]
            curve = hessian[:, i, i]
            to_peak = -slope[:, i] / np.minimum(curve, -1e-300)
            step = np.where(curve < 0, to_peak, 0.0)
            inside = np.clip(here + step, 0, 1)
            step = np.where(wide[:, i], inside - here, 0.0)
            y[:, i] += step
            slope = slope + hessian[:, :, i] * step[:, None]
    return y


def _promising(count: Whole, items: int, slope: Array, bend: Array) -> Whole:
    """The present count, none, all, and those next to the peak of the parabola, ``(5, n)``."""
    tries = np.zeros((5, count.size), dtype=np.int64)
    tries[0] = count
    tries[1] = items
    peak = np.divide(-slope * items, bend, out=np.zeros(count.size), where=bend < 0)
    tries[2] = np.minimum(np.maximum(np.floor(count + peak), 0), items)
    tries[3] = np.minimum(tries[2] + 1, items)
    return tries


def largest_ratio(
    priced: Priced, boxes: Boxes, seen: float, slack: float
) -> tuple[Whole, float]:
    """Types that each raised the largest ratio seen, and a ratio that none in the boxes exceeds.

    ``seen`` is the ratio to begin with: where no larger one is found, no type is returned. Boxes of
    counts are divided until none can hold a ratio above ``(1 + slack)`` times the largest seen.
    Once ``_MOST_BOXES_BOUNDED`` of them are bounded, or ``(5 / t)^2`` of that for more than five
    levels (a tenth at least), what open ones may hold is charged to the bound: it is larger, but
    true.
    """
    work = 0
    of_levels = min(1.0, _WIDE / priced.m.size) ** 2
    most = _MOST_BOXES_BOUNDED * max(of_levels, _LEAST_SHARE)
    ceiling = 0.0
    best = np.zeros((0, 1 + boxes.low.shape[1]), dtype=np.int64)
    while boxes.window.size and np.isfinite(seen):
        still_wanted()
        here = boxes.chosen(slice(_BOXES_AT_ONCE))
        boxes = boxes.chosen(slice(_BOXES_AT_ONCE, None))
        work += here.window.size
        above, top, y, side = priced.bounded(here, seen * (1 + slack))
        counts = here.low + np.rint(y * (here.high - here.low)).astype(np.int64)
        types = np.column_stack([here.window, counts])[above]
        ratio = priced.ratios(types)
        if ratio.max(initial=0.0) > seen:
            seen = float(ratio.max())
            best = np.vstack([best, types[[int(ratio.argmax())]]])
        if work > most:
            ceiling = max(ceiling, float(top[above].max(initial=0.0)))
        else:
            wide = above & (here.low < here.high).any(axis=1)
            boxes = boxes.joined(_halves(here.chosen(wide), y[wide], side[wide]))
    return best, max(ceiling, seen * (1 + slack))


def _halves(boxes: Boxes, y: Array, side: Whole) -> Boxes:
    """Every box in two, divided near the point on the given side."""
    rows = np.arange(side.size)
    left = boxes.low[rows, side]
    right = boxes.high[rows, side]
    # Neither half is left with hardly anything.
    share = np.clip(y[rows, side], 0.2, 0.8)
    last = np.floor(left + share * (right - left)).astype(np.int64)

    high_of_first = boxes.high.copy()
    high_of_first[rows, side] = last
    low_of_second = boxes.low.copy()
    low_of_second[rows, side] = last + 1
    first = Boxes(boxes.window, boxes.low, high_of_first)
    second = Boxes(boxes.window, low_of_second, boxes.high)
    return first.joined(second)
