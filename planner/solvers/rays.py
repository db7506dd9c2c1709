"""What one report may say: the extreme rays of the cone of likelihoods that keep every pair.

A column ``v(x) = Pr[y | x]`` keeps the pairs if ``ln v(x) - ln v(x') <= r(x, x')``. In an extreme
ray the pairs that hold with equality connect all items, and every level has at most two values
(docs/theory/designs.md). A *window* is one choice of ``ln low_i <= ln high_i`` for all levels; a
policy's rays are the splits of the items over the ends of finitely many windows. The rules min
and avg know their windows; those of a matrix are vertices of a polyhedron of differences, found
by walking along its edges. Budgets are floats, that is exact fractions, and are compared as such.
"""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.arrays import Array
from planner.errors import InputError
from planner.patience import still_wanted
from planner.policy.policy import PrivacyPolicy

Point = tuple[int, ...]

# connected, under a matrix of pair budgets
_MOST_WALKED = 8
_MOST_ENDS = 10  # of all levels, low and high: a level of one item has one
_MOST_RAYS = 20_000  # vertices


class Windows(NamedTuple):
    """Natural logarithms of the two likelihoods, each of shape ``(windows, t)``."""

    low: Array
    high: Array


def windows_of(policy: PrivacyPolicy, levels: NDArray[np.int64]) -> Windows:
    """The windows of one component's levels, smallest value 0; superfluous ones are harmless.

    Under a matrix a level of one item has one end: of such levels alone, windows are rays.

    Raises
    ------
    InputError
        A matrix of pair budgets has too many levels or windows to list.

    Examples
    --------
    >>> policy = PrivacyPolicy([1.0, 1.5, 4.0], [2, 2, 2])
    >>> windows = windows_of(policy, np.arange(3))
    >>> windows.low.tolist(), windows.high.tolist()
    ([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [1.0, 0.5, 0.0]],
     [[1.0, 1.0, 1.0], [1.0, 1.5, 1.5], [1.0, 1.5, 2.0]])
    >>> policy = PrivacyPolicy([1.0] * 3, [1] * 3, [[9, 1, 2], [1, 9, 1], [2, 1, 9]])
    >>> windows_of(policy, np.arange(3)).low.tolist()
    [[0.0, 1.0, 0.0], [0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    """
    ends = policy.rule.windows(policy.epsilons[levels])
    if ends is None:
        bounds = policy.demanded()[np.ix_(levels, levels)]
        return _listed_windows(bounds, policy.item_counts[levels] > 1)
    low, high = (np.array(values) for values in zip(*ends, strict=True))
    least = low.min(axis=1, keepdims=True)
    return Windows(low - least, high - least)


def one_window(policy: PrivacyPolicy) -> bool:
    """Whether all likelihoods that one report may have are one box, whatever the levels are."""
    ends = policy.rule.windows(policy.epsilons)
    return ends is not None and len(list(islice(ends, 2))) == 1


def components_of(policy: PrivacyPolicy) -> list[NDArray[np.int64]]:
    """Levels in groups between which no pair has a finite budget.

    Examples
    --------
    >>> from math import inf
    >>> policy = PrivacyPolicy([1, 1, 1], [1, 2, 3], [[1, 2, inf], [2, 1, inf], [inf, inf, 3]])
    >>> [levels.tolist() for levels in components_of(policy)]
    [[0, 1], [2]]
    """
    if not policy.rule.open_pairs:
        return [np.arange(policy.size)]
    from scipy.sparse.csgraph import connected_components

    count, label = connected_components(np.isfinite(policy.demanded()), directed=False)
    return [np.flatnonzero(label == component) for component in range(count)]


def vertices(nodes: int, rows: dict[tuple[int, int], int]) -> list[Point]:
    """The vertices of ``z_x - z_y <= rows[x, y]``, whole numbers, smallest coordinate 0.

    Tight rows join nodes; a vertex is a point whose graph is connected. An edge raises a set of
    nodes that no tight row leaves, where it and the rest are each connected. Bounded edges connect
    all vertices.

    Raises
    ------
    InputError
        There are more than 20,000.

    Examples
    --------
    >>> vertices(2, {(0, 1): 3, (1, 0): 5})
    [(0, 5), (3, 0)]
    """
    everything = 2**nodes - 1
    z: Point = (0,) * nodes
    # A first vertex: what tight rows join to node 0 is raised, or all else, until a row stops it.
    while (part := _reached(1, _tight(z, rows), everything)) != everything:
        moved = _raised(z, part, rows) or _raised(z, everything ^ part, rows)
        if moved is None:  # guards the callers: they connect all nodes
            raise AssertionError("the nodes are not connected by rows")
        z = moved
    seen = {z}
    todo = [z]
    sets = np.arange(1, everything)
    while todo:
        still_wanted()
        z = todo.pop()
        tight = _tight(z, rows)
        left = np.zeros(
            sets.size, dtype=bool
        )  # by a tight row, with its first node inside alone
        for x, y in tight:
            left |= ((sets >> x) & 1) > ((sets >> y) & 1)
        for part in sets[~left].tolist():  # nodes as bits of one number
            halves = part, everything ^ part
            if any(_reached(half & -half, tight, half) != half for half in halves):
                continue  # more than one edge: not all of a half is joined to its first node
            other = _raised(z, part, rows)
            if other is not None and other not in seen:
                seen.add(other)
                todo.append(other)
        if len(seen) > _MOST_RAYS:
            raise InputError(
                "rule", "a matrix of too many windows", _FEW_LEVELS, _MERGE_REMEDY
            )
    return sorted(seen)


