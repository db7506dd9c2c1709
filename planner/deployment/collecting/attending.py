"""Who attends, by anchors whose true answer is known, and shares if everybody did."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.arrays import Array
from planner.deployment.collecting.estimate_tables import RowsName
from planner.deployment.collecting.reports import Sums
from planner.estimates.attention import Attention
from planner.estimates.channel import Estimate
from planner.estimates.rows import (
    AnswerRow,
    AnswerRows,
    answer_rows,
    shares_with_limits,
)
from planner.mechanisms.anchored import anchor_means
from planner.mechanisms.asking import CollectedLaw

ATTENTION = "attention"
CORRECTED = "if all attended"


def attention_rows(
    law: CollectedLaw, sums: Sums, rows: AnswerRows, confidence: float
) -> Iterator[tuple[RowsName, AnswerRows]]:
    """Who attends to a question, and its shares if all did; nothing where it has no anchor.

    Parameters
    ----------
    law, rows:
        The question, and its rows.
    sums:
        Counts by question and round, of this question among them.
    confidence:
        Of the limits, above 0 and below 1.

    The part of their names is :data:`ATTENTION` or :data:`CORRECTED`; they are for people drawn at
    random. An attention that is not told apart from 0 corrects nothing, and its row says so.
    """
    if law.anchor is None:
        return
    counted = sums[law.name, None]
    means = anchor_means(law, counted)
    attention = Attention.of_anchor(
        known_share=means.known_share,
        standard_error=float(np.sqrt(means.variance)),
        answers=law.levels.total,
    )
    note = f"by {law.anchor.name!r}, whose true answer is known"
    if not attention.is_seen(confidence):
        note = f"{note}: not told apart from 0, nothing is corrected"
    lower, upper = attention.limits(confidence)
    share = Estimate(attention.share, attention.standard_error, lower, upper, note)
    users = counted.users
    row = AnswerRow("attentive people", share.scaled(0, users), whole=users)
    yield (law.name, ATTENTION), answer_rows(users, [row])
    if attention.is_seen(confidence):
        corrected = _corrected(rows, attention, means.covariances, confidence)
        yield (law.name, CORRECTED), corrected


def _corrected(
    rows: AnswerRows, attention: Attention, covariances: Array, confidence: float
) -> AnswerRows:
    """How many people would have each answer if all attended, of people drawn at random.

    The limits combine those of the shares as reported and of the attention.
    """
    reported = shares_with_limits(rows, confidence)
    shares, errors = attention.corrected(reported.value, reported.error, covariances)
    lower = attention.corrected_limit(reported, covariances, confidence, -1)
    upper = attention.corrected_limit(reported, covariances, confidence, 1)
    lower = np.clip(lower, 0.0, 1.0)
    upper = np.clip(upper, 0.0, 1.0)
    note = "corrected for people who answer at random, evenly"
    corrected = []
    for k, answer in enumerate(rows.answers):
        share = Estimate(
            float(shares[k]), float(errors[k]), float(lower[k]), float(upper[k]), note
        )
        people = share.scaled(0, rows.users)
        row = AnswerRow(answer, people, level=rows.levels[k], whole=rows.users)
        corrected.append(row)
    return answer_rows(rows.users, corrected)
