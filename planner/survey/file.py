"""Survey files: TOML in, a ``Survey`` out, one sentence for every mistake."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, ValidationError

from planner.errors import FileError, InputError
from planner.files import read_text
from planner.survey.mistakes import explain, place_of_end
from planner.survey.numeric_tables import PREFERENCE_TABLES, NumericTable
from planner.survey.questions import Question
from planner.survey.surveys import Survey
from planner.survey.tables import (
    LevelTable,
    QuestionTable,
    SamplingTable,
    SetsTable,
    Table,
    TargetTable,
)

_LARGEST = 16  # MiB


def load_survey(path: str | Path) -> Survey:
    """Read a survey from a TOML file of at most 16 MiB.

    Raises
    ------
    FileError
        The file cannot be read, is not TOML (line and column are named), or lacks,
        misspells or misuses a key.
    """
    text = read_text(path, _LARGEST, "Give items by their number, item_count.")
    return survey_from_text(text, source=path)


def survey_from_text(text: str, source: str | Path = "survey") -> Survey:
    """Read a survey from TOML text; ``source`` is named in errors.

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
    try:
        document = tomllib.loads(text)
    except RecursionError as error:
        raise FileError(source, "is nested too deeply", "Survey files need four tables.") from error
    except ValueError as error:  # TOML's own, or a whole number of thousands of digits
        raise FileError(
            source, f"is not valid TOML: {place_of_end(str(error), text)}", "Correct that line."
        ) from error
    _require_plain(document, source)
    try:
        file = _SurveyFile.model_validate(document)
        return file.to_survey(Path(source).parent)
    except ValidationError as error:
        reason, remedy = explain(error, document, _TABLES, _BRANCHES)
        raise FileError(source, reason, remedy) from error
    except InputError as error:
        raise error.within(source) from error


class _SurveyTable(Table):
    name: str
    users: int
    design: str = "split"
    objective: str = "sum"
    ledger: str | None = None
    asked: int | None = None


def _require_plain(document: dict[str, Any], source: str | Path) -> None:
    """What TOML allows and no survey needs: a character that ends a path, and endless integers."""
    waiting: list[Any] = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and "\0" in value:
            raise FileError(source, f"{value!r} has a character U+0000", "Leave it out.")
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise FileError(source, "has a whole number beyond 64 bits", "Give a smaller one.")


def _kind_of_table(question: Any) -> str:
    numeric = isinstance(question, dict) and question.get("kind") == "numeric"
    return _NUMERIC if numeric else _LEVELLED


# Tags of tables that differ by what they are about; no key of a survey file has such a name.
_NUMERIC, _LEVELLED = "(numeric)", "(levels)"
_AnyQuestion = Annotated[
    Annotated[QuestionTable, Tag(_LEVELLED)] | Annotated[NumericTable, Tag(_NUMERIC)],
    Discriminator(_kind_of_table),
]


class _SurveyFile(Table):
    survey: _SurveyTable
    question: list[_AnyQuestion] = Field(min_length=1)

    def to_survey(self, folder: Path) -> Survey:
        about = self.survey
        ledger = None if about.ledger is None else str(folder / about.ledger)
        questions = tuple(_read(question, folder) for question in self.question)
        aims = about.design, about.objective, ledger, about.asked
        return Survey(about.name, about.users, questions, *aims)


def _read(question: QuestionTable | NumericTable, folder: Path) -> Question:
    try:
        return question.to_question(folder)
    except InputError as error:
        raise error.within(f"question {question.name!r}") from error


_TABLES: dict[str, type[Table]] = PREFERENCE_TABLES | {
    "": _SurveyFile,
    "survey": _SurveyTable,
    _LEVELLED: QuestionTable,
    _NUMERIC: NumericTable,
    "level": LevelTable,
    "sampling": SamplingTable,
    "sets": SetsTable,
    "target": TargetTable,
}
_BRANCHES = (_NUMERIC, _LEVELLED, *PREFERENCE_TABLES)
