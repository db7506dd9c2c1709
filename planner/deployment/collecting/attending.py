"""Who attends, by questions whose true answer is known, and shares if everybody did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from planner.deployment.collecting.estimate_tables import RowsName
from planner.deployment.parameters import Parameters
from planner.errors import InputError
from planner.estimates.attention import Attention
from planner.estimates.channel import Estimate
from planner.estimates.counts import reach
from planner.estimates.rows import (
    AnswerRow,
    AnswerRows,
    answer_rows,
    population_rows,
)

ATTENTION = "attention"
CORRECTED = "if all attended"


def attention_rows(
    parameters: Parameters,
    rows_of: Mapping[RowsName, AnswerRows],
    confidence: float,
) -> Iterator[tuple[RowsName, AnswerRows]]:
    """Of each question with an anchor who attends, and its shares if all did.

    The part of their names is :data:`ATTENTION` or :data:`CORRECTED`; they are for people drawn at
    random. An attention that is not told apart from 0 corrects nothing, and its row says so.
    """
    for anchor in parameters.anchors:
        question = anchor["of"]
        rows = rows_of.get((question, ""))
        of_anchor = rows_of.get((anchor["question"], ""))
        if rows is None or of_anchor is None:
            continue
        of_anchor = population_rows(of_anchor, confidence)
        attention = _attention(of_anchor, anchor["known"])
        note = f"by {anchor['question']!r}, whose true answer is known"
        if not attention.is_seen(confidence):
            note = f"{note}: not told apart from 0, nothing is corrected"
        lower, upper = attention.limits(confidence)
        share = Estimate(attention.share, attention.standard_error, lower, upper, note)
        users = of_anchor.users
        row = AnswerRow("attentive people", share.scaled(0, users), whole=users)
        yield (question, ATTENTION), answer_rows(users, [row])
        if attention.is_seen(confidence):
            rows = population_rows(rows, confidence)
            yield (question, CORRECTED), _corrected(rows, attention, confidence)


def _attention(of_anchor: AnswerRows, known: str) -> Attention:
    """Who attends, by the share of the answer that is true of everybody."""
    names = list(of_anchor.answers)
    if known not in names:
        remedy = "Export the parameters again."
        raise InputError.unknown("known", known, names, remedy)
    answer = names.index(known)
    whole = of_anchor.whole[answer]
    return Attention.of_anchor(
        known=float(of_anchor["estimate"][answer] / whole),
        standard_error=float(of_anchor["standard_error"][answer] / whole),
        answers=len(names),
    )


def _corrected(rows: AnswerRows, attention: Attention, confidence: float) -> AnswerRows:
    """How many people would have each answer if all attended, with normal limits."""
    shares, errors = attention.corrected(
        rows["estimate"] / rows.whole, rows["standard_error"] / rows.whole
    )
    half = reach(confidence) * errors
    lower = np.clip(shares - half, 0.0, 1.0)
    upper = np.clip(shares + half, 0.0, 1.0)
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
