"""How much epsilon people tolerate, and so how many of them answer at a given budget.

A model is a distribution of the largest epsilon that a person accepts. Whoever accepts less than
the collection's does not answer (BiSample paper, algorithm 3): the answer rate is
``R(eps) = Pr[preference >= eps]``. Mass at or below zero is people who never answer.

Every model has ``answer_rate``, ``quantile`` (the preference that a share of the people, above 0
and below 1, stays at or below) and ``kinks``, the budgets at which its rate jumps or bends.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, ValidationInfo, model_validator

from planner.arrays import Array
from planner.errors import InputError
from planner.laws.schema import Json
from planner.survey.description import Description, told_apart
from planner.survey.reading import read_tolerances
from planner.survey.values import Masses, Numbers, Positive, WrittenNumber, at, read_path


class NormalPreferences(Description):
    """Normally distributed preferences, in nats; the BiSample paper assumes 5 and 1.5.

    Examples
    --------
    >>> NormalPreferences(5, 1.5).answer_rate([5.0, 6.5]).round(4).tolist()
    [0.5, 0.1587]
    """

    kinks: ClassVar[Array] = np.empty(0)
    mean: WrittenNumber
    sd: Positive
    model: Literal["normal"] = "normal"

    def answer_rate(self, epsilon: ArrayLike) -> Array:
        """Share of people who answer at each budget, in the budgets' shape."""
        from scipy.special import ndtr

        return ndtr((self.mean - np.asarray(epsilon)) / self.sd)

    def quantile(self, share: ArrayLike) -> Array:
        """The preference that a share of the people stays at or below; ``0 < share < 1``."""
        from scipy.special import ndtri

        return self.mean + self.sd * ndtri(share)


class HistogramPreferences(Description):
    """Preferences in bins of rising ``edges``, in nats, with shares or numbers of the people.

    Examples
    --------
    >>> HistogramPreferences([0, 1, 4], [0.25, 0.75]).answer_rate([0.5, 1, 2]).tolist()
    [0.875, 0.75, 0.5]
    """

    edges: Numbers
    shares: Masses
    model: Literal["histogram"] = "histogram"

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(self.edges) != len(self.shares) + 1:
            allowed = f"one more than the shares: {len(self.shares) + 1}"
            remedy = "Each share has a lower and an upper edge, shared with its neighbours."
            raise InputError("number of edges", len(self.edges), allowed, remedy)
        for i in np.flatnonzero(np.diff(self.edges) <= 0)[:1]:
            remedy = "Sort the edges, and leave out repeated ones."
            error = InputError("edge", self.edges[i + 1], f"above {self.edges[i]!r}", remedy)
            raise at("edges", int(i) + 1, error=error)
        return self

    @property
    def kinks(self) -> Array:
        """The edges of the bins."""
        return np.array(self.edges)

    @cached_property
    def _above(self) -> Array:
        """Share of the people above each edge."""
        above = np.cumsum([0.0, *self.shares[::-1]])[::-1]
        return above / above[0]

    def answer_rate(self, epsilon: ArrayLike) -> Array:
        """Share of people who answer at each budget, in the budgets' shape."""
        return np.interp(np.asarray(epsilon), self.edges, self._above)

    def quantile(self, share: ArrayLike) -> Array:
        """The preference that a share of the people stays at or below; ``0 < share < 1``."""
        return np.interp(np.asarray(share), 1 - self._above, self.edges)


class EmpiricalPreferences(Description):
    """A sample: one tolerated epsilon per person asked in a pilot, in nats.

    Examples
    --------
    >>> EmpiricalPreferences([1, 2, 2, 4]).answer_rate([1, 2, 3, 5]).tolist()
    [1.0, 0.75, 0.25, 0.0]
    """

    values: Annotated[Numbers, Field(min_length=1)]
    model: Literal["sample"] = "sample"

    @classmethod
    def file_keys(cls) -> list[str]:
        """Its keys in a file, which may name another one."""
        return [*super().file_keys(), "file", "column"]

    @model_validator(mode="before")
    @classmethod
    def _read(cls, table: Json, about: ValidationInfo) -> Json:
        """With the values of the file that a survey's file names, and of its column."""
        if type(table) is not dict or "file" not in table:
            return table
        if "values" in table:
            reason, remedy = 'a sample needs one of "file" and "values", not both', "Keep one."
            raise InputError.because("values", reason, remedy)
        rest = {key: cell for key, cell in table.items() if key not in ("file", "column")}
        path = read_path(table["file"], about)
        return rest | {"values": read_preferences(path, table.get("column")).values}

    @cached_property
    def sample(self) -> Array:
        """The values, rising, shape ``(people asked,)``."""
        return np.sort(np.array(self.values))

    @property
    def kinks(self) -> Array:
        """The distinct values: the rate drops just above each."""
        return np.unique(self.sample)

    def answer_rate(self, epsilon: ArrayLike) -> Array:
        """Share of people who answer at each budget, in the budgets' shape."""
        return 1 - np.searchsorted(self.sample, epsilon, side="left") / self.sample.size

    def quantile(self, share: ArrayLike) -> Array:
        """The sample value at that share, without interpolation; ``0 < share < 1``."""
        return np.asarray(np.quantile(self.sample, np.asarray(share), method="inverted_cdf"))


Preferences = NormalPreferences | HistogramPreferences | EmpiricalPreferences
_PREFERENCE_MODELS = {
    "normal": NormalPreferences,
    "histogram": HistogramPreferences,
    "sample": EmpiricalPreferences,
}
_FOLLOW = "It says which numbers follow: normal has mean and sd."
AnyPreferences = Annotated[Preferences, told_apart("model", _FOLLOW, _PREFERENCE_MODELS)]


def read_preferences(path: str | Path, column: str | None = None) -> EmpiricalPreferences:
    """Read a sample from a file with a header; a ``column`` is named if there are several.

    A :class:`~planner.errors.FileError` says what cannot be read, or is no finite number.
    """
    return EmpiricalPreferences(values=tuple(read_tolerances(path, column)))
