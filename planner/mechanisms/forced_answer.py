"""Mechanisms that force an answer: whoever has none sends a fake one.

Each report has a number in ``[-1, 1]`` plus noise as its meaning, unbiased for the
value that was perturbed; the estimated mean is the mean of these numbers. A missing
answer (NaN) is replaced by a fake one *before* randomisation, so that missingness
does not leak, but the mean is then that of true and fake answers together:
the bias that BiSample-MD avoids (BiSample paper, section 5.2).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner import arguments
from planner.errors import InputError
from planner.estimates.means import Estimate, NumericEstimates, Ratio, large_sample
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.numeric import NumericMechanism, NumericVariance, SignCoin, require_domain
from planner.survey.numeric_domain import NumericDomain

FAKE_ANSWERS = ("random", "top")


@dataclass(frozen=True, slots=True)
class ForcedAnswerMechanism(NumericMechanism):
    """What the forced-answer mechanisms share.

    Parameters
    ----------
    epsilon:
        Budget in nats, 0.0001 to 50.
    domain:
        Range of the answers; ``[-1, 1]`` when omitted.
    fake_answer:
        What people without an answer send through the mechanism: ``"random"``, a
        uniform number (the paper's RND), or ``"top"``, the upper end (its TOP).
    """

    epsilon: float
    domain: NumericDomain = field(default_factory=NumericDomain)
    fake_answer: str = "random"

    def __post_init__(self) -> None:
        arguments.budget("epsilon", self.epsilon)
        require_domain(self.domain)
        if self.fake_answer not in FAKE_ANSWERS:
            remedy = "Leave it out: people with no answer then send a random one."
            raise InputError("fake_answer", self.fake_answer, '"random" or "top"', remedy)
        self._prepare()

    # -- what a subclass states ----------------------------------------------

    def _prepare(self) -> None:
        """Set derived fields."""

    @property
    @abstractmethod
    def output_values(self) -> NDArray[np.float64]:
        """The number in ``[-1, 1]`` plus noise that each report means, shape ``(outputs,)``."""

    @abstractmethod
    def _draw_answer(self, unit: NDArray[np.float64], rng: np.random.Generator) -> NDArray[Any]:
        """One report per value in ``[-1, 1]``."""

    @abstractmethod
    def _answer_law(self, unit: NDArray[np.float64]) -> NDArray[np.float64]:
        """``Pr[report | value]`` for values in ``[-1, 1]``."""

    @abstractmethod
    def _random_law(self) -> NDArray[np.float64]:
        """``Pr[report]`` for a uniformly random value in ``[-1, 1]``, shape ``(outputs,)``."""

    @abstractmethod
    def _second_moment(self, unit: NDArray[np.float64]) -> NDArray[np.float64]:
        """Expected square of the output value, for values in ``[-1, 1]``."""

    # -- what follows --------------------------------------------------------

    @property
    def outputs(self) -> int:
        """Number of different reports."""
        return self.output_values.size

    def estimate(self, aggregate: Aggregate, confidence: float = 0.95) -> NumericEstimates:
        """Mean and total of all answers, fake ones included, with intervals.

        The standard error comes from the sample variance of the reports' values,
        which also covers the sampling of the people from a larger population.
        """
        counts, values, n = self._histogram(aggregate), self.output_values, aggregate.users
        mean = float(counts @ values) / n
        spread = float(counts @ np.square(values)) / n - mean * mean
        extremes = np.array([-1.0, 0.0, 1.0])
        least = float(np.min(self._second_moment(extremes) - extremes**2))
        return summarise(self.domain, n, large_sample(mean, max(spread, least) / n, confidence))

    def variance(self, values: ArrayLike) -> NumericVariance:
        """Exact variance of the estimates for these people, ``(n,)`` answers, NaN allowed."""
        unit = self.domain.to_unit(self.domain.answers(values))
        unit, missing = unit[~np.isnan(unit)], int(np.isnan(unit).sum())
        fake = self._second_moment(np.ones(1))[0] - 1
        if self.fake_answer == "random":
            fake = float(self._random_law() @ np.square(self.output_values))
        each = float(np.sum(self._second_moment(unit) - np.square(unit))) + missing * fake
        n = unit.size + missing
        scale = self.domain.radius**2
        return NumericVariance(scale * each / n**2, scale * each)

    def _draw(self, unit: NDArray[np.float64], rng: np.random.Generator) -> NDArray[Any]:
        missing = np.isnan(unit)
        if self.fake_answer == "top":
            return self._draw_answer(np.where(missing, 1.0, unit), rng)
        return self._draw_answer(np.where(missing, rng.uniform(-1, 1, unit.size), unit), rng)

    def _law(self, unit: NDArray[np.float64]) -> NDArray[np.float64]:
        missing = np.isnan(unit)
        law = self._answer_law(np.where(missing, 1.0, unit))
        if self.fake_answer == "random":
            law[missing] = self._random_law()
        return law


@dataclass(frozen=True, slots=True)
class Harmony(ForcedAnswerMechanism):
    """Harmony: randomised response on a randomly rounded answer, one bit per person.

    Output law: ``Pr[1 | v] = (1 + theta v) / 2`` for the answer ``v`` mapped to
    ``[-1, 1]``, ``theta = tanh(eps/2)``; drawn on a 2^-32 grid (see
    :class:`~planner.mechanisms.numeric.SignCoin`). A report 1 means ``1/theta``, a 0
    means ``-1/theta``.

    Variance of the mean, exact for given people: ``(1/theta^2 - mean v^2) / n``, in
    squared radii of the domain. Forced answers as described in this module.

    Source: Nguyen et al., "Collecting and Analyzing Data from Smart Device Users with
    Local Differential Privacy" (2016); BiSample paper, algorithm 1.

    Examples
    --------
    >>> mechanism = Harmony(np.log(3), NumericDomain(0, 100))
    >>> mechanism.output_law([0, 100]).round(6).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    >>> estimates = mechanism.estimate(Aggregate(1000, np.array([400, 600])))
    >>> round(estimates.mean.value, 6), round(estimates.mean.standard_error, 3)
    (70.0, 3.098)
    """

    _coin: SignCoin = field(init=False, repr=False)

    def _prepare(self) -> None:
        object.__setattr__(self, "_coin", SignCoin(self.epsilon))

    @property
    def output_values(self) -> NDArray[np.float64]:
        """``-1/theta`` and ``1/theta``."""
        return np.array([-1.0, 1.0]) / self._coin.theta

    def _draw_answer(self, unit: NDArray[np.float64], rng: np.random.Generator) -> NDArray[Any]:
        return self._coin.toss(self._coin.threshold(unit), rng)

    def _answer_law(self, unit: NDArray[np.float64]) -> NDArray[np.float64]:
        one = self._coin.chance(unit)
        return np.column_stack([1 - one, one])

    def _random_law(self) -> NDArray[np.float64]:
        return self._answer_law(np.zeros(1))[0]  # the law is linear in the value

    def _second_moment(self, unit: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.full(unit.shape, 1 / self._coin.theta**2)


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
