"""An XLSForm, as ODK, Kobo and SurveyCTO have it, as a survey whose budgets are still open.

The names of types, columns and their aliases are those of pyxform's ``aliases`` and of SurveyCTO's
reference (https://docs.surveycto.com); what the form asks of people is left to their forms.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import tomli_w

from planner.errors import FileError
from planner.laws.levels import folded
from planner.laws.schema import Document
from planner.survey.bounds import Bounds, bounds_of
from planner.survey.rows import NumberedRows
from planner.survey.spreadsheets import sheet_rows
from planner.survey.text_files import (
    Dialect,
    delimited_rows,
    find_encoding,
    read_lines,
)

# What a form does not say, and is to be filled in: by key, and of numbers where that differs.
_OPEN: dict[str, str] = {
    "users": "How many people will be asked.",
    "epsilon": 'The budget, such as "ln 4"; give answers that need another a level of their own.',
    "padding_length": "To how many answers sets are padded or cut.",
    "lower": "The smallest number that counts.",
    "upper": "The largest number that counts.",
}
_BUDGET_OF_NUMBER = 'The budget, such as "ln 4", which is the same for all numbers.'
_BLANK_KEY = re.compile(r'^(\w+) = ""$', re.MULTILINE)
# The words before the name of a list of choices; the longest first.
_SELECT = re.compile(
    r"(?P<one>select[_ ]one( from)?|select1|add select one prompt using)\s+(?P<list>.*)|"
    r"(select[_ ]multiple( from)?|select all that apply( from)?|add select multiple prompt using)"
    r"\s+(?P<several>.*)",
    re.IGNORECASE | re.DOTALL,
)
_OTHER = re.compile(r"\s+or[_ ](other|specify other)$", re.IGNORECASE)
_FROM_FILE = re.compile(
    r"select[_ ](one|multiple)[_ ](from[_ ]file|external)\b", re.IGNORECASE
)
_SEARCH = re.compile(r"\bsearch\s*\(", re.IGNORECASE)  # as an appearance
_NUMBERS = {
    "integer": True,
    "int": True,
    "add integer prompt": True,
    "decimal": False,
    "add decimal prompt": False,
    "range": False,
}
_GROUP = re.compile(
    "(?P<edge>begin|end)[_ ](group|(?P<repeat>repeat|lgroup|looped group|loop( over .+)?))",
    re.IGNORECASE,
)
# In the column "parameters" of a range: start=0 end=10 step=1.
_PARAMETER = re.compile(r"(start|end)\s*=\s*(-?\d+(?:\.\d+)?)")
# A form puts the answer to another question where ${name} stands.
_REFERENCE = re.compile(r"\$\{\s*([^}]*?)\s*\}")
_HTML_TAG = re.compile(r"<[^<>]{1,500}>")
_EMPHASIS = re.compile(r"(\*\*|__|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w))")
_MARKDOWN_HEADING = re.compile(r"^#{1,6}\s+", re.MULTILINE)
_MARKDOWN_LINK = re.compile(r"\[([^\]]{1,500})\]\([^)]{0,2000}\)")
_DOTS = "\N{HORIZONTAL ELLIPSIS}"  # in place of what a form fills in while it is asked
_TEXTS = (".csv", ".tsv", ".txt")
_YES = ("yes", "true", "true()", "1", "y")
FormRow = dict[str, str]


class Imported(NamedTuple):
    """The text of a survey's file.

    ``left_out`` are questions with the reason, by their name, and ``changed`` those of which
    something reads otherwise than in the form.
    """

    text: str
    left_out: dict[str, str]
    changed: dict[str, str]


class _Unfit(Exception):
    """Why a question is left out."""


@dataclass
class _Enclosing:
    """Groups and repeats around a row: their conditions, the innermost last."""

    # Of each enclosing group its condition, and whether it is asked repeatedly.
    conditions: list[str] = field(default_factory=list)
    repeats: list[bool] = field(default_factory=list)

    def take(self, row: FormRow) -> bool:
        """Whether the row begins or ends a group, which is noted."""
        group = _GROUP.fullmatch(row.get("type", ""))
        if group is None:
            return False
        # A row that ends a group has no condition of its own.
        if group["edge"].lower() == "begin":
            self.conditions.append(row.get("relevant", ""))
            self.repeats.append(group["repeat"] is not None)
        elif self.repeats:
            self.conditions.pop()
            self.repeats.pop()
        return True


def survey_of_form(path: Path, given: Sequence[str] = ()) -> Imported:
    """A survey of the questions of an XLSForm that have answers to choose, or a number.

    Parameters
    ----------
    path:
        An Excel or OpenDocument file; or text with all sheets below one another, as pyxform reads
        it: a line with a sheet's name alone, then its rows, whose first cell is blank.
    given:
        Questions that all who take part answer alike, such as one for their consent: conditions
        on these alone are met.

    Raises
    ------
    FileError
        It cannot be read, or has no such question.
    InputError
        The library that reads the file is not installed.
    """
    # Its one row, which a form may leave out.
    settings = next(_rows(path, "settings", needed=False), {})
    language = settings.get("default_language", "")
    choices: dict[str, list[FormRow]] = {}
    for row in _rows(path, "choices", language, needed=False):
        choices.setdefault(_list_name(row), []).append(row)
    questions: dict[str, Document] = {}
    left_out: dict[str, str] = {}
    changed: dict[str, str] = {}
    enclosing = _Enclosing()
    # The header is row 1 of the sheet; the number names a question that has no name.
    for number, row in enumerate(_rows(path, "survey", language), 2):
        if enclosing.take(row):
            continue
        name = row.get("name", f"row {number}")
        try:
            _require_asked_of_all(row, enclosing, given)
            # Of two in different groups a form tells them apart; files of answers may not.
            if folded(name) in questions:
                raise _Unfit("another question has its name")
            questions[folded(name)] = _question(name, row, choices)
        except _Unfit as unfit:
            left_out[name] = str(unfit)
            continue
        change = _change(row)
        if change:
            changed[name] = change
    if not questions:
        reason = "has no question with answers to choose, or for a number"
        remedy = "Is it an XLSForm?"
        if left_out:
            name, why = next(iter(left_out.items()))
            remedy = f"{len(left_out)} are left out: {name}, as {why}."
        raise FileError(path, reason, remedy)
    survey = {"name": settings.get("form_title", path.stem), "users": ""}
    tables = ["[survey]\n" + _with_comments(survey)]
    tables += map(_question_text, questions.values())
    return Imported("\n".join(tables), left_out, changed)


def _change(row: FormRow) -> str:
    """What of a question that was taken reads or works otherwise than in the form."""
    changes = []
    references = _REFERENCE.findall(row.get("label", ""))
    if references:
        names = ", ".join(references)
        changes.append(f"the form puts {names} where its text has {_DOTS}")
    if row.get("choice_filter"):
        changes.append("the form shows some of its answers alone, by its choice_filter")
    return "; ".join(changes)


def _question_text(question: Document) -> str:
    """The tables of a question, each on lines of its own: a writer puts short ones on one line."""
    level = question.pop("level", ())
    labels = question.pop("label", {})
    numeric = question.get("kind") == "numeric"
    text = "[[question]]\n" + _with_comments(question, numeric)
    if labels:
        text += "[question.label]\n" + tomli_w.dumps(labels)
    for row in level:
        text += "[[question.level]]\n" + _with_comments(row)
    return text


def _with_comments(table: Document, numeric: bool = False) -> str:
    """A table with a comment beside every blank."""
    comments = dict(_OPEN)
    if numeric:
        comments["epsilon"] = _BUDGET_OF_NUMBER
    text = tomli_w.dumps(table)
    return _BLANK_KEY.sub(lambda blank: f"{blank[0]}  # {comments[blank[1]]}", text)


# -- sheets ----------------------------------------------------------------------------------


def _rows(
    path: Path, sheet: str, language: str = "", needed: bool = True
) -> Iterator[FormRow]:
    """Cells that are not blank, by the names of their columns.

    Of a column in several languages it is the one in this language, else the first.
    """
    rows = _sheet(path, sheet)
    not_blank = (cells for _, cells in rows if any(cells))
    try:
        header = next(not_blank, [])
    except FileError as error:
        if needed or f"has no sheet {sheet!r}" not in error.reason:
            raise
        return
    titles = [_title(cell, language) for cell in header]
    for _, cells in rows:
        row: FormRow = {}
        ranks: dict[str, int] = {}
        for (title, rank), cell in zip(titles, cells, strict=False):
            text = cell.strip()
            if title and text and rank > ranks.get(title, -1):
                row[title] = text
                ranks[title] = rank
        if row:
            yield row


def _sheet(path: Path, name: str) -> NumberedRows:
    """The rows of a sheet with their numbers, of a workbook or of text."""
    if path.suffix.lower() not in _TEXTS:
        yield from sheet_rows(path, name)
        return
    encoding = find_encoding(path, None)
    inside = False
    found = False
    lines = partial(read_lines, path, encoding)
    for number, row in delimited_rows(path, lines, Dialect(","), above=0):
        first, *cells = row or [""]
        if first.strip():
            # The name of a sheet: its rows follow.
            inside = folded(first) == folded(name)
            found = found or inside
        elif inside:
            yield number, cells
    if not found:
        remedy = (
            "Save the workbook, with its sheets survey and choices, as .xlsx or .ods."
        )
        raise FileError(path, f"is text that has no sheet {name!r}", remedy)


def _title(cell: str, language: str) -> tuple[str, int]:
    """The name of a column, as in ``label::English (en)``, and how well its language serves.

    SurveyCTO writes ``label:english``. 2: it is the language asked for; 1: none is named, which is
    the form's usual one; 0: another.
    """
    words = folded(cell).replace("::", ":")
    name, _, suffix = words.partition(":")
    title = name.strip().replace(" ", "_")
    if not suffix:
        return title, 1
    if _language_names(language) & _language_names(suffix):
        return title, 2
    return title, 0


def _language_names(language: str) -> set[str]:
    """``English (en)`` is called English, and en."""
    names = re.split(r"[()]", folded(language))
    return set(filter(None, map(str.strip, names)))


def _list_name(row: FormRow) -> str:
    return row.get("list_name", row.get("listname", ""))


def _choice_name(row: FormRow) -> str:
    """The name of a choice; SurveyCTO calls it its value."""
    return row.get("name", row.get("value", ""))


def _choice_label(row: FormRow) -> str:
    """The text of a choice; blank where the form makes all of it while it is asked."""
    label = plain_label(row.get("label", ""))
    if not label.strip(f"{_DOTS} "):
        return ""
    return label


# -- questions -------------------------------------------------------------------------------


def _require_asked_of_all(
    row: FormRow, enclosing: _Enclosing, given: Sequence[str]
) -> None:
    """Refuse what is not asked once of everybody: not all would have an answer."""
    if folded(row.get("disabled", "")) in _YES:
        raise _Unfit("it is disabled")
    if any(enclosing.repeats):
        raise _Unfit("it is asked again and again of one person")
    # A condition on these alone holds for all who take part; on anything else for some of them.
    given_names = set(map(folded, given))
    conditions = [*enclosing.conditions, row.get("relevant", "")]
    for condition in conditions:
        names = _REFERENCE.findall(condition)
        met = names and given_names.issuperset(map(folded, names))
        if condition and folded(condition) not in _YES and not met:
            raise _Unfit(f"it is asked only of those with {condition}")


def _question(
    name: str, row: FormRow, choices: Mapping[str, Sequence[FormRow]]
) -> Document:
    kind = row.get("type", "")
    if not kind:
        raise _Unfit("its type is blank")
    question: Document = {"name": name}
    label = plain_label(row.get("label", ""))
    if label:
        question["ask"] = label
    if folded(kind) in _NUMBERS:
        bounds = _bounds(row, whole=_NUMBERS[folded(kind)])
        question["kind"] = "numeric"
        question["epsilon"] = ""
        question["lower"] = _number(bounds.lower)
        question["upper"] = _number(bounds.upper)
        if bounds.codes:
            question["missing"] = ["", *bounds.codes]
        return question
    # A table beside the form lists them, which is no part of the workbook.
    searched = _SEARCH.search(row.get("appearance", ""))
    if searched or _FROM_FILE.match(kind):
        raise _Unfit("its choices are in a file of their own")
    select = _SELECT.fullmatch(kind)
    if select is None:
        raise _Unfit(f"{kind!r} has no answers to choose, and is no number")
    if select["several"] is not None:
        question["kind"] = "item-set"
        question["padding_length"] = ""
    listed = select["list"] or select["several"] or ""
    answers = _answers(listed, choices)
    # A label that says no more than the name would only be to be kept in step with it.
    labels = {}
    for answer, text in answers.items():
        if text not in ("", answer):
            labels[answer] = text
    level = {"name": "all", "epsilon": "", "items": list(answers)}
    return question | {"label": labels, "level": [level]}


def _answers(listed: str, choices: Mapping[str, Sequence[FormRow]]) -> dict[str, str]:
    """The labels of a list's choices, by their names."""
    name = _OTHER.sub("", listed).strip()
    has_other = name != listed.strip()
    answers: dict[str, str] = {}
    names = set[str]()
    for row in choices.get(name, []):
        answer = _choice_name(row)
        disabled = folded(row.get("disabled", "")) in _YES
        if disabled or not answer:
            continue
        # A choice_filter tells two with one name apart; answers in a file could not be.
        if folded(answer) in names:
            raise _Unfit(f"its list {name!r} has two choices with the same name")
        names.add(folded(answer))
        answers[answer] = _choice_label(row)
    # With or_other at a list, pyxform adds a choice of this name itself.
    if has_other and "other" not in names:
        answers["other"] = ""
    if len(answers) < 2:
        raise _Unfit(f"its list {name!r} has not two choices or more")
    return answers


