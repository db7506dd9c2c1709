"""Mechanisms for a mean: BiSample-MD and channels, with missing answers as one more input.

Answers are numbers in ``[lower, upper]``; NaN means "no answer", and is perturbed like every
other: nothing about a person leaves a mechanism unrandomised. Reports are whole numbers, one per
user, from 0 to ``outputs - 1``, and the aggregate is their histogram.

Source: BiSample paper (Sun, Ye, Zhao, Lu and Yang), algorithms 3 and 4, equations 15 to 20. Where
it errs, this module uses the right form: the sum ``s`` is over users *with* ``eps_u >= eps`` (the
paper prints ``<``), and for a domain ``[L, U]`` the report stays two bits and the estimate is
rescaled.
Channels: docs/theory/channels.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil, exp
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner import arguments
from planner.errors import InputError
from planner.estimates.channel import wanted_estimates
from planner.estimates.means import Estimate, NumericEstimates, Ratio, large_sample
from planner.limits import DENOMINATOR
from planner.mechanisms import inputs
from planner.mechanisms.counting import Aggregate
from planner.mechanisms.rounding import drawn_channel, integers_of
from planner.solvers.answers import Channel
from planner.survey.numeric_domain import NumericDomain

Array = NDArray[np.float64]
_CHUNK = 2**15  # users at a time: a dozen temporaries stay in the processor's cache
_MIN_EPSILON = 1e-4


@dataclass(frozen=True, slots=True)
class SignCoin:
    """Randomised response on the randomly rounded sign of a value in ``[-1, 1]``.

    ``Pr[1 | v] = T(v) / 2^32`` with ``T`` whole, linear in ``v`` up to rounding, from
    ``low`` at -1 to ``2^32 - low`` at 1: ``(1 + theta v) / 2``. ``low`` is
    ``2^32 / (e^eps + 1)`` rounded up, so that the log-ratio of any two inputs never
    exceeds ``epsilon`` (it is below it for ``epsilon > 22``, where the grid ends).

    Raises
    ------
    InputError
        ``epsilon`` outside 0.0001 to 50.
    """

    epsilon: float
    low: int = field(init=False)

    def __post_init__(self) -> None:
        require_drawable(self.epsilon)
        # The factor outweighs all rounding of the float: up means private.
        object.__setattr__(self, "low", ceil(DENOMINATOR / (exp(self.epsilon) + 1) * (1 + 2**-40)))

    @property
    def theta(self) -> float:
        """``2p - 1``, as drawn: ``tanh(eps/2)`` up to the grid."""
        return (DENOMINATOR - 2 * self.low) / DENOMINATOR

    def threshold(self, unit: Array) -> Array:
        """``T(v)``: whole numbers from ``low`` to ``2^32 - low``."""
        return np.rint(self.low + (unit + 1) * (DENOMINATOR / 2 - self.low))

    def chance(self, unit: Array) -> Array:
        """``Pr[1 | v]``, a multiple of 2^-32."""
        return self.threshold(unit) / DENOMINATOR

    @staticmethod
    def toss(threshold: Array, rng: np.random.Generator) -> NDArray[np.bool_]:
        """One draw per threshold: true with probability ``threshold / 2^32``, exactly."""
        word = rng.integers(DENOMINATOR, size=threshold.shape, dtype=np.uint32)
        return word < threshold.astype(np.uint32)


class NumericVariance(NamedTuple):
    """Variances of the estimates, each in its unit squared; ``None`` where not estimated."""

    mean: float
    total: float
    missing_rate: float | None = None


class NumericMechanism(ABC):
    """Interface of the mechanisms for one numeric answer per person.

    A subclass states its law (:meth:`_law`, :meth:`_draw`) on ``[-1, 1]`` and how to
    estimate from the histogram of its reports.
    """

    __slots__ = ()
    epsilon: float
    domain: NumericDomain

    @property
    @abstractmethod
    def outputs(self) -> int:
        """Number of different reports."""

    @abstractmethod
    def estimate(self, aggregate: Aggregate, confidence: float = 0.95) -> NumericEstimates:
        """Estimates with standard errors and intervals."""

    @abstractmethod
    def variance(self, values: ArrayLike) -> NumericVariance:
        """Variance of the estimates for these people, one true answer (or NaN) each."""

    @abstractmethod
    def _draw(self, unit: Array, rng: np.random.Generator) -> NDArray[Any]:
        """One report per value in ``[-1, 1]`` or NaN."""

    @abstractmethod
    def _law(self, unit: Array) -> Array:
        """``Pr[report | value]``, shape ``(values, outputs)``, values in ``[-1, 1]`` or NaN."""

    def perturb(self, values: ArrayLike, rng: np.random.Generator) -> NDArray[Any]:
        """One report per user, shape ``(n,)``, for answers of shape ``(n,)``, NaN allowed.

        Raises
        ------
        InputError
            A value outside the domain, or no generator; nothing has been drawn then.
        """
        answers = self.domain.answers(values)
        inputs.generator(rng)
        reports = np.empty(answers.size, np.min_scalar_type(self.outputs - 1))
        for part in chunks(answers.size):
            reports[part] = self._draw(self.domain.to_unit(answers[part]), rng)
        return reports

    def aggregate(self, reports: ArrayLike) -> Aggregate:
        """Histogram of the reports, shape ``(outputs,)``."""
        numbers = np.asarray(reports)
        if numbers.dtype.kind not in "iu" or numbers.ndim != 1 or numbers.size == 0:
            allowed = "a column of whole numbers, one report per user, not empty"
            raise InputError(
                "reports", reports, allowed, "Pass on what perturb returned, unchanged."
            )
        if numbers.min() < 0 or numbers.max() >= self.outputs:
            first = int(np.flatnonzero((numbers < 0) | (numbers >= self.outputs))[0])
            allowed = f"from 0 to {self.outputs - 1}"
            remedy = "Read the reports with the mechanism that made them."
            raise InputError(f"reports[{first}]", int(numbers[first]), allowed, remedy)
        counts = np.zeros(self.outputs, dtype=np.int64)
        for part in chunks(numbers.size):
            counts += np.bincount(numbers[part], minlength=self.outputs)
        return Aggregate(numbers.size, counts)

    def output_law(self, values: ArrayLike | None = None) -> Array:
        """``Pr[report | answer]``, shape ``(len(values), outputs)``, exactly as drawn.

        Without ``values``: for the lower end, the middle (not for a yes/no question),
        the upper end and no answer.
        """
        ends = [self.domain.lower, self.domain.upper]
        middle = [] if self.domain.yes_no else [self.domain.center]
        chosen = [*ends[:1], *middle, *ends[1:], np.nan] if values is None else values
        return self._law(self.domain.to_unit(self.domain.answers(chosen)))

    def privacy_loss(self) -> float:
        """Largest log-ratio of the output law over all pairs of answers, in nats.

        Attained between the ends of the domain and "no answer": every law is a
        mixture of, or monotone between, the laws at those.
        """
        law = self.output_law()
        law = law[:, law.max(axis=0) > 0]
        return float(np.max(np.log(law.max(axis=0)) - np.log(law.min(axis=0))))

    def _histogram(self, aggregate: Aggregate) -> NDArray[np.int64]:
        if aggregate.users < 1:
            raise InputError("users", aggregate.users, "at least 1", "Collect reports first.")
        counts = aggregate.counts
        if counts.shape != (self.outputs,) or counts.sum() != aggregate.users:
            allowed = f"a histogram of {self.outputs} cells that sums to the number of users"
            raise InputError(
                "counts", counts, allowed, "Count the reports by aggregate of this mechanism."
            )
        return counts


def require_drawable(epsilon: float) -> None:
    """Check that a mechanism for numbers can be drawn with a budget on the grid of 2^-32.

    Raises
    ------
    InputError
        ``epsilon`` outside 0.0001 to 50.
    """
    arguments.budget("epsilon", epsilon)
    if epsilon < _MIN_EPSILON:
        remedy = "A smaller budget drowns any answer; draw probabilities are on a 2^-32 grid."
        raise InputError("epsilon", epsilon, f"at least {_MIN_EPSILON:g}", remedy)


def require_domain(domain: object) -> None:
    """Check that a range is one; InputError if not."""
    if not isinstance(domain, NumericDomain):
        remedy = "Write NumericDomain(0, 100) for answers from 0 to 100."
        raise InputError("domain", domain, "a NumericDomain(lower, upper)", remedy)


def chunks(size: int) -> Iterator[slice]:
    """Slices that cover ``range(size)``, each small enough for the processor's cache."""
    return (slice(start, min(start + _CHUNK, size)) for start in range(0, size, _CHUNK))


