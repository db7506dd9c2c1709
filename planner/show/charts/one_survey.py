"""Chart of one simulated survey: what is true beside what it would say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.show.charts.style import BLUE, ORANGE, figure
from planner.trial.one_survey import OneSurvey

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["one_survey_figure"]


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
