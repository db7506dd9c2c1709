"""Chart of ordered answers: the shares of people up to each, their band, and the median."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from planner.estimates.ordered import OrderedEstimates
from planner.show.charts.style import BLUE, GREY, ORANGE, RED, figure

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


_BAND = "rgba(86, 180, 233, 0.35)"  # light blue, in either theme


def ordered_figure(estimates: OrderedEstimates, truth: ArrayLike | None = None) -> Figure:
    """Consistent cumulative shares in their band, and between which answers the median lies.

    Parameters
    ----------
    estimates:
        From :func:`~planner.estimates.channel.estimate_ordered`, or a plan's ``expected``.
    truth:
        True shares of people up to each answer, shape ``(d,)``, if they are known.
    """
    from plotly.graph_objects import Scatter

    answers, (lower, upper) = list(estimates.answers), estimates.band
    median, confidence = estimates.quantile(), f"{estimates.confidence:.0%}"
    between = answers[answers.index(median.lower) : answers.index(median.upper) + 1]
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    drawn = [
        Scatter(x=answers, y=lower, showlegend=False, **edge),
        Scatter(
            x=answers,
            y=upper,
            fill="tonexty",
            fillcolor=_BAND,
            name=f"band: all at once with {confidence} confidence",
            **edge,
        ),
        Scatter(
            x=answers,
            y=estimates.consistent,
            mode="lines+markers",
            name="estimated",
            line={"color": BLUE},
            marker={"size": 8},
            customdata=list(zip(lower, upper, strict=True)),
            hovertemplate="up to %{x}: %{y:.1%}, from %{customdata[0]:.1%} to "
            "%{customdata[1]:.1%}<extra></extra>",
        ),
        Scatter(
            x=between,
            y=[0.5] * len(between),
            mode="lines+markers",
            name=f"median {median.answer}, and where it may be",
            line={"color": RED, "width": 4},
            marker={"size": 10},
            hovertemplate="%{x}<extra></extra>",
        ),
    ]
    if truth is not None:
        marker = {"color": ORANGE, "symbol": "diamond", "size": 11}
        drawn.append(Scatter(x=answers, y=truth, mode="markers", name="true", marker=marker))
    made = figure(
        *drawn,
        xaxis={"type": "category", "title": "answer, the lowest first"},
        yaxis={"title": "people up to the answer", "range": [0, 1.03], "tickformat": ".0%"},
    )
    return made.add_hline(0.5, line={"color": GREY, "dash": "dot"})
