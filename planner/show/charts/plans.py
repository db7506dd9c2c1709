"""Charts of a planned survey: plan in, plotly figure out.

Shared by the report, the app and notebooks; nothing here computes what planning did not.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from planner.planning.candidates import MechanismChoice
from planner.planning.explain import PRIORS, LevelExplanation
from planner.planning.frontier import Frontier
from planner.planning.padding import PaddingPlan
from planner.planning.whole_survey.plan import SurveyPlan
from planner.show.charts.style import BLUE, CYCLE, DASHES, GREEN, GREY, ORANGE, RED, curves, figure

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


_MOST_LEVELS = 8


def mechanism_figure(choice: MechanismChoice) -> Figure:
    """Every mechanism's error, best on top; the one that is planned in blue.

    A line stands at the error that no mechanism of any kind can beat, where it is known.
    """
    from plotly.graph_objects import Bar

    candidates = choice.candidates[::-1]
    bars = Bar(
        x=[one.error for one in candidates],
        y=[one.title for one in candidates],
        orientation="h",
        marker_color=[BLUE if one.name == choice.planned else GREY for one in candidates],
        text=[f"{one.error:,.4g}" for one in candidates],
        textposition="outside",
        cliponaxis=False,
    )
    drawn = figure(
        bars,
        xaxis={"title": f"error, {choice.unit} (shorter is better)", "rangemode": "tozero"},
        height=90 + 32 * len(candidates),
        margin={"t": 24, "r": 60},
    )
    if choice.least_error is not None:
        drawn.add_vline(
            x=choice.least_error,
            line_dash="dot",
            annotation_text=f"no mechanism: below {choice.least_error:,.4g}",
            annotation_position="top right",
        )
    return drawn


def frontier_figure(curve: Frontier) -> Figure:
    """Error against the common scale of the budgets, in total and of at most eight levels.

    Both axes are logarithmic.
    """
    from plotly.graph_objects import Scatter

    names = [f"a rare item of {name!r}" for name in curve.names[:_MOST_LEVELS]]
    lines = zip(names, curve.level_errors.T, cycle(CYCLE), cycle(DASHES), strict=False)
    now = float(np.exp(np.interp(0.0, np.log(curve.scale), np.log(curve.total_error))))
    marker = {"color": RED, "size": 12, "symbol": "diamond"}
    made = figure(
        *curves(curve.scale, [("all items", curve.total_error, GREY, "solid"), *lines]),
        Scatter(x=[1.0], y=[now], mode="markers", marker=marker, name="budgets now"),
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
    )
    made.update_traces(line={"shape": "spline"}, selector={"mode": "lines"})
    return made.update_traces(line={"width": 3}, selector={"name": "all items"})


def belief_figure(explanations: Sequence[LevelExplanation]) -> Figure:
    """How far a report can move an observer's belief, from three priors, per level."""
    from plotly.graph_objects import Scatter

    shown = explanations[:_MOST_LEVELS]
    names = [level.level for level in shown]
    traces = []
    for k, (prior, colour) in enumerate(zip(PRIORS, (GREEN, BLUE, ORANGE), strict=True)):
        low, high = np.array([level.bounds[k] for level in shown]).T
        middle = np.full(len(names), prior)
        traces.append(
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
    return figure(
        *traces,
        xaxis={
            "title": "belief in an answer of this level after any report",
            "range": [0, 1],
            "tickformat": ".0%",
        },
        yaxis={
            "autorange": "reversed",
            "tickvals": list(range(len(names))),
            "ticktext": names,
        },
        height=140 + 50 * len(names),
    )


def padding_figure(padding: PaddingPlan) -> Figure:
    """Expected total error in people against the padding length, and its two parts.

    The parts add up by their squares.
    """
    parts = (
        ("total", padding.errors, BLUE, "solid"),
        ("too small, as sets are cut", padding.truncation_errors, ORANGE, "dash"),
        ("noise of the reports", padding.noise_errors, GREEN, "dot"),
    )
    positive = [(name, np.where(y > 0, y, np.nan), colour, dash) for name, y, colour, dash in parts]
    errors = np.log10(padding.errors)
    made = figure(
        *curves(padding.lengths, positive),
        xaxis={"title": "padding length"},
        yaxis={
            "title": "error, people",
            "type": "log",
            "range": [float(errors.min()) - 1, float(errors.max()) + 0.1],
        },
    )
    return made.add_vline(padding.length, line={"color": GREY, "dash": "dot"})


def allocation_figure(plan: SurveyPlan) -> Figure:
    """Each question's error when everybody answers everything, and when some questions each."""
    from plotly.graph_objects import Bar

    names = [row.question for row in plan.sharing]
    split = Bar(
        x=names,
        y=[row.error for row in plan.sharing],
        name="everybody answers everything",
        marker_color=ORANGE,
        text=[f"share {row.share:.0%}" for row in plan.sharing],
    )
    each = "some questions" if plan.allocation is None else plan.allocation.some_each.in_words
    some_each = Bar(
        x=names,
        y=[row.error_of_some for row in plan.sharing],
        name=f"everybody answers {each}",
        marker_color=BLUE,
        text=[f"{row.fraction:.0%} asked" for row in plan.sharing],
    )
    return figure(
        split,
        some_each,
        barmode="group",
        yaxis={"title": "error, share of the people", "rangemode": "tozero", "tickformat": ".2~%"},
    )
