"""A channel for a mean as a mechanism: numbers and missing answers, drawn on the grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.designs.channel import Channel
from planner.errors import InputError
from planner.estimates.channel import wanted_estimates
from planner.estimates.means import NumericEstimates, Ratio
from planner.limits import DENOMINATOR
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.channel_grid import as_drawn, integers_of
from planner.mechanisms.forced_answer import summarise_ratio
from planner.mechanisms.numeric import (
    NumericMechanism,
    NumericVariance,
    answers_given,
    require_domain,
    require_drawable,
)
from planner.survey.numeric_domain import NumericDomain

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class MeanChannelMechanism(NumericMechanism):
    """A channel over even grid points of the range and "no answer" (NaN).

    Output law: an answer between two grid points is rounded to either at random, without bias;
    then ``Pr[report y | symbol x] = integers[x, y] / 2^32``. With ``values[:, y]`` what a report
    adds to the sum of the answers on ``[-1, 1]`` and to their number, both unbiased, the mean is
    the estimated sum over the estimated number.

    Variance: to first order that of ``sum - mean * number`` over the squared number; exact for
    the linear estimates. Intervals are Fieller's.

    Source: docs/theory/channels.md; made by :func:`~planner.planning.channels.means.best_channel`.

    Parameters
    ----------
    epsilon:
        Budget in nats, 0.0001 to 50; the largest where symbols have budgets of their own.
    domain:
        Range of the answers.
    integers:
        Shape ``(points + 1, outputs)``; each row sums to 2^32.
    values:
        Shape ``(2, outputs)``.

    Examples
    --------
    >>> from planner import best_channel
    >>> mechanism = MeanChannelMechanism.of(best_channel(3.0))
    >>> rng = np.random.default_rng(1)
    >>> answers = np.where(rng.random(100_000) < 0.2, np.nan, 0.4)
    >>> estimates = mechanism.estimate(mechanism.aggregate(mechanism.perturb(answers, rng)))
    >>> estimates.mean.lower < 0.4 < estimates.mean.upper
    True
    >>> round(estimates.missing_rate.value, 2), mechanism.privacy_loss() <= 3.0
    (0.2, True)
    """

    epsilon: float
    domain: NumericDomain
    integers: NDArray[np.int64]
    values: Array

    def __post_init__(self) -> None:
        require_domain(self.domain)
        require_drawable(self.epsilon)

    @classmethod
    def of(cls, channel: Channel, yes_no: bool = False) -> Self:
        """The mechanism of a channel for a mean; with ``yes_no`` of two grid points alone.

        Raises
        ------
        InputError
            The channel is for other numbers, or its grid is too fine for ``yes_no``.
        VerificationError
            The channel breaks its policy.
        """
        grid, counts = channel.wanted[0, :-1], channel.wanted[-1]
        answers = np.append(np.ones(grid.size), 0.0)
        even = np.allclose(grid, np.linspace(grid[0], grid[-1], grid.size)) and grid[0] < grid[-1]
        if len(channel.wanted) != 2 or not (even and np.array_equal(counts, answers)):
            reason = f"the channel is for {', '.join(channel.wanted_names)}, not for a mean"
            raise InputError.because("channel", reason, "Take one from best_channel.")
        if yes_no and grid.size > 2:
            remedy = "Solve it with points=2."
            raise InputError("points", grid.size, "2 for a question of yes and no", remedy)
        domain = NumericDomain(float(grid[0]), float(grid[-1]), yes_no)
        drawn = as_drawn(channel)
        total, number = drawn.estimator
        values = np.array([(total - domain.center * number) / domain.radius, number])
        epsilon = float(channel.policy.epsilons.max())
        return cls(epsilon, domain, integers_of(drawn), values)

    @property
    def outputs(self) -> int:
        """Number of different reports."""
        return int(self.integers.shape[1])

    def privacy_loss(self) -> float:
        """Largest log-ratio over all pairs of answers, in nats: attained at symbols."""
        return float(np.log(self.integers.max(axis=0) / self.integers.min(axis=0)).max())

    def estimate(self, aggregate: Aggregate, confidence: float = 0.95) -> NumericEstimates:
        """Mean of those who answered with Fieller's interval, their total, the missing rate.

        Raises
        ------
        InputError
            Fewer than two reports, or not of this mechanism.
        """
        counts, n = self._histogram(aggregate), aggregate.users
        (signed, rate), covariance, _ = wanted_estimates(self.values, counts)
        (first, both), (_, second) = covariance.tolist()
        ratio = Ratio(float(signed), float(rate), first, second, both)
        return summarise_ratio(self.domain, n, ratio, confidence)

    def variance(self, values: ArrayLike) -> NumericVariance:
        """Variances of the estimates for these people, ``(n,)``, NaN allowed.

        That of the mean to first order, those of total and missing rate exactly.

        Raises
        ------
        InputError
            Bad values, or nobody answered.
        """
        unit = self.domain.to_unit(self.domain.answers(values))
        answered = answers_given(unit)
        law = self._law(unit)
        spread = (self.values * law.sum(axis=0)) @ self.values.T
        known = np.array([np.nan_to_num(unit), ~np.isnan(unit)])
        covariance = spread - known @ known.T
        center, radius = self.domain.center, self.domain.radius
        gap, total = np.array([1.0, -float(answered.mean())]), np.array([radius, center])
        return NumericVariance(
            float(gap @ covariance @ gap) * (radius / answered.size) ** 2,
            float(total @ covariance @ total),
            float(covariance[1, 1]) / unit.size**2,
        )

    def _draw(self, unit: Array, rng: np.random.Generator) -> NDArray[Any]:
        below, threshold = self._places(unit)
        rounding, word = rng.integers(DENOMINATOR, size=(2, unit.size))
        symbol = below + (rounding < threshold)
        ends = np.cumsum(self.integers, axis=1)[:, :-1]
        return np.asarray((ends[symbol] <= word[:, None]).sum(axis=1))

    def _law(self, unit: Array) -> Array:
        below, threshold = self._places(unit)
        share = (threshold / DENOMINATOR)[:, None]
        above = np.minimum(below + 1, len(self.integers) - 1)
        return np.asarray(
            ((1 - share) * self.integers[below] + share * self.integers[above]) / DENOMINATOR
        )

    def _places(self, unit: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Each answer's grid point from below, and the threshold of a rounding upwards."""
        missing, last = np.isnan(unit), len(self.integers) - 2
        share = (np.where(missing, -1.0, unit) + 1) / 2 * last
        below = np.minimum(share.astype(np.int64), last - 1)
        threshold = np.floor((share - below) * DENOMINATOR + 0.5).astype(np.int64)
        return np.where(missing, last + 1, below), np.where(missing, 0, threshold)
