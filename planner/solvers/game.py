"""One program for all mechanisms: the weights of columns against the weights of scenarios.

A column ``o`` is one kind of report. It has parts ``F_bo``, one vector a block ``b``, expectations
``P_os`` under each scenario ``s``, and sums ``R_o``. Wanted are weights ``theta >= 0`` of columns
where scenarios have weights ``sigma >= 0``. With ``w = P sigma`` and ``J_b = sum_o (theta_o / w_o)
F_bo F_bo'``,

    min over theta, max over sigma    sum_b tr(W_b J_b^-1 W_b') - offsets . sigma
    such that                         sum_o theta_o R_o = 1,    free . sigma = 1,

convex in ``theta`` and concave in ``sigma``. Multipliers ``alpha_b``, ``rows`` and ``scenarios``
charge a column ``q_o = sum_b |alpha_b' F_bo|^2 / w_o``; where scenarios look at different
combinations of what is wanted, forms ``H_o = sum_s sigma_s P_os G_s`` take the place of ``w_o``. If
no column that is allowed has a ratio ``q_o / (R_o rows)`` above ``rho``, every mechanism has at
least

    [(sum_b tr W_b alpha_b)^2 / (rho sum rows) - offsets . sigma] / (free . sigma)

(docs/theory/channels.md, docs/theory/designs.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.arrays import Array

SLACK = 2.0**-43
"""Charged for rounding, of the sum of all terms' sizes.

It covers exp of logarithms up to 512, each rounded twice: windows of a chain are that long.
"""

MOST_NEW = 40
"""Columns that are added at once."""

_ABOVE_ONE = (
    1e-12  # by how much more than 1 a ratio is, of a column that is worth adding
)


class GameColumns(NamedTuple):
    """Kinds of reports, ``N`` of them.

    ``parts``: one ``(N, r_b)`` a block; ``people`` ``(N, k)``; ``sums`` ``(N, r)``; ``key``: what
    their oracle knows them by, whole numbers ``(N, ...)``.
    """

    parts: tuple[Array, ...]
    people: Array
    sums: Array
    key: NDArray[np.int64]

    def take(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> GameColumns:
        """The columns at these places."""
        return GameColumns(
            parts=tuple(part[which] for part in self.parts),
            people=self.people[which],
            sums=self.sums[which],
            key=self.key[which],
        )

    def joined(self, *others: GameColumns) -> GameColumns:
        """These columns and then the others, each once: the first of those alike.

        Alike are columns with the same key and, to 12 decimals, the same sums.
        """
        every = [self, *others]
        blocks = zip(*[columns.parts for columns in every], strict=True)
        together = GameColumns(
            parts=tuple(np.vstack(block) for block in blocks),
            people=np.vstack([columns.people for columns in every]),
            sums=np.vstack([columns.sums for columns in every]),
            key=np.vstack([columns.key for columns in every]),
        )
        order, rows = together.order()
        is_new = np.ones(order.size, dtype=np.bool_)
        differs = rows[1:] != rows[:-1]
        is_new[1:] = differs.any(axis=1)
        return together.take(np.sort(order[is_new]))

    def order(self) -> tuple[NDArray[np.int64], Array]:
        """The columns' indices, sorted by key and sums, and the rows of both in that order."""
        rows = np.hstack([self.key, self.sums.round(12)])
        columns_last_first = rows.T[
            ::-1
        ]  # the last key is the one that is sorted by first
        order = np.lexsort(columns_last_first)
        return order, rows[order]


class Game(NamedTuple):
    """The game's numbers that all columns share.

    ``workload``: ``W_b``, ``(p_b, r_b)``; ``offsets`` ``(k,)``; ``free``: 0 for
    scenarios with a cap, else 1; ``forms``: ``G_s``, ``(k, p, p)``, None if all are the identity.
    """

    workload: tuple[Array, ...]
    offsets: Array
    free: Array
    forms: Array | None = None


class Multipliers(NamedTuple):
    """``alpha``: ``(r_b, p_b)`` a block; ``rows`` ``(r,)``; ``scenarios`` ``(k,)``, at least 0."""

    alpha: tuple[Array, ...]
    rows: Array
    scenarios: Array


def ratios(game: Game, multipliers: Multipliers, columns: GameColumns) -> Array:
    """Each column's charge over ``R rows``, rounded up; infinite where that is not above 0."""
    charge = _charges(game, multipliers, columns)
    return _quotient(charge, _covered(multipliers, columns))


def _quotient(charge: Array, covered: Array) -> Array:
    """Charges over what covers them; infinite where that is not above 0."""
    infinite = np.full(charge.shape, np.inf)
    return np.divide(charge, covered, out=infinite, where=covered > 0)


