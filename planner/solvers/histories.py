"""Bounds for histories of answers by branch and bound, where levels are few.

What stands on a side are histories, any share of which can: an item is counted as ``fine``, and
between these counts the largest ratio is charged what it may rise (docs/theory/rounds.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.arrays import Array, Whole
from planner.solvers.counts import Counts, DesignProblem, Priced, largest_ratio
from planner.solvers.game import SLACK, Game, GameColumns, Multipliers


@dataclass(frozen=True, slots=True, eq=False)
class FineProblem(DesignProblem):
    """A design problem with ``spread`` whose items are counted as ``fine`` each."""

    fine: int = 1

    @property
    def several(self) -> Whole:
        """The levels of more than one item."""
        return np.flatnonzero(self.item_counts > self.fine)

    def game(self, weights: Array) -> Game:
        """The game in which these are the weights of the levels' errors; values are per item."""
        assert self.spread is not None  # noqa: S101 - of histories alone
        M, root, counted = self.items / self.fine, np.sqrt(weights), self.item_counts
        items, at = counted / self.fine, self.several
        factor = np.zeros(counted.size)
        factor[at] = ((items - 1) / np.sqrt(items * M) * np.sqrt(counted / (counted - 1)))[at]
        within = [np.array([[root[i] * self.spread[i] * factor[i]]]) for i in at]
        offsets = weights / M
        if self.prior is not None:
            offsets = np.array([offsets @ self.prior])
        return Game((np.diag(root) / M, *within), offsets, np.ones(offsets.size))


class FineCounts(Counts):
    """Counts of histories: what no count exceeds is charged for the shares between."""

    def prove(self, multipliers: Multipliers) -> tuple[GameColumns, float]:
        """What was missed, and a ratio that no share exceeds."""
        priced = Priced(self, multipliers)
        types, ratio = largest_ratio(priced, priced.every, 1.0, self.slack)
        return self.problem.columns(types), ratio + _between(priced, ratio)


def _between(priced: Priced, ratio: float) -> float:
    """How much larger than ``ratio``, which no count exceeds, that of a share between them is.

    Along the way from a count to the next, charges exceed their chord by at most a quarter of
    what their curvature says, and covers fall as little below theirs.
    """
    step = priced.gap / priced.m
    covers = ratio * np.abs(priced.rows * priced.people) * step**2
    bent = (priced.curve / np.square(priced.m) + covers).sum(axis=1)
    gained = np.where(priced.rows > 0, priced.low, priced.low + priced.gap) @ priced.rows
    least = np.maximum(gained, 0) * (priced.low @ priced.people)
    with np.errstate(divide="ignore"):
        return float((bent / 4 / least).max() * (1 + SLACK * priced.m.size))
