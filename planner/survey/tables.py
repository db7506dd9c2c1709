"""Tables of a survey file for numeric questions; :mod:`planner.survey.file` has the others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from planner.budget_text import parse_epsilon
from planner.errors import FileError, InputError
from planner.numeric_domain import NumericDomain
from planner.preferences import (
    EmpiricalPreferences,
    GammaPreferences,
    HistogramPreferences,
    LognormalPreferences,
    NormalPreferences,
    Preferences,
    read_preferences,
)
from planner.survey.kinds import Numeric
from planner.survey.questions import Question
from planner.target import Target

__all__ = ["PREFERENCE_TABLES", "NumericTable", "Table", "TargetTable"]


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


class _Normal(Table):
    model: Literal["normal"]
    mean: float
    sd: float

    def read(self, _folder: Path) -> Preferences:
        return NormalPreferences(self.mean, self.sd)


class _Lognormal(Table):
    model: Literal["lognormal"]
    median: float
    sigma: float

    def read(self, _folder: Path) -> Preferences:
        return LognormalPreferences(self.median, self.sigma)


class _Gamma(Table):
    model: Literal["gamma"]
    shape: float
    scale: float

    def read(self, _folder: Path) -> Preferences:
        return GammaPreferences(self.shape, self.scale)


class _Histogram(Table):
    model: Literal["histogram"]
    edges: list[float]
    shares: list[float]

    def read(self, _folder: Path) -> Preferences:
        return HistogramPreferences(self.edges, self.shares)


class _Sample(Table):
    model: Literal["sample"]
    file: str | None = None
    column: str | None = None
    values: list[float] | None = None  # the sample itself, instead of a file

    def read(self, folder: Path) -> Preferences:
        if (self.file is None) == (self.values is None):
            raise InputError("preferences", "sample", 'given by one of "file" and "values"')
        if self.file is None:
            return EmpiricalPreferences(self.values or [])
        return read_preferences(folder / self.file, self.column)


PREFERENCE_TABLES: dict[str, type[Table]] = {
    "normal": _Normal,
    "lognormal": _Lognormal,
    "gamma": _Gamma,
    "histogram": _Histogram,
    "sample": _Sample,
}


class NumericTable(Table):
    """A question of the kind ``"numeric"``."""

    name: str
    kind: Literal["numeric"]
    lower: float
    upper: float
    yes_no: bool = False
    epsilon: Annotated[float | None, BeforeValidator(parse_epsilon)] = None
    mean: float | None = None
    sd: float | None = None
    correlation: float = 0.0
    weight: float = 1.0
    target: list[TargetTable] = Field(default=[])
    preferences: (
        Annotated[
            _Normal | _Lognormal | _Gamma | _Histogram | _Sample, Field(discriminator="model")
        ]
        | None
    ) = None

    def to_question(self, folder: Path) -> Question:
        """The question; a sample's file is looked for in the survey's ``folder``."""
        try:
            domain = NumericDomain(self.lower, self.upper, self.yes_no)
            preferences = None if self.preferences is None else self.preferences.read(folder)
            numeric = Numeric(
                domain, preferences, self.epsilon, self.mean, self.sd, self.correlation
            )
            return Question(
                self.name,
                (),
                kind="numeric",
                numeric=numeric,
                weight=self.weight,
                targets=tuple(target.read() for target in self.target),
            )
        except InputError as error:
            raise FileError(f"question {self.name!r}", str(error)) from error
