"""The worst single item over given types alone: a second-order cone program, and what it proves.

Per user, the count of an item ``x`` of level ``k`` has the variance ``sum_y v_y(x') g_y^2`` from a
person whose answer ``x'`` is another item, and the objective is the largest of these times the
level's weight (docs/theory/designs.md, the worst single item). Multipliers ``a, A, nu, lam``
prove a bound if, for every type,

    sum_k mean over its items [(a_k (v - mean_k) + A_k.mean)^2 / (omega_k nu_k.other)]
        <= lam.mean,

with ``v`` the item's likelihood and ``other`` the mean likelihoods of the other items of every
level. This needs no weights per item: it stays near 1 for ten items and for a million.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from planner.designs.item_sides import ItemSides
from planner.errors import ConvergenceError
from planner.solvers.design.problem import Columns, DesignProblem

Array = NDArray[np.float64]

_TOLERANCES = (1e-10, 1e-8, 1e-6)  # the next where the solver makes no progress
# Of an answer that is not quite solved the bound and the error are computed apart, too.
_GOOD_ENOUGH = ("Solved", "AlmostSolved", "InsufficientProgress")


class ItemMultipliers(NamedTuple):
    """``own`` is ``a``, shape ``(t,)``, 0 for one-item levels; ``means`` ``A``, ``(t, t)``.

    ``others`` is ``nu``, shape ``(t, t)``: for the items of each level (row), how much people of
    each level (column) with another item count, together 1. ``slack`` is ``lam``, by level.
    """

    own: Array
    means: Array
    others: Array
    slack: Array

    def towards(self, other: ItemMultipliers, way: float) -> ItemMultipliers:
        """A point on the way to others; it covers every type that both cover."""
        parts = zip(self, other, strict=True)
        return ItemMultipliers(*((1 - way) * mine + way * yours for mine, yours in parts))


class ItemAnswer(NamedTuple):
    """The best multipliers were there no other types, the types' weights, and the objective."""

    multipliers: ItemMultipliers
    weights: Array
    value: float


def solve_items(problem: DesignProblem, columns: Columns, size: float) -> ItemAnswer:
    """The best weights of these types, and the best multipliers were there no others.

    Parameters
    ----------
    problem, columns:
        The levels, and the types.
    size:
        About the objective: numbers are scaled by it.

    Raises
    ------
    ConvergenceError
        Clarabel failed, or gave no finite numbers.
    """
    import clarabel

    scale, m = problem.columns(columns)[2], problem.item_counts
    low, high = (part / scale[:, None] for part in problem.sides(columns))
    sides = ItemSides.of(m, low, high, columns.high_counts / m)
    (n, t), cones = sides.mean.shape, np.count_nonzero(sides.share)
    parts = np.split(np.arange(t + 2 * t * t + t + cones), np.cumsum([t, t * t, t * t, t]))
    own, means, others, slack, _ = parts  # where the variables stand
    unit = np.sqrt(size)
    cost = np.zeros(sum(map(len, parts)))
    cost[own] = -2 * (1 - 1 / m) / unit
    cost[means[:: t + 1]] = -2 / (m * unit)
    cost[slack] = 1.0
    free = np.ones(cost.size, dtype=np.bool_)  # a one-item level has no other item
    free[own[m == 1]] = free[others[:: t + 1][m == 1]] = False
    matrix = _constraints(problem.weights_above_zero, sides, parts)[:, free]
    limit = np.zeros(matrix.shape[0])
    limit[0] = 1.0
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    kinds = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(t * t + n)]
    kinds += [clarabel.SecondOrderConeT(3)] * cones
    nothing = sp.csc_matrix((matrix.shape[1], matrix.shape[1]))
    for tolerance in _TOLERANCES:
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        answer = clarabel.DefaultSolver(nothing, cost[free], matrix, limit, kinds, settings).solve()
        if str(answer.status) in _GOOD_ENOUGH:
            break
    point, prices = np.zeros(cost.size), np.array(answer.z)
    point[free] = answer.x
    if str(answer.status) not in _GOOD_ENOUGH or not np.isfinite([*point, *prices]).all():
        remedy = "Round the budgets, or bring them closer together."
        raise ConvergenceError(f"Clarabel stopped early: {answer.status}", remedy)
    counted = problem.weights > 0  # what nobody minds proves nothing
    multipliers = ItemMultipliers(
        np.where(counted, point[own] * unit, 0.0),
        np.where(counted[:, None], point[means].reshape(t, t) * unit, 0.0),
        np.where(counted[:, None], np.maximum(point[others].reshape(t, t), 0.0), 0.0),
        point[slack] * size,
    )
    weights = np.maximum(prices[1 + t * t : 1 + t * t + n], 0.0) / scale
    return ItemAnswer(multipliers, weights, -size * float(answer.obj_val))


