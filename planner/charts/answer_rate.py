"""Charts of an answer-rate plan: plan in, plotly figure out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.palette import BLUE, GREEN, ORANGE, PURPLE
from planner.planning.answer_rate.plan import AnswerRatePlan

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["answer_rate_figure", "error_figure"]


_SIZE = {"height": 400, "margin": {"l": 8, "r": 8, "t": 80, "b": 40}}
_HIDDEN_ABOVE = 30.0  # times the best error: beyond it the curves would flatten the rest


def answer_rate_figure(plan: AnswerRatePlan) -> Figure:
    """Share of people who answer against the budget, with the best budget marked."""
    from plotly.graph_objects import Figure, Scatter

    curve = plan.curve
    line = Scatter(x=curve.epsilon, y=curve.answer_rate, name="answer rate", line_color=BLUE)
    figure = Figure(line)
    _mark_best(figure, plan)
    figure.update_layout(
        xaxis_title="epsilon (more private to the left)",
        yaxis={"title": "share of people who answer", "tickformat": ".0%", "range": [0, 1.02]},
        **_SIZE,
    )
    return figure


def error_figure(plan: AnswerRatePlan) -> Figure:
    """Predicted RMSE of the mean against the budget: BiSample-MD, and forced answers.

    The band is the flat region; the error is in the question's unit, on a log scale.
    """
    from plotly.graph_objects import Figure, Scatter

    curve = plan.curve
    figure = Figure()
    lines = [
        ("missing stays missing (BiSample-MD)", curve.mean_rmse, BLUE, "solid"),
        ("forced, at the top (TOP)", plan.forced["top"].rmse, ORANGE, "dash"),
        ("forced, at random (RND)", plan.forced["random"].rmse, GREEN, "dot"),
    ]
    for name, error, colour, dash in lines:
        shown = error < _HIDDEN_ABOVE * plan.best.rmse
        figure.add_trace(
            Scatter(
                x=curve.epsilon[shown],
                y=error[shown],
                name=name,
                line={"color": colour, "dash": dash},
            )
        )
    _mark_best(figure, plan)
    figure.update_layout(
        xaxis_title="epsilon (more private to the left)",
        yaxis={
            "title": "predicted RMSE of the mean",
            "type": "log",
            "tickformat": "~g",
            "dtick": "D2",
        },
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.06},
        **_SIZE,
    )
    return figure


def _mark_best(figure: Figure, plan: AnswerRatePlan) -> None:
    best = plan.best
    figure.add_vrect(best.flat_lower, best.flat_upper, fillcolor=BLUE, opacity=0.12, line_width=0)
    figure.add_vline(best.epsilon, line={"color": BLUE, "dash": "dot"})
    figure.add_annotation(
        x=best.epsilon,
        y=1,
        yref="paper",
        yanchor="bottom",
        showarrow=False,
        text=f"best {best.epsilon:.2f}",
    )
    if plan.offered is not None:
        offered = float(plan.offered.epsilon[0])
        figure.add_vline(offered, line={"color": PURPLE, "dash": "dash"})
        figure.add_annotation(
            x=offered, y=0, yref="paper", showarrow=False, text=f"offered {offered:.2f}"
        )
