"""The least error of a table of two questions with one budget each, in closed form.

With ``n`` answers of the stricter question and ``m`` of the other the ``D = n m`` cells are ``n``
groups of ``m``: two cells of a group have the budget ``R``, others ``r``. Two numbers of an output
with mean 1 decide, its squared deviations between groups ``s_B`` and within them ``s_W``, both over
``D`` (docs/theory/relating.md, "Parts whose budgets differ"):

    V = [(n - 1)^2 / s_B + (n (m - 1))^2 / s_W + 1] / D - 1.

``V`` is convex and falls in both, so that the best of all mechanisms mixes two types of outputs, an
edge of the upper hull of all ``(s_B, s_W)``. Extreme outputs have two values a group: ``1`` and
``e^r`` everywhere, or ``1`` and ``e^R`` in one group and ``e^(R - r)`` and ``e^r`` in the others.
"""

from __future__ import annotations

from math import exp, sqrt
from typing import NamedTuple

import numpy as np

from planner.arrays import Array, Whole


def least_table_error(groups: int, cells: int, within: float, across: float) -> float:
    """``V`` per person, the least of all mechanisms with unbiased estimates.

    ``groups`` is ``n`` and ``cells`` is ``m``, both at least 2; the budgets in nats are ``within``
    a group, ``R``, of which no more than ``2 r`` is of use, and ``across`` groups, ``r <= R``.

    Examples
    --------
    >>> round(least_table_error(2, 2, 3.0, 0.5), 6), round(least_table_error(2, 3, 2.0, 1.0), 6)
    (22.682104, 8.77258)
    """
    points = _spreads(groups, cells, min(within, 2 * across), across)
    hull = _upper_hull(points)
    weight_B = float((groups - 1) ** 2)
    weight_W = float((groups * (cells - 1)) ** 2)
    # Each corner once: the last with an edge of length 0.
    least = np.inf
    ends = [*hull[1:], hull[-1]]
    for start, end in zip(hull, ends, strict=True):
        edge = end - start
        edge_B, edge_W = edge
        shares = [0.0, 1.0]  # of the end, in a mixture of the two corners
        if edge_B * edge_W < 0:
            # On the edge's line V is least where s_W = slope s_B.
            slope = sqrt(-weight_W * edge_W / (weight_B * edge_B))
            start_B, start_W = start
            missing = slope * start_B - start_W
            share = float(missing / (edge_W - slope * edge_B))
            shares.append(min(1.0, max(0.0, share)))
        for share in shares:
            s_B, s_W = start + share * edge
            if s_B > 0 and s_W > 0:
                noise = weight_B / s_B + weight_W / s_W
                V = (noise + 1) / (groups * cells) - 1
                least = min(least, V)
    return float(least)


class _Outputs(NamedTuple):
    """Outputs of one kind, by the numbers of cells with each value.

    The ``usual`` groups have ``high`` cells of ``high_value`` in all, the others of ``low_value``.
    Where there is one group more, a special one, it has ``special`` cells of ``top`` and others
    of 1.
    """

    usual: int
    high: Whole
    special: Whole
    low_value: float
    high_value: float
    top: float


def _spreads(groups: int, cells: int, within: float, across: float) -> Array:
    """``(s_B, s_W)`` of all outputs that can be of use, ``(outputs, 2)``."""
    every = np.arange(1, groups * cells)
    of_two_values = _Outputs(
        usual=groups,
        high=every,
        special=np.zeros_like(every),
        low_value=1.0,
        high_value=exp(across),
        top=1.0,
    )
    spreads = _spreads_of(groups, cells, of_two_values)
    if within <= across:
        return spreads
    most_high = 0  # where R = 2 r the two values of the usual groups are one
    if within < 2 * across:
        most_high = (groups - 1) * cells
    counts_special = np.arange(1, cells)
    counts_high = np.arange(most_high + 1)
    special, high = np.meshgrid(counts_special, counts_high)
    with_special_group = _Outputs(
        usual=groups - 1,
        high=high.ravel(),
        special=special.ravel(),
        low_value=exp(within - across),
        high_value=exp(across),
        top=exp(within),
    )
    special_spreads = _spreads_of(groups, cells, with_special_group)
    return np.vstack([spreads, special_spreads])


def _spreads_of(groups: int, cells: int, outputs: _Outputs) -> Array:
    """The spreads of outputs of one kind, ``(outputs, 2)``.

    For a number of high cells ``s_B + s_W`` is given, and ``s_W`` least where groups are full or
    empty, but for one, and largest where they are even. Of a group with ``k`` of ``m`` cells high
    the squared deviations are ``k (m - k) / m`` times the squared distance of the two values.
    """
    usual, high, special, low_value, high_value, top = outputs
    # Sums of the values and of their squares: as if no cell were high, and what high ones add.
    special_groups = groups - usual
    total = special_groups * cells + (top - 1) * special
    total = total + usual * cells * low_value + (high_value - low_value) * high
    square = special_groups * cells + (top**2 - 1) * special
    square = square + usual * cells * low_value**2
    square = square + (high_value**2 - low_value**2) * high
    in_special = (top - 1) ** 2 * special * (cells - special) / cells
    # Full or empty groups but for one, which has the rest.
    rest = high % cells
    uneven = rest * (cells - rest) / cells
    # Even groups: some have one high cell more than the others.
    fewer = high // usual
    fuller_groups = high % usual
    in_fuller = fuller_groups * (fewer + 1) * (cells - fewer - 1)
    in_others = (usual - fuller_groups) * fewer * (cells - fewer)
    even = (in_fuller + in_others) / cells
    number = groups * cells
    spreads = []
    for in_usual in (uneven, even):
        deviation = in_special + (high_value - low_value) ** 2 * in_usual
        s_W = deviation * number / total**2
        s_B = square * number / total**2 - 1 - s_W
        spreads.append(np.column_stack([s_B, s_W]))
    return np.vstack(spreads)


def _upper_hull(points: Array) -> list[Array]:
    """The corners of the upper hull, from left to right."""
    hull: list[Array] = []
    from_left = np.lexsort((points[:, 1], points[:, 0]))
    for point in points[from_left]:
        while len(hull) > 1:
            edge = hull[-1] - hull[-2]
            chord = point - hull[-2]
            # Of two vectors the cross product is negative where the second turns right.
            cross = edge[0] * chord[1] - edge[1] * chord[0]
            if cross < 0:
                break
            hull.pop()
        hull.append(point)
    return hull
