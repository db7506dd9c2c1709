"""Estimates from the reports of a channel: wanted shares, means as ratios, ordered answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.errors import InputError
from planner.estimates.ordered import OrderedEstimates
from planner.solvers.answers import Channel

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
