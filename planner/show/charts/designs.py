"""The picture of a subset design: its types of reports, and what each puts on the high side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.designs.subset_design import SubsetDesign
from planner.show.charts.style import heat_map

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["design_figure"]

_MOST_TYPES = 24


def design_figure(design: SubsetDesign) -> Figure:
    """A row a type of report, a column a level: how many of its answers are on the high side.

    With the type stands how often it is sent, least and most over the levels; in a cell the
    share of the level's answers that are high, and how much likelier a person's own answer is
    to be one of them than one of the others, each by itself. At most 24 types, the usual first.

    Examples
    --------
    >>> from planner import PrivacyPolicy, best_design
    >>> drawn = design_figure(best_design(PrivacyPolicy([1.0, 2.0], [5, 9])))
    >>> drawn.data[0].x
    ('level 1', 'level 2')
    """
    rows = design.to_frame()
    names = rows["level"].unique()
    shape = (-1, names.size)
    sent = rows["probability"].to_numpy().reshape(shape)
    order = np.argsort(-sent.mean(axis=1), kind="stable")[:_MOST_TYPES]
    items, high, low, top = (
        rows[name].to_numpy().reshape(shape)[order]
        for name in ("items", "high_items", "low", "high")
    )
    types = [
        f"type {place + 1}: {_percent(sent[k].min())} to {_percent(sent[k].max())}"
        for place, k in enumerate(order)
    ]
    cells = [
        [_cell(*cell) for cell in zip(*columns, strict=True)]
        for columns in zip(items, high, low, top, strict=True)
    ]
    hover = "%{y} of the reports<br>%{x}: %{text}"
    made = heat_map(names.tolist(), types, high / items, cells, hover=hover, title="share<br>high")
    return made.update_layout(height=int(np.clip(120 + 42 * len(types), 240, 1100)))


def _cell(items: int, high: int, low: float, top: float) -> str:
    if not 0 < high < items:
        return "none high" if high == 0 else "all high"
    odds = "never low" if low == 0 else f"{top / low:.2f} times likelier"
    return f"{high:,} of {items:,} high<br>{odds}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
