"""Preferences as people stated them: a histogram or a sample."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner import arguments
from planner.errors import FileError, InputError
from planner.files import read_csv
from planner.limits import MAX_EPSILON

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class HistogramPreferences:
    """Preferences known in bins, spread evenly within each.

    Parameters
    ----------
    edges:
        Ends of the bins in nats, rising, one more than there are bins.
    shares:
        Share of the people in each bin, not negative; they sum to 1.

    Raises
    ------
    InputError
        Edges that do not rise, a negative share, or shares that do not sum to 1.

    Examples
    --------
    >>> HistogramPreferences([0, 1, 4], [0.25, 0.75]).answer_rate([0.5, 1, 2]).tolist()
    [0.875, 0.75, 0.5]
    """

    edges: Array
    shares: Array

    def __init__(self, edges: ArrayLike, shares: ArrayLike) -> None:
        ends = arguments.number_column("edges", edges)
        parts = arguments.number_column("shares", shares)
        if ends.size != parts.size + 1:
            allowed = f"one more than the shares: {parts.size + 1}"
            remedy = "Each share has a lower and an upper edge, shared with its neighbours."
            raise InputError("edges", ends.size, allowed, remedy)
        for i in np.flatnonzero(np.diff(ends) <= 0)[:1]:
            allowed = f"above {float(ends[i])!r}"
            remedy = "Sort the edges, and leave out repeated ones."
            raise InputError(f"edges[{i + 1}]", float(ends[i + 1]), allowed, remedy)
        for i in np.flatnonzero(parts < 0)[:1]:
            remedy = "Give 0 for an interval without people."
            raise InputError(f"shares[{i}]", float(parts[i]), "a share of at least 0", remedy)
        total = parts.sum()
        if abs(total - 1) > 1e-9:
            remedy = "Divide the counts by their total."
            raise InputError("shares", float(total), "such that they sum to 1", remedy)
        if abs(total - 1) >= 1e-15:  # below that they are kept as written, digit for digit
            parts = parts / total
            parts.setflags(write=False)
        object.__setattr__(self, "edges", ends)
        object.__setattr__(self, "shares", parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HistogramPreferences) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[bytes, bytes]:
        return self.edges.tobytes(), self.shares.tobytes()

    def answer_rate(self, epsilon: ArrayLike) -> Array:
        """Piecewise linear."""
        above = 1 - np.concatenate([[0.0], np.cumsum(self.shares)])
        above[-1] = 0.0
        return np.clip(np.interp(np.asarray(epsilon), self.edges, above), 0.0, 1.0)

    def quantile(self, share: ArrayLike) -> Array:
        """Inverse of ``1 - R``."""
        below = np.concatenate([[0.0], np.cumsum(self.shares)])
        return np.interp(np.asarray(share), below, self.edges)

    @property
    def kinks(self) -> Array:
        """The edges of the bins."""
        return self.edges


@dataclass(frozen=True, slots=True, eq=False)
class EmpiricalPreferences:
    """A sample of preferences, from a pilot or an earlier survey.

    Parameters
    ----------
    sample:
        One tolerated epsilon per person asked, in nats, finite, at least one.

    Raises
    ------
    InputError
        The sample is empty or holds something that is not a finite number.

    Examples
    --------
    >>> EmpiricalPreferences([1, 2, 2, 4]).answer_rate([1, 2, 3, 5]).tolist()
    [1.0, 0.75, 0.25, 0.0]
    """

    sample: Array

    def __init__(self, sample: ArrayLike) -> None:
        object.__setattr__(self, "sample", np.sort(arguments.number_column("preferences", sample)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EmpiricalPreferences) and bool(
            np.array_equal(self.sample, other.sample)
        )

    def __hash__(self) -> int:
        return hash(self.sample.tobytes())

    def answer_rate(self, epsilon: ArrayLike) -> Array:
        """Share of the sample that is at least ``epsilon``."""
        below = np.searchsorted(self.sample, np.asarray(epsilon), side="left")
        return 1 - below / self.sample.size

    def quantile(self, share: ArrayLike) -> Array:
        """The sample value at that share, without interpolation."""
        place = np.ceil(np.asarray(share) * self.sample.size).astype(np.int64) - 1
        return self.sample[np.clip(place, 0, self.sample.size - 1)]

    @property
    def kinks(self) -> Array:
        """The distinct sample values: ``R`` drops just above each."""
        return np.unique(self.sample)


def answering(rate: float) -> HistogramPreferences:
    """Preferences of people of whom a share ``rate`` answers at any usual budget.

    Examples
    --------
    >>> answering(0.9).answer_rate([0.1, 5.0]).round(6).tolist()
    [0.9, 0.9]
    """
    return HistogramPreferences([0.0, 1e-9, MAX_EPSILON, MAX_EPSILON + 1], [1 - rate, 0.0, rate])


def read_preferences(path: str | Path, column: str | None = None) -> EmpiricalPreferences:
    """Read a sample of tolerated epsilons from a CSV file with a header line.

    Parameters
    ----------
    path:
        The file.
    column:
        Name of the column; may be omitted if the file has one column only.

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
    if column is None and _finite(header[0]) is not None:
        reason = f"the first line, {header[0]!r}, is a number and no header"
        raise FileError(path, reason, "Name the column in a line of its own.")
    place = header.index(name)
    stated = array("d")
    for line, row in rows:
        stated.append(_stated(path, line, row[place] if len(row) > place else ""))
    if not stated:
        raise FileError(path, "the sample of preferences is empty", "Add a line per person.")
    return EmpiricalPreferences(np.array(stated))


def _stated(path: str | Path, line: int, text: str) -> float:
    value = _finite(text)
    if value is None:
        remedy = "Write a number such as 1.5, or delete the line."
        raise FileError(path, f"line {line}: {text!r} is not a finite number", remedy)
    return value


def _finite(text: str) -> float | None:
    """A finite number, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None
