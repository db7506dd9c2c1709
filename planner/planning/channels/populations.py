"""Assumed populations of a numeric question, as shares of the symbols of a grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import finite
from planner.designs.channel import Scenario
from planner.errors import InputError
from planner.survey.numeric_domain import NumericDomain

Array = NDArray[np.float64]
NO_ANSWER = "no answer"
_FIVE_MEANS = (-0.9, -0.5, 0.0, 0.5, 0.9)
USUAL_SPREAD = 0.3
NARROWEST = 1e-3  # spread, in radii


@dataclass(frozen=True, slots=True)
class AssumedAnswers:
    """Answers that are normal around a mean, those beyond an end moved to it; some refuse.

    Parameters
    ----------
    center:
        Mean of the normal law, in the question's unit, within its range. The mean of the
        answers is nearer to the middle if many lie beyond an end; :meth:`mean` gives it.
    spread:
        Its standard deviation, in the question's unit, at least 0.
    missing:
        Share of people without an answer, at least 0 and below 1.
    domain:
        Range of the answers; ``[-1, 1]`` when omitted.

    Raises
    ------
    InputError
        A number is out of range.

    Examples
    --------
    >>> assumed = AssumedAnswers(center=0.9, spread=0.3, missing=0.1)
    >>> round(assumed.mean, 4)
    0.8237
    >>> assumed.shares([-1, 0, 1]).round(4).tolist()
    [0.0001, 0.176, 0.8238]
    """

    center: float
    spread: float
    missing: float = 0.0
    domain: NumericDomain = NumericDomain()  # noqa: RUF009 - frozen

    def __post_init__(self) -> None:
        lower, upper = self.domain.lower, self.domain.upper
        if not lower <= finite("center", self.center) <= upper:
            remedy = "Give a center within the range of the answers."
            raise InputError("center", self.center, f"from {lower:g} to {upper:g}", remedy)
        if finite("spread", self.spread) < 0:
            remedy = "Give a spread of 0 or more; 0 puts everybody at the center."
            raise InputError("spread", self.spread, "at least 0", remedy)
        if not 0 <= finite("missing", self.missing) < 1:
            remedy = "Give the share of people without an answer, such as 0.1 for 10 %."
            raise InputError("missing", self.missing, "a share of at least 0 and below 1", remedy)

    @property
    def mean(self) -> float:
        """Mean of the answers, in the question's unit."""
        lower = self.domain.lower
        return float(lower + self._beyond(np.array([lower]))[0])

    def shares(self, grid: ArrayLike) -> Array:
        """Share of answers at each grid point after unbiased rounding, shape ``(points,)``.

        A value between two points goes to either with the chance that keeps its mean.
        ``grid`` rises from the lower to the upper end, in the question's unit.
        """
        points = np.asarray(grid, dtype=np.float64)
        beyond = self._beyond(points)
        slope = -np.diff(beyond) / np.diff(points)  # chance to be above, averaged over a cell
        shares: Array = np.concatenate([[1.0], slope]) - np.append(slope, 0.0)
        shares = np.maximum(shares, 0.0)
        return shares / shares.sum()

    def scenario(self, grid: ArrayLike) -> Scenario:
        """The error of the estimated mean, per person, to first order; people drawn at random.

        The wanted numbers are the sum of the answers and their number; the mean's error is
        that of ``sum - mean * number``, over the share that answers.
        """
        rate = 1 - self.missing
        population = np.append(rate * self.shares(grid), self.missing)
        name = f"mean {self.mean:.4g}, {self.missing:.0%} missing"
        return Scenario(name, population, np.array([[1.0, -self.mean]]) / rate, drawn=True)

    def _beyond(self, points: Array) -> Array:
        """Expected excess of an answer over each point of the range, shape ``(points,)``."""
        return self._excess(points) - self._excess(np.array([self.domain.upper]))

    def _excess(self, points: Array) -> Array:
        from scipy.special import ndtr

        above = self.center - points
        if self.spread == 0:
            return np.maximum(above, 0.0)
        z = above / self.spread
        density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        return np.asarray(self.spread * density + above * ndtr(z))


def five_populations(
    domain: NumericDomain | None = None, missing: float = 0.1, spread: float | None = None
) -> tuple[AssumedAnswers, ...]:
    """Five means over the range (-0.9, -0.5, 0, 0.5, 0.9 of ``[-1, 1]``), one spread.

    ``spread`` is 0.3 radii of the range when omitted.

    Examples
    --------
    >>> [one.center for one in five_populations(NumericDomain(0, 100))]
    [5.0, 25.0, 50.0, 75.0, 95.0]
    """
    domain = domain or NumericDomain()
    size = USUAL_SPREAD * domain.radius if spread is None else spread
    return tuple(
        AssumedAnswers(domain.center + domain.radius * place, size, missing, domain)
        for place in _FIVE_MEANS
    )
