"""Charts of a table or design level by level: its errors, its budgets, and its types of reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.designs.subset_design import SubsetDesign
from planner.planning.solve import Certified
from planner.planning.whole_survey.levels import Levels
from planner.show.charts.style import BLUE, RED, SKY, figure, heat_map

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


_MOST_BARS = 40
_MOST_TYPES = 24


def level_error_figure(levels: Levels) -> Figure:
    """Standard error of a rare item's count per level, in people; at most 40 levels.

    Saturated levels are hatched: more budget would not shorten their bar.
    """
    from plotly.graph_objects import Bar

    errors = levels.standard_errors[:_MOST_BARS]
    bars = Bar(
        x=levels.names[:_MOST_BARS],
        y=errors,
        marker={
            "color": BLUE,
            "pattern": {"shape": ["/" if s else "" for s in levels.saturated[:_MOST_BARS]]},
        },
        text=[_number(error) for error in errors],
        textposition="outside",
        cliponaxis=False,
        hovertemplate="%{x}: %{y:,.4g} people<extra></extra>",
    )
    return figure(
        bars,
        height=280,
        margin={"t": 24},
        yaxis={"title": "standard error, people", "rangemode": "tozero"},
        xaxis={"type": "category"},
    )


def budget_figure(certified: Certified) -> Figure:
    """The budget of each level, and the saturation point above which budget buys nothing.

    At most 40 levels.
    """
    from plotly.graph_objects import Bar

    policy = certified.policy
    epsilons = policy.epsilons[:_MOST_BARS]
    bars = Bar(
        x=policy.names[:_MOST_BARS],
        y=epsilons,
        marker={"color": SKY},
        hovertemplate="%{x}: epsilon %{y:.4f}<extra></extra>",
    )
    limit = certified.saturation_epsilon
    top = max(float(epsilons.max()), limit or 0.0)
    made = figure(
        bars,
        height=280,
        margin={"t": 8},
        yaxis={"title": "epsilon (less private upwards)", "range": [0, 1.15 * top]},
        xaxis={"type": "category"},
    )
    if limit is not None:
        made.add_hline(limit, line={"color": RED, "dash": "dash"})
        place = {"xref": "paper", "x": 0, "xanchor": "left", "y": limit, "yanchor": "bottom"}
        made.add_annotation(text=f"saturation at {limit:.3f}", showarrow=False, **place)
    return made


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


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
