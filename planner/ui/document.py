"""A survey as it is being typed: the document that its file has, in which a cell may be wrong.

A document is a dictionary with a table ``survey`` and a list ``question`` of tables, as in TOML;
a value may be text, as it was typed. ``settle`` makes a survey of it, or says what is wrong.
"""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Sequence
from importlib import resources
from typing import Any

from planner.laws.die import ACKNOWLEDGEMENTS
from planner.survey.description import Mistake
from planner.survey.file import survey_text
from planner.survey.questions import Survey
from planner.survey.values import text_of

Document = dict[str, Any]
Row = dict[str, str]

EXAMPLES = {
    "clinic": "Clinic, sixteen treatments",
    "health": "Health survey, five diagnoses",
    "browsing": "Browsing, a hundred pages",
    "hours": "Unpaid help, hours in order",
    "answer-rate": "Hospital bills, many do not answer",
    "sampled-ages": "Registry, age groups of a rare illness",
}
FIRST_EXAMPLE = "clinic"
"""What a visitor meets: the levels matter, and the answers have names."""

KINDS = {
    "categorical": "one answer",
    "item-set": "several answers, or none",
    "ordinal": "one step of a scale",
    "numeric": "a number",
    "sampled-choice": "a rare answer (Sampling Privacy)",
}
COLUMNS = ("name", "epsilon", "items", "item_count", "yes_counts", "importance", "prior")
LABELS = {
    "epsilon": "Budget",
    "items": "Answers",
    "item_count": '"Or how many"',
    "yes_counts": "Expected people",
    "importance": "Importance",
    "prior": "Expected share",
    "users": "People asked",
    "asked": "Questions a person answers",
    "order": "From the lowest to the highest",
    "scores": "What each counts for in a mean",
    "padding_length": "Cut or pad to",
    "lower": "Smallest answer",
    "upper": "Largest answer",
    "mean": "Expected mean",
    "sd": "Expected spread",
    "values": "the sample",
    "target": "Exact enough at",
    "weight": "Weight",
}
_KEYS_ALONE = re.compile(r"\b(epsilon(?= is)|item_count|yes_counts|padding_length|users)\b")
_ALL = ("name", "kind", "mechanism", "weight", "target")
_LEVELLED = (*_ALL, "level", "rule")
_KEYS = {  # of a question; what was typed while it was of another kind is kept, and left out
    "categorical": (*_LEVELLED, "criterion", "rounds"),
    "item-set": (*_LEVELLED, "criterion", "padding_length", "sets", "rounds"),
    "ordinal": (*_LEVELLED, "order", "scores", "wanted", "rounds"),
    "numeric": (
        *_ALL,
        "rounds",
        "lower",
        "upper",
        "yes_no",
        "epsilon",
        "mean",
        "sd",
        "preferences",
    ),
    "sampled-choice": (*_LEVELLED, "sampling"),
}
_LEVEL_KEYS = {
    "categorical": {*COLUMNS} - {"yes_counts"},
    "item-set": {*COLUMNS} - {"yes_counts"},
    "ordinal": {"name", "epsilon", "items", "importance"},
    "sampled-choice": {"name", "epsilon", "items", "yes_counts"},
}


def new_document() -> Document:
    """A survey with one question, which can be planned at once."""
    return {"survey": {"name": "my survey", "users": "10,000"}, "question": [new_question(())]}


def new_question(taken: Sequence[str]) -> Document:
    """A question of another name than those that are ``taken``."""
    name = next(f"question {k}" for k in range(1, 10_000) if f"question {k}" not in taken)
    return {"name": name, "level": [{"name": "usual", "epsilon": "1", "item_count": "10"}]}


def example_document(name: str) -> Document:
    """A bundled example by its short name."""
    path = resources.files("planner.ui") / "surveys" / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def document_of(survey: Survey) -> Document:
    """The document of a survey that is right."""
    return tomllib.loads(survey_text(survey))


def kind_of(question: Document) -> str:
    """The kind of a question; of one that is unknown the usual one."""
    kind = question.get("kind", "categorical")
    return kind if isinstance(kind, str) and kind in KINDS else "categorical"


