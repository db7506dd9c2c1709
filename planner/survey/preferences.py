"""How much epsilon people tolerate, and so how many of them answer at a given budget.

A model is a distribution of the largest epsilon that a person accepts. Whoever accepts less than
the collection's does not answer (BiSample paper, algorithm 3): the answer rate is
``R(eps) = Pr[preference >= eps]``. Mass at or below zero is people who never answer.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field, model_validator

from planner.errors import FileError, InputError
from planner.files import read_csv
from planner.limits import MAX_EPSILON
from planner.survey.description import Description
from planner.survey.values import Number, Numbers, Positive, at, told_apart

Array = NDArray[np.float64]


class _Model(Description):
    """What planning asks of a model; ``kinks`` are budgets at which its rate jumps or bends."""

    tag: ClassVar[str] = "model"

    @property
    def kinks(self) -> Array:
        """None, of a smooth distribution."""
        return np.empty(0)

    def answer_rate(self, epsilon: ArrayLike) -> Array:
        """``R(eps)``: share of people who answer at each budget, in the budgets' shape."""
        return self._rate(np.asarray(epsilon, dtype=np.float64))

    def quantile(self, share: ArrayLike) -> Array:
        """The preference that a share of the people stays at or below; ``0 < share < 1``."""
        return self._quantile(np.asarray(share, dtype=np.float64))

    def _rate(self, epsilon: Array) -> Array:
        raise NotImplementedError

    def _quantile(self, share: Array) -> Array:
        raise NotImplementedError


class NormalPreferences(_Model):
    """Normally distributed preferences, in nats; the BiSample paper assumes 5 and 1.5.

    Examples
    --------
    >>> NormalPreferences(5, 1.5).answer_rate([5.0, 6.5]).round(4).tolist()
    [0.5, 0.1587]
    """

    mean: Number
    sd: Positive
    model: Literal["normal"] = "normal"

    def _rate(self, epsilon: Array) -> Array:
        from scipy.special import ndtr

        return ndtr((self.mean - epsilon) / self.sd)

    def _quantile(self, share: Array) -> Array:
        from scipy.special import ndtri

        return self.mean + self.sd * ndtri(share)


class HistogramPreferences(_Model):
    """Preferences known in bins, spread evenly within each.

    ``edges`` are the ends of the bins in nats, rising; ``shares`` of the people sum to 1.

    Examples
    --------
    >>> HistogramPreferences([0, 1, 4], [0.25, 0.75]).answer_rate([0.5, 1, 2]).tolist()
    [0.875, 0.75, 0.5]
    """

    edges: Numbers
    shares: Numbers
    model: Literal["histogram"] = "histogram"

    @model_validator(mode="after")
    def _check(self) -> HistogramPreferences:
        edges, shares = self.edges, self.shares
        if len(edges) != len(shares) + 1 or not shares:
            allowed = f"one more than the shares: {len(shares) + 1}"
            remedy = "Each share has a lower and an upper edge, shared with its neighbours."
            raise InputError("number of edges", len(edges), allowed, remedy)
        for i, (edge, following) in enumerate(pairwise(edges), start=1):
            if following <= edge:
                remedy = "Sort the edges, and leave out repeated ones."
                error = InputError("edge", following, f"above {edge!r}", remedy)
                raise at("edges", i, error=error)
        for i, share in enumerate(shares):
            if share < 0:
                remedy = "Give 0 for an interval without people."
                error = InputError("share", share, "a share of at least 0", remedy)
                raise at("shares", i, error=error)
        if abs(sum(shares) - 1) > 1e-9:
            remedy = "Divide the counts by their total."
            raise InputError("sum of the shares", sum(shares), "1", remedy)
        return self

    @cached_property
    def _above(self) -> Array:
        """Share of the people above each edge."""
        shares = np.array(self.shares)
        total = shares.sum()
        if abs(total - 1) >= 1e-15:
            shares = shares / total
        above = 1 - np.concatenate([[0.0], np.cumsum(shares)])
        above[-1] = 0.0
        return above

    def _rate(self, epsilon: Array) -> Array:
        return np.clip(np.interp(epsilon, self.edges, self._above), 0.0, 1.0)

    def _quantile(self, share: Array) -> Array:
        return np.interp(share, 1 - self._above, self.edges)

    @property
    def kinks(self) -> Array:
        """The edges of the bins."""
        return np.array(self.edges)


