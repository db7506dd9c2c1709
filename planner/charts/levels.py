"""Charts of a table level by level: table in, plotly figure out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner import palette
from planner.table import UnaryTable

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["budget_figure", "level_error_figure"]

_MOST_BARS = 40


def level_error_figure(table: UnaryTable, users: int) -> Figure:
    """Standard error of a rare item's count per level, in people; at most 40 levels.

    Saturated levels are hatched: more budget would not shorten their bar.
    """
    from plotly.graph_objects import Bar, Figure

    policy = table.policy
    shown = slice(0, min(policy.size, _MOST_BARS))
    errors = table.standard_errors(users)[shown]
    limit = table.saturation_epsilon
    saturated = [limit is not None and e > limit * (1 + 1e-9) for e in policy.epsilons[shown]]
    bars = Bar(
        x=list(policy.names[shown]),
        y=errors,
        marker={"color": palette.BLUE, "pattern": {"shape": ["/" if s else "" for s in saturated]}},
        text=[_number(error) for error in errors],
        textposition="outside",
        cliponaxis=False,
        hovertemplate="%{x}: %{y:,.4g} people<extra></extra>",
    )
    figure = Figure(bars)
    figure.update_layout(
        height=280,
        margin={"l": 8, "r": 8, "t": 24, "b": 40},
        yaxis={"title": "standard error, people", "rangemode": "tozero"},
        xaxis={"type": "category", "automargin": True},
    )
    return figure


def budget_figure(table: UnaryTable) -> Figure:
    """The budget of each level, and the saturation point above which budget buys nothing."""
    from plotly.graph_objects import Bar, Figure

    policy = table.policy
    shown = slice(0, min(policy.size, _MOST_BARS))
    bars = Bar(
        x=list(policy.names[shown]),
        y=policy.epsilons[shown],
        marker={"color": palette.SKY},
        hovertemplate="%{x}: epsilon %{y:.4f}<extra></extra>",
    )
    limit = table.saturation_epsilon
    top = max(float(policy.epsilons[shown].max()), limit or 0.0)
    layout = {
        "height": 280,
        "margin": {"l": 8, "r": 8, "t": 8, "b": 40},
        "yaxis": {"title": {"text": "epsilon (less private upwards)"}, "range": [0, 1.15 * top]},
        "xaxis": {"type": "category", "automargin": True},
    }
    if limit is not None:
        across = {"xref": "paper", "x0": 0, "x1": 1, "y0": limit, "y1": limit, "type": "line"}
        layout["shapes"] = [across | {"line": {"color": palette.RED, "dash": "dash"}}]
        note = {"text": f"saturation at {limit:.3f}", "showarrow": False}
        place = {"xref": "paper", "x": 0, "xanchor": "left", "y": limit, "yanchor": "bottom"}
        layout["annotations"] = [note | place]
    return Figure(bars, layout)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
