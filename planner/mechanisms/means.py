"""Mechanisms for a mean: channels over grid points of a range and "no answer"; BiSample-MD is one.

Answers are numbers in ``[lower, upper]``; NaN means "no answer", and is perturbed like every
other: nothing about a person leaves a mechanism unrandomised. Reports are whole numbers, one per
person, and the aggregate is their histogram. They are drawn by the law that is deployed,
:class:`planner.laws.rows.Rows`, from the integers that stand here.

Source: BiSample paper (Sun, Ye, Zhao, Lu and Yang), algorithms 3 and 4, equations 15 to 20. Where
it errs, this module uses the right form: the sum ``s`` is over users *with* ``eps_u >= eps`` (the
paper prints ``<``), and for a domain ``[L, U]`` the report stays two bits and the estimate is
rescaled.
Channels: docs/theory/channels.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner import arguments
from planner.errors import InputError
from planner.estimates.channel import (
    ChannelEstimates,
    NumericEstimates,
    large_sample,
    ratio,
    wanted_estimates,
)
from planner.limits import DENOMINATOR
from planner.mechanisms.counting import Aggregate
from planner.mechanisms.rounding import drawn_channel, integers_of
from planner.solvers.answers import Channel
from planner.survey.numeric_domain import NumericDomain

Array = NDArray[np.float64]
_MIN_EPSILON = 1e-4


class NumericVariance(NamedTuple):
    """Variances of the estimated mean, total and missing rate, each in its unit squared."""

    mean: float
    total: float
    missing_rate: float


@dataclass(frozen=True, slots=True, eq=False)
class MeanMechanism:
    """A channel over even grid points of the range and "no answer" (NaN).

    Output law: an answer between two grid points is rounded to either at random, without bias;
    then ``Pr[report y | symbol x] = integers[x, y] / 2^32``. With ``values[:, y]`` what a report
    adds to the sum of the answers on ``[-1, 1]`` and to their number, both unbiased, the mean is
    the estimated sum over the estimated number.

    Variance: to first order that of ``sum - mean * number`` over the squared number; that of the
    linear estimates is exact but for blocks. Intervals are Fieller's.

    Source: docs/theory/channels.md; made by :meth:`of` and :meth:`bisample_md`.

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
    blocks:
        Numbers of neighbouring reports whose share of all is the same whatever the answers: each
        block's reports are taken for as many as expected. Empty if there are none.
    """

    epsilon: float
    domain: NumericDomain
    integers: NDArray[np.int64]
    values: Array
    blocks: tuple[int, ...] = ()

    @classmethod
    def of(cls, channel: Channel, yes_no: bool = False) -> Self:
        """The mechanism of a channel for a mean; with ``yes_no`` of two grid points alone.

        InputError for a channel for other numbers, or a grid too fine for ``yes_no``.

        Examples
        --------
        >>> from planner import best_channel
        >>> mechanism = MeanMechanism.of(best_channel(3.0))
        >>> mechanism.integers.sum(axis=1).tolist() == [2**32] * len(mechanism.integers)
        True
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
        drawn = drawn_channel(channel)
        total, number = drawn.estimator
        values = np.array([(total - domain.center * number) / domain.radius, number])
        return cls(float(channel.policy.epsilons.max()), domain, integers_of(drawn), values)

    @classmethod
    def bisample_md(cls, epsilon: float, domain: NumericDomain | None = None) -> Self:
        """BiSample-MD: BiSample with "no answer" (NaN) as one more input, equally protected.

        Output law, for the answer ``v`` mapped to ``[-1, 1]``, ``theta = tanh(eps/2)``:

            Pr[s = 1, b = 1] = (1 + theta v)/4      Pr[s = 1, b = 0] = (1 - theta v)/4
            Pr[s = 0, b = 1] = (1 - theta v)/4      Pr[s = 0, b = 0] = (1 + theta v)/4

        and for NaN ``Pr[s, b = 1] = (1 - p)/2``, ``Pr[s, b = 0] = p/2``, with
        ``p = e^eps / (e^eps + 1)`` on a grid of 2^-31, rounded to the private side; the report is
        the number ``2s + b``. With ``R`` the share who answer,
        ``E[f_pos + f_neg] = 2(1-p) + theta R`` and ``E[f_pos - f_neg] = theta R mean``, whence
        the estimates (eq. 18, 20), ``f`` the share of ones in each direction, a block of two
        reports.

        ``epsilon`` is 0.0001 to 50 nats, else an InputError; ``domain`` the range of the answers,
        ``[-1, 1]`` when omitted.

        Examples
        --------
        >>> mechanism = MeanMechanism.bisample_md(3.0, NumericDomain(0, 10))
        >>> law = mechanism.output_law([7.0, np.nan])
        >>> counts = np.rint(80_000 * law[0] + 20_000 * law[1]).astype(int)
        >>> estimates = mechanism.estimate(Aggregate(100_000, counts))
        >>> round(estimates.mean.value, 2), round(estimates.missing_rate.value, 2)
        (7.0, 0.2)
        """
        arguments.budget("epsilon", epsilon)
        if epsilon < _MIN_EPSILON:
            remedy = "A smaller budget drowns any answer; draw probabilities are on a 2^-32 grid."
            raise InputError("epsilon", epsilon, f"at least {_MIN_EPSILON:g}", remedy)
        place = NumericDomain() if domain is None else domain
        # The factor outweighs all rounding of the float: up means private.
        few = ceil(DENOMINATOR / 2 / (exp(epsilon) + 1) * (1 + 2**-40))
        many = DENOMINATOR // 2 - few
        theta, noise = (many - few) / (DENOMINATOR // 2), few / (DENOMINATOR // 2)
        rows = [[few, many, many, few], [many, few, few, many], [many, few, many, few]]
        signs = [0.0, -2 / theta, 0.0, 2 / theta]
        answered = [-2 * noise / theta, (2 - 2 * noise) / theta] * 2
        return cls(float(epsilon), place, np.array(rows), np.array([signs, answered]), (2, 2))

    @property
    def outputs(self) -> int:
        """Number of different reports."""
        return int(self.integers.shape[1])

    @property
    def shares(self) -> list[tuple[int, float]]:
        """The reports of each block and their share of all; one of all reports without blocks."""
        ends = np.cumsum(self.blocks or (self.outputs,))
        sums = np.diff(np.cumsum(self.integers[0])[ends - 1], prepend=0) / DENOMINATOR
        return list(zip(self.blocks or (self.outputs,), sums.tolist(), strict=True))

    def output_law(self, values: ArrayLike) -> Array:
        """``Pr[report | answer]``, shape ``(len(values), outputs)``, exactly as drawn.

        Raises
        ------
        InputError
            A value outside the domain.
        """
        return self._law(self.domain.to_unit(self.domain.answers(values)))

    def estimate(self, aggregate: Aggregate, confidence: float = 0.95) -> NumericEstimates:
        """Mean of those who answered with Fieller's interval, their total, the missing rate.

        Where the reports cannot rule out that nobody answered, the mean's status says so and its
        interval is the domain.

        InputError for no reports, or those of another mechanism.
        """
        found = wanted_estimates(self.values, aggregate.counts, self.shares)
        return mean_estimates(self.domain, found, confidence)

    def variance(self, values: ArrayLike) -> NumericVariance:
        """Variances of the estimates for these people, ``(n,)``, NaN allowed.

        Raises
        ------
        InputError
            Bad values, or nobody answered.
        """
        unit = self.domain.to_unit(self.domain.answers(values))
        given = ~np.isnan(unit)
        if not given.any():
            remedy = "The mean is undefined, nobody answered."
            raise InputError("values", "NaN for everybody", "a number for somebody", remedy)
        law = self._law(unit).sum(axis=0)
        blocks = np.split(np.arange(self.outputs), np.cumsum(self.blocks)[:-1].astype(int))
        off = np.array(self.values)
        for block in blocks:  # what a report adds beside the others of its block
            off[:, block] -= (off[:, block] @ law[block] / law[block].sum())[:, None]
        known = np.array([np.nan_to_num(unit), given])
        known -= known.mean(axis=1, keepdims=True)
        covariance = (off * law) @ off.T - known @ known.T
        center, radius = self.domain.center, self.domain.radius
        gap, total = np.array([1.0, -float(unit[given].mean())]), np.array([radius, center])
        return NumericVariance(
            float(gap @ covariance @ gap) * (radius / given.sum()) ** 2,
            float(total @ covariance @ total),
            float(covariance[1, 1]) / unit.size**2,
        )

    def _law(self, unit: Array) -> Array:
        """For answers on ``[-1, 1]``: rounded to the grid as a device does, then reported."""
        last = len(self.integers) - 2
        share = (np.nan_to_num(unit) + 1) / 2 * last
        below = np.minimum(share.astype(np.int64), last - 1)
        above = np.floor((share - below) * DENOMINATOR + 0.5)[:, None] / DENOMINATOR
        law = (1 - above) * self.integers[below] + above * self.integers[below + 1]
        missing = np.isnan(unit)[:, None]
        return np.asarray(np.where(missing, self.integers[-1], law) / DENOMINATOR)


def mean_estimates(
    domain: NumericDomain, found: ChannelEstimates, confidence: float
) -> NumericEstimates:
    """Mean, total and missing rate from the estimated sum, on ``[-1, 1]``, and number of answers.

    Intervals are of the draws, whoever was asked. Who answers is 1 or 0, and so is known how people
    differ in it, and in what follows from it; what is answered too where that is yes or no. Of
    other numbers reports do not tell how they differ (docs/how-to/collect.md), and the mean's
    interval is wide enough for people who do not differ at all.
    """
    rate = float(np.clip(found.values[1], 0, 1))
    mean_of_all = float(np.clip(found.values[0] / rate, -1, 1)) if rate else 0.0
    known = rate * (1 - rate) * np.outer([mean_of_all, 1.0], [mean_of_all, 1.0])
    known[0, 0] += rate * (1 - mean_of_all**2) * domain.yes_no
    found = found.of_draws(known)
    (_, number), covariance, users = found
    mean = ratio(found, confidence, (-1.0, 1.0))
    units = np.array([domain.radius, domain.center])
    total = float(units @ found.values), float(units @ covariance @ units)
    return NumericEstimates(
        mean.scaled(domain.center, domain.radius),
        large_sample(*total, confidence).scaled(0.0, users),
        large_sample(1 - float(number), float(covariance[1, 1]), confidence),
        mean.scaled(0.5, 0.5) if domain.yes_no else None,
    )


class FirstOrder(NamedTuple):
    """First-order variances of BiSample-MD's mean, on ``[-1, 1]``, and of its missing rate."""

    mean: Array
    missing_rate: Array


def first_order(theta: ArrayLike, rate: ArrayLike, mean: ArrayLike, users: float) -> FirstOrder:
    """Variances of BiSample-MD's estimates for people drawn at random, on ``[-1, 1]``.

    With ``q_pos = theta R (1 + mu)/2 + 1 - p``, ``q_neg = theta R (1 - mu)/2 + 1 - p``
    and ``v = q (1 - q)``, by the delta method,

        Var[missing rate] = (2/n) (v_pos + v_neg) / theta^2
        Var[mean]         = (2/n) ((1-mu)^2 v_pos + (1+mu)^2 v_neg) / (theta R)^2

    Examples
    --------
    >>> result = first_order(np.tanh(1.5), 0.9, 0.5, 100_000)
    >>> round(float(np.sqrt(result.mean)), 5)
    0.0038
    """
    theta, rate, mean = (np.asarray(x, dtype=np.float64) for x in (theta, rate, mean))
    floor = (1 - theta) / 2
    positive = theta * rate * (1 + mean) / 2 + floor
    negative = theta * rate * (1 - mean) / 2 + floor
    v_pos, v_neg = positive * (1 - positive), negative * (1 - negative)
    sums = 2 / users * (v_pos + v_neg) / theta**2
    spread = 2 / users * ((1 - mean) ** 2 * v_pos + (1 + mean) ** 2 * v_neg)
    answered = np.square(theta * rate)
    nobody = np.full(spread.shape, np.inf)
    ratio = np.divide(spread, answered, out=nobody, where=answered > 0)
    return FirstOrder(ratio, sums)
