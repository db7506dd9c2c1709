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
        parts = tuple(part[which] for part in self.parts)
        return GameColumns(parts, self.people[which], self.sums[which], self.key[which])

    def joined(self, *others: GameColumns) -> GameColumns:
        """The columns of all, each once: these first."""
        every = (self, *others)
        parts = tuple(
            np.vstack(blocks) for blocks in zip(*(c.parts for c in every), strict=True)
        )
        together = GameColumns(
            parts, *(np.vstack([c[i] for c in every]) for i in (1, 2, 3))
        )
        order, rows = together.order()
        first = np.ones(order.size, dtype=np.bool_)
        first[1:] = (rows[1:] != rows[:-1]).any(axis=1)
        return together.take(np.sort(order[first]))

    def order(self) -> tuple[NDArray[np.int64], Array]:
        """The columns' indices, sorted by key and sums, and the rows of both in that order."""
        rows = np.hstack([self.key, self.sums.round(12)])
        order = np.lexsort(rows.T[::-1])
        return order, rows[order]


class Game(NamedTuple):
    """What all columns share.

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
    return quotient(*_sides(game, multipliers, columns))


def quotient(charge: Array, covered: Array) -> Array:
    """Charges over what covers them; infinite where that is not above 0."""
    return np.divide(
        charge, covered, out=np.full(charge.shape, np.inf), where=covered > 0
    )


def worst(
    game: Game, multipliers: Multipliers, columns: GameColumns, most: int = MOST_NEW
) -> tuple[GameColumns, float]:
    """The columns that exceed most, at most so many, and the largest ratio.

    Where multipliers do not cover some column at all, its infinite ratio says nothing of which
    ones are needed: then by the excess of the charge.
    """
    charge, covered = _sides(game, multipliers, columns)
    ratio = quotient(charge, covered)
    largest = float(ratio.max(initial=0.0))
    order_of = charge - covered if np.isinf(largest) else ratio
    order = (
        np.argpartition(-order_of, most)[:most]
        if order_of.size > most
        else np.arange(order_of.size)
    )
    order = order[np.argsort(-order_of[order])]
    return columns.take(order[ratio[order] > 1 + 1e-12]), largest


def lower_bound(game: Game, multipliers: Multipliers, largest_ratio: float) -> float:
    """The module's bound if no column's ratio exceeds ``rho = largest_ratio``, rounded down.

    ``((sum tr W alpha)^2 / (rho sum rows) - offsets sigma) / (free sigma)``, each term less what
    floats may err in it; ``-inf`` where the multipliers prove nothing.
    """
    alpha, rows, sigma = multipliers
    products = [W * A.T for W, A in zip(game.workload, alpha, strict=True)]
    reach = sum(
        float(product.sum() - SLACK * np.abs(product).sum()) for product in products
    )
    total = float(rows.sum() + SLACK * np.abs(rows).sum())
    weight = float(game.free @ sigma)
    if not (reach > 0 and total > 0 and 0 < largest_ratio < np.inf and weight > 0):
        return -np.inf
    square = reach * reach / (largest_ratio * total)
    taken = float(game.offsets @ sigma)
    size = square + float(np.abs(game.offsets) @ sigma)
    return float((square - taken - SLACK * size) / weight)


def _sides(
    game: Game, multipliers: Multipliers, columns: GameColumns
) -> tuple[Array, Array]:
    """Charges, rounded up, and what covers them, rounded down."""
    alpha, rows, sigma = multipliers
    if game.forms is None:
        people = columns.people @ sigma * (1 - SLACK)
        charge = np.zeros(people.size)
        for part, multiplier in zip(columns.parts, alpha, strict=True):
            moved = part @ multiplier
            doubt = SLACK * (np.abs(part) @ np.linalg.norm(multiplier, axis=1))
            charge += np.square(np.sqrt(np.einsum("op,op->o", moved, moved)) + doubt)
        charge = quotient(charge, people)
    else:
        (part,) = columns.parts
        (multiplier,) = alpha
        doubt = SLACK * np.linalg.norm(np.abs(part) @ np.abs(multiplier), axis=1)
        values, axes = np.linalg.eigh(
            np.einsum("os,s,spq->opq", columns.people, sigma, game.forms)
        )
        values -= SLACK * values[:, -1:]
        turned = (
            np.abs(np.einsum("opq,op->oq", axes, part @ multiplier)) + doubt[:, None]
        )
        charge = quotient(np.square(turned), values).sum(axis=1)
    covered = columns.sums @ rows - SLACK * (columns.sums @ np.abs(rows))
    return charge * (1 + SLACK), covered
