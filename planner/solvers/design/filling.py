"""A design for many levels from one that was found for groups of them.

Multipliers that treat levels as one leave the types free to send some level more often than
another. A design may not, and has to tell the levels' totals apart. From every window that is
used, take the mean split and vary each level's count by its binomial standard deviation, up and
down as the rows of a Hadamard matrix say: no two levels vary together, and the levels' totals
become as well known as if every item were drawn alone. Newton's method and a few rounds of
pricing then find the weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.errors import ConvergenceError
from planner.solvers.design.bound import between
from planner.solvers.design.groups import GroupedLevels
from planner.solvers.design.interior import Restricted, solve_restricted
from planner.solvers.design.pricing import Pricer
from planner.solvers.design.problem import Columns, Multipliers
from planner.solvers.design.starts import first_columns

Array = NDArray[np.float64]

_USED = 0.005  # share of all reports: windows used less are left out
_PRECISION = 1e-3
_DIGITS = 1e-7  # of the weights at the end
_ROUNDS = 4
_WAYS = (0.0, 0.5, 0.9)
_ACTIVE = 150  # types to climb from
_NEW = 200  # types a round
_KEPT = 400
_DROPPED = 1e-4  # of the largest weight: types that are hardly used


def completed(
    levels: GroupedLevels, columns: Columns, answer: Restricted, multipliers: Multipliers
) -> tuple[Columns, Restricted]:
    """Types and weights with all levels apart.

    Parameters
    ----------
    levels, columns, answer:
        The groups of levels, and the types and weights that were found for them.
    multipliers:
        The best ones, of all levels: types are priced between them and the newest.

    Raises
    ------
    ConvergenceError
        The types that were made up have no answer.
    """
    problem = levels.problem
    apart = GroupedLevels(problem, np.arange(problem.size))
    columns = varied(levels, apart, columns, answer.weights).joined(first_columns(problem, None))
    newest = best = columns, solve_restricted(apart, columns, _PRECISION)
    for _ in range(_ROUNDS):
        columns, answer = newest
        order = np.argsort(-answer.weights)
        active, new = columns.chosen(order[:_ACTIVE]), columns.chosen(order[:0])
        for way in _WAYS:
            pricer = Pricer(problem, between(answer.multipliers, multipliers, way))
            types = pricer.improve(active, 1.0)
            num, den = pricer.parts(types)
            new = new.joined(types.chosen(np.argsort(den - num)[:_NEW]))
        more = columns.chosen(order[:_KEPT]).joined(new)
        try:
            newest = more, solve_restricted(apart, more, _PRECISION)
        except ConvergenceError:
            break
        best = min(best, newest, key=lambda pair: pair[1].error)
    columns, answer = best
    columns = columns.chosen(answer.weights > _DROPPED * answer.weights.max())
    return columns, solve_restricted(apart, columns, _DIGITS)


def varied(
    levels: GroupedLevels, together: GroupedLevels, columns: Columns, weights: Array
) -> Columns:
    """Around the mean split of every window that is used, equal in each of the ``levels``.

    The levels of each group of ``together`` vary as one.
    """
    problem = levels.problem
    m, (low, high) = problem.item_counts, problem.windows
    signs = _signs(together.size)[:, together.groups]
    tables = []
    for window in np.unique(columns.window):
        here = columns.window == window
        if weights[here].sum() < _USED * weights.sum():
            continue
        middle = weights[here] @ columns.high_counts[here] / weights[here].sum()
        share = np.bincount(levels.groups, middle) / levels.item_counts
        x = np.where((high > low)[window], share[levels.groups], 0.0)
        rows = np.rint(m * x + np.sqrt(m * x * np.maximum(1 - x, 0)) * signs)
        rows = np.clip(rows, 0, m).astype(np.int64)
        tables.append(np.column_stack([np.full(len(rows), window), rows]))
    table = np.unique(np.vstack(tables), axis=0)
    return Columns(table[:, 0], table[:, 1:])


def _signs(size: int) -> Array:
    """Rows of a Hadamard matrix without its column of ones, and a row of zeros."""
    from scipy.linalg import hadamard

    signs = hadamard(1 << size.bit_length())[:, 1 : size + 1]
    return np.vstack([signs, np.zeros(size)]).astype(np.float64)
