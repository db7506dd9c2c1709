"""Charts of the reproduced figures: one look, one colour a mechanism."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from planner.show.figures import CYCLE, DASHES

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["bars", "lines"]

Series = Mapping[str, Sequence[float]]


def lines(
    x: Sequence[float],
    series: Series,
    titles: tuple[str, str, str],
    *,
    measured: Series | None = None,
    log_x: bool = False,
    log_y: bool = True,
) -> Figure:
    """Lines over ``x``, and points for what was measured; titles of chart, x and y."""
    from plotly.graph_objects import Figure, Scatter

    figure = Figure()
    for i, (name, values) in enumerate(series.items()):
        line = {"color": CYCLE[i % len(CYCLE)], "dash": DASHES[i % len(DASHES)]}
        figure.add_scatter(
            x=list(x), y=list(values), name=name, mode="lines", line=line
        )
    for name, values in (measured or {}).items():
        i = list(series).index(name)
        dot = {"color": CYCLE[i % len(CYCLE)], "symbol": i, "size": 8}
        figure.add_trace(
            Scatter(
                x=list(x),
                y=list(values),
                name=f"{name}, measured",
                mode="markers",
                marker=dot,
                legendgroup=name,
            )
        )
    return _dressed(figure, titles, log_x, log_y)


def bars(
    x: Sequence[str],
    series: Series,
    titles: tuple[str, str, str],
    *,
    log_y: bool = False,
) -> Figure:
    """Bars in groups; titles of chart, x and y."""
    from plotly.graph_objects import Bar, Figure

    figure = Figure(
        [
            Bar(
                x=list(x), y=list(values), name=name, marker_color=CYCLE[i % len(CYCLE)]
            )
            for i, (name, values) in enumerate(series.items())
        ]
    )
    figure.update_xaxes(type="category")  # "10-14" is no date
    return _dressed(figure, titles, False, log_y)


def _dressed(
    figure: Figure, titles: tuple[str, str, str], log_x: bool, log_y: bool
) -> Figure:
    title, x_title, y_title = titles
    figure.update_layout(
        title={"text": title, "font": {"size": 15}},
        xaxis_title=x_title,
        yaxis={"title": y_title, "exponentformat": "power" if log_y else "none"},
        template="plotly_white",
        height=420,
        margin={"l": 70, "r": 20, "t": 50, "b": 50},
    )
    if log_x:
        figure.update_xaxes(type="log")
    if log_y:
        figure.update_yaxes(type="log")
    return figure
