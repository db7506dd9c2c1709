"""One level with a single item that may exceed its own pair: what dropping ``(i, i)`` brings.

Without the pair ``(i, i)`` of one-item levels, ``s_i + w_j <= r_ij`` is left for ``i != j``.
Rules min and avg: unless one level p has both the largest s and the largest w (for avg: above
half the budgets), the tables are those with all pairs. If it has, with ``T = s_p + w_p > eps_p``,

    s_i = r_ip - w_p,    w_i = r_ip - s_p,    so    s_i + w_i = 2 r_ip - T    for all others,

which keeps every other pair: ``r_ip + r_jp - T <= r_ij``. Of opt2, with ``z = b_p``, likewise
``b_i = max(1 - e^r_ip z, e^-r_ip (1 - z))``. Every bound that this uses is a pair with p.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.policy.rules.rule import SHORT_OF_POLE, HalfLines, PairRule

Array = NDArray[np.float64]


class ApartReduction:
    """The tables in which level ``apart`` exceeds its own pair (a ``Reduction``)."""

    def __init__(self, rule: PairRule, epsilons: Array, apart: int) -> None:
        size = epsilons.size
        self.own = float(epsilons[apart])
        self.here = np.arange(size) == apart
        level, all_levels = np.full(size, apart), np.arange(size)
        self.pairs = rule.bounds_with(epsilons, apart)
        self.lowest = float(self.pairs[~self.here].min())
        self.to_others = rule.shares(epsilons, all_levels, level) * ~self.here
        self.to_apart = rule.shares(epsilons, level, all_levels) * ~self.here

    def totals(self) -> tuple[float, float]:
        return self.own, max(self.own, 2 * self.lowest * SHORT_OF_POLE)

    def kinks(self) -> Array:
        return np.zeros(0)

    def centre(self, total: float) -> Array:
        return np.where(self.here, total / 2, self.pairs - total / 2)

    def saturated(self, total: float) -> tuple[Array, Array]:
        share = self.here.astype(np.float64)
        return share, share

    def half_lines(self) -> HalfLines:
        small = np.where(self.here, 0.0, np.exp(-self.pairs))
        down, up = np.where(self.here, 1.0, -small), np.where(self.here, 0.0, np.exp(self.pairs))
        return HalfLines(small, down, np.where(self.here, 0.0, 1.0), up)

    def half_ends(self) -> tuple[float, float]:
        high = 1 / (1 + np.exp(self.own))
        return float(min(high, np.exp(-self.lowest) / 2 / SHORT_OF_POLE)), float(high)

    def half_gain(self, z: float, upper: Array) -> Array:
        small, _, _, up = self.half_lines()
        return np.where(self.here, 0.0, upper * up * z + (1 - upper) * small * (1 - z))

    def prices(self, gains: Array) -> Array:
        return gains * self.to_others + self.here * float(gains @ self.to_apart)
