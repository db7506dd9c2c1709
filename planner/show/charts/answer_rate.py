"""Charts of an answer-rate plan: plan in, plotly figure out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.planning.answer_rates import AnswerRatePlan, ChannelCurve
from planner.show.charts.style import BLUE, GREEN, ORANGE, PURPLE, RED, curves, figure

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


_BUDGETS = {"title": "epsilon (more private to the left)"}
_HIDDEN_ABOVE = 30.0  # times the best error: beyond it the curves would flatten the rest


def answer_rate_figure(plan: AnswerRatePlan) -> Figure:
    """Share of people who answer against the budget, with the best budget marked."""
    curve = plan.curve
    made = figure(
        *curves(curve.epsilon, [("answer rate", curve.answer_rate, BLUE, "solid")]),
        xaxis=_BUDGETS,
        yaxis={"title": "share of people who answer", "tickformat": ".0%", "range": [0, 1.02]},
    )
    return _with_best(made, plan)


def error_figure(plan: AnswerRatePlan, channels: ChannelCurve | None = None) -> Figure:
    """Predicted RMSE of the mean against the budget: BiSample-MD, and forced answers.

    With ``channels``, that of the best channel of every budget too, whose best is marked.
    The band is the flat region; the error is in the question's unit, on a log scale.
    """
    lines = [
        ("missing stays missing (BiSample-MD)", plan.curve.mean_rmse, BLUE, "solid"),
        ("forced, at the top (TOP)", plan.forced["top"].rmse, ORANGE, "dash"),
        ("forced, at random (RND)", plan.forced["random"].rmse, GREEN, "dot"),
    ]
    if channels is not None:
        error = channels.channel_errors(plan.curve.epsilon)
        lines.append(("missing stays missing (best channel)", error, RED, "solid"))
    highest = _HIDDEN_ABOVE * plan.best.rmse
    shown = [
        (name, np.where(error < highest, error, np.nan), colour, dash)
        for name, error, colour, dash in lines
    ]
    made = figure(
        *curves(plan.curve.epsilon, shown),
        xaxis=_BUDGETS,
        yaxis={
            "title": "predicted RMSE of the mean",
            "type": "log",
            "tickformat": "~g",
            "dtick": "D2",
        },
        legend={"y": 1.06},
        margin={"t": 80},
    )
    if channels is not None:
        made.add_vline(channels.best().epsilon, line={"color": RED, "dash": "dot"})
    return _with_best(made, plan)


def _with_best(made: Figure, plan: AnswerRatePlan) -> Figure:
    """The best budget, the flat region around it, and the budget on offer."""
    best = plan.best
    made.add_vrect(best.flat_lower, best.flat_upper, fillcolor=BLUE, opacity=0.12, line_width=0)
    made.add_vline(best.epsilon, line={"color": BLUE, "dash": "dot"})
    place = {"yref": "paper", "showarrow": False}
    note = f"best {best.epsilon:.2f}"
    made.add_annotation(x=best.epsilon, y=1, yanchor="bottom", text=note, **place)
    if plan.offered is not None:
        offered = float(plan.offered.epsilon[0])
        made.add_vline(offered, line={"color": PURPLE, "dash": "dash"})
        made.add_annotation(x=offered, y=0, text=f"offered {offered:.2f}", **place)
    return made
