"""Charts of a simulation: what was measured beside what was predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from planner import palette
from planner.simulate import Simulated

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["simulation_figure"]


def simulation_figure(
    results: Sequence[Simulated], users: int, labels: Mapping[str, str] | None = None
) -> Figure:
    """Root of the total squared error per mechanism: bars measured, diamonds predicted.

    Parameters
    ----------
    results:
        One per mechanism.
    users:
        Number of users simulated.
    labels:
        Names to show instead of the mechanisms' own.
    """
    from plotly.graph_objects import Bar, Figure, Scatter

    ranked = sorted(results, key=lambda one: -one.predicted_mse)
    names = [(labels or {}).get(one.name, one.name) for one in ranked]
    measured = np.sqrt([users * one.mse for one in ranked])
    predicted = np.sqrt([users * one.predicted_mse for one in ranked])
    # Standard error of a root: that of the mean squared error over twice the root.
    spread = users * np.nan_to_num([one.mse_error for one in ranked]) / (2 * measured)
    figure = Figure()
    figure.add_trace(
        Bar(
            x=measured,
            y=names,
            orientation="h",
            name="measured, with its standard error",
            marker={"color": palette.SKY},
            error_x={"type": "data", "array": spread, "color": palette.GREY},
        )
    )
    figure.add_trace(
        Scatter(
            x=predicted,
            y=names,
            mode="markers",
            name="predicted",
            marker={"color": palette.RED, "symbol": "diamond", "size": 11},
        )
    )
    figure.update_layout(
        height=90 + 36 * max(len(names), 2),
        margin={"l": 8, "r": 16, "t": 32, "b": 40},
        xaxis={"title": "total error, people (shorter is better)", "rangemode": "tozero"},
        yaxis={"automargin": True},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02},
    )
    return figure