def _tight(z: Point, rows: dict[tuple[int, int], int]) -> list[tuple[int, int]]:
    return [(x, y) for (x, y), limit in rows.items() if z[x] - z[y] == limit]


def _raised(z: Point, part: int, rows: dict[tuple[int, int], int]) -> Point | None:
    """The next vertex when a set of nodes is raised, if a row ever stops it."""
    room = []  # of the rows from a node in the set to one outside
    for (x, y), limit in rows.items():
        if part >> x & 1 and not part >> y & 1:
            room.append(limit - z[x] + z[y])
    if not room:
        return None
    step = min(room)
    moved = [value + step * (part >> node & 1) for node, value in enumerate(z)]
    least = min(moved)
    return tuple(value - least for value in moved)


def _reached(start: int, edges: list[tuple[int, int]], within: int) -> int:
    """The nodes within a set that edges join to the start, all as bits of one number."""
    joins = []
    for x, y in edges:
        join = 1 << x | 1 << y
        if join & within == join:
            joins.append(join)
    reached = start
    before = 0
    while reached != before:
        before = reached
        for join in joins:
            if join & reached:
                reached |= join
    return reached


def _listed_windows(bounds: Array, several: NDArray[np.bool_]) -> Windows:
    """The windows of a matrix of pair budgets ``bounds``, ``(t, t)``, in nats.

    They are the vertices of ``high_i - low_j <= bounds[i, j]`` and ``low_i <= high_i`` of which no
    end can be moved outwards: others lie inside one of these. A level that is not of ``several``
    items has one end, low and high at once. Budgets become whole multiples of one power of two.
    """
    t = several.size
    nodes = several.size + int(several.sum())
    if t > _MOST_WALKED or nodes > _MOST_ENDS:
        raise InputError(
            "rule", f"a matrix of {t} connected levels", _FEW_LEVELS, _MERGE_REMEDY
        )
    # A node for each level's low end, then one for each high end that differs from it.
    low = np.arange(t)
    high = np.where(several, t + np.cumsum(several) - 1, low)
    rows = _whole_rows(bounds, low, high)
    for i in np.flatnonzero(several):
        rows[int(low[i]), int(high[i])] = 0
    unit = _unit_of(bounds)
    highs = set(high[several].tolist())
    lows = set(low[several].tolist())
    points = []
    for point in vertices(nodes, rows):
        # Windows inside another prove nothing new: no end of these can be moved outwards.
        tight = [(x, y) for x, y in _tight(point, rows) if x not in lows]
        if highs <= {x for x, _ in tight} and lows <= {y for _, y in tight}:
            points.append([value / unit for value in point])
    values = np.array(points)
    return Windows(values[:, low], values[:, high])


def _unit_of(bounds: Array) -> int:
    """How many units a nat has: so many that all finite budgets, binary fractions, are whole."""
    denominators = [1]
    for budget in bounds[np.isfinite(bounds)].tolist():
        (_, denominator) = float(budget).as_integer_ratio()
        denominators.append(denominator)
    return max(denominators)  # powers of two: the largest is a multiple of all


def _whole_rows(
    bounds: Array, low: NDArray[np.int64], high: NDArray[np.int64]
) -> dict[tuple[int, int], int]:
    """The rows ``high_i - low_j <= r_ij`` by their nodes, in units of :func:`_unit_of`."""
    unit = _unit_of(bounds)
    rows = {}
    for i, j in np.argwhere(np.isfinite(bounds)):
        (numerator, denominator) = float(bounds[i, j]).as_integer_ratio()
        rows[int(high[i]), int(low[j])] = numerator * (unit // denominator)
    return rows


_FEW_LEVELS = (
    f"of at most {_MOST_WALKED} levels, {_MOST_ENDS} with those of several items counted "
    f"twice, and {_MOST_RAYS} windows"
)
_MERGE_REMEDY = "Merge levels with similar budgets, or use solve()."
