"""What all charts have in common: colours told apart by colour-blind readers, margins, legend."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "BLUE",
    "CYCLE",
    "DASHES",
    "GREEN",
    "GREY",
    "ORANGE",
    "PURPLE",
    "RED",
    "SKY",
    "as_they_are",
    "curves",
    "figure",
    "heat_map",
]

# Okabe and Ito's palette.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
RED, SKY, GREY = "#D55E00", "#56B4E9", "#7F7F7F"
CYCLE = (BLUE, ORANGE, GREEN, PURPLE, RED, SKY)
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")  # not as many: pairs repeat after 30


_TAG = re.compile(r"<(?!br>|extra>|/extra>)")


def figure(*traces: object, **layout: Any) -> Figure:
    """A figure of these traces, its legend above; ``layout`` adds to the common layout.

    Names are shown as they are: plotly would make links of what looks like one.
    """
    from plotly.graph_objects import Figure

    made = Figure([as_they_are(trace.to_plotly_json()) for trace in Figure(list(traces)).data])
    made.update_layout(
        height=370,
        margin={"l": 8, "r": 8, "t": 56, "b": 40},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0},
    )
    made.update_xaxes(automargin=True)
    made.update_yaxes(automargin=True)
    return made.update_layout(**as_they_are(layout))


def curves(x: ArrayLike, lines: Iterable[tuple[str, ArrayLike, str, str]]) -> list[object]:
    """A trace over ``x`` for each name, values, colour and dash; gaps where a value is NaN."""
    from plotly.graph_objects import Scatter

    return [
        Scatter(x=x, y=y, name=name, mode="lines", line={"color": colour, "dash": dash})
        for name, y, colour, dash in lines
    ]


def heat_map(
    columns: Sequence[str],
    rows: Sequence[str],
    shares: ArrayLike,
    cells: Sequence[Sequence[str]],
    *,
    written: bool = True,
    hover: str,
    title: str,
) -> Figure:
    """Shares by row and column, white for 0 to blue for 1, with what is to be said in each cell."""
    from plotly.graph_objects import Heatmap

    return figure(
        Heatmap(
            x=list(columns),
            y=list(rows),
            z=shares,
            zmin=0,
            zmax=1,
            colorscale=[[0, "#FFFFFF"], [1, SKY]],
            text=cells,
            texttemplate="%{text}" if written else None,
            textfont={"color": "#111111"},  # on light cells in either theme
            xgap=2,
            ygap=2,
            hovertemplate=f"{hover}<extra></extra>",
            colorbar={"title": title, "tickformat": ".0%"},
        ),
        margin={"t": 8},
        xaxis={"type": "category"},
        yaxis={"type": "category", "autorange": "reversed"},
    )


def as_they_are(part: Any) -> Any:
    """The same with every "<" spelt out but those of our own: line breaks and hover boxes."""
    if isinstance(part, str):
        return _TAG.sub("&lt;", part)
    if isinstance(part, dict):
        return {key: as_they_are(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [as_they_are(value) for value in part]
    if isinstance(part, np.ndarray) and part.dtype.kind in "OU":
        return [as_they_are(value) for value in part.tolist()]
    return part
