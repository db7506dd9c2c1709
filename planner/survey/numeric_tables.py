"""Tables of a survey file for numeric questions: the range, and what people tolerate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from planner.errors import InputError
from planner.policy.budget_text import parse_epsilon
from planner.survey.kinds import Numeric
from planner.survey.numeric_domain import NumericDomain
from planner.survey.preferences import (
    EmpiricalPreferences,
    GammaPreferences,
    HistogramPreferences,
    LognormalPreferences,
    NormalPreferences,
    Preferences,
    read_preferences,
)
from planner.survey.questions import Question
from planner.survey.tables import Table, TargetTable


class ModelTable(Table):
    """A model of preferences whose parameters are the table's keys, by the same names."""

    made: ClassVar[type[Preferences]]

    def read(self, _folder: Path) -> Preferences:
        """The model."""
        return self.made(**self.model_dump(exclude={"model"}))


class _Normal(ModelTable):
    made = NormalPreferences
    model: Literal["normal"]
    mean: float
    sd: float


class _Lognormal(ModelTable):
    made = LognormalPreferences
    model: Literal["lognormal"]
    median: float
    sigma: float


class _Gamma(ModelTable):
    made = GammaPreferences
    model: Literal["gamma"]
    shape: float
    scale: float


class _Histogram(ModelTable):
    made = HistogramPreferences
    model: Literal["histogram"]
    edges: list[float]
    shares: list[float]


class _Sample(Table):
    model: Literal["sample"]
    file: str | None = None
    column: str | None = None
    values: list[float] | None = None  # the sample itself, instead of a file

    def read(self, folder: Path) -> Preferences:
        if (self.file is None) == (self.values is None):
            reason = 'a sample of preferences needs one of "file" and "values", not both'
            remedy = "Name a CSV file, or list the numbers in values."
            raise InputError.because("preferences", reason, remedy)
        if self.file is None:
            return EmpiricalPreferences(self.values or [])
        return read_preferences(folder / self.file, self.column)


MODEL_TABLES: dict[str, type[ModelTable]] = {
    "normal": _Normal,
    "lognormal": _Lognormal,
    "gamma": _Gamma,
    "histogram": _Histogram,
}
PREFERENCE_TABLES: dict[str, type[Table]] = {**MODEL_TABLES, "sample": _Sample}


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
    weight: float = 1.0
    mechanism: str = ""
    target: list[TargetTable] = Field(default=[])
    preferences: (
        Annotated[
            _Normal | _Lognormal | _Gamma | _Histogram | _Sample, Field(discriminator="model")
        ]
        | None
    ) = None

    def to_question(self, folder: Path) -> Question:
        """The question; a sample's file is looked for in the survey's ``folder``."""
        domain = NumericDomain(self.lower, self.upper, self.yes_no)
        preferences = None if self.preferences is None else self.preferences.read(folder)
        return Question(
            self.name,
            (),
            kind="numeric",
            numeric=Numeric(
                domain,
                preferences,
                self.epsilon,
                self.mean,
                self.sd,
            ),
            weight=self.weight,
            targets=tuple(target.read() for target in self.target),
            mechanism=self.mechanism,
        )
