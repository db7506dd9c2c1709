"""Charts of a planned question: numbers in, plotly figure out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from planner import palette
from planner.planning.frontier import Frontier
from planner.planning.padding import PaddingPlan
from planner.table import UnaryTable

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["budget_figure", "frontier_figure", "level_error_figure", "mechanism_figure", "padding_figure"]

_MOST_LINES = 6
_MOST_BARS = 40


def mechanism_figure(errors: Mapping[str, float], chosen: str, unit: str = "people") -> Figure:
    """Total error per mechanism as bars, the smallest on top, the chosen one in colour.

    Parameters
    ----------
    errors:
        Root of the total mean squared error by mechanism; those not finite are left out.
    chosen:
        The mechanism that the plan uses.
    unit:
        Of the errors.
    """
    from plotly.graph_objects import Bar, Figure

    finite = {name: error for name, error in errors.items() if np.isfinite(error)}
    names = sorted(finite, key=lambda name: -finite[name])
    bars = Bar(
        x=[finite[name] for name in names],
        y=names,
        orientation="h",
        marker={
            "color": [palette.BLUE if name == chosen else palette.GREY for name in names],
        },
        text=[_number(finite[name]) for name in names],
        textposition="outside",
        cliponaxis=False,
        hovertemplate="%{y}: %{x:,.4g} " + unit + "<extra></extra>",
    )
    figure = Figure(bars)
    figure.update_layout(
        height=60 + 34 * max(len(names), 2),
        margin={"l": 8, "r": 48, "t": 8, "b": 40},
        xaxis={"title": f"total error, {unit} (shorter is better)", "rangemode": "tozero"},
        yaxis={"automargin": True},
    )
    return figure


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


def frontier_figure(curve: Frontier, names: Sequence[str], users: int) -> Figure:
    """Error against a common scale of all budgets, with today's budgets marked at 1.

    The total error is a thick line; a thin one per level, at most six, shows a rare item.
    """
    from plotly.graph_objects import Figure, Scatter

    figure = Figure()
    figure.add_trace(
        Scatter(
            x=curve.scale,
            y=users * curve.total_error,
            name="all items together",
            line={"color": palette.BLUE, "width": 3},
        )
    )
    dashes = ("dash", "dot", "dashdot", "longdash", "longdashdot", "solid")
    colours = (*palette.CYCLE[1:], palette.GREY)
    for i, name in enumerate(names[:_MOST_LINES]):
        figure.add_trace(
            Scatter(
                x=curve.scale,
                y=users * curve.level_errors[:, i],
                name=f"a rare item of {name}",
                line={"color": colours[i], "dash": dashes[i], "width": 2},
            )
        )
    lowest = min(float(curve.total_error.min()), float(curve.level_errors.min()))
    highest = max(float(curve.total_error.max()), float(curve.level_errors.max()))
    now = float(np.interp(0.0, np.log(curve.scale), np.log(users * curve.total_error)))
    figure.add_trace(
        Scatter(
            x=[1.0],
            y=[float(np.exp(now))],
            mode="markers",
            marker={"color": palette.RED, "size": 12, "symbol": "diamond"},
            name="the budgets in the table",
        )
    )
    figure.update_layout(
        height=360,
        margin={"l": 8, "r": 8, "t": 8, "b": 40},
        xaxis={
            "title": "all budgets times this factor (more private to the left)",
            "type": "log",
            "tickvals": [0.125, 0.25, 0.5, 1, 2, 4, 8],
        },
        yaxis={"title": "error, people", "type": "log", "tickvals": _ticks(users * lowest, users * highest)},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02},
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


def padding_figure(plan: PaddingPlan, length: int, users: int) -> Figure:
    """Expected error against the padding length: in all, and what of it is bias and noise."""
    from plotly.graph_objects import Figure, Scatter

    shown = slice(0, max(2 * length, 4 * plan.length, 12))
    lines = (
        ("in all", plan.mse, palette.BLUE, "solid"),
        ("noise", plan.variance, palette.ORANGE, "dash"),
        ("bias: items cut off", plan.bias2, palette.GREEN, "dot"),
    )
    figure = Figure()
    for name, error, colour, dash in lines:
        figure.add_trace(
            Scatter(
                x=plan.lengths[shown],
                y=np.sqrt(users * error[shown]),
                name=name,
                mode="lines+markers",
                line={"color": colour, "dash": dash, "width": 2},
            )
        )
    figure.add_vline(length, line={"color": palette.RED, "dash": "dot"})
    figure.update_layout(
        height=320,
        margin={"l": 8, "r": 8, "t": 8, "b": 40},
        xaxis_title="padding length",
        yaxis={"title": "expected error, people", "rangemode": "tozero"},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02},
    )
    return figure


def _ticks(lowest: float, highest: float) -> list[float]:
    """1, 2 and 5 times powers of ten between two numbers above 0."""
    powers = range(int(np.floor(np.log10(lowest))), int(np.ceil(np.log10(highest))) + 1)
    every = [step * 10.0**power for power in powers for step in (1, 2, 5)]
    return [value for value in every if lowest * 0.9 <= value <= highest * 1.1]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
