"""Charts of a simulation: measured beside predicted errors, and one survey beside the truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planner.show.charts.style import BLUE, GREY, ORANGE, RED, SKY, figure
from planner.trial.simulate import OneSurvey, Simulated

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def simulation_figure(results: Sequence[Simulated], unit: str = "people") -> Figure:
    """The error of each mechanism: bars measured, diamonds predicted, in a unit."""
    from plotly.graph_objects import Bar, Scatter

    ranked = sorted(results, key=lambda one: -one.predicted)
    names = [one.label for one in ranked]
    measured, predicted = [one.error for one in ranked], [one.predicted for one in ranked]
    spread = [one.spread or 0.0 for one in ranked]
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


def one_survey_figure(survey: OneSurvey) -> Figure:
    """True counts as diamonds, estimates as dots with their own 95 % intervals."""
    from plotly.graph_objects import Scatter

    names = list(survey.labels)[::-1]  # the most frequent on top
    estimated = Scatter(
        x=survey.estimates[::-1],
        y=names,
        mode="markers",
        name="estimated, with its 95 % interval",
        marker={"color": BLUE, "size": 8},
        error_x={
            "type": "data",
            "array": (survey.upper - survey.estimates)[::-1],
            "arrayminus": (survey.estimates - survey.lower)[::-1],
            "symmetric": False,
            "color": BLUE,
        },
    )
    true = Scatter(
        x=survey.truth[::-1],
        y=names,
        mode="markers",
        name="true",
        marker={"color": ORANGE, "symbol": "diamond", "size": 11},
    )
    return figure(
        estimated,
        true,
        height=110 + 26 * max(len(names), 2),
        margin={"t": 32, "r": 16},
        xaxis={"title": "people"},
        yaxis={"type": "category"},
    )
