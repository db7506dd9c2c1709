"""The rule avg (AvgID-LDP, IDUE paper section VIII): a pair has the average of two budgets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from planner.policy.rules.others import largest_other, smallest_other
from planner.policy.rules.rule import SHORT_OF_POLE, Counts, HalfLines, Needed, PairRule, Reduction

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class AvgRule(PairRule):
    """``r_ij = (eps_i + eps_j) / 2``; everything in O(t) time and memory."""

    name: ClassVar[str] = "avg"

    def plain(self, epsilons: Array) -> str:
        return self.name

    @property
    def words(self) -> str:
        return "the average of the two budgets"

    def bounds(self, epsilons: Array) -> Array:
        return (epsilons[:, None] + epsilons[None, :]) / 2

    def bounds_with(self, epsilons: Array, level: int) -> Array:
        return (epsilons + epsilons[level]) / 2

    def room(self, epsilons: Array, used: Array, needed: Needed) -> Array:
        return epsilons / 2 + smallest_other(epsilons / 2 - used, needed)

    def leakage(self, epsilons: Array, item_counts: Counts, needed: Needed) -> Array:
        """``(eps_i + max eps) / 2``, without ``(i, i)`` of the others; no path is tighter."""
        return (epsilons + largest_other(epsilons, needed)) / 2

    def largest_pairs(self, epsilons: Array) -> Array:
        return (epsilons + epsilons.max()) / 2

    def windows(self, epsilons: Array) -> tuple[tuple[Array, Array], ...]:
        """One window, ``[-eps/2, eps/2]``, up to a shift of all values."""
        return ((-epsilons / 2, epsilons / 2),)

    def reduction(self, epsilons: Array) -> Reduction:
        return _AvgReduction(epsilons)

    def log_odds_rows(self, epsilons: Array, needed: Needed) -> tuple[Any, Array, Array, Any]:
        """2t rows: ``s_i - D <= eps_i / 2, w_i + D <= eps_i / 2``."""
        import scipy.sparse as sp

        if not needed.all():
            return PairRule.log_odds_rows(self, epsilons, needed)
        t = epsilons.size
        eye, one = sp.eye_array(t), np.ones((t, 1))
        price = sp.hstack([eye, eye]) / 2
        return sp.eye_array(2 * t), np.concatenate([-one, one]), np.tile(epsilons / 2, 2), price

    def half_rows(self, epsilons: Array, needed: Needed, b: Array) -> tuple[Any, Array, Array, Any]:
        """2t rows with the auxiliary ``z``: ``b_i >= z e^(-eps_i / 2)``."""
        import scipy.sparse as sp

        if not needed.all():
            return PairRule.half_rows(self, epsilons, needed, b)
        t = epsilons.size
        one, shrink = np.ones((t, 1)), np.exp(-epsilons / 2)
        z = np.max((1 - b) * shrink)
        levels = sp.vstack([sp.eye_array(t), sp.diags_array(shrink)])
        extra = np.concatenate([shrink[:, None], -one])
        limit = np.concatenate([np.full(t, 0.5), -shrink / 2])
        slopes = [z * shrink / 2, shrink * (1 - b) / 2]
        return levels, extra, limit, sp.hstack([sp.diags_array(slope) for slope in slopes])


class _AvgReduction:
    """``s_i = eps_i / 2 + d, w_i = eps_i / 2 - d``: only the balance ``d`` is free."""

    def __init__(self, epsilons: Array) -> None:
        self.epsilons = epsilons
        self.lowest = float(epsilons.min())

    def totals(self) -> tuple[float, float]:
        return self.lowest, self.lowest

    def kinks(self) -> Array:
        return np.zeros(0)

    def centre(self, total: float) -> Array:
        return self.epsilons / 2

    def saturated(self, total: float) -> tuple[Array, Array]:
        half = np.full(self.epsilons.size, 0.5)
        return half, half

    def half_lines(self) -> HalfLines:
        none, one = np.zeros_like(self.epsilons), np.ones_like(self.epsilons)
        return HalfLines(none, np.exp(-self.epsilons / 2), one, np.exp(self.epsilons / 2))

    def half_ends(self) -> tuple[float, float]:
        half = self.lowest / 2
        return float(np.exp(-half) / 2 / SHORT_OF_POLE), float(np.exp(half) / 2)

    def half_gain(self, z: float, upper: Array) -> Array:
        _, down, _, up = self.half_lines()
        return (upper * up + (1 - upper) * down) * z / 2

    def prices(self, gains: Array) -> Array:
        return gains
