"""An XLSForm, as ODK, Kobo and SurveyCTO have it, as a survey whose budgets are still open."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import tomli_w

from planner.errors import FileError
from planner.laws.levels import folded
from planner.laws.schema import Document
from planner.survey.tables import excel_rows

# What a form does not say, and is to be filled in.
_OPEN = {
    "users": "How many people will be asked.",
    "epsilon": 'The budget, such as "ln 4"; give answers that need another a level of their own.',
    "padding_length": "To how many answers sets are padded or cut.",
    "lower": "The smallest number that counts.",
    "upper": "The largest number that counts.",
}
_ONE = "select_one"
_SEVERAL = "select_multiple"
_NUMBERS = ("integer", "decimal", "range")
_BOUND = re.compile(r"\.\s*([<>])=?\s*(-?[\d.]+)|(start|end)\s*=\s*(-?[\d.]+)")
_GROUP = re.compile("(begin|end)[_ ](group|repeat)")
FormRow = dict[str, str]


class Imported(NamedTuple):
    """The text of a survey's file, and what was left out, with the reason, by its name."""

    text: str
    left_out: dict[str, str]


class _Unfit(Exception):
    """Why a question is left out."""


def survey_of_form(path: Path) -> Imported:
    """A survey of the questions of an XLSForm that have answers to choose, or a number.

    Raises
    ------
    FileError
        It cannot be read, or has no such question.
    InputError
        The library that reads Excel is not installed.
    """
    rows = list(_rows(path, "survey"))
    title = path.stem
    choices: dict[str, list[FormRow]] = {}
    with suppress(FileError):  # a form may have neither
        for row in _rows(path, "choices"):
            choices.setdefault(
                row.get("list_name", row.get("list name", "")), []
            ).append(row)
    with suppress(FileError):
        title = next(_rows(path, "settings"), {}).get("form_title", title)
    questions = dict[str, Document]()
    left_out = dict[str, str]()
    repeats = 0
    for number, row in enumerate(rows, 2):
        if group := _GROUP.fullmatch(row.get("type", "")):
            repeats += {"begin": 1, "end": -1}[group[1]] * (group[2] == "repeat")
            continue
        name = row.get("name", f"row {number}")
        try:
            if repeats:
                raise _Unfit("it is asked again and again of one person")
            if folded(name) in questions:
                raise _Unfit("another question has its name")
            questions[folded(name)] = _question(name, row, choices)
        except _Unfit as unfit:
            left_out[name] = str(unfit)
    if not questions:
        reason = "has no question with answers to choose, or for a number"
        raise FileError(path, reason, "Is it an XLSForm?")
    survey = {"name": title, "users": ""}
    text = tomli_w.dumps({"survey": survey, "question": list(questions.values())})
    for key, told in _OPEN.items():
        text = text.replace(f'\n{key} = ""\n', f'\n{key} = ""  # {told}\n')
    return Imported(text, left_out)


def _rows(path: Path, sheet: str) -> Iterator[FormRow]:
    """Cells that are not blank by the names of their columns; of several languages the first."""
    header: list[str] = []
    for _, cells in excel_rows(path, sheet=sheet):
        if not header:
            header = [folded(cell).partition("::")[0] for cell in cells]
        elif any(cells):
            pairs = zip(header, map(str.strip, cells), strict=False)
            yield {key: cell for key, cell in reversed(list(pairs)) if key and cell}


def _question(
    name: str, row: FormRow, choices: Mapping[str, Sequence[FormRow]]
) -> Document:
    kind, *words = re.sub(
        "^select (one|multiple)", r"select_\1", row.get("type", "")
    ).split()
    found: Document = {"name": name, "ask": row.get("label", "")}
    if kind in _NUMBERS:
        bounds = {"lower": "", "upper": ""}
        for sign, number, end, value in _BOUND.findall(
            f"{row.get('constraint', '')} {row.get('parameters', '')}"
        ):
            bounds["lower" if sign == ">" or end == "start" else "upper"] = (
                number or value
            )
        return found | {"kind": "numeric", "epsilon": ""} | bounds
    if kind not in (_ONE, _SEVERAL) or not words:
        raise _Unfit(
            f"{row.get('type', 'nothing')!r} has no answers to choose, and is no number"
        )
    listed = choices.get(words[0], [])
    extra = words[1:] == ["or_other"]
    names = {row["name"]: row.get("label", "") for row in listed if "name" in row}
    names |= {"other": ""} if extra else {}
    if len(set(map(folded, names))) < max(2, len(listed) + extra):
        raise _Unfit(
            f"its list {words[0]!r} has not two choices or more, each with its own name"
        )
    labels = {
        answer: label for answer, label in names.items() if label not in ("", answer)
    }
    level = {"name": "all", "epsilon": "", "items": list(names)}
    several = {"kind": "item-set", "padding_length": ""} if kind == _SEVERAL else {}
    return found | several | {"label": labels, "level": [level]}
