"""Types that the multipliers of the worst single item do not cover, and a proof of no others.

With ``x_i = k_i / m_i`` in one window all means are affine in ``x``, and a type's left side is

    num(x) = sum_k x_k high_k(x) + (1 - x_k) low_k(x),

``high_k`` and ``low_k`` being squares of affine functions over nonnegative ones: convex, as long
as the side has an item. So each is at most the multilinear function through its values at the
corners of a box. With these in place ``num`` is multilinear, too, but for ``x_k high_k`` and
``x_k low_k`` along ``x_k``, which exceed the function through the corners by at most a quarter of
the width times what ``high_k - low_k`` falls by. Both errors are of second order in the box.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from planner.designs.item_sides import ItemSides
from planner.solvers.design.branching import ROUNDING, Bounded, Boxes, RatioBound, largest_ratio
from planner.solvers.design.item_program import ItemMultipliers
from planner.solvers.design.pricing import outwards
from planner.solvers.design.problem import Columns, DesignProblem

Array = NDArray[np.float64]

_SWEEPS = 8
_NUMBERS = 2**19  # held at once for the corners of boxes


class ItemPricer:
    """The ratio of all types of a problem, for given multipliers of the worst single item."""

    def __init__(self, problem: DesignProblem, multipliers: ItemMultipliers) -> None:
        self.m = problem.item_counts
        self.low, self.high = outwards(problem.windows)
        self.own, self.means, others, self.slack = multipliers
        self.others = problem.weights[:, None] * np.maximum(others, 0.0)
        self.most_boxes = max(16, _NUMBERS // (self.m.size << self.m.size))
        self.few = 1 << self.m.size  # as many as a box has corners

    def ratios(self, types: Columns) -> Array:
        """``num / den`` of types, never too small; infinite where ``den`` is not above 0."""
        _, num, den, _ = self._parts(types.window, types.high_counts / self.m)
        return np.divide(num, den, out=np.full(num.shape, np.inf), where=den > 0)

    def _parts(self, window: NDArray[np.int64], x: Array) -> tuple[Array, Array, Array, Array]:
        """``low_k`` and ``high_k``, ``(n, t, 2)``; ``num``, ``den``, and the size of its terms.

        Rounded against the claim.
        """
        seen = ItemSides.of(self.m, self.low[window], self.high[window], x)
        mean, present = seen.mean, seen.share > 0
        line = self.own[:, None] * seen.above + (mean @ self.means.T)[:, :, None]
        terms = np.abs(self.own)[:, None] * np.abs(seen.above)
        line = np.abs(line) + ROUNDING * (terms + (mean @ np.abs(self.means).T)[:, :, None])
        own_level = np.diag(self.others)
        people = (mean @ (self.others - np.diag(own_level)).T)[:, :, None]
        people = people + own_level[:, None] * seen.other
        with np.errstate(divide="ignore", invalid="ignore"):
            forms = np.where(present & (line > 0), np.square(line) / people, 0.0)
        forms *= 1 + ROUNDING
        num = (seen.share * forms).sum(axis=(1, 2)) * (1 + ROUNDING)
        size = mean @ np.abs(self.slack)
        return forms, num, mean @ self.slack - ROUNDING * size, size

    def improve(self, types: Columns) -> Columns:
        """Climb from types to larger ``num - den``, one level's count at a time."""
        w, k = types.window, types.high_counts.copy()
        rows = np.arange(len(k))
        for _ in range(_SWEEPS):
            before = k.copy()
            for i, items in enumerate(self.m):
                steps = 2 ** np.arange(int(items).bit_length())
                tries = np.clip(k[:, i] + np.concatenate([[0], steps, -steps])[:, None], 0, items)
                tries = np.vstack([tries, 0 * k[:, i], 0 * k[:, i] + items])
                counts = np.tile(k, (len(tries), 1, 1))
                counts[:, :, i] = tries
                _, num, den, _ = self._parts(
                    np.tile(w, len(tries)), counts.reshape(-1, self.m.size) / self.m
                )
                best = (num - den).reshape(len(tries), -1).argmax(axis=0)
                k[:, i] = tries[best, rows]
            if (k == before).all():
                break
        return Columns(w, k).joined(Columns(w[:0], k[:0]))

    def least_slack(self) -> Columns:
        """The split of every window whose ``lam.mean`` is least: it must not be negative."""
        windows = np.arange(len(self.low))
        return Columns(windows, np.tile(np.where(self.slack < 0, self.m, 0), (windows.size, 1)))

    def largest_ratio(self, seen: float, slack: float, most_nodes: int) -> RatioBound:
        """Bound ``num / den`` over all types, see :func:`largest_ratio`.

        A level has none of its items high, all of them, or some: a side without items is left out.
        """
        faces = [sorted({(0, 0), (1, items - 1), (items, items)}) for items in self.m.tolist()]
        ends = np.array([list(face) for face in product(*faces)])
        ends = ends[(ends[:, :, 0] <= ends[:, :, 1]).all(axis=1)]
        windows = np.arange(len(self.low))
        low, high = (np.tile(ends[:, :, end], (windows.size, 1)) for end in (0, 1))
        window = np.repeat(windows, len(ends))
        moving = (self.high > self.low)[window]
        boxes = Boxes(window, low, high).chosen((moving | (high == 0)).all(axis=1))
        return largest_ratio(self, boxes, seen, slack, most_nodes)

    def bounded(self, boxes: Boxes, rho: float) -> Bounded:
        """What boxes may hold at most; see the module for the proof."""
        n, t = boxes.low.shape
        start, width = boxes.low / self.m, (boxes.high - boxes.low) / self.m
        corners = np.array(list(product((0.0, 1.0), repeat=t)))
        x = start[:, None, :] + corners * width[:, None, :]
        parts = self._parts(np.repeat(boxes.window, len(corners)), x.reshape(-1, t))
        forms, num, den, size = (part.reshape(n, len(corners), *part.shape[1:]) for part in parts)
        with np.errstate(invalid="ignore"):
            value = num - rho * den
            falls = np.empty((n, t))
            for i in range(t):
                slope = forms[:, :, i, 1] - forms[:, :, i, 0]
                rise = slope[:, corners[:, i] == 1] - slope[:, corners[:, i] == 0]
                falls[:, i] = width[:, i] / 4 * np.maximum(-rise, 0.0).max(axis=1)
            rounding = ROUNDING * (num + rho * size).max(axis=1)
            top = value.max(axis=1) + falls.sum(axis=1) + rounding
        top = np.where(np.isnan(top), np.inf, top)
        least = np.maximum(den.min(axis=1), 0.0)
        with np.errstate(divide="ignore"):
            ceiling = np.where(top > 0, rho + top / least, rho)
        y = corners[np.nan_to_num(value, nan=-np.inf).argmax(axis=1)]
        side = (self._bends(boxes.window, start, width) + falls + 1e-12 * width).argmax(axis=1)
        return Bounded(top > 0, ceiling, y, side)

    def _bends(self, window: NDArray[np.int64], start: Array, width: Array) -> Array:
        """How far the convex parts bend along each side through the middle of boxes, ``(n, t)``."""
        middle = start + width / 2
        base = self._parts(window, middle)[0]
        shares = np.stack([1 - middle, middle], axis=2)
        bends = np.empty_like(start)
        for i in range(self.m.size):
            step = np.where(np.arange(self.m.size) == i, width / 2, 0.0)
            ends = [self._parts(window, middle + sign * step)[0] for sign in (-1, 1)]
            with np.errstate(invalid="ignore"):
                bends[:, i] = (shares * (ends[0] + ends[1] - 2 * base)).sum(axis=(1, 2))
        return np.where(width > 0, np.nan_to_num(bends, nan=0.0, posinf=0.0), 0.0)
