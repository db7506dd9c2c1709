"""Estimates for ordered answers: cumulative shares that rise, a band, quantiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import whole_number
from planner.errors import InputError
from planner.estimates.counts import normal_quantile, tail_share
from planner.estimates.means import Estimate
from planner.frames import Framed

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class QuantileEstimate:
    """Which ordered answer a share of the people does not exceed.

    Attributes
    ----------
    share:
        The share asked for: one half for the median.
    answer:
        The first answer whose consistent cumulative share reaches it.
    lower, upper:
        The answers between which it lies with the confidence of the band.
    """

    share: float
    answer: str
    lower: str
    upper: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OrderedEstimates(Framed):
    """Estimated cumulative shares of ordered answers.

    Attributes
    ----------
    answers:
        The ``d`` answers in order.
    values:
        Unbiased estimates of the share up to each answer but the last, ``(d - 1,)``.
    covariance:
        Of these estimates, shape ``(d - 1, d - 1)``.
    users:
        Number of reports.
    confidence:
        Of the band: the share of repeated collections in which it covers all the
        cumulative shares at once (large-sample, Bonferroni over the answers).

    Raises
    ------
    InputError
        Shapes that do not fit, negative variances, or a confidence outside 0 to 1.

    Examples
    --------
    >>> estimates = OrderedEstimates(
    ...     ("low", "middle", "high"), [0.55, 0.52], np.diag([0.01, 0.01]) ** 2, users=1000
    ... )
    >>> estimates.consistent.round(3).tolist()
    [0.535, 0.535, 1.0]
    >>> estimates.quantile(0.5).answer, estimates.quantile(0.9).answer
    ('low', 'high')
    """

    answers: tuple[str, ...]
    values: Array
    covariance: Array
    users: int
    confidence: float = 0.95

    def __post_init__(self) -> None:
        size = len(self.answers) - 1
        for name, shape in (("values", (size,)), ("covariance", (size, size))):
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.shape != shape or size < 1 or not np.isfinite(array).all():
                remedy = "There is one cumulative share for each answer but the last."
                raise InputError(name, array.shape, f"finite numbers of shape {shape}", remedy)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "answers", tuple(self.answers))
        if np.diag(self.covariance).min() < 0:
            remedy = "Take values and covariance from the same estimate."
            raise InputError("covariance", self.covariance, "with no negative variance", remedy)
        whole_number("users", self.users, remedy="Give the number of people who reported.")
        tail_share(self.confidence, size)

    @property
    def consistent(self) -> Array:
        """Cumulative shares that rise from 0 or more to 1 for the last answer, shape ``(d,)``.

        The nearest such shares, by least squares weighted by one over each variance.
        """
        weights = 1 / np.maximum(np.diag(self.covariance), 1e-300)
        return np.append(np.clip(isotonic(self.values, weights), 0, 1), 1.0)

    @property
    def shares(self) -> Array:
        """Consistent share of each answer, shape ``(d,)``: none negative, sum 1."""
        return np.diff(self.consistent, prepend=0.0)

    @property
    def band(self) -> tuple[Array, Array]:
        """Lower and upper ends for all cumulative shares at once, shape ``(d,)`` each.

        Where the unbiased band holds, so does this one: what is below an earlier
        lower end, or above a later upper end, cannot be, as cumulative shares rise.
        """
        share = tail_share(self.confidence, self.values.size)
        reach = normal_quantile(1 - share / 2) * np.sqrt(np.diag(self.covariance))
        lower = np.maximum.accumulate(np.clip(self.values - reach, 0, 1))
        upper = np.minimum.accumulate(np.clip(self.values + reach, 0, 1)[::-1])[::-1]
        return np.append(lower, 1.0), np.append(upper, 1.0)

    def quantile(self, share: float = 0.5) -> QuantileEstimate:
        """The answer at a quantile, with the answers that the band allows.

        Parameters
        ----------
        share:
            Strictly between 0 and 1; one half is the median.

        Raises
        ------
        InputError
            The share is out of range.
        """
        if not 0 < share < 1:
            raise InputError("share", share, "strictly between 0 and 1", "Use 0.5 for the median.")
        lower, upper = self.band
        first = [int(np.argmax(column >= share)) for column in (self.consistent, upper, lower)]
        return QuantileEstimate(share, *(self.answers[i] for i in first))

    def mean(self, scores: ArrayLike) -> Estimate:
        """The mean score, unbiased; the share of an answer is that of a score of 1 for it alone.

        Parameters
        ----------
        scores:
            What each answer counts for, in order, shape ``(d,)``.

        Raises
        ------
        InputError
            Not one finite score an answer.

        Examples
        --------
        >>> estimates = OrderedEstimates(
        ...     ("low", "middle", "high"), [0.5, 0.8], np.diag([0.01, 0.02]) ** 2, users=1000
        ... )
        >>> middle = estimates.mean([0, 1, 0])
        >>> round(middle.value, 3), round(middle.standard_error, 4)
        (0.3, 0.0224)
        """
        numbers = np.asarray(scores, dtype=np.float64)
        if numbers.shape != (len(self.answers),) or not np.isfinite(numbers).all():
            allowed = f"{len(self.answers)} finite numbers"
            raise InputError("scores", scores, allowed, "Give one score for each answer.")
        steps = -np.diff(numbers)  # whoever is up to an answer misses what lies above it
        value = float(numbers[-1] + steps @ self.values)
        error = max(0.0, float(steps @ self.covariance @ steps)) ** 0.5
        reach = normal_quantile(0.5 + self.confidence / 2) * error
        return Estimate(value, error, value - reach, value + reach, self.confidence)

    @property
    def summary(self) -> str:
        """The median and how sure it is."""
        middle = self.quantile()
        return (
            f"Cumulative shares from {self.users:,} reports; median {middle.answer}, "
            f"between {middle.lower} and {middle.upper} with {self.confidence:.0%} confidence."
        )

    def columns(self) -> dict[str, Any]:
        """One row an answer: unbiased and consistent cumulative share, and the band."""
        lower, upper = self.band
        return {
            "answer": self.answers,
            "cumulative": np.append(self.values, 1.0),
            "standard_error": np.append(np.sqrt(np.diag(self.covariance)), 0.0),
            "consistent": self.consistent,
            "lower": lower,
            "upper": upper,
            "share": self.shares,
        }


def isotonic(values: ArrayLike, weights: ArrayLike | None = None) -> Array:
    """The nearest rising numbers, by weighted least squares (pool adjacent violators).

    Parameters
    ----------
    values:
        Shape ``(k,)``.
    weights:
        Above 0, shape ``(k,)``; equal when omitted.

    Examples
    --------
    >>> isotonic([1.0, 3.0, 2.0, 4.0]).tolist()
    [1.0, 2.5, 2.5, 4.0]
    """
    numbers = np.asarray(values, dtype=np.float64)
    sizes = np.ones(numbers.size) if weights is None else np.asarray(weights, dtype=np.float64)
    blocks: list[tuple[float, float, int]] = []  # mean, weight, length
    for value, size in zip(numbers.tolist(), sizes.tolist(), strict=True):
        mean, weight, length = value, size, 1
        while blocks and blocks[-1][0] >= mean:
            before, other, count = blocks.pop()
            mean = (before * other + mean * weight) / (other + weight)
            weight, length = weight + other, length + count
        blocks.append((mean, weight, length))
    return np.concatenate([np.full(length, mean) for mean, _, length in blocks])
