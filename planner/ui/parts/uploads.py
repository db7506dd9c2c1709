"""Uploaded files: bytes in, a survey or rows out, one sentence for what is wrong."""

from __future__ import annotations

import csv
import math
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TypeVar

from planner.deployment.client.questions import DeployedQuestion
from planner.deployment.parameter_file.parameters import Parameters, read_parameters
from planner.errors import FileError, InputError
from planner.survey import Level, Numeric, Question, Rule, Survey
from planner.survey.file import survey_from_text
from planner.survey.kinds import ORDINAL
from planner.survey.numeric_domain import NumericDomain
from planner.ui.draft.parts import Row
from planner.ui.parts import cells

T = TypeVar("T")
_INSTEAD = {
    "file": "Write the numbers as values = [...], or upload the sample on the page Answer rates.",
    "pilot": "Give the share of people with 0, 1, 2, ... items as sizes = [...].",
    "ledger": "Remove the key, and upload the ledger on the page Survey.",
}


def survey_from_upload(name: str, data: bytes) -> Survey:
    """A survey from a survey file (TOML) or a parameter file (JSON).

    Raises
    ------
    FileError
        The file is not one of these, or not right.
    """
    if name.lower().endswith(".json"):
        with as_file(name, data) as path:
            return _survey_from_parameters(read_parameters(path))
    text = text_of(name, data)
    _refuse_paths(name, text)
    return survey_from_text(text, source=name)


def rows_from_items(name: str, data: bytes, known: Sequence[Row]) -> list[Row]:
    r"""Levels from a CSV file with a header: a column ``item`` and ``level``, ``epsilon`` or both.

    Without ``epsilon``, a level keeps the budget it has in ``known``, or waits for one.
    Without ``level``, the items of equal budget form a level.

    Raises
    ------
    FileError
        A column or a cell is missing, an item is repeated, or a level has two budgets.

    Examples
    --------
    >>> rows_from_items("i.csv", b"item,epsilon\nHIV,ln 4\nflu,2\n", [])[0]
    {'level': 'epsilon ln 4', 'epsilon': 'ln 4', 'items': 'HIV', 'count': ''}
    """
    lines = csv.DictReader(text_of(name, data).splitlines())
    header = [(title or "").strip().lower() for title in lines.fieldnames or []]
    if "item" not in header or not {"level", "epsilon"} & set(header):
        found = ", ".join(header) or "nothing"
        remedy = "The first line names the columns, for example: item,level,epsilon"
        raise FileError(
            name, f"columns 'item' and 'level' or 'epsilon' are needed, not {found}", remedy
        )
    lines.fieldnames = header
    budgets = {row.get("level", "").strip(): row.get("epsilon", "") for row in known}
    levels: dict[str, list[str]] = {}
    seen: set[str] = set()
    for line in lines:
        cell = {key: (line.get(key) or "").strip() for key in ("item", "level", "epsilon")}
        if not any(cell.values()):
            continue
        _check(name, lines.line_num, cell, header, seen)
        seen.add(cell["item"])
        level = cell["level"] or f"epsilon {cell['epsilon']}"
        budget = cell["epsilon"] if "epsilon" in header else budgets.get(level, "")
        if level in levels and budgets[level] != budget:
            reason = (
                f"line {lines.line_num}: level {level!r} has the budget {budgets[level]!r} above"
            )
            raise FileError(name, reason, "Give each level one budget.")
        budgets[level] = budget
        levels.setdefault(level, []).append(cell["item"])
    if not levels:
        raise FileError(name, "there are no items below the header", "Add a line per item.")
    return [
        {
            "level": level,
            "epsilon": budgets[level],
            "items": cells.items_text(tuple(items)),
            "count": "",
        }
        for level, items in levels.items()
    ]


def text_of(name: str, data: bytes) -> str:
    """The text of an uploaded file.

    Raises
    ------
    FileError
        It is not UTF-8.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(name, "is not text in UTF-8", "Save it as UTF-8.") from error


@contextmanager
def as_file(name: str, data: bytes) -> Iterator[Path]:
    """The upload as a file for functions that read one; gone afterwards.

    Errors name the upload, not the temporary file.
    """
    plain = PurePosixPath(name.replace("\\", "/")).name or "upload"
    with TemporaryDirectory() as folder:
        path = Path(folder) / plain
        path.write_bytes(data)
        try:
            yield path
        except FileError as error:
            raise FileError(plain, error.reason.replace(f"{path}", plain), error.remedy) from None


def bytes_of(write: Callable[[Path, T], None], content: T) -> bytes:
    """What a function that writes a file would write."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "download"
        write(path, content)
        return path.read_bytes()


def _check(
    name: str, number: int, cell: dict[str, str], header: Sequence[str], seen: set[str]
) -> None:
    missing = [key for key in ("item", "level", "epsilon") if key in header and not cell[key]]
    if missing:
        raise FileError(name, f"line {number} has no {missing[0]}", "Fill in the cell.")
    if cell["item"] in seen:
        raise FileError(name, f"line {number}: the item {cell['item']!r} is repeated", "Keep one.")
    if cell["epsilon"]:
        try:
            cells.budget(cell["epsilon"])
        except InputError as error:
            raise error.within(f"{name}: line {number}") from error


def _refuse_paths(name: str, text: str) -> None:
    """An uploaded survey must not make the server read a file of its own."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return  # the reader says where the mistake is
    questions = document.get("question", [])
    survey = document.get("survey")
    tables = [survey] if isinstance(survey, dict) else []
    for question in questions if isinstance(questions, list) else []:
        inner = question.values() if isinstance(question, dict) else ()
        tables += [table for table in inner if isinstance(table, dict)]
    for key in ("file", "pilot", "ledger"):
        if any(key in table for table in tables):
            remedy = _INSTEAD[key]
            raise FileError(name, f"the key {key!r} names another file, which is not read", remedy)


def _survey_from_parameters(parameters: Parameters) -> Survey:
    """Budgets, items and rules as the file states them, ready to be planned again.

    Raises
    ------
    InputError
        A question holds less in its parameters than its plan needs.
    """
    questions = tuple(_question(question) for question in parameters.questions)
    return Survey(parameters.survey, parameters.users, questions)


def _question(question: DeployedQuestion) -> Question:
    stated = question.document
    remedy = "Open the survey file (TOML) instead: it says what people are expected to answer."
    if question.kind == "numeric":
        domain = NumericDomain(stated["lower"], stated["upper"], stated["yes_no"])
        numeric = Numeric(domain, epsilon=stated["epsilon"])
        return Question(question.name, (), kind="numeric", numeric=numeric)
    if question.kind not in ("categorical", ORDINAL):
        raise InputError(
            f"kind of question {question.name!r}",
            question.kind,
            "categorical, ordinal or numeric",
            remedy,
        )
    levels = tuple(
        Level(level["name"], level["epsilon"], tuple(level["items"]), level["item_count"])
        for level in stated["levels"]
    )
    if question.kind == ORDINAL:
        items = [item for level in levels for item in level.items]
        about = {
            "order": tuple(items[place] for place in stated["order"]),
            "scores": tuple(stated["scores"]),
            "wanted": stated["wanted"],
        }
    else:
        about = {}
    return Question(question.name, levels, _rule(stated["rule"]), question.kind, **about)


def _rule(rule: str | list[list[float | None]]) -> Rule:
    if isinstance(rule, str):
        return rule
    return tuple(tuple(math.inf if r is None else r for r in row) for row in rule)