class EmpiricalPreferences(_Model):
    """A sample: one tolerated epsilon per person asked in a pilot, in nats.

    Examples
    --------
    >>> EmpiricalPreferences([1, 2, 2, 4]).answer_rate([1, 2, 3, 5]).tolist()
    [1.0, 0.75, 0.25, 0.0]
    """

    named: ClassVar[tuple[str, ...]] = ("file", "column")
    values: Numbers
    model: Literal["sample"] = "sample"

    @model_validator(mode="after")
    def _check(self) -> EmpiricalPreferences:
        if not self.values:
            remedy = "Name a CSV file, or list the numbers in values."
            raise InputError("values", self.values, "one or more numbers", remedy)
        return self

    @cached_property
    def sample(self) -> Array:
        """The values, rising, shape ``(people asked,)``."""
        return np.sort(np.array(self.values))

    def _rate(self, epsilon: Array) -> Array:
        below = np.searchsorted(self.sample, epsilon, side="left")
        return 1 - below / self.sample.size

    def _quantile(self, share: Array) -> Array:
        """The sample value at that share, without interpolation."""
        place = np.ceil(share * self.sample.size).astype(np.int64) - 1
        return self.sample[np.clip(place, 0, self.sample.size - 1)]

    @property
    def kinks(self) -> Array:
        """The distinct values: ``R`` drops just above each."""
        return np.unique(self.sample)


Preferences = NormalPreferences | HistogramPreferences | EmpiricalPreferences
MODELS = ("normal", "histogram", "sample")
AnyPreferences = Annotated[
    Preferences,
    Field(discriminator="model"),
    told_apart("model", MODELS, "It says which numbers follow: normal has mean and sd."),
]


def answering(rate: float) -> HistogramPreferences:
    """Preferences of people of whom a share ``rate`` answers at any usual budget.

    Examples
    --------
    >>> answering(0.9).answer_rate([0.1, 5.0]).round(6).tolist()
    [0.9, 0.9]
    """
    edges = (0.0, 1e-9, float(MAX_EPSILON), float(MAX_EPSILON) + 1)
    return HistogramPreferences(edges=edges, shares=(1 - rate, 0.0, rate))


def read_preferences(path: str | Path, column: str | None = None) -> EmpiricalPreferences:
    """Read a sample from a CSV file with a header line.

    ``column`` may be omitted if the file has one column only.

    Raises
    ------
    FileError
        The file cannot be read, has no such column, or a cell is not a finite number.
    """
    header, rows = read_csv(path)
    name = header[0] if column is None and len(header) == 1 else column
    if name not in header:
        have = ", ".join(header)
        raise FileError(path, f"there is no column {name!r}", f"Name one of its columns: {have}.")
    if column is None and _is_number(header[0]):
        reason = f"the first line, {header[0]!r}, is a number and no header"
        raise FileError(path, reason, "Name the column in a line of its own.")
    place, values = header.index(name), []
    for line, row in rows:
        cell = row[place] if len(row) > place else ""
        if not _is_number(cell):
            remedy = "Write a number such as 1.5, or delete the line."
            raise FileError(path, f"line {line}: {cell!r} is not a finite number", remedy)
        values.append(float(cell))
    if not values:
        raise FileError(path, "the sample of preferences is empty", "Add a line per person.")
    return EmpiricalPreferences(values=tuple(values))


def _is_number(cell: str) -> bool:
    try:
        return bool(np.isfinite(float(cell)))
    except ValueError:
        return False
