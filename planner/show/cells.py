"""A row of estimates as text, with the digits that mean something."""

from __future__ import annotations

from typing import Any

import numpy as np

from planner.show.blocks import (
    as_exact_as,
    percent,
    quantity,
)

EstimateRow = Any  # of a table of estimates


CHANGE = "change from "  # of one round to the next


_RATE = "missing rate"


CUT_MARK = "*"


def is_quartile(row: EstimateRow) -> bool:
    """Whether the row has no number, but a remark."""
    return np.isnan(row.estimate) and np.isnan(row.share)


def estimate_text(row: EstimateRow) -> str:
    """What is estimated, as it came out: it may lie outside what can be."""
    return _number(row.estimate, row)


def processed_text(row: EstimateRow) -> str:
    """The estimate that fits all others: counts of at least 0 that sum to the people."""
    return _number(row.processed, row)


def _number(value: float, row: EstimateRow) -> str:
    """People are whole; a mean and the like have the digits that its interval leaves."""
    if np.isnan(value):
        return ""
    if not np.isnan(row.share):
        return f"{round(value):,}"
    spread = (row.upper - row.lower) / 2
    if np.isnan(spread):
        spread = row.standard_error
    if spread > 0:
        return as_exact_as(value, spread)
    return quantity(value)


def _possible(row: EstimateRow) -> tuple[float, float]:
    """The numbers between which an estimate must be: a count or a rate has such, a mean has not."""
    differs = not np.isnan(row.p) or row.of.startswith(CHANGE)
    if row.answer == _RATE and not differs:
        return 0.0, 1.0
    if np.isnan(row.share) or differs:
        return -np.inf, np.inf
    # All whom the count is of; they are not needed where the limit is not above them.
    if row.share_upper <= 1:
        return 0.0, np.inf
    return 0.0, row.upper / row.share_upper


def _limit(limit: float, row: EstimateRow) -> str:
    """A limit, or with a mark the end of what can be where it is beyond that."""
    least, most = _possible(row)
    inside = min(max(limit, least), most)
    text = _number(inside, row)
    if inside != limit:
        text += CUT_MARK
    return text


def interval_text(row: EstimateRow) -> str:
    """An interval in words, from limit to limit; empty where neither is known."""
    if np.isnan(row.upper) and np.isnan(row.lower):
        return ""
    if np.isnan(row.upper):
        return f"at least {_limit(row.lower, row)}"
    return f"{_limit(row.lower, row)} to {_limit(row.upper, row)}"


def gap_text(row: EstimateRow) -> str:
    """A difference with its limits: a share in per cent, if it is one."""
    if np.isnan(row.share):
        return f"{estimate_text(row)} ({interval_text(row)})"
    limits = []
    for share in (row.share_lower, row.share_upper):
        inside = share
        if np.isfinite(_possible(row)[0]):
            inside = min(max(share, 0.0), 1.0)
        text = f"{100 * inside:.1f}"
        if inside != share:
            text += CUT_MARK
        limits.append(text)
    return f"{share_text(row)} ({limits[0]} to {limits[1]})"


def share_text(row: EstimateRow) -> str:
    """A share in per cent, with a decimal, and more of a rare answer where many were asked."""
    if np.isnan(row.share):
        return ""
    spread = 50 * (row.share_upper - row.share_lower)
    if np.isnan(spread) or spread >= 1:
        return f"{100 * row.share:.1f} %"
    if spread <= 0:
        return percent(row.share)
    return f"{as_exact_as(100 * row.share, spread)} %"
