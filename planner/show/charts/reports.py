"""Charts of what a single report says about a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planner.show.charts.style import (
    CYCLE,
    GREY,
    ORANGE,
    RED,
    as_they_are,
    curves,
    figure,
    heat_map,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def people_figure(with_answer: float, without_answer: float, level: str) -> Figure:
    """A hundred people who have an answer beside a hundred who do not: whose report supports it.

    Parameters
    ----------
    with_answer, without_answer:
        Probability of such a report, 0 to 1; drawn as the nearest whole number of people.
    """
    from plotly.graph_objects import Scatter

    made = figure()
    place = np.arange(100)
    for part, share in enumerate((with_answer, without_answer)):
        ones = place < round(100 * share)
        for said, colour, symbol in (
            (True, ORANGE, "circle"),
            (False, GREY, "circle-open"),
        ):
            chosen = place[ones == said]
            made.add_trace(
                Scatter(
                    x=chosen % 10 + 12 * part,
                    y=9 - chosen // 10,
                    mode="markers",
                    marker={"color": colour, "symbol": symbol, "size": 11},
                    name="report supports it" if said else "report does not",
                    showlegend=part == 0,
                    hoverinfo="skip",
                )
            )
        whose = f"have an answer of {level}" if part == 0 else "do not"
        made.add_annotation(
            x=4.5 + 12 * part,
            y=11.0,
            showarrow=False,
            # Two lines: on a phone one would run into the other group's.
            text=as_they_are(f"100 who {whose}:<br>about {round(100 * share)}"),
        )
    hidden = {"visible": False, "fixedrange": True}
    return made.update_layout(
        height=310,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        xaxis=hidden | {"range": [-0.8, 21.8]},
        yaxis=hidden | {"range": [-0.8, 12.4]},
        legend={"yanchor": "top", "y": -0.02},
    )


def posterior_figure(
    priors: NDArray[np.float64],
    supported: Sequence[NDArray[np.float64]],
    unsupported: Sequence[NDArray[np.float64]],
    names: Sequence[str],
    prior: float,
) -> Figure:
    """Belief after a report against belief before it: solid where the report supports the answer.

    Parameters
    ----------
    priors:
        Beliefs before, shape ``(k,)``.
    supported, unsupported:
        Per level the beliefs after, shape ``(k,)`` each.
    names:
        One per level; at most six are drawn.
    prior:
        The belief that is marked.
    """
    beliefs = zip(names, supported, unsupported, CYCLE, strict=False)
    lines = [
        (f"{name}, {said}", belief, colour, dash)
        for name, one, zero, colour in beliefs
        for said, belief, dash in (("supported", one, "solid"), ("not", zero, "dash"))
    ]
    percent = {"tickformat": ".0%", "range": [0, 1]}
    made = figure(
        *curves(priors, [("nothing learned", priors, GREY, "dot"), *lines]),
        height=400,
        xaxis=percent | {"title": "belief before the report"},
        yaxis=percent | {"title": "belief after the report"},
    )
    return made.add_vline(prior, line={"color": RED, "dash": "dot"})


def pair_figure(
    names: Sequence[str], realised: NDArray[np.float64], demanded: NDArray[np.float64]
) -> Figure:
    """Heat map of how much of each pair's budget is used; both numbers are in the cells.

    ``realised`` and ``demanded`` have shape ``(t, t)``, in nats; ``realised`` is NaN where there
    is no pair, ``demanded`` is ``inf`` where nothing is demanded.
    """
    used = np.where(np.isinf(demanded), np.nan, realised / demanded)
    size = range(len(names))
    cells = [[_cell(realised[i, j], demanded[i, j]) for j in size] for i in size]
    made = heat_map(
        names,
        names,
        used,
        cells,
        written=len(names) <= 12,
        hover="%{y} against %{x}: %{text}",
        title="share of<br>budget used",
    )
    return made.update_layout(height=int(np.clip(120 + 70 * len(names), 260, 700)))


def _cell(realised: float, demanded: float) -> str:
    if np.isnan(realised):
        return ""  # a level of one item has no pair within
    allowed = "no limit" if np.isinf(demanded) else f"{demanded:.3f}"
    return f"{realised:.3f}<br>of {allowed}"
