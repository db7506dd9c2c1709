"""The extreme rays of the cone of allowed output columns, for any pair rule.

A column ``v(x) = Pr[y | x]`` keeps the pairs if ``v(x) <= exp(r(x, x')) v(x')``. In an
extreme ray the pairs that hold with equality connect all symbols. The rules "min" and
"avg" put every log value at an end of its window (a box of ends, given here in full);
for a matrix of pair budgets the rays are the vertices of ``z_i - z_j <= r_ij``, found
by walking along its edges.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from planner.errors import InputError
from planner.policy.policy import PrivacyPolicy

Array = NDArray[np.float64]

_MOST_MATRIX_SYMBOLS = 10
_INWARD = 1 - 2.0**-46  # of a budget: no rounding of a logarithm carries a pair past it
_TIGHT = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Least and largest log value of each symbol in one kind of output, shape ``(m,)``."""

    low: Array
    high: Array

    def columns(self, highs: NDArray[np.bool_]) -> Array:
        """The columns in which these symbols have their larger value, shape ``(k, m)``."""
        return np.where(highs, np.exp(self.high), np.exp(self.low))


def windows(policy: PrivacyPolicy) -> tuple[Window, ...]:
    """All windows of the rules "min" and "avg": any end of each symbol's is allowed.

    Rule "min": with ``E`` the range of a ray's log values, ``[max(0, E - eps), min(E,
    eps)]``; only ``E`` among the budgets up to ``2 min eps``, and that itself, can be the
    range of an extreme ray. Rule "avg": ``[-eps/2, eps/2]``.

    Examples
    --------
    >>> [w.high.round(6).tolist() for w in windows(PrivacyPolicy([1.0, 1.5, 3.0], [1, 1, 1]))]
    [[1.0, 1.0, 1.0], [1.0, 1.5, 1.5], [1.0, 1.5, 2.0]]
    """
    ends = policy.rule.windows(policy.epsilons * _INWARD)
    return tuple(Window(low, high) for low, high in ends or ())


def matrix_rays(bounds: Array) -> Array:
    """Every extreme ray for pair budgets ``bounds``, smallest entry 1, shape ``(rays, m)``.

    Walks the edges of the polyhedron ``z_i - z_j <= r_ij``: an edge raises a set of
    symbols together, such that the pairs tight before and after leave two connected parts.

    Raises
    ------
    InputError
        More than ten symbols, or symbols that no chain of finite budgets connects.

    Examples
    --------
    >>> matrix_rays(np.array([[9, 1, 2], [1, 9, 1], [2, 1, 9]]) * np.log(2)).round(6).tolist()
    [[1.0, 2.0, 1.0], [1.0, 2.0, 4.0], [2.0, 1.0, 2.0], [4.0, 2.0, 1.0]]
    """
    room = np.array(bounds, dtype=np.float64) * _INWARD
    np.fill_diagonal(room, np.inf)
    m = room.shape[0]
    if m > _MOST_MATRIX_SYMBOLS:
        allowed = f"at most {_MOST_MATRIX_SYMBOLS} with a matrix of pair budgets"
        raise InputError("symbols", m, allowed, 'Use the rule "min" or "avg", or fewer symbols.')
    if _parts(np.isfinite(room)) > 1:
        remedy = "Give some pair between the unconnected symbols a finite budget."
        raise InputError("rule", "inf between groups", "finite along some chain", remedy)
    sets = bits(m)[1:-1].astype(bool)
    first = _vertex(room)
    seen, queue = {_key(first): first}, deque([first])
    while queue:
        here = queue.popleft()
        tight = room - (here[:, None] - here[None, :]) <= _TIGHT
        # Raising S is possible if no tight pair has its upper symbol in S, its lower outside.
        blocked = np.einsum("si,ij,sj->s", sets, tight, ~sets, optimize=True) > 0
        for raised in sets[~blocked]:
            inside = tight & (raised[:, None] == raised[None, :])
            if _parts(inside) != 2:
                continue
            gap = room - (here[:, None] - here[None, :])
            step = gap[np.ix_(raised, ~raised)].min()
            if np.isfinite(step):
                there = here + step * raised
                there -= there.min()
                if _key(there) not in seen:
                    seen[_key(there)] = there
                    queue.append(there)
    return np.exp(np.array([seen[key] for key in sorted(seen)]))


@lru_cache(maxsize=8)
def bits(m: int) -> Array:
    """All subsets of ``m`` symbols as rows of zeros and ones, shape ``(2^m, m)``."""
    rows: Array = ((np.arange(2**m)[:, None] >> np.arange(m)) & 1).astype(np.float64)
    rows.setflags(write=False)
    return rows


def _vertex(room: Array) -> Array:
    """Some vertex: the longest chains of budgets down from one symbol."""
    height = np.zeros(room.shape[0])
    height[1:] = np.inf
    for _ in range(room.shape[0]):  # Bellman-Ford: z_i <= z_j + r_ij from z_0 = 0
        finite = np.where(np.isfinite(room), room, np.inf)
        height = np.minimum(height, (finite + height[None, :]).min(axis=1))
    return height - height.min()


def _parts(edges: NDArray[np.bool_]) -> int:
    return int(connected_components(edges, directed=False, return_labels=False))


def _key(point: Array) -> tuple[float, ...]:
    return tuple(np.round(point, 7).tolist())