def answers_given(unit: Array) -> Array:
    """Those of the true answers that are not missing (NaN).

    Raises
    ------
    InputError
        There is none.
    """
    answered = unit[~np.isnan(unit)]
    if answered.size == 0:
        remedy = "The mean is undefined, nobody answered."
        raise InputError("values", "NaN for everybody", "a number for somebody", remedy)
    return answered


@dataclass(frozen=True, slots=True)
class BiSampleMD(NumericMechanism):
    """BiSample-MD: BiSample with "no answer" (NaN) as one more input, equally protected.

    Output law, for the answer ``v`` mapped to ``[-1, 1]``, ``theta = tanh(eps/2)``:

        Pr[s = 1, b = 1] = (1 + theta v)/4      Pr[s = 1, b = 0] = (1 - theta v)/4
        Pr[s = 0, b = 1] = (1 - theta v)/4      Pr[s = 0, b = 0] = (1 + theta v)/4

    and for NaN ``Pr[s, b = 1] = (1 - p)/2``, ``Pr[s, b = 0] = p/2``, ``p = e^eps / (e^eps + 1)``,
    on a 2^-32 grid; the report is the number ``2s + b``. With ``R`` the share who answer,
    ``E[f_pos + f_neg] = 2(1-p) + theta R`` and ``E[f_pos - f_neg] = theta R mean``,
    whence the estimates (eq. 18, 20).

    Variance: see :func:`first_order`. It is
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


class FirstOrder(NamedTuple):
    """First-order variances of BiSample-MD's estimates, on ``[-1, 1]``; any one shape."""

    mean: Array
    missing_rate: Array
    signed_sum: Array
    covariance: Array


