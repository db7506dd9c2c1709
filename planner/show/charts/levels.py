"""Charts of a table level by level: table in, plotly figure out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.planning.certified import Certified
from planner.planning.whole_survey.levels import Levels
from planner.show.charts.style import BLUE, RED, SKY, figure

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["budget_figure", "level_error_figure"]

_MOST_BARS = 40


def level_error_figure(levels: Levels) -> Figure:
    """Standard error of a rare item's count per level, in people; at most 40 levels.

    Saturated levels are hatched: more budget would not shorten their bar.
    """
    from plotly.graph_objects import Bar

    errors = levels.standard_errors[:_MOST_BARS]
    bars = Bar(
        x=levels.names[:_MOST_BARS],
        y=errors,
        marker={
            "color": BLUE,
            "pattern": {"shape": ["/" if s else "" for s in levels.saturated[:_MOST_BARS]]},
        },
        text=[_number(error) for error in errors],
        textposition="outside",
        cliponaxis=False,
        hovertemplate="%{x}: %{y:,.4g} people<extra></extra>",
    )
    return figure(
        bars,
        height=280,
        margin={"t": 24},
        yaxis={"title": "standard error, people", "rangemode": "tozero"},
        xaxis={"type": "category"},
    )


def budget_figure(certified: Certified) -> Figure:
    """The budget of each level, and the saturation point above which budget buys nothing.

    At most 40 levels.
    """
    from plotly.graph_objects import Bar

    policy = certified.policy
    epsilons = policy.epsilons[:_MOST_BARS]
    bars = Bar(
        x=policy.names[:_MOST_BARS],
        y=epsilons,
        marker={"color": SKY},
        hovertemplate="%{x}: epsilon %{y:.4f}<extra></extra>",
    )
    limit = certified.saturation_epsilon
    top = max(float(epsilons.max()), limit or 0.0)
    made = figure(
        bars,
        height=280,
        margin={"t": 8},
        yaxis={"title": "epsilon (less private upwards)", "range": [0, 1.15 * top]},
        xaxis={"type": "category"},
    )
    if limit is not None:
        made.add_hline(limit, line={"color": RED, "dash": "dash"})
        place = {"xref": "paper", "x": 0, "xanchor": "left", "y": limit, "yanchor": "bottom"}
        made.add_annotation(text=f"saturation at {limit:.3f}", showarrow=False, **place)
    return made


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
