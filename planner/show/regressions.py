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


_MOST_MODEL_ROWS = 40


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
    titles: dict[str, tuple[str, str, Rank]] = {
        PREDICTED: ("Predicted", "if", "everybody"),
        EFFECT: ("Average effects", "of", "everybody"),
        COEFFICIENT: ("Coefficients", "term", "page"),
    }
    for kind, (title, heading, rank) in titles.items():
        of_kind = rows[rows["of"] == kind].head(_MOST_MODEL_ROWS)
        figures = [_model_figure(row) for row in of_kind.itertuples()]
        limits = [_model_limits(row) for row in of_kind.itertuples()]
        columns = [
            column("answer", of_kind["answer"]),
            column(heading, of_kind["level"]),
            column("estimate", figures, str),
            column(f"{percent(confidence)} interval", limits, str),
        ]
        if kind != PREDICTED:
            columns.append(column("p", of_kind["p"], ".2g"))
        yield Table(title, tuple(columns), rank)


def _model_figure(row: Any) -> str:
    """A share in per cent, another number to three digits."""
    return f"{row.estimate:.3g}" if isnan(row.share) else percent_with(1, row.share)


def _model_limits(row: Any) -> str:
    """From the lower to the upper limit, in the same unit; an open one claims nothing."""
    if isnan(row.share):
        if isnan(row.lower) or isnan(row.upper):
            return _open_limits(row.lower, row.upper)
        return f"{row.lower:.3g} to {row.upper:.3g}"
    return f"{percent_with(1, row.lower)} to {percent_with(1, row.upper)}"


def _open_limits(lower: float, upper: float) -> str:
    """Of which one side or both cannot be told."""
    if isnan(lower) and isnan(upper):
        return "not told"
    return f"at most {upper:.3g}" if isnan(lower) else f"at least {lower:.3g}"
