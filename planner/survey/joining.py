"""The cells of a joint question as levels: what its parts promise, pair by pair.

Two cells differ in some parts, each of which promises a budget for its two answers; the pair has
the smallest of these. Cells alike, which have the same budgets against all others, are one level
(docs/theory/relating.md, "Parts whose budgets differ").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from planner.arrays import Array

MOST_KINDS = 8
"""Kinds of cells that a design of all pair budgets may have, ..."""
MOST_ENDS = 10
"""... those of several cells counted twice: more are not solved (solvers/rays.py)."""


class Kinds(NamedTuple):
    """Cells in kinds, and the pair budgets of these.

    ``cells`` are the numbers of each kind's cells, in the order of the product of the parts'
    answers; ``budgets`` ``(kinds, kinds)``, on the diagonal those within a kind.
    """

    cells: tuple[tuple[int, ...], ...]
    budgets: Array


def kinds_of_cells(budgets: Sequence[Sequence[float]]) -> Kinds | None:
    """Kinds of the cells of parts whose answers have these budgets; None if they are too many.

    Also None where no pair has more than the smaller of its cells' budgets: the rule min says all.

    Examples
    --------
    Three answers of budget 2 and two of budget 1: two kinds of three cells that share an answer
    of the stricter part. Within one a report may say up to 2 nats about the other answer.

    >>> cells, budgets = kinds_of_cells([[2.0, 2.0, 2.0], [1.0, 1.0]])
    >>> cells, budgets.tolist()
    (((0, 2, 4), (1, 3, 5)), [[2.0, 1.0], [1.0, 2.0]])
    """
    pairs = pair_budgets(budgets)
    # Of a cell the smallest budget against any other: what the rule min would give it.
    smallest = pairs.min(axis=1)
    by_rule_min = _without_diagonal(np.minimum.outer(smallest, smallest))
    if np.array_equal(pairs, by_rule_min):
        return None
    # Being alike is an equivalence: one cell of a kind stands for all.
    kinds: list[list[int]] = []
    for cell in range(len(pairs)):
        for kind in kinds:
            if _alike(pairs, cell, kind[0]):
                kind.append(cell)
                break
        else:
            kinds.append([cell])
        if len(kinds) > MOST_KINDS:
            return None
    of_several = [kind for kind in kinds if len(kind) > 1]
    if len(kinds) + len(of_several) > MOST_ENDS:
        return None
    number = len(kinds)
    between = np.zeros((number, number))
    for i, kind in enumerate(kinds):
        first = kind[0]
        for j, other in enumerate(kinds):
            # The last of a kind is another cell than the first, where it has two.
            between[i, j] = pairs[first, other[-1]]
        if len(kind) == 1:  # no pair: what its answer may lose against any other
            others = np.delete(pairs[first], first)
            between[i, i] = others.max()
    return Kinds(tuple(map(tuple, kinds)), between)


def pair_budgets(budgets: Sequence[Sequence[float]]) -> Array:
    """The budgets of all pairs of cells, ``(cells, cells)``, in nats; infinite on the diagonal.

    ``budgets`` are those of every part's answers. Two cells ``c`` and ``c'`` have the smallest over
    the parts ``j`` in which they differ of ``min(eps_j(c_j), eps_j(c'_j))``, each part being under
    the rule "min". None is above twice the smallest of all: by way of a third cell a pair has no
    more in any mechanism.
    """
    sizes = [len(part) for part in budgets]
    cells = np.prod(sizes)
    # Of every part the number of the answer that each cell has to it.
    answers_to_parts = np.indices(sizes).reshape(-1, cells)
    pairs = np.full((cells, cells), np.inf)
    for part, answer in zip(budgets, answers_to_parts, strict=True):
        budget = np.array(part)[answer]
        promised = np.minimum.outer(budget, budget)
        differ = np.not_equal.outer(answer, answer)
        np.minimum(pairs, promised, out=pairs, where=differ)
    # Log ratios add up along two pairs that share a cell.
    pairs = np.minimum(pairs, 2 * pairs.min())
    return _without_diagonal(pairs)


def _without_diagonal(pairs: Array) -> Array:
    np.fill_diagonal(pairs, np.inf)
    return pairs


def _alike(pairs: Array, cell: int, other: int) -> bool:
    """Whether two cells have the same budgets against all others."""
    same = pairs[cell] == pairs[other]
    same[[cell, other]] = True
    return bool(same.all())
