"""Levels that the multipliers treat as one: few numbers to find, whatever the levels.

Any multipliers prove a bound, so some may be made equal. With ``c``, ``lam`` and ``pi`` equal
for all items of a group of levels, and one mean for the group in place of its levels', the
program sees a type by its mean and spread over each group, and has the size of the groups.
Types are priced at the true windows of all levels all the same: the bound is for the policy
as it is, and a group costs only what its best multipliers differ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.solvers.design.levels import cut_line
from planner.solvers.design.problem import Columns, DesignProblem, Multipliers

Array = NDArray[np.float64]

_CHANGE = 3.0  # weight of the multipliers' change beside the windows'


@dataclass(frozen=True, slots=True, eq=False)
class GroupedLevels:
    """A problem with its levels in groups; ``groups`` are their numbers, from 0, shape ``(t,)``.

    Levels of one group have one weight, and one share of the assumed people per item.
    """

    problem: DesignProblem
    groups: NDArray[np.int64]

    @property
    def size(self) -> int:
        """Number of groups."""
        return int(self.groups.max()) + 1

    @property
    def all_apart(self) -> bool:
        """Whether every level is a group of its own."""
        return self.size == self.problem.size

    @property
    def item_counts(self) -> NDArray[np.int64]:
        """Items of every group."""
        return np.bincount(self.groups, self.problem.item_counts).astype(np.int64)

    @property
    def weights_above_zero(self) -> Array:
        """Importance of an item's error, by group."""
        first = np.unique(self.groups, return_index=True)[1]
        return self.problem.weights_above_zero[first]

    @property
    def prior(self) -> Array | None:
        """Assumed shares of the people, by group."""
        assumed = self.problem.prior
        return None if assumed is None else np.bincount(self.groups, assumed).astype(np.float64)

    def columns(self, columns: Columns) -> tuple[Array, Array, Array]:
        """``mean``, ``spread`` and ``scale`` of types, by group; see :class:`DesignProblem`."""
        mean, spread, scale = self.problem.columns(columns)
        if self.all_apart:
            return mean, spread, scale
        part = self._parts()
        over = mean @ part
        return over, (spread + np.square(mean - over[:, self.groups])) @ part, scale

    def guesses(self, columns: Columns) -> Array:
        """As :meth:`DesignProblem.guesses`: groups have no part in it."""
        return self.problem.guesses(columns)

    def expanded(self, multipliers: Multipliers) -> Multipliers:
        """Multipliers of the levels from those of the groups."""
        if self.all_apart:
            return multipliers
        c, means, slack, prior, guess = multipliers
        part = self._parts()
        share = part.sum(axis=1)  # of the group's items
        root = np.sqrt(part)
        across = root @ (means - np.diag(c)) @ root.T
        groups = self.groups
        S = np.diag(c[groups]) + across
        return Multipliers(c[groups], S, slack[groups] * share, prior[groups] * share, guess)

    def _parts(self) -> Array:
        """Share of each level in the items of each group, shape ``(t, groups)``."""
        table = np.zeros((self.problem.size, self.size))
        items = self.problem.item_counts / self.item_counts[self.groups]
        table[np.arange(self.problem.size), self.groups] = items
        return table


def grouped(
    problem: DesignProblem, most: int, multipliers: Multipliers | None = None
) -> GroupedLevels:
    """Levels with similar windows in about ``most`` groups; all apart if there are no more.

    Levels of different weights, or shares of the assumed people per item, are never grouped.

    Parameters
    ----------
    problem:
        The levels.
    most:
        The number of groups, unless there are more kinds of levels.
    multipliers:
        Of a coarser grouping. Where they change most from level to level groups are smallest.
    """
    if problem.size <= most:
        return GroupedLevels(problem, np.arange(problem.size))
    density = 0 * problem.weights if problem.prior is None else problem.prior / problem.item_counts
    kinds = np.column_stack([problem.weights, np.round(density / max(density.max(), 1e-300), 12)])
    kind = np.unique(kinds, axis=0, return_inverse=True)[1].reshape(-1)
    low, high = problem.windows
    width = (high - low).sum(axis=0)
    place = (width - width.min()) / max(np.ptp(width), np.finfo(float).tiny)
    if multipliers is not None:
        place = place + _change(place, multipliers.contrasts)
    each = max(1, most // (int(kind.max()) + 1))
    groups, size = np.zeros(problem.size, dtype=np.int64), 0
    for number in range(int(kind.max()) + 1):
        here = kind == number
        inner = cut_line(place[here], problem.item_counts[here], each)
        groups[here] = size + inner
        size += int(inner.max()) + 1
    if size == problem.size:  # in the order of the levels, which all else is in
        groups = np.arange(size)
    return GroupedLevels(problem, groups)


def _change(place: Array, contrasts: Array) -> Array:
    """How much the logarithm of the multipliers changes up to every level."""
    value = np.log(np.maximum(contrasts, np.finfo(float).tiny))
    steps = np.unique(value, return_inverse=True)[1].reshape(-1)
    count = np.bincount(steps)
    middle, height = np.bincount(steps, place) / count, np.bincount(steps, value) / count
    order = np.argsort(middle)
    ends = np.sort(place)
    smooth = np.interp(ends, middle[order], height[order])
    total = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(smooth)))])
    return _CHANGE * np.interp(place, ends, total / max(total[-1], np.finfo(float).tiny))
