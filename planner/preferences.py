"""How much epsilon people tolerate, and so how many of them answer at a given budget.

A preference model is a distribution of the largest epsilon that a person accepts.
Whoever accepts less than the collection's epsilon does not answer (BiSample paper,
algorithm 3), so the answer rate is ``R(eps) = Pr[preference >= eps]``. Mass at or below
zero is people who never answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.errors import InputError

__all__ = [
    "EmpiricalPreferences",
    "GammaPreferences",
    "HistogramPreferences",
    "LognormalPreferences",
    "NormalPreferences",
    "Preferences",
]

Array = NDArray[np.float64]


class Preferences(Protocol):
    """What planning needs to know about people's preferences."""

    def answer_rate(self, epsilon: ArrayLike) -> Array:
        """``R(eps)``: share of people who answer at each budget, in the budgets' shape."""

    def quantile(self, share: ArrayLike) -> Array:
        """The preference that a share of the people stays at or below; ``0 < share < 1``."""

    @property
    def kinks(self) -> Array:
        """Budgets at which ``R`` jumps or bends, sorted; empty if it is smooth."""


@dataclass(frozen=True, slots=True)
class NormalPreferences:
    """Normally distributed preferences; those below zero never answer.

    Parameters
    ----------
    mean, sd:
        In nats; ``sd > 0``. The BiSample paper assumes 5 and 1.5.

    Examples
    --------
    >>> NormalPreferences(5, 1.5).answer_rate([5.0, 6.5]).round(4).tolist()
    [0.5, 0.1587]
    """

    mean: float
    sd: float

    def __post_init__(self) -> None:
        _finite("mean", self.mean)
        _positive("sd", self.sd)

    def answer_rate(self, epsilon: ArrayLike) -> Array:
        """``Phi((mean - eps) / sd)``."""
        from scipy.special import ndtr

        return ndtr((self.mean - np.asarray(epsilon)) / self.sd)

    def quantile(self, share: ArrayLike) -> Array:
        """``mean + sd * Phi^-1(share)``."""
        from scipy.special import ndtri

        return self.mean + self.sd * ndtri(share)

    @property
    def kinks(self) -> Array:
        """None."""
        return np.empty(0)


@dataclass(frozen=True, slots=True)
class LognormalPreferences:
    """Preferences whose logarithm is normal.

    Parameters
    ----------
    median:
        In nats, above 0.
    sigma:
        Standard deviation of the logarithm, above 0.

    Examples
    --------
    >>> LognormalPreferences(2.0, 0.5).answer_rate(2.0).item()
    0.5
    """

    median: float
    sigma: float

    def __post_init__(self) -> None:
        _positive("median", self.median)
        _positive("sigma", self.sigma)

    def answer_rate(self, epsilon: ArrayLike) -> Array:
        """``Phi(ln(median / eps) / sigma)``."""
        from scipy.special import ndtr

        with np.errstate(divide="ignore"):
            return ndtr((np.log(self.median) - np.log(np.asarray(epsilon))) / self.sigma)

    def quantile(self, share: ArrayLike) -> Array:
        """``median * exp(sigma * Phi^-1(share))``."""
        from scipy.special import ndtri

        return self.median * np.exp(self.sigma * ndtri(share))

    @property
    def kinks(self) -> Array:
        """None."""
        return np.empty(0)


@dataclass(frozen=True, slots=True)
class GammaPreferences:
    """Gamma distributed preferences, with mean ``shape * scale``.

    Parameters
    ----------
    shape:
        Above 0.
    scale:
        In nats, above 0.

    Examples
    --------
    >>> GammaPreferences(1.0, 2.0).answer_rate(2.0).round(4).item()
    0.3679
    """

    shape: float
    scale: float

    def __post_init__(self) -> None:
        _positive("shape", self.shape)
        _positive("scale", self.scale)

    def answer_rate(self, epsilon: ArrayLike) -> Array:
        """The regularised upper incomplete gamma function ``Q(shape, eps / scale)``."""
        from scipy.special import gammaincc

        return gammaincc(self.shape, np.asarray(epsilon) / self.scale)

    def quantile(self, share: ArrayLike) -> Array:
        """Inverse of ``1 - R``."""
        from scipy.special import gammaincinv

        return self.scale * gammaincinv(self.shape, share)

    @property
    def kinks(self) -> Array:
        """None."""
        return np.empty(0)


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
        ends, parts = _column("edges", edges), _column("shares", shares)
        if ends.size != parts.size + 1:
            raise InputError("edges", ends.size, f"one more than the shares: {parts.size + 1}")
        for i in np.flatnonzero(np.diff(ends) <= 0)[:1]:
            raise InputError(f"edges[{i + 1}]", float(ends[i + 1]), f"above {float(ends[i])!r}")
        for i in np.flatnonzero(parts < 0)[:1]:
            raise InputError(f"shares[{i}]", float(parts[i]), "a share of at least 0")
        if abs(parts.sum() - 1) > 1e-9:
            remedy = "Divide the counts by their total."
            raise InputError("shares", float(parts.sum()), "such that they sum to 1", remedy)
        object.__setattr__(self, "edges", ends)
        off = abs(parts.sum() - 1)
        object.__setattr__(self, "shares", parts if off < 1e-15 else parts / parts.sum())

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
        object.__setattr__(self, "sample", np.sort(_column("preferences", sample)))

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


def _finite(argument: str, value: object) -> None:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not isfinite(value):  # type: ignore[arg-type]
        raise InputError(argument, value, "a finite number")


def _positive(argument: str, value: float) -> None:
    _finite(argument, value)
    if value <= 0:
        raise InputError(argument, value, "above 0")


def _column(argument: str, values: ArrayLike) -> Array:
    try:
        column = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(argument, values, "a list of numbers") from None
    if column.ndim != 1 or column.size == 0:
        raise InputError(argument, values, "a list of one or more numbers", "Add some.")
    for i in np.flatnonzero(~np.isfinite(column))[:1]:
        raise InputError(f"{argument}[{i}]", float(column[i]), "a finite number")
    column.setflags(write=False)
    return column
