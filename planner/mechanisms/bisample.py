"""BiSample and BiSample-MD: means from two bits, with or without missing answers.

Source: BiSample paper (Sun, Ye, Zhao, Lu and Yang), algorithms 2 to 4, equations
9 to 20. Where it errs, this module uses the right form: the sum ``s`` is over
users *with* ``eps_u >= eps`` (the paper prints ``<``), equation 14 is per user, and
for a domain ``[L, U]`` the report stays two bits and the estimate is rescaled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner import arguments
from planner.errors import InputError
from planner.estimates.means import NumericEstimates, Ratio, large_sample
from planner.mechanisms import inputs
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.bisample_variance import first_order
from planner.mechanisms.forced_answer import ForcedAnswerMechanism, summarise, summarise_ratio
from planner.mechanisms.numeric import (
    NumericMechanism,
    NumericVariance,
    SignCoin,
    answers_given,
    chunks,
    require_domain,
)
from planner.survey.numeric_domain import NumericDomain

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BiSample(ForcedAnswerMechanism):
    """BiSample: randomised response on "is it 1?" or on "is it -1?", at random.

    Output law, for the answer ``v`` mapped to ``[-1, 1]``, ``theta = tanh(eps/2)``:

        Pr[s = 1, b = 1] = (1 + theta v)/4      Pr[s = 1, b = 0] = (1 - theta v)/4
        Pr[s = 0, b = 1] = (1 - theta v)/4      Pr[s = 0, b = 0] = (1 + theta v)/4

    on a 2^-32 grid; the report is the number ``2s + b``. The mean is estimated by
    ``(f_pos - f_neg) / theta`` (eq. 11).

    Variance of the mean: ``(1/theta^2 - mean v^2) / n``, in squared radii of the domain,
    to first order in ``1/n`` (eq. 14 divided by ``n``; the paper has the larger ``m^2``
    term of people drawn at random). The same as Harmony's.

    Examples
    --------
    >>> mechanism = BiSample(np.log(3))
    >>> mechanism.output_law([1.0]).round(6).tolist()
    [[0.375, 0.125, 0.125, 0.375]]
    >>> round(mechanism.estimate(Aggregate(400, np.array([130, 70, 80, 120]))).mean.value, 6)
    0.5
    """

    _coin: SignCoin = field(init=False, repr=False)

    def _prepare(self) -> None:
        object.__setattr__(self, "_coin", SignCoin(self.epsilon))

    @property
    def output_values(self) -> Array:
        """What a report means: ``(2s - 1)(2b - 1) / theta``."""
        return np.array([1.0, -1.0, -1.0, 1.0]) / self._coin.theta

    def estimate(self, aggregate: Aggregate, confidence: float = 0.95) -> NumericEstimates:
        """Mean and total of all answers, fake ones included (eq. 11).

        Raises
        ------
        InputError
            No reports, or so few that one of the two sampling directions is missing.
        """
        pair = _directions(self._histogram(aggregate), self._coin)
        mean = pair.signed_sum(self._coin)
        variance = pair.variance / self._coin.theta**2
        estimate = large_sample(mean, variance, confidence)
        return summarise(self.domain, aggregate.users, estimate)

    def _draw_answer(self, unit: Array, rng: np.random.Generator) -> NDArray[Any]:
        return _two_bits(self._coin.threshold(unit), np.zeros(unit.shape, bool), rng)

    def _answer_law(self, unit: Array) -> Array:
        return _two_bit_law(self._coin.chance(unit), 1 - self._coin.chance(unit))

    def _random_law(self) -> Array:
        return self._answer_law(np.zeros(1))[0]  # the law is linear in the value

    def _second_moment(self, unit: Array) -> Array:
        return np.full(unit.shape, 1 / self._coin.theta**2)


@dataclass(frozen=True, slots=True)
class BiSampleMD(NumericMechanism):
    """BiSample-MD: BiSample with "no answer" (NaN) as one more input, equally protected.

    Output law: that of :class:`BiSample` for an answer; for NaN

        Pr[s, b = 1] = (1 - p)/2,   Pr[s, b = 0] = p/2,   s = 0, 1,   p = e^eps / (e^eps + 1)

    on a 2^-32 grid; the report is the number ``2s + b``. With ``R`` the share who answer,
    ``E[f_pos + f_neg] = 2(1-p) + theta R`` and ``E[f_pos - f_neg] = theta R mean``,
    whence the estimates (eq. 18, 20).

    Variance: see :func:`~planner.mechanisms.bisample_variance.first_order`. It is
    first-order in ``1/n`` and that of people drawn at random from a large population;
    :meth:`variance` is for given people and smaller by the variance of that drawing.

    Parameters
    ----------
    epsilon:
        Budget in nats, 0.0001 to 50.
    domain:
        Range of the answers; ``[-1, 1]`` when omitted.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> mechanism = BiSampleMD(3.0, NumericDomain(0, 10))
    >>> answers = np.where(rng.random(100_000) < 0.2, np.nan, 7.0)
    >>> estimates = mechanism.estimate(mechanism.aggregate(mechanism.perturb(answers, rng)))
    >>> estimates.mean.lower < 7 < estimates.mean.upper
    True
    >>> round(estimates.missing_rate.value, 2)
    0.2
    """

    epsilon: float
    domain: NumericDomain = field(default_factory=NumericDomain)
    _coin: SignCoin = field(init=False, repr=False)

    def __post_init__(self) -> None:
        require_domain(self.domain)
        object.__setattr__(self, "_coin", SignCoin(self.epsilon))

    @property
    def outputs(self) -> int:
        """Four: two bits."""
        return 4

    def perturb(
        self, values: ArrayLike, rng: np.random.Generator, preferences: ArrayLike | None = None
    ) -> NDArray[Any]:
        """One report per user, uint8, shape ``(n,)``.

        Parameters
        ----------
        values:
            Answers in the domain, NaN for none, shape ``(n,)``.
        rng:
            Source of randomness of the simulation.
        preferences:
            The largest epsilon that each person tolerates, in nats, shape ``(n,)``.
            Whoever tolerates less than ``epsilon`` does not answer (algorithm 3).

        Raises
        ------
        InputError
            Bad values, preferences or generator; nothing has been drawn then.
        """
        answers = self.domain.answers(values)
        tolerated = None if preferences is None else _tolerated(preferences, answers.size)
        inputs.generator(rng)
        reports = np.empty(answers.size, np.uint8)
        for part in chunks(answers.size):
            unit = self.domain.to_unit(answers[part])
            if tolerated is not None:
                unit[tolerated[part] < self.epsilon] = np.nan
            reports[part] = self._draw(unit, rng)
        return reports

    def estimate(self, aggregate: Aggregate, confidence: float = 0.95) -> NumericEstimates:
        """Mean of those who answered, their total, and the missing rate (eq. 18, 20).

        The mean has Fieller's interval. Where the reports cannot rule out that nobody
        answered, its status says so and the interval is the domain.

        Raises
        ------
        InputError
            No reports, or so few that one of the two sampling directions is missing.
        """
        n, theta = aggregate.users, self._coin.theta
        pair = _directions(self._histogram(aggregate), self._coin)
        signed, rate = pair.signed_sum(self._coin), pair.answer_rate(self._coin)
        variance, covariance = pair.variance / theta**2, pair.covariance / theta**2
        ratio = Ratio(signed, rate, variance, variance, covariance)
        return summarise_ratio(self.domain, n, ratio, confidence)

    def variance(self, values: ArrayLike) -> NumericVariance:
        """First-order variance of the estimates for these people, ``(n,)``, NaN allowed.

        Raises
        ------
        InputError
            Bad values, or nobody answered.
        """
        unit = self.domain.to_unit(self.domain.answers(values))
        answered = answers_given(unit)
        n, rate, mean = unit.size, answered.size / unit.size, float(answered.mean())
        drawn = first_order(self._coin.theta, rate, mean, n)
        center, radius = self.domain.center, self.domain.radius
        # Given people are not drawn: take off the variance of drawing them.
        people = float(np.var(np.where(np.isnan(unit), 0.0, center + radius * unit))) / n
        sums = (center**2 + radius**2) * drawn.signed_sum + 2 * center * radius * drawn.covariance
        return NumericVariance(
            radius**2 * (float(drawn.mean) - float(answered.var()) / (n * rate)),
            n**2 * (float(sums) - people),
            float(drawn.missing_rate) - rate * (1 - rate) / n,
        )

    def _draw(self, unit: Array, rng: np.random.Generator) -> NDArray[Any]:
        missing = np.isnan(unit)
        return _two_bits(self._threshold(unit, missing), missing, rng)

    def _law(self, unit: Array) -> Array:
        missing = np.isnan(unit)
        positive = self._threshold(unit, missing) / 2**32
        return _two_bit_law(positive, np.where(missing, positive, 1 - positive))

    def _threshold(self, unit: Array, missing: NDArray[np.bool_]) -> Array:
        # "No answer" is a 1 as rarely as possible in both directions.
        return self._coin.threshold(np.where(missing, -1.0, unit))


def prepare_value(values: ArrayLike, preferences: ArrayLike, epsilon: float) -> Array:
    """Answers of those who tolerate ``epsilon``, NaN for the others (algorithm 3).

    Parameters
    ----------
    values:
        True answers, shape ``(n,)``.
    preferences:
        The largest budget that each person tolerates, in nats, shape ``(n,)``.
    epsilon:
        Budget of the collection, in nats, above 0 and at most 50.

    Raises
    ------
    InputError
        Shapes differ, a preference is NaN, or the budget is out of range.

    Examples
    --------
    >>> prepare_value([0.5, -0.5], [1.0, 3.0], epsilon=2.0).tolist()
    [nan, -0.5]
    """
    answers = np.array(values, dtype=np.float64)
    tolerated = _tolerated(preferences, answers.size)
    answers[tolerated < arguments.budget("epsilon", epsilon)] = np.nan
    return answers


class _Directions(NamedTuple):
    """Frequencies of 1 in the two directions, and (co)variances of their sum and difference."""

    positive: float
    negative: float
    variance: float
    covariance: float

    def signed_sum(self, coin: SignCoin) -> float:
        return (self.positive - self.negative) / coin.theta

    def answer_rate(self, coin: SignCoin) -> float:
        return (self.positive + self.negative - (1 - coin.theta)) / coin.theta


def _directions(counts: NDArray[np.int64], coin: SignCoin) -> _Directions:
    of_negative, of_positive = int(counts[0] + counts[1]), int(counts[2] + counts[3])
    for name, size in (("positive", of_positive), ("negative", of_negative)):
        if size == 0:
            remedy = "Collect more reports: both sampling directions are needed."
            raise InputError(f"reports by {name} sampling", 0, "at least 1", remedy)
    # A frequency below what the noise alone gives is chance; so is a variance below it.
    f_pos, f_neg = int(counts[3]) / of_positive, int(counts[1]) / of_negative
    low = (1 - coin.theta) / 2
    inner = np.clip([f_pos, f_neg], low, 1 - low)
    v_pos, v_neg = inner * (1 - inner) / np.array([of_positive, of_negative])
    return _Directions(f_pos, f_neg, float(v_pos + v_neg), float(v_pos - v_neg))


def _two_bits(
    threshold: Array, missing: NDArray[np.bool_], rng: np.random.Generator
) -> NDArray[np.uint8]:
    """``2s + b``; in the negative direction an answer's bit is turned over."""
    bit = SignCoin.toss(threshold, rng)
    positive = rng.integers(2, size=bit.shape, dtype=np.bool_)
    bit ^= ~(positive | missing)
    return 2 * positive.view(np.uint8) + bit.view(np.uint8)


def _two_bit_law(positive: Array, negative: Array) -> Array:
    return np.column_stack([1 - negative, negative, 1 - positive, positive]) / 2


def _tolerated(preferences: ArrayLike, users: int) -> NDArray[Any]:
    column = np.asarray(preferences)
    if column.dtype.kind not in "iuf" or column.shape != (users,):
        allowed = f"a column of {users} numbers, one per user"
        remedy = "Give a preference for each of the values, in their order."
        raise InputError("preferences", preferences, allowed, remedy)
    for i in np.flatnonzero(np.isnan(column))[:1]:
        remedy = "Use 0 for a person who never answers, inf for one who always does."
        raise InputError(f"preferences[{i}]", float("nan"), "a number", remedy)
    return column
