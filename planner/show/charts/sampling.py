"""Charts of a Sampling Privacy question."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planner.planning.sampled import ErrorGrid
from planner.show.charts.style import BLUE, CYCLE, DASHES, ORANGE, RED, curves, figure

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


_ERROR = {"title": "error at 95 %, people", "rangemode": "tozero"}


def budget_error_figure(grid: ErrorGrid, names: Sequence[str]) -> Figure:
    """Error of each value's count at 95 % against a common budget; at most six values."""
    lines = zip(names, grid.errors.T, CYCLE, cycle(DASHES), strict=False)
    return figure(
        *curves(grid.epsilons, lines),
        xaxis={"title": "epsilon of all answers (more private to the left)"},
        yaxis=_ERROR,
    )


def population_figure(
    populations: NDArray[np.float64], sampling: NDArray[np.float64], coins: NDArray[np.float64]
) -> Figure:
    """Error against the population: constant for Sampling Privacy, growing for two coins.

    All of shape ``(k,)``, errors in people.
    """
    lines = (
        ("Sampling Privacy", sampling, BLUE, "solid"),
        ("randomised response with two coins", coins, ORANGE, "dash"),
    )
    return figure(
        *curves(populations, lines), xaxis={"title": "people asked", "type": "log"}, yaxis=_ERROR
    )


def delta_figure(
    epsilons: NDArray[np.float64], difference: NDArray[np.float64], totals: NDArray[np.float64]
) -> Figure:
    """Delta against epsilon if only aggregates are released; zeros are left out."""
    lines = (
        ("estimates alone released", _positive(difference), BLUE, "solid"),
        ("totals of both rounds released", _positive(totals), RED, "dash"),
    )
    return figure(
        *curves(epsilons, lines),
        xaxis={"title": "epsilon (more private to the left)"},
        yaxis={"title": "delta (more private downwards)", "type": "log", "exponentformat": "power"},
    )


def _positive(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(values > 0, values, np.nan)  # a log axis has no zero