def _bounds(row: FormRow, whole: bool) -> Bounds:
    """The bounds of the constraint, or of a range's parameters."""
    bounds = bounds_of(row.get("constraint", ""), whole)
    # Of a range, which states its ends; they come before what a constraint says.
    parameters = dict(_PARAMETER.findall(row.get("parameters", "")))
    lower = parameters.get("start", bounds.lower)
    return Bounds(lower, parameters.get("end", bounds.upper), bounds.codes)


def _number(text: str) -> float | str:
    """The number that a bound is; a blank stays one."""
    if not text:
        return text
    number = float(text)
    # People read and edit the survey's file: 120, not 120.0.
    if number.is_integer():
        return int(number)
    return number


def plain_label(text: str) -> str:
    """Text without markup, and with dots where the form puts another answer.

    Examples
    --------
    >>> plain_label("## How **old** is <span style='color:red'>${name}</span>?")
    'How old is \N{HORIZONTAL ELLIPSIS}?'
    """
    # References first: the underscores in their names are no emphasis.
    plain = _REFERENCE.sub(_DOTS, text)
    plain = html.unescape(_HTML_TAG.sub("", plain))
    plain = _MARKDOWN_LINK.sub(r"\1", plain)
    plain = _EMPHASIS.sub("", _MARKDOWN_HEADING.sub("", plain))
    return " ".join(plain.split())
