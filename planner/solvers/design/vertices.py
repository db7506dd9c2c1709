"""The windows of any matrix of pair budgets: vertices of a polyhedron of differences, exactly.

Nodes are the low and the high end of every level. A window is a point ``p`` with

    p(low_i) <= p(high_i),    p(high_i) - p(low_j) <= r_ij    (i and j of two different items)

up to a common shift. Its vertices are the points whose tight rows connect all nodes; a walk
along edges of the polyhedron finds them all. Budgets are floats, that is exact fractions, and
are compared as such: no vertex is missed for a rounding error.
"""

from __future__ import annotations

from fractions import Fraction
from math import isfinite, lcm

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError

Array = NDArray[np.float64]

_MOST = 20_000  # vertices that are listed
_MOST_LEVELS = 7  # the sets of ends tried at a vertex double twice with every level


def window_vertices(bounds: Array) -> tuple[Array, Array]:
    """Logarithms of the low and high ends of all maximal windows, shapes ``(n, t)``.

    Parameters
    ----------
    bounds:
        Pair budgets of one component, symmetric, ``inf`` where nothing is demanded, also on
        the diagonal for levels of one item; the finite ones connect all levels.

    Raises
    ------
    InputError
        More than 7 levels, or more than 20,000 vertices.

    Examples
    --------
    >>> low, high = window_vertices(np.array([[1.0]]))
    >>> low.tolist(), high.tolist()
    ([[0.0]], [[1.0]])
    """
    t = len(bounds)
    if t > _MOST_LEVELS:
        raise InputError("rule", f"a matrix of {t} connected levels", _ALLOWED, _REMEDY)
    if t == 1 and not isfinite(bounds[0, 0]):
        return np.zeros((1, 1)), np.zeros((1, 1))
    fractions = {
        (t + i, j): Fraction(bounds[i, j])
        for i in range(t)
        for j in range(t)
        if isfinite(bounds[i, j])
    }
    unit = lcm(*(value.denominator for value in fractions.values()))
    rows = {pair: int(value * unit) for pair, value in fractions.items()}
    rows |= {(i, t + i): 0 for i in range(t)}
    graph = _Differences(2 * t, rows)
    points = [p for p in graph.vertices() if _maximal(graph, p)]
    values = np.array([[float(Fraction(value, unit)) for value in p] for p in points])
    return values[:, :t], values[:, t:]


_ALLOWED = f"of at most {_MOST_LEVELS} levels and {_MOST} windows"
_REMEDY = "Merge levels with similar budgets, or use solve()."


class _Differences:
    """Points ``p`` over nodes with ``p(x) - p(y) <= rows[x, y]``, all integers."""

    def __init__(self, nodes: int, rows: dict[tuple[int, int], int]) -> None:
        self.nodes, self.rows = nodes, rows
        self.sets = np.arange(1, 2**nodes - 1)

    def vertices(self) -> list[tuple[int, ...]]:
        """All vertices with smallest coordinate 0, by a walk over edges from one of them."""
        first = self._any_vertex()
        seen, waiting = {first}, [first]
        while waiting:
            p = waiting.pop()
            for raised in self._edges(p):
                q = _normal(self._raised(p, raised))
                if q not in seen:
                    seen.add(q)
                    waiting.append(q)
                    if len(seen) > _MOST:
                        raise InputError("rule", "a matrix of too many windows", _ALLOWED, _REMEDY)
        return sorted(seen)

    def tight(self, p: tuple[int, ...]) -> list[tuple[int, int]]:
        """Rows that hold with equality."""
        return [(x, y) for (x, y), limit in self.rows.items() if p[x] - p[y] == limit]

    def _any_vertex(self) -> tuple[int, ...]:
        p = (0,) * self.nodes
        while True:
            component = self._reach(0, self.tight(p), 2**self.nodes - 1)
            if component == 2**self.nodes - 1:
                return _normal(p)
            leaving = any(_in(x, component) and not _in(y, component) for x, y in self.rows)
            p = self._raised(p, component if leaving else 2**self.nodes - 1 - component)

    def _edges(self, p: tuple[int, ...]) -> list[int]:
        """Sets of nodes that may be raised together, along an edge of the polyhedron."""
        tight = self.tight(p)
        blocked = np.zeros(self.sets.size, dtype=bool)
        for x, y in tight:
            blocked |= ((self.sets >> x) & 1) > ((self.sets >> y) & 1)
        everything = 2**self.nodes - 1
        return [
            mask
            for mask in self.sets[~blocked].tolist()
            if self._connected(mask, tight) and self._connected(everything - mask, tight)
        ]

    def _raised(self, p: tuple[int, ...], mask: int) -> tuple[int, ...]:
        step = min(
            limit - p[x] + p[y]
            for (x, y), limit in self.rows.items()
            if _in(x, mask) and not _in(y, mask)
        )
        return tuple(value + step * _in(node, mask) for node, value in enumerate(p))

    def _connected(self, mask: int, tight: list[tuple[int, int]]) -> bool:
        first = (mask & -mask).bit_length() - 1
        return self._reach(first, tight, mask) == mask

    @staticmethod
    def _reach(node: int, tight: list[tuple[int, int]], within: int) -> int:
        reached, before = 1 << node, 0
        while reached != before:
            before = reached
            for x, y in tight:
                if _in(x, within) and _in(y, within) and _in(x, reached) != _in(y, reached):
                    reached |= (1 << x) | (1 << y)
        return reached


def _maximal(graph: _Differences, p: tuple[int, ...]) -> bool:
    """Whether no end can be moved outwards: windows inside another prove nothing new."""
    t = graph.nodes // 2
    tight = [(x, y) for x, y in graph.tight(p) if x >= t]
    return {x for x, _ in tight} == set(range(t, 2 * t)) and {y for _, y in tight} == set(range(t))


def _normal(p: tuple[int, ...]) -> tuple[int, ...]:
    least = min(p)
    return tuple(value - least for value in p)


def _in(node: int, mask: int) -> int:
    return (mask >> node) & 1
