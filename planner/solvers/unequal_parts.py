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
    between_weight = float((groups - 1) ** 2)
    within_weight = float((groups * (cells - 1)) ** 2)
    least = np.inf
    for start, end in zip(hull, [*hull[1:], hull[-1]], strict=True):
        edge = end - start
        shares = [0.0, 1.0]
        if edge[0] * edge[1] < 0:
            # On the edge's line the error is least where s_W = slope s_B.
            slope = sqrt(-within_weight * edge[1] / (between_weight * edge[0]))
            share = (slope * start[0] - start[1]) / (edge[1] - slope * edge[0])
            shares.append(min(1.0, max(0.0, float(share))))
        for share in shares:
            between, inside = start + share * edge
            if between > 0 and inside > 0:
                noise = between_weight / between + within_weight / inside
                least = min(least, (noise + 1) / (groups * cells) - 1)
    return float(least)


def _spreads(groups: int, cells: int, within: float, across: float) -> Array:
    """``(s_B, s_W)`` of all outputs that can be of use, ``(outputs, 2)``."""
    every = np.arange(1, groups * cells)
    parts = [
        _spreads_of(groups, cells, every, 0 * every, groups, (1.0, exp(across), 1.0))
    ]
    if within > across:
        # Where R = 2 r the two values of the other groups are one.
        others = (groups - 1) * cells + 1 if within < 2 * across else 1
        special, high = np.meshgrid(np.arange(1, cells), np.arange(others))
        values = (exp(within - across), exp(across), exp(within))
        parts.append(
            _spreads_of(
                groups, cells, high.ravel(), special.ravel(), groups - 1, values
            )
        )
    return np.vstack(parts)


def _spreads_of(
    groups: int,
    cells: int,
    high: Whole,
    special: Whole,
    others: int,
    values: tuple[float, float, float],
) -> Array:
    """The spreads of outputs with so many ``high`` cells in the ``others`` and ``special`` ones.

    ``values`` are the low and high value of the other groups, and the high one of the special
    group, whose low one is 1. For a number of high cells ``s_B + s_W`` is given, and ``s_W`` least
    where groups are full or empty, but for one, and largest where they are even.
    """
    low_value, high_value, top = values
    number = groups * cells
    has_special = groups - others
    total = has_special * cells + (top - 1) * special
    total = total + others * cells * low_value + (high_value - low_value) * high
    square = has_special * cells + (top**2 - 1) * special
    square = square + others * cells * low_value**2
    square = square + (high_value**2 - low_value**2) * high
    in_special = (top - 1) ** 2 * special * (cells - special) / cells
    last = high % cells
    uneven = last * (cells - last) / cells
    quotient = high // others
    fuller = high % others
    even = fuller * (quotient + 1) * (cells - quotient - 1) + (
        others - fuller
    ) * quotient * (cells - quotient)
    points = []
    for in_others in (uneven, even / cells):
        deviation = in_special + (high_value - low_value) ** 2 * in_others
        inside = deviation * number / total**2
        between = square * number / total**2 - 1 - inside
        points.append(np.column_stack([between, inside]))
    return np.vstack(points)


def _upper_hull(points: Array) -> list[Array]:
    """The corners of the upper hull, from left to right."""
    hull: list[Array] = []
    for point in points[np.lexsort((points[:, 1], points[:, 0]))]:
        while len(hull) > 1:
            edge = hull[-1] - hull[-2]
            chord = point - hull[-2]
            if edge[0] * chord[1] - edge[1] * chord[0] < 0:
                break
            hull.pop()
        hull.append(point)
    return hull
