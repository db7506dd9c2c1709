"""The minimum of a predicted error over budgets, and the flat region around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError
from planner.limits import MAX_EPSILON

Array = NDArray[np.float64]
_GRID_POINTS = 1000


@dataclass(frozen=True, slots=True)
class BestBudget:
    """The best budget and what it gives.

    Attributes
    ----------
    epsilon:
        The budget with the smallest predicted error, in nats.
    rmse:
        That error, in its unit.
    flat_lower, flat_upper:
        Around ``epsilon``, any budget between these has an error of at most
        ``(1 + tolerance) * rmse``.
    tolerance:
        As asked for.
    answer_rate:
        Share of people who answer at ``epsilon``.
    reliable:
        Whether enough people answer there for first-order predictions.
    """

    epsilon: float
    rmse: float
    flat_lower: float
    flat_upper: float
    tolerance: float
    answer_rate: float = float("nan")
    reliable: bool = True

    def with_rate(self, answer_rate: float, reliable: bool) -> BestBudget:
        """The same, completed."""
        return replace(self, answer_rate=answer_rate, reliable=reliable)


def find_best(
    error: Callable[[Array], Array],
    kinks: Array,
    budgets: tuple[float, float],
    tolerance: float,
) -> BestBudget:
    """Minimise ``error`` over a range of budgets: a grid that has all kinks, then Brent.

    Parameters
    ----------
    error:
        Predicted error of a column of budgets; ``inf`` where it is undefined. Smooth
        between kinks; it may jump upward just above one.
    kinks:
        Budgets at which it jumps or bends.
    budgets:
        Smallest and largest budget to consider, in nats.
    tolerance:
        Of the flat region, above 0.

    Raises
    ------
    InputError
        Range or tolerance make no sense, or the error is nowhere finite.

    Examples
    --------
    >>> best = find_best(lambda e: 1 / e + e / 4, np.empty(0), (0.1, 10.0), 0.25)
    >>> round(best.epsilon, 6), round(best.flat_lower, 6), round(best.flat_upper, 6)
    (2.0, 1.0, 4.0)
    """
    lowest, highest = budgets
    if not 0 < lowest < highest <= MAX_EPSILON:
        allowed = f"such that 0 < lowest < highest <= {MAX_EPSILON:g}"
        remedy = "Give a lowest and a highest budget in this order, such as (0.1, 5)."
        raise InputError("(lowest, highest)", budgets, allowed, remedy)
    if not 0 < tolerance < np.inf:
        remedy = "Give the share above the least error that still counts as flat."
        raise InputError("tolerance", tolerance, "above 0, such as 0.05", remedy)
    inside = kinks[(kinks > lowest) & (kinks < highest)]
    even = np.linspace(lowest, highest, _GRID_POINTS)
    steps = np.geomspace(lowest, highest, _GRID_POINTS)
    grid = np.unique(np.concatenate([[lowest, highest], even[1:-1], steps[1:-1], inside]))
    values = error(grid)
    if not np.isfinite(values).any():
        allowed = f"high enough that somebody answers at a budget above {lowest:g}"
        raise InputError("preferences", "too low", allowed, "Nobody would answer this question.")
    start = int(np.argmin(values))
    epsilon, least = _refine(error, grid, values, start)
    limit = (1 + tolerance) * least
    left, right = np.flatnonzero(grid < epsilon)[::-1], np.flatnonzero(grid > epsilon)
    return BestBudget(
        epsilon,
        least,
        _edge(error, epsilon, (grid[left], values[left]), limit),
        _edge(error, epsilon, (grid[right], values[right]), limit),
        tolerance,
    )


def _refine(
    error: Callable[[Array], Array], grid: Array, values: Array, start: int
) -> tuple[float, float]:
    from scipy.optimize import minimize_scalar

    best = float(grid[start]), float(values[start])
    for left in (start - 1, start):  # each side by itself: the error may jump at the middle
        if 0 <= left < grid.size - 1:
            ends = (float(grid[left]), float(grid[left + 1]))
            found = minimize_scalar(
                lambda e: float(error(np.array([e]))[0]),
                bounds=ends,
                method="bounded",
                options={"xatol": 1e-9},
            )
            if found.success and found.fun < best[1]:
                best = float(found.x), float(found.fun)
    return best


def _edge(
    error: Callable[[Array], Array], start: float, outward: tuple[Array, Array], limit: float
) -> float:
    """The farthest budget, going outward without a gap, whose error is within the limit."""
    grid, values = outward
    beyond = np.flatnonzero(~(values <= limit))
    if beyond.size == 0:
        return float(grid[-1]) if grid.size else start
    good = float(grid[beyond[0] - 1]) if beyond[0] else start
    bad = float(grid[beyond[0]])
    while abs(bad - good) > 1e-9 * max(good, bad):
        middle = (good + bad) / 2
        good, bad = (middle, bad) if error(np.array([middle]))[0] <= limit else (good, middle)
    return good
