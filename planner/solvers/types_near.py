"""Types of reports like those that a bound without a search is reached by."""

from __future__ import annotations

import numpy as np

from planner.arrays import Array, Whole, distinct_rows
from planner.solvers.counts import DesignProblem
from planner.solvers.relaxed_bound import Relaxed, box_of

_EVERY_SIDE = 8  # levels up to which types of every window have some level on one side
_DRAWN_TYPES = 10  # types for each that is kept
_CORRECTIONS = 2  # of chances to stand high


def types_near(problem: DesignProblem, bound: Relaxed, size: int) -> Whole:
    """About ``size`` types near those by which the bound is reached, and some at all times.

    Rows are a window and counts. A window gets ``size`` times its share of ``sum_o (theta_o / w_o)
    (sqrt(f) . u_o)``, two types at least: those of ten times as many draws about the bound's mean
    whose premise of the bound is nearest to equality. Added are types with one level on one side,
    of every window where levels are few, and types that make weights possible.
    """
    rng = np.random.default_rng(0)
    m = problem.item_counts
    weight = bound.mass * (bound.mean @ np.sqrt(m / problem.items))
    kept_types = np.maximum(2, size * weight / weight.sum())
    rows = []
    for number, kept in enumerate(kept_types.astype(np.int64).tolist()):
        window = _WindowNear(problem, bound, number)
        if bound.varied.size > 0:
            drawn = window.with_covariance(rng, bound.varied[number], kept)
            count = window.nearest(drawn, kept)
        else:
            count = window.of_independent_levels(rng, kept)
        rows.append(np.column_stack([np.full(len(count), number), count]))

        if m.size <= _EVERY_SIDE or number == weight.argmax():
            sided = np.where(window.gap > 0, _sided(window.middle, m), 0)
            rows.append(np.column_stack([np.full(len(sided), number), sided]))
    rows.append(_enclosing(problem))
    return distinct_rows(np.vstack(rows))


class _WindowNear:
    """One window's levels, and the mean of its types where the bound is reached, in counts.

    Of a type with ``k_i`` of a level's ``m_i`` items high, ``u_i = low_i + step_i k_i`` is
    ``sqrt(f_i)`` times the level's mean likelihood, in the bound's coordinates; ``low`` and
    ``high`` are its ends in this window, and ``middle`` are the counts, not whole, at which ``u``
    is the bound's mean.
    """

    def __init__(self, problem: DesignProblem, bound: Relaxed, number: int) -> None:
        self.m = problem.item_counts
        self.bound = bound
        (low, high) = box_of(problem)
        self.low = low[number]
        self.high = high[number]
        self.gap = self.high - self.low
        # What one item more on the high side adds to u.
        self.step = np.where(self.gap > 0, self.gap / self.m, 1.0)
        counts = (bound.mean[number] - self.low) / self.step
        self.middle = np.clip(counts, 0, self.m)

    def nearest(self, drawn: Array | Whole, kept: int) -> Whole:
        """The ``kept`` of the drawn counts whose premise of the bound is nearest to equality.

        The premise is that ``u' S u - sum_i d_i E_i`` is nowhere below 0, with ``E_i = (high_i -
        u_i) (u_i - low_i)``. The types of an optimal design have no such slack; it is compared in
        parts of ``(p . u)^2``, as what a type adds grows like that.
        """
        count = np.where(self.gap > 0, np.clip(drawn, 0, self.m), 0)
        u = self.low + self.gap * count / self.m
        deviations = (self.high - u) * (u - self.low)  # E
        quadratic = ((u @ self.bound.shared) * u).sum(axis=1)
        slack = quadratic - deviations @ self.bound.within
        # ``p . u`` up to a factor that is the same for all types.
        people = u @ (self.bound.people / np.sqrt(self.m))
        best = np.argsort(slack / people**2)[:kept]
        return count[best].astype(np.int64)

    def of_independent_levels(self, rng: np.random.Generator, kept: int) -> Whole:
        """Counts, ``(kept, t)``, of levels drawn independently, near the plane of the bound.

        Of ten times as many binomial draws those nearest to the plane ``q . u = -D`` are kept: what
        the best types of one window are like (docs/theory/many-levels.md). Keeping those moves the
        mean, so chances to stand high are corrected, twice, until it is about ``middle``.
        """
        edge = 0.5 / (len(self.m) * kept)
        wanted = np.clip(self.middle / self.m, edge, 1 - edge)
        logit = _logit(wanted)
        drawn_types = _DRAWN_TYPES * kept
        for _ in range(_CORRECTIONS + 1):
            chance = 1 / (1 + np.exp(-logit))
            drawn = rng.binomial(self.m, chance, (drawn_types, self.m.size))
            count = self.nearest(drawn, kept)
            seen = np.clip(count.mean(axis=0) / self.m, edge, 1 - edge)
            logit = logit + _logit(wanted) - _logit(seen)
        return count

    def with_covariance(
        self, rng: np.random.Generator, covariance: Array, kept: int
    ) -> Array:
        """Whole counts with about this mean, and covariance of ``u``."""
        # Rounding to whole counts at random adds this variance: so much less is drawn.
        part = self.middle % 1
        rounded = self.step**2 * part * (1 - part)
        values, axes = np.linalg.eigh(covariance - np.diag(rounded))
        root = axes * np.sqrt(np.maximum(values, 0))
        normal = rng.standard_normal((_DRAWN_TYPES * kept, self.m.size))
        deviation = normal @ root.T / self.step
        return np.asarray(
            np.floor(self.middle + deviation + rng.random(deviation.shape))
        )


