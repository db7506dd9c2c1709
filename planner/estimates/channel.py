"""Estimates from the reports of a channel: wanted shares, means as ratios, ordered answers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.designs.channel import Channel
from planner.errors import InputError
from planner.estimates.means import Estimate, Ratio
from planner.estimates.ordered import OrderedEstimates

Array = NDArray[np.float64]


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
        Counts that are not whole numbers of at least 0, one a report, or fewer than two people.
    """
    return wanted_estimates(channel.estimator, counts)


def wanted_estimates(estimator: Array, counts: ArrayLike) -> ChannelEstimates:
    """The same from what each report adds to the wanted numbers, shape ``(p, outputs)``.

    Raises
    ------
    InputError
        As :func:`estimate_wanted`.
    """
    column, outputs = np.asarray(counts), estimator.shape[1]
    if column.shape != (outputs,) or column.dtype.kind not in "iu" or column.min() < 0:
        allowed = f"{outputs} whole numbers of at least 0, one a report"
        remedy = f"Count the reports by numpy.bincount(reports, minlength={outputs})."
        raise InputError("counts", counts, allowed, remedy)
    users = int(column.sum())
    if users < 2:
        raise InputError("counts", users, "of at least two people", "Collect reports first.")
    values = estimator @ column / users
    spread = estimator - values[:, None]
    covariance = (spread * column) @ spread.T / (users - 1) / users
    return ChannelEstimates(values, covariance, users)


def estimate_mean(channel: Channel, counts: ArrayLike, confidence: float = 0.95) -> Estimate:
    """The mean of those who answered, with Fieller's interval.

    The interval is the set of means ``m`` for which the estimate of ``sum - m * number`` is
    compatible with 0. It covers where the first-order interval around the ratio does not:
    when few answer, or budgets are small. Where the reports cannot rule out that nobody
    answered it is the whole range, and says so.

    Parameters
    ----------
    channel:
        From :func:`~planner.planning.channels.means.best_channel`: it wants the sum of the
        answers and their number.
    counts:
        Number of people who sent each report, shape ``(outputs,)``.
    confidence:
        Share of repeated collections in which the interval covers.

    Raises
    ------
    InputError
        A channel for other numbers, or bad counts or confidence.

    Examples
    --------
    >>> from planner import best_channel
    >>> channel = best_channel(2.0)
    >>> counts = np.rint(1000 * channel.scenarios[3].population @ channel.matrix).astype(int)
    >>> mean = estimate_mean(channel, counts)
    >>> abs(mean.value - 0.494) < 0.02, bool(mean.lower < 0.494 < mean.upper)
    (True, True)
    """
    if len(channel.wanted) != 2 or not np.isin(channel.wanted[1], (0.0, 1.0)).all():
        reason = f"the channel is for {', '.join(channel.wanted_names)}, not for a mean"
        raise InputError.because("channel", reason, "Take one from best_channel.")
    values, covariance, _ = estimate_wanted(channel, counts)
    answers = channel.wanted[0][channel.wanted[1] == 1]
    total, number = values.tolist()
    ratio = Ratio(total, number, covariance[0, 0], covariance[1, 1], covariance[0, 1])
    return ratio.estimate(confidence, (float(answers.min()), float(answers.max())))


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
