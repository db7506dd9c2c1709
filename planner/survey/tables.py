"""Tables of a survey file for questions with levels; numeric ones have a module of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from planner.errors import InputError
from planner.policy.budget_text import parse_epsilon
from planner.policy.rules import DEFAULT_RULE
from planner.survey.kinds import KINDS, KINDS_IN_WORDS, Level, Sampling
from planner.survey.ordered_answers import SHARES_UP_TO
from planner.survey.questions import Question
from planner.survey.set_model import AssumedSets, PilotFile
from planner.survey.target import Target


class Table(BaseModel):
    """A table of a survey file: unknown keys and wrong types are mistakes."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class TargetTable(Table):
    """An error that is small enough, of any question."""

    error: float | None = None
    detect: float | None = None
    level: str | None = None

    def read(self) -> Target:
        """The target."""
        return Target(self.error, self.detect, self.level)


def _text(value: Any) -> Any:
    """Items may be written as whole numbers; a boolean or a fraction is a mistake."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _known_kind(value: Any) -> Any:
    """Checked before the keys: which ones are missing depends on the kind."""
    if value not in KINDS:
        raise InputError("kind", value, f"one of {', '.join(KINDS)}", KINDS_IN_WORDS)
    return value


class LevelTable(Table):
    """A level of answers."""

    name: str
    epsilon: Annotated[float, BeforeValidator(parse_epsilon)]
    items: list[Annotated[str, BeforeValidator(_text)]] = Field(default=[])
    item_count: int = 0
    yes_counts: list[int] = Field(default=[])
    prior: float | None = None
    importance: float = 1.0

    def read(self) -> Level:
        """The level."""
        lists = {"items": tuple(self.items), "yes_counts": tuple(self.yes_counts)}
        return Level(**self.model_dump() | lists)


class SamplingTable(Table):
    """What Sampling Privacy needs to know."""

    relies_on: str
    acknowledged: str | None = None
    cap: float = 0.45
    floor: float = 0.0
    none_epsilon: Annotated[float | None, BeforeValidator(parse_epsilon)] = None
    everyone_has_value: bool = False


class SetsTable(Table):
    """``[question.sets]``: a histogram of set sizes, or the file of a pilot."""

    sizes: list[float] | None = None
    popularity: str | list[float] = "zipf"
    pilot: str | None = None

    def read(self, folder: Path) -> AssumedSets | PilotFile:
        """What the table says; a pilot's file is looked for in the survey's ``folder``.

        Raises
        ------
        InputError
            Both or neither of ``sizes`` and ``pilot``, or a wrong number in them.
        """
        if (self.sizes is None) == (self.pilot is None):
            remedy = "Give the share of people with 0, 1, 2, ... items, or a file of transactions."
            raise InputError(
                "sets (sizes, pilot)", (self.sizes, self.pilot), "one of the two", remedy
            )
        if self.sizes is not None:
            return AssumedSets(self.sizes, self.popularity)
        return PilotFile(str(folder / str(self.pilot)))


class QuestionTable(Table):
    """A question with levels."""

    name: str
    kind: Annotated[str, BeforeValidator(_known_kind)] = "categorical"
    rule: str | list[list[float]] = DEFAULT_RULE
    sampling: SamplingTable | None = None
    padding_length: int | None = None
    sets: SetsTable | None = None
    weight: float = 1.0
    criterion: str = "total"
    mechanism: str = ""
    target: list[TargetTable] = Field(default=[])
    order: list[Annotated[str, BeforeValidator(_text)]] = Field(default=[])
    scores: list[float] = Field(default=[])
    wanted: str = SHARES_UP_TO
    level: list[LevelTable] = Field(min_length=1)

    def to_question(self, folder: Path) -> Question:
        """The question; a pilot's file is looked for in the survey's ``folder``."""
        rule = self.rule if isinstance(self.rule, str) else tuple(map(tuple, self.rule))
        sampling = None if self.sampling is None else Sampling(**self.sampling.model_dump())
        return Question(
            self.name,
            tuple(level.read() for level in self.level),
            rule,
            self.kind,
            sampling,
            padding_length=self.padding_length,
            sets=None if self.sets is None else self.sets.read(folder),
            weight=self.weight,
            targets=tuple(target.read() for target in self.target),
            criterion=self.criterion,
            mechanism=self.mechanism,
            order=tuple(self.order),
            scores=tuple(self.scores),
            wanted=self.wanted,
        )