def _constraints(
    weights: Array, sides: ItemSides, parts: Sequence[NDArray[np.int64]]
) -> sp.csc_matrix:
    """Rows of all cones: ``nu`` sums to 1 and is not negative, types, and squares by side.

    Of a type's side that has items, ``upper (omega nu.other) >= (a above + A.mean)^2``.
    """
    own, means, others, slack, upper = parts
    n, t = sides.mean.shape
    kind, level, side = np.nonzero(sides.share)
    share, above, other = (part[kind, level, side] for part in sides[1:])
    rows = _Rows(sum(map(len, parts)))
    rows.add(0 * others, others, 1.0)
    rows.next(1)
    rows.add(np.arange(t * t), others, -1.0)
    rows.next(t * t)
    rows.add(kind, upper, share)
    for i in range(t):
        rows.add(np.arange(n), slack[i], -sides.mean[:, i])
    rows.next(n)
    place = 3 * np.arange(kind.size)
    rows.add(place, upper, -1.0)
    rows.add(place + 1, upper, -1.0)
    rows.add(place + 2, own[level], -2 * above)
    for i in range(t):
        mean = sides.mean[kind, i]
        people = weights[level] * np.where(level == i, other, mean)
        rows.add(place, others[t * level + i], -people)
        rows.add(place + 1, others[t * level + i], people)
        rows.add(place + 2, means[t * level + i], -2 * mean)
    rows.next(3 * kind.size)
    return rows.matrix()


def bound_of_items(
    problem: DesignProblem, multipliers: ItemMultipliers, ratio: float
) -> tuple[float, ItemMultipliers]:
    """What they prove if no type's ratio exceeds ``ratio``, rounded down; and scaled to ratio 1.

    ``(sum_k a_k (1 - 1 / m_k) + A_kk / m_k)^2 / (ratio sum lam)``, a variance per user times its
    weight, for all mechanisms.
    """
    own, means, others, slack = multipliers
    m, total = problem.item_counts, float(slack.sum())
    terms = np.concatenate([own * (1 - 1 / m), np.diag(means) / m])
    gain = float(terms.sum() - 2.0**-44 * np.abs(terms).sum())
    if not (np.isfinite(ratio) and total > 0 and gain > 0):
        return -np.inf, multipliers
    total *= float(others.sum()) * (1 + 2.0**-44)  # nu may not sum to 1 exactly
    size = gain / (ratio * total)
    scaled = ItemMultipliers(own * size, means * size, others, slack * size**2 * ratio)
    return gain * size * (1 - 2.0**-44), scaled


class _Rows:
    """Entries of a sparse matrix, block of rows by block."""

    def __init__(self, width: int) -> None:
        self.width, self.first = width, 0
        self.entries: list[tuple[NDArray[np.int64], NDArray[np.int64], Array]] = []

    def add(self, row: NDArray[np.int64], column: NDArray[np.int64], value: Array | float) -> None:
        """Entries of the present block, whose rows count from 0."""
        row, column, numbers = np.broadcast_arrays(self.first + row, column, value)
        self.entries.append((row, column, numbers.astype(np.float64)))

    def next(self, rows: int) -> None:
        """End the present block, of so many rows."""
        self.first += rows

    def matrix(self) -> sp.csc_matrix:
        """All of them; several entries of one place are added."""
        row, column, value = (np.concatenate(part) for part in zip(*self.entries, strict=True))
        return sp.csc_matrix((value, (row, column)), shape=(self.first, self.width))
