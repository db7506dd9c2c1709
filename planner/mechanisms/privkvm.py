"""PrivKVM for one key: half the budget says whether there is an answer, half what it is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner import arguments
from planner.estimates.means import NumericEstimates, Ratio, large_sample
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.forced_answer import summarise
from planner.mechanisms.numeric import (
    NumericMechanism,
    NumericVariance,
    SignCoin,
    answers_given,
    require_domain,
)
from planner.survey.numeric_domain import NumericDomain

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PrivKVM(NumericMechanism):
    """PrivKVM with one key, one real iteration and any number of virtual ones.

    Output law, with ``p = e^(eps/2) / (e^(eps/2) + 1)``, ``theta = 2p - 1`` and the answer
    ``v`` mapped to ``[-1, 1]``; reports 0 (no key), 1 (key, -1) and 2 (key, +1):

        answer v     Pr[0] = 1-p    Pr[1] = p (1 - theta v)/2    Pr[2] = p (1 + theta v)/2
        no answer    Pr[0] = p      Pr[1] = Pr[2] = (1-p)/2

    (a random answer in ``[-1, 1]`` has the law of the answer 0). Both coins are on 2^-32
    grids. The loss is ``eps/2 + ln(2p)``, less than ``eps``: the published budget is
    not used up.

    Estimates: ``f = (F - 1 + p) / theta`` of the share with a key ``F``;
    ``m_1 = (share of 2 - share of 1) / (theta F)``, which mixes true and random answers;
    a virtual iteration moves the mean by ``k (m_j - m_(j-1))`` with
    ``k = (1-f)(1-p) / F``, starting from ``m_0 = 0``. After ``c`` of them the
    expectation is ``mean (1 - k^(c+1))``: a bias that :meth:`bias` gives.
    The counts are not clipped, so that ``f`` stays unbiased. Without end they would come to
    ``(share of 2 - share of 1) / (theta p f)``, a ratio of unbiased estimates: the mean's interval
    is Fieller's of that ratio, and covers the true mean. Where the bias is large, the estimate may
    lie outside.

    Variance: first-order in ``1/n``, for people drawn at random.

    Source: Ye et al., "PrivKV: Key-Value Data Collection with Local Differential
    Privacy" (S&P 2019), algorithms 2 to 5; BiSample paper, section 5.1.

    Parameters
    ----------
    epsilon:
        Budget in nats, 0.0002 to 50.
    domain:
        Range of the answers; ``[-1, 1]`` when omitted.
    virtual_iterations:
        Number of virtual iterations ``c``, 0 or more; 5 in the BiSample paper.

    Examples
    --------
    >>> mechanism = PrivKVM(2.2)
    >>> mechanism.output_law([1.0, np.nan]).round(4).tolist()
    [[0.2497, 0.1874, 0.5629], [0.7503, 0.1249, 0.1249]]
    >>> round(mechanism.privacy_loss(), 4), round(mechanism.epsilon, 4)
    (1.5058, 2.2)
    """

    epsilon: float
    domain: NumericDomain = field(default_factory=NumericDomain)
    virtual_iterations: int = 5
    _coin: SignCoin = field(init=False, repr=False)

    def __post_init__(self) -> None:
        require_domain(self.domain)
        remedy = "Leave it out for 5, the default."
        arguments.whole_number("virtual_iterations", self.virtual_iterations, 0, remedy=remedy)
        object.__setattr__(self, "_coin", SignCoin(arguments.budget("epsilon", self.epsilon) / 2))

    @property
    def outputs(self) -> int:
        """Three: no key, key with -1, key with +1."""
        return 3

    def estimate(self, aggregate: Aggregate, confidence: float = 0.95) -> NumericEstimates:
        """Mean of those who answered, their total, and the missing rate."""
        counts, n = self._histogram(aggregate), aggregate.users
        key, signed = 1 - int(counts[0]) / n, int(counts[2] - counts[1]) / n
        point = _Point(key, signed, self._coin.theta)
        missing = large_sample(1 - point.rate, point.variance(point.rate_slope) / n, confidence)
        total = n * self._total(point)
        spread = n * point.variance(self._total_slope(point))
        mean = point.ratio(n).estimate(confidence, (-1.0, 1.0))
        if mean.value is not None:  # the published one, with its bias
            error = sqrt(self._mean_variance(point) / n)
            mean = replace(mean, value=self._mean(point), standard_error=error)
        return summarise(self.domain, n, mean, large_sample(total, spread, confidence), missing)

    def variance(self, values: ArrayLike) -> NumericVariance:
        """First-order variance of the estimates, for people drawn like these, ``(n,)``.

        Raises
        ------
        InputError
            Bad values, or nobody answered.
        """
        point, _, n = self._expected(values)
        return NumericVariance(
            self.domain.radius**2 * self._mean_variance(point) / n,
            n * point.variance(self._total_slope(point)),
            point.variance(point.rate_slope) / n,
        )

    def bias(self, values: ArrayLike) -> float:
        """Expectation of the mean's estimate minus the true mean, to first order.

        Raises
        ------
        InputError
            Bad values, or nobody answered.
        """
        point, mean, _ = self._expected(values)
        return self.domain.radius * (self._mean(point) - mean)

    def _expected(self, values: ArrayLike) -> tuple[_Point, float, int]:
        unit = self.domain.to_unit(self.domain.answers(values))
        answered = answers_given(unit)
        theta, rate, mean = self._coin.theta, answered.size / unit.size, float(answered.mean())
        p = (1 + theta) / 2
        key = rate * p + (1 - rate) * (1 - p)
        return _Point(key, rate * p * theta * mean, theta), mean, unit.size

    def _mean(self, point: _Point) -> float:
        # m_1 + k (m_1 - 0) + k^2 (m_1 - 0) + ...
        return point.first_mean * sum(point.carry**j for j in range(self.virtual_iterations + 1))

    def _mean_variance(self, point: _Point) -> float:
        terms = range(self.virtual_iterations + 1)
        grown = sum(point.carry**j for j in terms)
        growth = sum(j * point.carry ** (j - 1) for j in terms if j)
        return point.variance(
            (
                point.first_mean * (growth * point.carry_slope - grown / point.key),
                grown / (point.theta * point.key),
            )
        )

    def _total(self, point: _Point) -> float:
        # Linear, hence unbiased: signed = theta p f mean, whatever the iterations do.
        _, per_signed = self._total_slope(point)
        return self.domain.center * point.rate + per_signed * point.signed

    def _total_slope(self, point: _Point) -> tuple[float, float]:
        p = (1 + point.theta) / 2
        return self.domain.center / point.theta, self.domain.radius / (point.theta * p)

    def _draw(self, unit: Array, rng: np.random.Generator) -> NDArray[Any]:
        missing = np.isnan(unit)
        key = SignCoin.toss(self._coin.threshold(np.where(missing, -1.0, 1.0)), rng)
        sign = SignCoin.toss(self._coin.threshold(np.where(missing, 0.0, unit)), rng)
        return key * (1 + sign.view(np.uint8))

    def _law(self, unit: Array) -> Array:
        missing = np.isnan(unit)
        key = self._coin.chance(np.where(missing, -1.0, 1.0))
        sign = self._coin.chance(np.where(missing, 0.0, unit))
        return np.column_stack([1 - key, key * (1 - sign), key * sign])


class _Point(NamedTuple):
    """Share of reports with a key, share of +1 minus share of -1, and what they imply."""

    key: float
    signed: float
    theta: float

    @property
    def rate(self) -> float:
        return (self.key - (1 - self.theta) / 2) / self.theta

    @property
    def rate_slope(self) -> tuple[float, float]:
        return 1 / self.theta, 0.0

    @property
    def first_mean(self) -> float:
        return self.signed / (self.theta * self.key)

    @property
    def carry(self) -> float:
        return (1 - self.rate) * (1 - self.theta) / 2 / self.key

    @property
    def carry_slope(self) -> float:
        return -((1 - self.theta) / 2 / self.theta + self.carry) / self.key

    def ratio(self, users: int) -> Ratio:
        """What endless iterations would come to, as a ratio of two linear estimates."""
        per_signed = 2 / (self.theta * (1 + self.theta))
        total, rate = (0.0, per_signed), self.rate_slope
        apart, both = (self.variance(one) for one in (total, (rate[0], per_signed)))
        rates = self.variance(rate)
        covariance = (both - apart - rates) / 2
        return Ratio(
            per_signed * self.signed,
            self.rate,
            apart / users,
            rates / users,
            covariance / users,
        )

    def variance(self, slope: tuple[float, float]) -> float:
        """Per user, of the quantity with this gradient in (key, signed)."""
        by_key, by_signed = slope
        missing = 1 - self.key
        return (
            by_key**2 * self.key * missing
            + 2 * by_key * by_signed * self.signed * missing
            + by_signed**2 * (self.key - self.signed**2)
        )