def first_order(theta: ArrayLike, rate: ArrayLike, mean: ArrayLike, users: float) -> FirstOrder:
    """Variances of BiSample-MD's estimates for people drawn at random, on ``[-1, 1]``.

    With ``q_pos = theta R (1 + mu)/2 + 1 - p``, ``q_neg = theta R (1 - mu)/2 + 1 - p``
    and ``v = q (1 - q)``, by the delta method,

        Var[missing rate] = (2/n) (v_pos + v_neg) / theta^2
        Var[mean]         = (2/n) ((1-mu)^2 v_pos + (1+mu)^2 v_neg) / (theta R)^2

    Parameters
    ----------
    theta:
        ``tanh(eps/2)``, above 0.
    rate:
        Share ``R`` of people who answer; the mean's variance is ``inf`` where it is 0.
    mean:
        Mean ``mu`` of those who answer, in ``[-1, 1]``.
    users:
        Number of reports ``n``.

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
    return FirstOrder(ratio, sums, sums, 2 / users * (v_pos - v_neg) / theta**2)


@dataclass(frozen=True, slots=True, eq=False)
class MeanChannelMechanism(NumericMechanism):
    """A channel over even grid points of the range and "no answer" (NaN).

    Output law: an answer between two grid points is rounded to either at random, without bias;
    then ``Pr[report y | symbol x] = integers[x, y] / 2^32``. With ``values[:, y]`` what a report
    adds to the sum of the answers on ``[-1, 1]`` and to their number, both unbiased, the mean is
    the estimated sum over the estimated number.

    Variance: to first order that of ``sum - mean * number`` over the squared number; exact for
    the linear estimates. Intervals are Fieller's.

    Source: docs/theory/channels.md; made by :func:`~planner.planning.channels.best_channel`.

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
        drawn = drawn_channel(channel)
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


def summarise(
    domain: NumericDomain,
    users: int,
    mean: Estimate,
    total: Estimate | None = None,
    missing_rate: Estimate | None = None,
) -> NumericEstimates:
    """Bring a mean in ``[-1, 1]`` to the domain's unit, with its total and frequency.

    ``total``, when given, is in the domain's unit already.
    """
    in_unit = mean.scaled(domain.center, domain.radius)
    whole = in_unit.scaled(0.0, users) if total is None else total
    frequency = mean.scaled(0.5, 0.5) if domain.yes_no else None
    return NumericEstimates(users, in_unit, whole, missing_rate, frequency)


def summarise_ratio(
    domain: NumericDomain, users: int, ratio: Ratio, confidence: float
) -> NumericEstimates:
    """Mean, total and missing rate from the sum of the answers over their number.

    Both are on ``[-1, 1]`` and per person. The mean has Fieller's interval.
    """
    center, radius = domain.center, domain.radius
    total = users * (center * ratio.denominator + radius * ratio.numerator)
    spread = radius**2 * ratio.numerator_variance + center**2 * ratio.denominator_variance
    spread += 2 * center * radius * ratio.covariance
    return summarise(
        domain,
        users,
        ratio.estimate(confidence, (-1.0, 1.0)),
        large_sample(total, users**2 * spread, confidence),
        large_sample(1 - ratio.denominator, ratio.denominator_variance, confidence),
    )
