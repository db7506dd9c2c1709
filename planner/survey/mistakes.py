"""One sentence for the most telling mistake in a survey file."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from planner.errors import InputError
from planner.policy.rules import ALLOWED_RULES
from planner.survey.tables import Table

_WORDS = {
    "model_type": ("a table of keys and values is needed", "Write key = value under its [name]."),
    "list_type": ("a list is needed", "Write tables of a list in [[double brackets]]."),
}


def explain(
    error: ValidationError,
    document: dict[str, Any],
    tables: Mapping[str, type[Table]],
    branches: Collection[str],
) -> tuple[str, str]:
    """The most telling mistake, with its place written as in the file, and what to do about it.

    Parameters
    ----------
    error, document:
        What pydantic found, and where.
    tables:
        Each table of a file by its name, with a branch before it (``branch.name``) where that
        matters; the whole file by the empty one.
    branches:
        Names that stand in pydantic's places for a choice between tables, not in the file.
    """
    mistakes = error.errors(include_url=False)
    first = min(mistakes, key=_rank)
    location = list(first["loc"])
    if "rule" in location:  # a text or a matrix: pydantic goes on with the branch it tried
        location = location[: location.index("rule") + 1]
    *parents, key = location
    if first["type"].startswith("union_tag"):
        parents, key = [*parents, key], "model"
    place = _place([*parents, key], document, branches)
    if first["type"] == "extra_forbidden":
        known = _known_keys(parents, tables)
        near = difflib.get_close_matches(str(key), known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
        return f"{place} is not a known key ({hint})", "Correct the key, or delete its line."
    if first["type"] == "missing":
        return f"{place} is missing", f"Add a line {key} = ... there."
    cause: object = first.get("ctx", {}).get("error")
    if key == "rule":
        remedy = 'Write rule = "min" if you are not sure: it is the usual one.'
        cause = InputError("rule", first["input"], ALLOWED_RULES, remedy)
    if isinstance(cause, InputError):
        return f"{place}: {cause.reason}", cause.remedy
    reason, remedy = _WORDS.get(first["type"], (first["msg"], "Write such a value."))
    return f"{place} is {first['input']!r}: {reason}", remedy


def place_of_end(reason: str, text: str) -> str:
    """The reason with a line and column: ``tomllib`` names none where the text ends too early."""
    *_, last = text.split("\n")
    place = f"(at line {text.count(chr(10)) + 1}, column {len(last) + 1}, the end of the file)"
    return reason.replace("(at end of document)", place)


def _rank(mistake: ErrorDetails) -> int:
    """The kind decides which keys are known; a misspelt key is also a missing one."""
    if mistake["loc"][-1] == "kind":
        return 0
    return 1 if mistake["type"] == "extra_forbidden" else 2


def _place(location: list[Any], document: Any, branches: Collection[str]) -> str:
    words: list[str] = []
    for part in location:
        if part in branches:
            continue
        if isinstance(part, int):
            document = document[part]
            name = document.get("name") if isinstance(document, dict) else None
            words[-1] += f" {name!r}" if name else f" {part + 1}"
        else:
            document = document.get(part, {}) if isinstance(document, dict) else {}
            words.append(str(part))
    return ", ".join(words)


def _known_keys(parents: list[Any], tables: Mapping[str, type[Table]]) -> list[str]:
    names = [part for part in parents if isinstance(part, str)]
    table = tables.get(".".join(names[-2:])) or tables[names[-1] if names else ""]
    return list(table.model_fields)