def _logit(chance: Array) -> Array:
    return np.asarray(np.log(chance / (1 - chance)))


def _sided(middle: Array, m: Whole) -> Whole:
    """Counts near the middle, and with all items of one level on a side, ``(2 t + 1, t)``.

    These tell any levels apart.
    """
    inside = np.minimum(np.maximum(1, np.rint(middle)), m - 1)
    level = np.arange(m.size)
    sided = np.tile(inside, (2, m.size, 1))
    sided[0, level, level] = 0
    sided[1, level, level] = m
    return np.vstack([inside, sided.reshape(-1, m.size)]).astype(np.int64)


def _enclosing(problem: DesignProblem) -> Whole:
    """One type more than levels, with which every program has weights that it allows.

    Weights must give every item the same total. Let ``c`` be the middle between the largest ``low``
    and the smallest ``high`` of the widest window. A level that is high in the share ``s_i = (c -
    low_i) / (high_i - low_i)`` of the reports has the mean ``c``. The types are nested: first every
    level is low, then the level of the largest share turns high, with all of its items, then the
    next. With shares falling, ``s_(0) = 1`` and ``s_(t+1) = 0``, the weights ``s_(k) - s_(k+1)``
    give each level its share.
    """
    largest = problem.windows.high.max()
    low = np.exp(problem.windows.low - largest)
    high = np.exp(problem.windows.high - largest)
    highest_low = low.max(axis=1)
    lowest_high = high.min(axis=1)
    widest = int(np.argmax(lowest_high / highest_low))
    m = problem.item_counts
    gap = high[widest] - low[widest]
    # A level with one value only has no share: 0 stands for it, and it stays low.
    centre = (highest_low[widest] + lowest_high[widest]) / 2
    share = np.divide(centre - low[widest], gap, out=0 * gap, where=gap > 0)
    rank = np.argsort(np.argsort(-share))
    # Corner c has the c levels of the largest shares high, with all of their items.
    turned_high = np.arange(m.size + 1)[:, None] > rank
    corners = np.where(turned_high & (gap > 0), m, 0)
    return np.column_stack([np.full(m.size + 1, widest), corners])
