"""Charts of a Sampling Privacy question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planner import palette
from planner.planning.sampling.design import ErrorGrid

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["budget_error_figure", "delta_figure", "population_figure"]

_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_LEGEND = {"orientation": "h", "yanchor": "bottom", "y": 1.02}
_MARGIN = {"l": 8, "r": 8, "t": 56, "b": 40}


def budget_error_figure(grid: ErrorGrid, names: Sequence[str]) -> Figure:
    """Error of each value's count at 95 % against a common budget; at most six values."""
    from plotly.graph_objects import Figure, Scatter

    figure = Figure()
    for v, (name, colour, dash) in enumerate(zip(names, palette.CYCLE, _DASHES, strict=False)):
        line = {"color": colour, "dash": dash, "width": 2}
        figure.add_trace(Scatter(x=grid.epsilons, y=grid.errors[:, v], name=name, line=line))
    figure.update_layout(
        height=370,
        margin=_MARGIN,
        xaxis_title="epsilon of all answers (more private to the left)",
        yaxis={"title": "error at 95 %, people", "rangemode": "tozero"},
        legend=_LEGEND,
    )
    return figure


def population_figure(
    populations: NDArray[np.float64], sampling: NDArray[np.float64], coins: NDArray[np.float64]
) -> Figure:
    """Error against the population: constant for Sampling Privacy, growing for two coins.

    All of shape ``(k,)``, errors in people.
    """
    from plotly.graph_objects import Figure, Scatter

    figure = Figure()
    lines = (
        ("Sampling Privacy", sampling, palette.BLUE, "solid"),
        ("randomised response with two coins", coins, palette.ORANGE, "dash"),
    )
    for name, error, colour, dash in lines:
        line = {"color": colour, "dash": dash, "width": 2}
        figure.add_trace(Scatter(x=populations, y=error, name=name, line=line))
    figure.update_layout(
        height=370,
        margin=_MARGIN,
        xaxis={"title": "people asked", "type": "log"},
        yaxis={"title": "error at 95 %, people", "rangemode": "tozero"},
        legend=_LEGEND,
    )
    return figure


def delta_figure(
    epsilons: NDArray[np.float64], difference: NDArray[np.float64], totals: NDArray[np.float64]
) -> Figure:
    """Delta against epsilon if only aggregates are released; zeros are left out."""
    from plotly.graph_objects import Figure, Scatter

    figure = Figure()
    lines = (
        ("estimates alone released", difference, palette.BLUE, "solid"),
        ("totals of both rounds released", totals, palette.RED, "dash"),
    )
    for name, delta, colour, dash in lines:
        shown = np.where(delta > 0, delta, np.nan)
        line = {"color": colour, "dash": dash, "width": 2}
        figure.add_trace(Scatter(x=epsilons, y=shown, name=name, line=line))
    figure.update_layout(
        height=370,
        margin=_MARGIN,
        xaxis_title="epsilon (more private to the left)",
        yaxis={"title": "delta (more private downwards)", "type": "log", "exponentformat": "power"},
        legend=_LEGEND,
    )
    return figure
