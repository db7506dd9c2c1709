"""Charts of a planned survey: plan in, plotly figure out.

Shared by the report, the app and notebooks; nothing here computes what planning did not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from planner.palette import BLUE, CYCLE, GREEN, GREY, ORANGE, RED
from planner.planning.explain import PRIORS, LevelExplanation
from planner.planning.frontier import Frontier
from planner.planning.mechanism_choice import Choice
from planner.planning.padding import PaddingPlan
from planner.planning.whole_survey.plan import WholePlan
from planner.policy import PrivacyPolicy

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "allocation_figure",
    "belief_figure",
    "frontier_figure",
    "mechanism_figure",
    "padding_figure",
]

_MOST_LEVELS = 8
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_LEGEND = {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0}


def mechanism_figure(choice: Choice, users: int, planned: str | None) -> Figure:
    """Root mean squared error of every mechanism, best on top; the plan's in blue.

    Parameters
    ----------
    choice:
        All mechanisms on one scale.
    users:
        Number of people who answer.
    planned:
        Name of the plan's mechanism; ``None`` for a mean, where it is the best one.
    """
    from plotly.graph_objects import Bar

    candidates = choice.candidates[::-1]
    factor = users if planned else 1 / users
    errors = [float(np.sqrt(c.error * factor)) for c in candidates]
    blue = planned or choice.best.name
    bars = Bar(
        x=errors,
        y=[c.label for c in candidates],
        orientation="h",
        marker_color=[BLUE if c.name == blue else GREY for c in candidates],
        text=[f"{error:,.4g}" for error in errors],
        textposition="outside",
        cliponaxis=False,
    )
    unit = "people" if planned else "the question's unit"
    figure = _figure(bars)
    figure.update_layout(
        xaxis={"title": f"total error, {unit} (shorter is better)", "rangemode": "tozero"},
        height=90 + 32 * len(candidates),
        margin={"r": 60},
        yaxis={"automargin": True},
    )
    return figure


def frontier_figure(curve: Frontier, policy: PrivacyPolicy) -> Figure:
    """Error against the common scale of the budgets, total and per level, both axes log."""
    from plotly.graph_objects import Scatter

    total = Scatter(
        x=curve.scale,
        y=curve.total_error,
        name="all items",
        mode="lines",
        line={"color": GREY, "width": 3, "shape": "spline"},
    )
    figure = _figure(total)
    for i in range(min(policy.size, _MOST_LEVELS)):
        figure.add_trace(
            Scatter(
                x=curve.scale,
                y=curve.level_errors[:, i],
                name=f"a rare item of {policy.names[i]!r}",
                mode="lines",
                line={
                    "color": CYCLE[i % len(CYCLE)],
                    "dash": _DASHES[i % len(_DASHES)],
                    "shape": "spline",
                },
            )
        )
    now = float(np.exp(np.interp(0.0, np.log(curve.scale), np.log(curve.total_error))))
    marker = {"color": RED, "size": 12, "symbol": "diamond"}
    figure.add_trace(Scatter(x=[1.0], y=[now], mode="markers", marker=marker, name="budgets now"))
    figure.update_layout(
        xaxis={
            "title": "all budgets times this (more private to the left)",
            "type": "log",
            "tickvals": [0.125, 0.25, 0.5, 1, 2, 4],
        },
        yaxis={
            "title": "error, share of the people",
            "type": "log",
            "tickformat": ".2~%",
            "dtick": "D2",
        },
        legend=_LEGEND,
    )
    return figure


def belief_figure(explanations: Sequence[LevelExplanation]) -> Figure:
    """How far a report can move an observer's belief, from three priors, per level."""
    from plotly.graph_objects import Scatter

    shown = explanations[:_MOST_LEVELS]
    names = [level.level for level in shown]
    figure = _figure()
    for k, (prior, colour) in enumerate(zip(PRIORS, (GREEN, BLUE, ORANGE), strict=True)):
        low, high = np.array([level.bounds[k] for level in shown]).T
        middle = np.full(len(names), prior)
        figure.add_trace(
            Scatter(
                x=middle,
                y=np.arange(len(names)) + 0.22 * (k - 1),
                mode="markers",
                name=f"prior {100 * prior:.0f} %",
                marker={"color": colour, "size": 9},
                error_x={
                    "type": "data",
                    "symmetric": False,
                    "array": high - middle,
                    "arrayminus": middle - low,
                    "thickness": 3,
                    "width": 6,
                },
            )
        )
    figure.update_layout(
        xaxis={
            "title": "belief in an answer of this level after any report",
            "range": [0, 1],
            "tickformat": ".0%",
        },
        yaxis={
            "automargin": True,
            "autorange": "reversed",
            "tickvals": list(range(len(names))),
            "ticktext": names,
        },
        legend=_LEGEND,
        height=140 + 50 * len(names),
    )
    return figure


def padding_figure(padding: PaddingPlan) -> Figure:
    """Expected total squared error per user against the padding length, and its two parts."""
    from plotly.graph_objects import Scatter

    figure = _figure()
    for name, values, colour, dash in (
        ("total", padding.mse, BLUE, "solid"),
        ("bias of truncated sets, squared", padding.bias2, ORANGE, "dash"),
        ("variance", padding.variance, GREEN, "dot"),
    ):
        line = {"color": colour, "dash": dash}
        shown = np.where(values > 0, values, np.nan)
        figure.add_trace(Scatter(x=padding.lengths, y=shown, name=name, line=line))
    figure.add_vline(padding.length, line={"color": GREY, "dash": "dot"})
    best = np.log10(padding.mse_at(padding.length))
    figure.update_layout(
        xaxis_title="padding length",
        yaxis={
            "title": "squared error per user",
            "type": "log",
            "range": [best - 2, float(np.log10(padding.mse.max())) + 0.1],
        },
        legend=_LEGEND,
    )
    return figure


def allocation_figure(plan: WholePlan) -> Figure:
    """Each question's error when everybody answers everything, and when one question each."""
    from plotly.graph_objects import Bar

    found, names = plan.allocation, list(plan.allocation.names)
    split = Bar(
        x=names,
        y=found.errors,
        name="everybody answers everything",
        marker_color=ORANGE,
        text=[f"share {share:.0%}" for share in found.shares],
    )
    figure = _figure(split)
    figure.add_trace(
        Bar(
            x=names,
            y=found.one_each.errors,
            name="everybody answers one question",
            marker_color=BLUE,
            text=[f"{fraction:.0%} asked" for fraction in found.one_each.fractions],
        )
    )
    figure.update_layout(
        barmode="group",
        yaxis={"title": "mean squared error per user", "type": "log", "dtick": 1},
        legend=_LEGEND,
    )
    return figure


def _figure(*traces: object) -> Figure:
    from plotly.graph_objects import Figure

    figure = Figure(list(traces))
    figure.update_layout(
        margin={"l": 60, "r": 20, "t": 40, "b": 50},
        height=360,
    )
    return figure
