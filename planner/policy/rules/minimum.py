"""The rule min (MinID-LDP, IDUE paper definition 3): a pair has the smaller of two budgets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from planner.policy.rules.others import largest_other, smallest_other
from planner.policy.rules.rule import SHORT_OF_POLE, Counts, HalfLines, Needed, PairRule, Reduction

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class MinRule(PairRule):
    """``r_ij = min(eps_i, eps_j)``; everything in O(t) time and memory."""

    name: ClassVar[str] = "min"

    def plain(self, epsilons: Array) -> str:
        return self.name

    @property
    def words(self) -> str:
        return "the smaller of the two budgets"

    @property
    def saturates(self) -> bool:
        return True

    @property
    def covers_sets(self) -> bool:
        return True

    def bounds(self, epsilons: Array) -> Array:
        return np.minimum(epsilons[:, None], epsilons[None, :])

    def bounds_with(self, epsilons: Array, level: int) -> Array:
        return np.minimum(epsilons, epsilons[level])

    def room(self, epsilons: Array, used: Array, needed: Needed) -> Array:
        most, least = largest_other(used, needed), smallest_other(epsilons - used, needed)
        return np.minimum(epsilons - most, least)

    def leakage(self, epsilons: Array, item_counts: Counts, needed: Needed) -> Array:
        """``min(eps_i, 2 min eps)`` (table I); without the pair ``(i, i)`` to the others."""
        largest = largest_other(epsilons, needed)
        return np.minimum(np.minimum(epsilons, largest), 2 * epsilons.min())

    def largest_pairs(self, epsilons: Array) -> Array:
        return epsilons

    def shares(self, epsilons: Array, i: NDArray[np.intp], j: NDArray[np.intp]) -> Array:
        """The smaller budget decides; of two equal ones each has half."""
        smaller = np.where(epsilons[i] < epsilons[j], 1.0, 0.0)
        return np.where(i == j, 1.0, np.where(epsilons[i] == epsilons[j], 0.5, smaller))

    def windows(self, epsilons: Array) -> tuple[tuple[Array, Array], ...]:
        """``[max(0, E - eps), min(E, eps)]`` for every range ``E`` that can be tight."""
        most = 2 * float(epsilons.min())
        ranges = set(epsilons[epsilons <= most].tolist())
        if epsilons.max() > most:
            ranges.add(most)
        return tuple(
            (np.maximum(0.0, span - epsilons), np.minimum(span, epsilons))
            for span in sorted(ranges)
        )

    def reduction(self, epsilons: Array) -> Reduction:
        return _MinReduction(epsilons)

    def log_odds_rows(self, epsilons: Array, needed: Needed) -> tuple[Any, Array, Array, Any]:
        """4t rows: ``s_i <= S, w_i <= W, s_i + W <= eps_i, w_i + S <= eps_i``."""
        import scipy.sparse as sp

        if not needed.all():
            return PairRule.log_odds_rows(self, epsilons, needed)
        t = epsilons.size
        eye, zero = sp.eye_array(t), sp.csr_array((t, t))
        one, none = np.ones((t, 1)), np.zeros((t, 1))
        levels = sp.block_array([[eye, zero], [zero, eye], [eye, zero], [zero, eye]])
        extra = np.block([[-one, none], [none, -one], [none, one], [one, none]])
        limit = np.concatenate([np.zeros(2 * t), np.tile(epsilons, 2)])
        return levels, extra, limit, sp.hstack([zero, zero, eye, eye])

    def half_rows(self, epsilons: Array, needed: Needed, b: Array) -> tuple[Any, Array, Array, Any]:
        """3t rows with the auxiliary ``X = max x``."""
        import scipy.sparse as sp

        if not needed.all():
            return PairRule.half_rows(self, epsilons, needed, b)
        t = epsilons.size
        eye, one, shrink = sp.eye_array(t), np.ones((t, 1)), np.exp(-epsilons)
        levels = sp.vstack([eye, eye, sp.diags_array(shrink)])
        extra = np.concatenate([-one, shrink[:, None], one])
        limit = np.concatenate([np.zeros(t), np.tile((1 - shrink) / 2, 2)])
        slopes = [np.zeros(t), shrink * (1 - b.min()), shrink * (1 - b)]
        return levels, extra, limit, sp.hstack([sp.diags_array(slope) for slope in slopes])


class _MinReduction:
    """``s_i + w_i = 2 min(eps_i, T) - T``: a level with ``eps_i >= T`` is saturated."""

    def __init__(self, epsilons: Array) -> None:
        self.epsilons = epsilons
        self.lowest, self.highest = float(epsilons.min()), float(epsilons.max())

    def totals(self) -> tuple[float, float]:
        return self.lowest, min(2 * self.lowest * SHORT_OF_POLE, self.highest)

    def kinks(self) -> Array:
        return np.unique(self.epsilons)

    def centre(self, total: float) -> Array:
        return np.minimum(self.epsilons, total) - total / 2

    def saturated(self, total: float) -> tuple[Array, Array]:
        return (self.epsilons >= total).astype(np.float64), (self.epsilons > total).astype(
            np.float64
        )

    def half_lines(self) -> HalfLines:
        none, one = np.zeros_like(self.epsilons), np.ones_like(self.epsilons)
        return HalfLines(none, one, one, np.exp(self.epsilons))

    def half_ends(self) -> tuple[float, float]:
        low = max(np.exp(-self.lowest) / 2 / SHORT_OF_POLE, 1 / (1 + np.exp(self.highest)))
        return float(low), float(1 / (1 + np.exp(self.lowest)))

    def half_gain(self, z: float, upper: Array) -> Array:
        return upper * np.exp(self.epsilons) * z

    def prices(self, gains: Array) -> Array:
        return gains
