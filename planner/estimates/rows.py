"""Estimates of one question as rows: an answer or a quantity each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.estimates.channel import OrderedEstimates, QuantileEstimate
from planner.estimates.counts import Estimates, ProcessedCounts
from planner.estimates.means import Estimate
from planner.laws.levels import Levels

_QUANTILES = (("lower quartile", 0.25), ("median", 0.5), ("upper quartile", 0.75))

Column = Sequence[float | None] | NDArray[np.float64] | NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class AnswerRows:
    """Columns of one length; ``None`` where a row has nothing to say.

    ``lower`` to ``upper`` covers the answer's true number with the stated confidence; the
    ``joint`` limits cover all answers of the question together; ``processed`` is biased.
    """

    users: int
    levels: Sequence[str]
    answers: Sequence[str]
    estimates: Column
    standard_errors: Column
    lower: Column
    upper: Column
    joint_lower: Column
    joint_upper: Column
    processed: Column
    remarks: Sequence[str]


def item_rows(
    levels: Sequence[str],
    items: Sequence[str],
    estimates: Estimates,
    processed: ProcessedCounts,
    confidence: float,
    remark: str = "",
) -> AnswerRows:
    """A row per item, with the name of its level and the estimates' own intervals."""
    lower, upper = map(_claimed, estimates.intervals(confidence))
    joint_lower, joint_upper = map(_claimed, estimates.intervals(confidence, simultaneous=True))
    return AnswerRows(
        estimates.users,
        levels,
        items,
        estimates.values,
        estimates.standard_errors,
        lower,
        upper,
        joint_lower,
        joint_upper,
        processed.values,
        [f"processed: {processed.method}{remark}"] * len(items),
    )


def _claimed(limits: NDArray[np.float64]) -> Column:
    """Limits; ``None`` where nothing is claimed."""
    if np.isfinite(limits).all():
        return limits
    return [limit if np.isfinite(limit) else None for limit in limits.tolist()]


def quantity_rows(
    users: int, quantities: Sequence[tuple[str, Estimate, tuple[float, float] | None]]
) -> AnswerRows:
    """A row per quantity: its name, its estimate, and its possible range if it has one."""
    estimates = [one for _, one, _ in quantities]
    moved = [_moved(one, possible) for _, one, possible in quantities]
    nothing = [None] * len(quantities)
    return AnswerRows(
        users,
        [""] * len(quantities),
        [name for name, _, _ in quantities],
        [one.value for one in estimates],
        [one.standard_error for one in estimates],
        [one.lower for one in estimates],
        [one.upper for one in estimates],
        nothing,
        nothing,
        [processed for processed, _ in moved],
        [remark for _, remark in moved],
    )


def ordered_rows(
    levels: Levels, order: Sequence[int], estimates: OrderedEstimates, scores: Sequence[float]
) -> AnswerRows:
    """People up to each answer but the last, people with each, quartiles, and the mean score.

    The joint limits are the band of all shares up to an answer; what is processed follows from
    shares that rise. ``order`` has the items' numbers, the lowest answer first.
    """
    users, size = estimates.users, len(order)
    level = levels.level_names()
    low, high = (users * limit for limit in estimates.band)
    steps, one = np.tril(np.ones((size, size))), np.eye(size)
    names = [f"up to {answer}" for answer in estimates.answers[:-1]] + list(estimates.answers)
    every = [estimates.mean(row) for row in [*steps[:-1], *one]]
    rows = [each.scaled(0.0, users) for each in every]
    processed = [*users * estimates.consistent[:-1], *users * estimates.shares]
    remarks = ["processed: shares up to an answer made to rise"] * len(rows)
    if scores:
        names.append("mean score")
        rows.append(estimates.mean(scores))
        processed.append(float(estimates.shares @ np.array(scores)))
        remarks.append(remarks[0])
    quantiles = [(name, estimates.quantile(share)) for name, share in _QUANTILES]
    rest, none = len(rows) - size + 1, len(quantiles)
    nothing: list[float | None] = [None] * none
    own = [level[k] for k in order]
    return AnswerRows(
        users,
        [""] * (size - 1) + own + [""] * (len(rows) - 2 * size + 1 + none),
        [*names, *(name for name, _ in quantiles)],
        [*(row.value for row in rows), *nothing],
        [*(row.standard_error for row in rows), *nothing],
        [*(row.lower for row in rows), *nothing],
        [*(row.upper for row in rows), *nothing],
        [*low[:-1].tolist(), *[None] * (rest + none)],
        [*high[:-1].tolist(), *[None] * (rest + none)],
        [*processed, *nothing],
        [*remarks, *(_quantile(name, one, estimates.confidence) for name, one in quantiles)],
    )


def _quantile(name: str, found: QuantileEstimate, confidence: float) -> str:
    between = f"between {found.lower} and {found.upper} with {confidence:.0%} confidence"
    return f"{name}: {found.answer}, {between}"


def _moved(estimate: Estimate, possible: tuple[float, float] | None) -> tuple[float | None, str]:
    if possible is None or estimate.value is None:
        return None, estimate.note
    remark = f"processed: moved into its possible range; no longer unbiased. {estimate.note}"
    return min(max(estimate.value, possible[0]), possible[1]), remark.strip()
