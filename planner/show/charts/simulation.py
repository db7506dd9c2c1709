"""Charts of a simulation: what was measured beside what was predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from planner.show.charts.style import GREY, RED, SKY, figure
from planner.trial.measured import Measured
from planner.trial.simulate import Simulated

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["simulation_figure"]


def simulation_figure(
    results: Sequence[Simulated | Measured],
    users: float,
    labels: Mapping[str, str] | None = None,
    unit: str = "people",
) -> Figure:
    """Root of the total squared error per mechanism: bars measured, diamonds predicted.

    Parameters
    ----------
    results:
        One per mechanism.
    users:
        Number of users simulated; for the error of a mean one over it.
    labels:
        Names to show instead of the mechanisms' own.
    unit:
        Of the error.
    """
    from plotly.graph_objects import Bar, Scatter

    ranked = sorted(results, key=lambda one: -one.predicted_mse)
    names = [(labels or {}).get(one.name, one.name) for one in ranked]
    measured = np.sqrt([users * one.mse for one in ranked])
    predicted = np.sqrt([users * one.predicted_mse for one in ranked])
    # Standard error of a root: that of the mean squared error over twice the root.
    spread = (
        users * np.nan_to_num([one.mse_error for one in ranked]) / np.maximum(2 * measured, 1e-300)
    )
    bars = Bar(
        x=measured,
        y=names,
        orientation="h",
        name="measured, with its standard error",
        marker={"color": SKY},
        error_x={"type": "data", "array": spread, "color": GREY},
    )
    diamonds = Scatter(
        x=predicted,
        y=names,
        mode="markers",
        name="predicted",
        marker={"color": RED, "symbol": "diamond", "size": 11},
    )
    return figure(
        bars,
        diamonds,
        height=90 + 36 * max(len(names), 2),
        margin={"t": 32, "r": 16},
        xaxis={"title": f"total error, {unit} (shorter is better)", "rangemode": "tozero"},
    )