def worst(
    game: Game, multipliers: Multipliers, columns: GameColumns, most: int = MOST_NEW
) -> tuple[GameColumns, float]:
    """The columns that exceed most, at most so many, and the largest ratio.

    Where multipliers do not cover some column at all, its infinite ratio says nothing of which
    ones are needed: then by the excess of the charge.
    """
    charge = _charges(game, multipliers, columns)
    covered = _covered(multipliers, columns)
    ratio = _quotient(charge, covered)
    largest = float(ratio.max(initial=0.0))
    excess = ratio
    if np.isinf(largest):
        excess = charge - covered
    first = np.arange(excess.size)
    if excess.size > most:
        first = np.argpartition(-excess, most)[:most]
    first = first[np.argsort(-excess[first])]
    exceeding = first[ratio[first] > 1 + _ABOVE_ONE]
    return columns.take(exceeding), largest


def lower_bound(game: Game, multipliers: Multipliers, largest_ratio: float) -> float:
    """The module's bound if no column's ratio exceeds ``rho = largest_ratio``, rounded down.

    ``((sum tr W alpha)^2 / (rho sum rows) - offsets sigma) / (free sigma)``, each term less what
    floats may err in it; ``-inf`` where the multipliers prove nothing.
    """
    trace = 0.0  # sum_b tr W_b alpha_b
    for W, alpha in zip(game.workload, multipliers.alpha, strict=True):
        terms = W * alpha.T
        trace += float(terms.sum() - _doubt(terms))
    rows = multipliers.rows
    sum_rows = float(rows.sum() + _doubt(rows))
    sigma = multipliers.scenarios
    free_weight = float(game.free @ sigma)
    is_positive = trace > 0 and sum_rows > 0 and free_weight > 0
    if not (is_positive and 0 < largest_ratio < np.inf):
        return -np.inf
    square = trace * trace / (largest_ratio * sum_rows)
    offset = float(game.offsets @ sigma)
    size = square + float(np.abs(game.offsets) @ sigma)
    return float((square - offset - SLACK * size) / free_weight)


def _doubt(terms: Array) -> float:
    """What rounding may take from the sum of these terms, or add to it."""
    return SLACK * float(np.abs(terms).sum())


def _covered(multipliers: Multipliers, columns: GameColumns) -> Array:
    """``R_o rows``, what covers a column's charge, rounded down; ``(N,)``."""
    covered = columns.sums @ multipliers.rows
    size = columns.sums @ np.abs(multipliers.rows)
    return np.asarray(covered - SLACK * size)


def _charges(game: Game, multipliers: Multipliers, columns: GameColumns) -> Array:
    """``q_o = sum_b |alpha_b' F_bo|^2 / w_o`` with ``w = P sigma``, rounded up; ``(N,)``.

    Infinite where ``w_o`` is not above 0. Where the game has forms, ``H_o`` takes its place.
    """
    if game.forms is not None:
        charge = _charges_of_forms(game.forms, multipliers, columns)
        return charge * (1 + SLACK)
    squares = np.zeros(len(columns.people))
    for part, alpha in zip(columns.parts, multipliers.alpha, strict=True):
        moved = part @ alpha  # alpha_b' F_bo
        norm = np.sqrt(np.einsum("op,op->o", moved, moved))
        size = np.abs(part) @ np.linalg.norm(alpha, axis=1)
        squares += np.square(norm + SLACK * size)
    w = columns.people @ multipliers.scenarios * (1 - SLACK)
    return _quotient(squares, w) * (1 + SLACK)


def _charges_of_forms(
    forms: Array, multipliers: Multipliers, columns: GameColumns
) -> Array:
    """``(alpha' F_o)' H_o^-1 (alpha' F_o)`` with ``H_o = sum_s sigma_s P_os G_s``; ``(N,)``.

    Along the axes of ``H_o`` it is a sum of squares over eigenvalues: squares are rounded up and
    eigenvalues down.
    """
    (part,) = columns.parts
    (alpha,) = multipliers.alpha
    H = np.einsum("os,s,spq->opq", columns.people, multipliers.scenarios, forms)
    eigenvalues, axes = np.linalg.eigh(H)
    eigenvalues -= SLACK * eigenvalues[:, -1:]
    sizes = np.abs(part) @ np.abs(alpha)
    doubt = SLACK * np.linalg.norm(sizes, axis=1)
    along_axes = np.einsum("opq,op->oq", axes, part @ alpha)
    largest = np.abs(along_axes) + doubt[:, None]
    by_axis = _quotient(np.square(largest), eigenvalues)
    return np.asarray(by_axis.sum(axis=1))
