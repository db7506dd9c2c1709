"""Survey files: TOML in, a ``Survey`` out, one sentence for every mistake."""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Field, Tag, ValidationError
from pydantic_core import ErrorDetails

from planner.budget_text import parse_epsilon
from planner.errors import FileError, InputError
from planner.files import read_text
from planner.survey.kinds import KINDS, Level, Sampling
from planner.survey.questions import Question, Survey
from planner.survey.sets import SetsTable
from planner.survey.tables import PREFERENCE_TABLES, NumericTable, Table, TargetTable

__all__ = ["load_survey", "survey_from_text"]

_LARGEST = 16  # MiB
_WORDS = {
    "model_type": "a table of keys and values is needed",
    "list_type": "a list is needed; write tables of a list in [[double brackets]]",
}


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
    except tomllib.TOMLDecodeError as error:
        raise FileError(
            source, f"is not valid TOML: {_at_end(str(error), text)}", "Correct that line."
        ) from error
    try:
        file = _SurveyFile.model_validate(document)
        return file.to_survey(Path(source).parent)
    except ValidationError as error:
        raise FileError(source, _explain(error, document)) from error
    except InputError as error:
        raise FileError(source, str(error)) from error


def _text(value: Any) -> Any:
    """Items may be written as whole numbers; a boolean or a fraction is a mistake."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _known_kind(value: Any) -> Any:
    """Checked before the keys: which ones are missing depends on the kind."""
    if value not in KINDS:
        raise InputError("kind", value, f"one of {', '.join(KINDS)}")
    return value


class _LevelTable(Table):
    name: str
    epsilon: Annotated[float, BeforeValidator(parse_epsilon)]
    items: list[Annotated[str, BeforeValidator(_text)]] = Field(default=[])
    item_count: int = 0
    yes_counts: list[int] = Field(default=[])
    prior: float | None = None
    importance: float = 1.0


class _SamplingTable(Table):
    relies_on: str
    acknowledged: str | None = None
    cap: float = 0.45
    floor: float = 0.0
    none_epsilon: Annotated[float | None, BeforeValidator(parse_epsilon)] = None
    everyone_has_value: bool = False


class _QuestionTable(Table):
    name: str
    kind: Annotated[str, BeforeValidator(_known_kind)] = "categorical"
    rule: str | list[list[float]] = "min"
    sampling: _SamplingTable | None = None
    padding_length: int | None = None
    sets: SetsTable | None = None
    weight: float = 1.0
    criterion: str = "total"
    target: list[TargetTable] = Field(default=[])
    level: list[_LevelTable] = Field(min_length=1)

    def to_question(self, folder: Path) -> Question:
        rule = self.rule if isinstance(self.rule, str) else tuple(map(tuple, self.rule))
        sampling = None if self.sampling is None else Sampling(**self.sampling.model_dump())
        try:
            levels = tuple(
                Level(
                    level.name,
                    level.epsilon,
                    tuple(level.items),
                    level.item_count,
                    tuple(level.yes_counts),
                    level.prior,
                    level.importance,
                )
                for level in self.level
            )
            return Question(
                self.name,
                levels,
                rule,
                self.kind,
                sampling,
                padding_length=self.padding_length,
                sets=None if self.sets is None else self.sets.read(folder),
                weight=self.weight,
                targets=tuple(target.read() for target in self.target),
                criterion=self.criterion,
            )
        except InputError as error:
            raise FileError(f"question {self.name!r}", str(error)) from error


class _SurveyTable(Table):
    name: str
    users: int
    design: str = "split"
    objective: str = "sum"
    ledger: str | None = None


def _kind_of_table(question: Any) -> str:
    numeric = isinstance(question, dict) and question.get("kind") == "numeric"
    return _NUMERIC if numeric else _LEVELLED


# Tags of tables that differ by what they are about; no key of a survey file has such a name.
_NUMERIC, _LEVELLED = "(numeric)", "(levels)"
_AnyQuestion = Annotated[
    Annotated[_QuestionTable, Tag(_LEVELLED)] | Annotated[NumericTable, Tag(_NUMERIC)],
    Discriminator(_kind_of_table),
]


class _SurveyFile(Table):
    survey: _SurveyTable
    question: list[_AnyQuestion] = Field(min_length=1)

    def to_survey(self, folder: Path) -> Survey:
        questions = tuple(question.to_question(folder) for question in self.question)
        about = self.survey
        ledger = None if about.ledger is None else str(folder / about.ledger)
        return Survey(about.name, about.users, questions, about.design, about.objective, ledger)


def _explain(error: ValidationError, document: dict[str, Any]) -> str:
    """The most telling mistake, with its place written as in the file."""
    mistakes = error.errors(include_url=False)
    first = min(mistakes, key=_rank)
    location = list(first["loc"])
    if "rule" in location:  # a text or a matrix: pydantic goes on with the branch it tried
        location = location[: location.index("rule") + 1]
    *parents, key = location
    if first["type"].startswith("union_tag"):
        parents, key = [*parents, key], "model"
    place = _place([*parents, key], document)
    if first["type"] == "extra_forbidden":
        known = _known_keys(parents)
        near = difflib.get_close_matches(str(key), known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
        return f"{place} is not a known key ({hint})"
    if first["type"] == "missing":
        return f"{place} is missing"
    if key == "rule":
        value = InputError("rule", first["input"], '"min", "avg" or a matrix of pair budgets')
        return f"{place}: {value}"
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, InputError):
        return f"{place}: {cause}"
    reason = _WORDS.get(first["type"], first["msg"])
    return f"{place} is {first['input']!r}: {reason}"


def _rank(mistake: ErrorDetails) -> int:
    """The kind decides which keys are known; a misspelt key is also a missing one."""
    if mistake["loc"][-1] == "kind":
        return 0
    return 1 if mistake["type"] == "extra_forbidden" else 2


def _at_end(reason: str, text: str) -> str:
    """``tomllib`` names line and column, except where the text ends too early."""
    *_, last = text.split("\n")
    place = f"(at line {text.count(chr(10)) + 1}, column {len(last) + 1}, the end of the file)"
    return reason.replace("(at end of document)", place)


def _place(location: list[Any], document: Any) -> str:
    words: list[str] = []
    for part in location:
        if part in (_NUMERIC, _LEVELLED, *PREFERENCE_TABLES):
            continue
        if isinstance(part, int):
            document = document[part]
            name = document.get("name") if isinstance(document, dict) else None
            words[-1] += f" {name!r}" if name else f" {part + 1}"
        else:
            document = document.get(part, {}) if isinstance(document, dict) else {}
            words.append(str(part))
    return ", ".join(words)


def _known_keys(parents: list[Any]) -> list[str]:
    table: dict[str, type[Table]] = PREFERENCE_TABLES | {
        "survey": _SurveyTable,
        _LEVELLED: _QuestionTable,
        _NUMERIC: NumericTable,
        "level": _LevelTable,
        "sampling": _SamplingTable,
        "sets": SetsTable,
        "target": TargetTable,
    }
    names = [part for part in parents if isinstance(part, str)]
    owner: type[Table] = table[names[-1]] if names else _SurveyFile
    return list(owner.model_fields)
