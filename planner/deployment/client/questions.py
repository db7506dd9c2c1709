"""Read a parameter document: the one list of what is checked, on a device and by a collector.

In this order: the document's form; for each question that its parts fit, that its integers keep
the promised budgets, and that its estimator is unbiased; that a collector can count the answers to
all questions together. Format, version, content hash and the rules of JSON were checked when the
document was parsed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from planner.deployment.client.canonical import FORMAT, VERSION
from planner.errors import FileError, InputError
from planner.laws.law import DEVICE, Halves, Law, question_form
from planner.laws.schema import TEXT, check, choice, either, list_of, record, whole
from planner.limits import EXPORT_REMEDY, MAX_CELLS, MAX_COUNT

L = TypeVar("L", bound=Law)


def read_questions(
    document: Mapping[str, Any], source: str | Path, kind: type[L], halves: Halves
) -> list[L]:
    """The laws of the questions of a parsed document, each checked and proven; one at least.

    Raises
    ------
    FileError
        The document is not exactly of its form, or parts do not fit each other.
    VerificationError
        A question does not keep the budgets that it promises, or its estimator is biased.
    """
    try:
        # Questions are checked one by one below, each by the form of its own law.
        form = file_form()
        anything = form["properties"] | {"questions": list_of({"type": "object"})}
        check(document, form | {"properties": anything})
        read = [
            kind.read(question, halves, f"questions[{i}]")
            for i, question in enumerate(document["questions"])
        ]
    except InputError as error:
        raise FileError(source, error.reason, EXPORT_REMEDY) from error
    names = [law.name for law in read]
    if len(set(names)) < len(names):
        raise FileError(source, "a question name appears twice", EXPORT_REMEDY)
    cells = sum(law.shape.cells for law in read)
    if cells > MAX_CELLS:
        reason = f"all questions have {cells:,} sums to count, at most {MAX_CELLS:,} are allowed"
        raise FileError(source, reason, "Merge items, or ask for a coarser answer first.")
    return read


def file_form() -> dict[str, Any]:
    """The form of a parameter file: a JSON Schema of draft 2020-12.

    Examples
    --------
    >>> file_form()["required"][:4]
    ['format', 'version', 'hash', 'planner_version']
    """
    moment = {"type": "string", "pattern": "^[0-9]{4}(-[0-9]{2}){2}T[0-9]{2}(:[0-9]{2}){2}Z$"}
    return record(
        {
            "format": choice(FORMAT),
            "version": choice(VERSION),
            "hash": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "planner_version": TEXT,
            "created": moment,
            "survey": TEXT,
            "users": whole(1, MAX_COUNT),
            "questions": list_of(either(*(question_form(*pair) for pair in DEVICE.pairs()))),
        }
    )
