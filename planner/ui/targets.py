"""Targets as they are typed: of a question one of each kind, which is about all of its answers.

What a file says of single levels, or a second time, stays as it is.
"""

from __future__ import annotations

from planner.laws.schema import Document
from planner.survey.values import text_of

TARGET_KEYS = {
    "error": ("error",),
    "detect": ("detect",),
    "difference": ("difference", "between", "from"),
}
"""By the kind of a target, the keys that its row has."""


def target_row(question: Document, kind: str) -> int:
    """The number of the row that has the target of this kind, or that would have it."""
    rows = question.get("target", ())
    for number, row in enumerate(rows):
        # A target of one level is a file's own business: no field here is about it.
        if "level" not in row and not row.keys().isdisjoint(TARGET_KEYS[kind]):
            return number
    return len(rows)


def target_text(question: Document, kind: str, key: str) -> str:
    """What is typed for a key of the target of this kind; "" for nothing."""
    rows = question.get("target", ())
    number = target_row(question, kind)
    if number == len(rows):
        return ""
    return text_of(rows[number].get(key), key)


def set_target(question: Document, kind: str, key: str, text: str) -> None:
    """Type a key of the target of this kind, which goes with the last of its keys."""
    # Copies, as widgets of this run may still hold the tables of the document.
    rows = [dict(row) for row in question.get("target", ())]
    number = target_row(question, kind)
    if number == len(rows):
        rows.append({})
    row = rows[number]
    row.pop(key, None)
    if text.strip():
        row[key] = text
    question["target"] = list(filter(None, rows))  # a row without keys is none
    if not question["target"]:
        del question["target"]
