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
    figure = Figure(bars)
    limit = table.saturation_epsilon
    if limit is not None:
        figure.add_hline(
            limit,
            line={"color": palette.RED, "dash": "dash"},
            annotation_text=f"saturation at {limit:.3f}",
            annotation_position="top left",
        )
    top = max(float(policy.epsilons[shown].max()), limit or 0.0)
    figure.update_layout(
        height=280,
        margin={"l": 8, "r": 8, "t": 8, "b": 40},
        yaxis={"title": "epsilon (less private upwards)", "range": [0, 1.15 * top]},
        xaxis={"type": "category", "automargin": True},
    )
    return figure


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
