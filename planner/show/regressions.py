"""What a regression of a result says: predictions, average effects, coefficients."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from typing import TYPE_CHECKING, Any

from planner.deployment.collecting.modelling import (
    COEFFICIENT,
    EFFECT,
    PREDICTED,
)
from planner.show.blocks import (
    Block,
    Rank,
    Table,
    column,
    percent,
    percent_with,
    said,
)

if TYPE_CHECKING:
    from pandas import DataFrame


_MOST_MODEL_ROWS = 40  # of each kind; the file of estimates has all


def model_blocks(rows: DataFrame, confidence: float) -> Iterator[Block]:
    """What a model says: predictions and average effects first, coefficients on the page."""
    if not len(rows):
        return
    yield from said(
        [
            f"Model: {rows['remark'].iloc[0]}. Predictions are of all who reported, as if each "
            "had that value, all else as it is; limits are for people drawn at random."
        ]
    )
    # Coefficients are in units of the link (log odds, say), which few read: on the page alone.
    titles: dict[str, tuple[str, str, Rank]] = {
        PREDICTED: ("Predicted", "if", "everybody"),
        EFFECT: ("Average effects", "of", "everybody"),
        COEFFICIENT: ("Coefficients", "term", "page"),
    }
    for kind, (title, heading, rank) in titles.items():
        of_kind = rows[rows["of"] == kind].head(_MOST_MODEL_ROWS)
        figures = []
        limits = []
        for row in of_kind.itertuples():
            figures.append(_model_figure(row))
            limits.append(_model_limits(row))
        columns = [
            column("answer", of_kind["answer"]),
            column(heading, of_kind["level"]),
            column("estimate", figures, str),
            column(f"{percent(confidence)} interval", limits, str),
        ]
        if kind != PREDICTED:  # that a predicted share is 0 is no question
            columns.append(column("p", of_kind["p"], ".2g"))
        yield Table(title, tuple(columns), rank)


def _model_figure(row: Any) -> str:
    """A share in per cent, another number to three digits."""
    if isnan(row.share):
        return f"{row.estimate:.3g}"
    return percent_with(1, row.share)


def _model_limits(row: Any) -> str:
    """The limits in words, in the unit of the estimate; an open one claims nothing."""
    if isnan(row.share):
        if isnan(row.lower) or isnan(row.upper):
            return _open_limits(row.lower, row.upper)
        return f"{row.lower:.3g} to {row.upper:.3g}"
    return f"{percent_with(1, row.lower)} to {percent_with(1, row.upper)}"


def _open_limits(lower: float, upper: float) -> str:
    """Limits in words, of which one or both cannot be told."""
    if isnan(lower) and isnan(upper):
        return "not told"
    if isnan(lower):
        return f"at most {upper:.3g}"
    return f"at least {lower:.3g}"
