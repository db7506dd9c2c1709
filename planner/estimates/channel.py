"""Estimates from the reports of a channel: wanted shares, means as ratios, ordered answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import whole_number
from planner.errors import InputError
from planner.estimates.counts import normal_quantile, tail_share
from planner.estimates.means import Estimate
from planner.frames import Framed
from planner.solvers.answers import Channel

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


class ChannelEstimates(NamedTuple):
    """Unbiased estimates of the wanted numbers per person, and their covariance.

    Attributes
    ----------
    values:
        Shape ``(p,)``.
    covariance:
        Of ``values``, for people drawn at random, from the reports themselves, ``(p, p)``.
    users:
        Number of reports.
    """

    values: Array
    covariance: Array
    users: int


def estimate_wanted(channel: Channel, counts: ArrayLike) -> ChannelEstimates:
    """Estimate the wanted numbers from how often each report came.

    Parameters
    ----------
    channel:
        The channel that randomised.
    counts:
        Number of people who sent each report, shape ``(outputs,)``.

    Raises
    ------
    InputError
        Counts that are not whole numbers of at least 0, one a report, or nobody's.
    """
    return wanted_estimates(channel.estimator, counts)


def wanted_estimates(
    estimator: Array, counts: ArrayLike, blocks: Sequence[tuple[int, float]] = ()
) -> ChannelEstimates:
    """The same from what each report adds to the wanted numbers, shape ``(p, outputs)``.

    ``blocks`` have a number of reports and their known share of all, whatever the answers: the
    reports of each are taken for as many as expected, unless one has none.

    Raises
    ------
    InputError
        As :func:`estimate_wanted`, or no reports at all.
    """
    column, outputs = np.asarray(counts), estimator.shape[1]
    if column.shape != (outputs,) or column.dtype.kind not in "iu" or column.min() < 0:
        allowed = f"{outputs} whole numbers of at least 0, one a report"
        remedy = f"Count the reports by numpy.bincount(reports, minlength={outputs})."
        raise InputError("counts", counts, allowed, remedy)
    users = int(column.sum())
    if users < 1:
        raise InputError("counts", users, "of at least one person", "Collect reports first.")
    values, covariance = np.zeros(len(estimator)), np.zeros((len(estimator), len(estimator)))
    ends = np.cumsum([size for size, _ in blocks])
    parts = np.split(column, ends[:-1]) if blocks else [column]
    if not all(part.any() for part in parts):
        blocks, ends, parts = (), np.zeros(0), [column]
    meanings = np.split(estimator, ends[:-1], axis=1) if blocks else [estimator]
    shares = [share for _, share in blocks] or [1.0]
    for part, meaning, share in zip(parts, meanings, shares, strict=True):
        n = int(part.sum())
        mean = meaning @ part / n
        # Of one report alone nothing is known: as if all had come equally often.
        seen, others = (part, n - 1) if n > 1 else (np.full(part.shape, 1 / part.size), 1)
        spread = meaning - (meaning @ seen / seen.sum())[:, None]
        values += share * mean
        covariance += share**2 * (spread * seen) @ spread.T / others / n
    return ChannelEstimates(values, covariance, users)


def estimate_ordered(
    channel: Channel, counts: ArrayLike, confidence: float = 0.95
) -> OrderedEstimates:
    """Cumulative shares of ordered answers, consistent, with a band and quantiles.

    Parameters
    ----------
    channel:
        One that wants the shares up to each answer, or their counts.
    counts:
        Number of people who sent each report, shape ``(outputs,)``.
    confidence:
        Of the band.

    Raises
    ------
    InputError
        A channel for other numbers, or bad counts or confidence.
    """
    values, covariance, users = estimate_wanted(shares_up_to(channel), counts)
    return OrderedEstimates(channel.symbols, values, covariance, users, confidence)


def shares_up_to(channel: Channel) -> Channel:
    """The channel with estimates of the share of people up to each answer but the last.

    Parameters
    ----------
    channel:
        One that wants these shares, which is returned as it is, or counts, which are added up.

    Raises
    ------
    InputError
        A channel for other numbers.

    Examples
    --------
    >>> from planner import PrivacyPolicy, best_ordered_channel
    >>> policy = PrivacyPolicy([1.0] * 3, [1] * 3, names=["low", "middle", "high"])
    >>> shares_up_to(best_ordered_channel(policy, "counts")).wanted_names
    ('up to low', 'up to middle')
    """
    size = channel.policy.size
    steps = np.tril(np.ones((size, size)))[:-1]
    if np.array_equal(channel.wanted, steps):
        return channel
    if not np.array_equal(channel.wanted, np.eye(size)):
        reason = f"the channel is for {', '.join(channel.wanted_names)}, not for ordered answers"
        raise InputError.because("channel", reason, "Take one from best_ordered_channel.")
    names = tuple(f"up to {name}" for name in channel.symbols[:-1])
    added = steps @ channel.estimator
    return Channel(channel.policy, steps, names, channel.matrix, added)
