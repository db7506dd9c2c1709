"""Survey files: TOML in, a ``Survey`` out, one sentence for every mistake; and back."""

from __future__ import annotations

import tomllib
from pathlib import Path

import tomli_w
from pydantic import ValidationError

from planner.errors import FileError
from planner.files import read_text
from planner.laws.schema import Document, Json
from planner.survey.description import Description, Mistake, mistakes
from planner.survey.survey import Survey

_LARGEST = 16  # MiB


def load_survey(path: str | Path) -> Survey:
    """Read a survey from a TOML file of at most 16 MiB, and the files that it names.

    A :class:`~planner.errors.FileError` names what cannot be read, the line and column that is not
    TOML, or the key that is missing, misspelt or misused.
    """
    text = read_text(path, _LARGEST, "Give items by their number, item_count.")
    return survey_from_text(text, source=path)


def survey_from_text(text: str, source: str | Path = "survey") -> Survey:
    """Read a survey from TOML text; ``source`` is named in errors, files are looked for beside it.

    Examples
    --------
    >>> survey = survey_from_text('''
    ... [survey]
    ... name = "health"
    ... users = 1000
    ... [[question]]
    ... name = "diagnosis"
    ... [[question.level]]
    ... name = "severe"
    ... epsilon = "ln 4"
    ... items = ["HIV"]
    ... [[question.level]]
    ... name = "common"
    ... epsilon = "ln 6"
    ... item_count = 4
    ... ''')
    >>> survey.questions[0].policy.names
    ('severe', 'common')
    """
    survey, found = settle(read_document(text, source), Path(source).parent)
    if survey is None:
        raise found[0].error.within(source)
    return survey


def survey_text(survey: Survey) -> str:
    """A survey as TOML; reading it gives an equal survey.

    Examples
    --------
    >>> from planner import Categorical, Level, Survey
    >>> print(survey_text(Survey("s", 10, (Categorical("q", (Level("only", 1.0, ("x",)),)),))))
    [survey]
    name = "s"
    users = 10
    <BLANKLINE>
    [[question]]
    name = "q"
    <BLANKLINE>
    [[question.level]]
    name = "only"
    epsilon = 1.0
    items = [
        "x",
    ]
    <BLANKLINE>
    """
    return tomli_w.dumps(document_of(survey))


def document_of(survey: Survey) -> Document:
    """The document that reads back as an equal survey, without what is as usual."""
    about = _listed(survey.model_dump(exclude_defaults=True))
    return {"survey": about, "question": about.pop("question")}


def _listed(value: Json) -> Json:
    """With lists in place of tuples, as TOML has them."""
    match value:
        case dict():
            return {key: _listed(cell) for key, cell in value.items()}
        case tuple():
            return [_listed(one) for one in value]
    return value


def read_document(text: str, source: str | Path = "survey") -> Document:
    """TOML text as a document: no endless numbers, no depths, no character U+0000."""
    try:
        document = tomllib.loads(text)
    except RecursionError as error:
        raise FileError(source, "is nested too deeply", "Survey files need six tables.") from error
    except ValueError as error:  # TOML's own, or a whole number of thousands of digits
        reason = str(error).replace("; use sys.set_int_max_str_digits() to increase the limit", "")
        *_, last = text.split("\n")
        end = f"(at line {text.count(chr(10)) + 1}, column {len(last) + 1}, the end of the file)"
        reason = reason.replace("(at end of document)", end)
        raise FileError(source, f"is not valid TOML: {reason}", "Correct that line.") from error
    _require_plain(document, source)
    return document


def settle(
    document: Document, folder: Path | None = None
) -> tuple[Survey | None, tuple[Mistake, ...]]:
    """The survey of a document; or None, and every mistake. Blank cells are left out.

    Files that it names are those of the ``folder``; without one it must name none.
    """
    try:
        outline = _Outline.model_validate(document)
    except ValidationError as error:
        return None, tuple(mistakes(error, document))
    try:
        flat = outline.survey | {"question": outline.question}
        return Survey.model_validate(flat, context={"folder": folder}), ()
    except ValidationError as error:
        return None, tuple(mistakes(error, document, under="survey"))


class _Outline(Description):
    """The two tables of a file."""

    survey: Document
    question: list[Json]


def _require_plain(document: Document, source: str | Path) -> None:
    """What TOML allows and no survey needs: a character that ends a path, endless integers."""
    waiting: list[Json] = [document]
    while waiting:
        match value := waiting.pop():
            case dict():
                waiting += [*value, *value.values()]
            case list():
                waiting += value
            case str() if "\0" in value:
                raise FileError(source, f"{value!r} has a character U+0000", "Leave it out.")
            case int() if not -(2**63) <= value < 2**63:
                raise FileError(source, "has a whole number beyond 64 bits", "Give a smaller one.")