def set_kind(question: Document, kind: str) -> None:
    """Make it a question of this kind, with what that cannot do without."""
    question["kind"] = kind
    question.pop("mechanism", None)  # which another kind may not have
    if kind == "numeric":
        for key, start in (("lower", "0"), ("upper", "100"), ("epsilon", "1")):
            question.setdefault(key, start)
    elif not question.get("level"):
        question["level"] = new_question(())["level"]
    if kind == "sampled-choice":
        question.setdefault("sampling", {"relies_on": "aggregates-only"})


def cleaned(document: Document) -> Document:
    """What is planned: without what is blank, and what belongs to another kind of question."""
    found: Document = {"survey": _given(document["survey"]), "question": []}
    if found["survey"].get("design") != "some-each":
        found["survey"].pop("asked", None)
    for question in document["question"]:
        kind = kind_of(question)
        kept = _given({key: one for key, one in question.items() if key in _KEYS[kind]})
        if "level" in kept:
            allowed = _LEVEL_KEYS[kind]
            kept["level"] = [
                {key: one for key, one in row.items() if key in allowed} for row in kept["level"]
            ]
        found["question"].append(kept)
    return found


def _given(table: Document) -> Document:
    """A table without cells that are blank."""
    filled = {key: _given(one) if isinstance(one, dict) else one for key, one in table.items()}
    return {
        key: one
        for key, one in filled.items()
        if one is not None and one != {} and not (isinstance(one, str) and not one.strip())
    }


def sentence_of(mistake: Mistake) -> str:
    """What is wrong, in the words of the page: cells have its labels, not the file's keys."""
    key = next((one for one in reversed(mistake.where) if isinstance(one, str)), "")
    label = LABELS.get(key, key)
    if mistake.reason.endswith("is missing"):
        before, comma, _ = mistake.place.rpartition(", ")
        return f"{before}{comma}{label} is still empty."
    return labelled(re.sub(rf"(?<=: ){key}\b", lambda _: label, mistake.sentence, count=1))


def labelled(text: str) -> str:
    """A sentence in which keys that are no words have the labels of their cells."""
    return _KEYS_ALONE.sub(lambda found: LABELS[found[0]], text)


def texts_of(rows: Sequence[Document]) -> list[Row]:
    """The rows of a table of levels as they are shown, blank cells included."""
    return [{key: text_of(row.get(key), key) for key in COLUMNS} for row in rows]


def take_rows(question: Document, rows: Sequence[Row]) -> None:
    """Put these rows in place; a matrix of pair budgets moves with them."""
    before = [text_of(row.get("name")).strip() for row in question.get("level", ())]
    after = [row["name"].strip() for row in rows]
    matrix = question.get("rule")
    if isinstance(matrix, list) and len(before) != len(after):
        place = {name: k for k, name in enumerate(before)}
        old = [place.get(name) for name in after]
        question["rule"] = [
            ["" if i is None or j is None else matrix[i][j] for j in old] for i in old
        ]
    question["level"] = [{key: text for key, text in row.items() if text.strip()} for row in rows]


def target_text(question: Document) -> str:
    """The total error that is exact enough, as typed; "" for none."""
    found = [one for one in question.get("target", ()) if "error" in one and "level" not in one]
    return text_of(found[0]["error"]) if found else ""


def set_target(question: Document, text: str) -> None:
    """State which total error is exact enough; other targets stay."""
    targets = question.get("target", ())
    others = [one for one in targets if "error" not in one or "level" in one]
    question["target"] = [*([{"error": text}] if text.strip() else []), *others]
    if not question["target"]:
        del question["target"]


def vouched(question: Document) -> bool:
    """Whether somebody vouches for what the two rounds of a deployment rely on."""
    about = question.get("sampling", {})
    return about.get("acknowledged") == ACKNOWLEDGEMENTS.get(about.get("relies_on"))


def copied(document: Document) -> Document:
    """A copy that can be changed by itself."""
    return copy.deepcopy(document)
