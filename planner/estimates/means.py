"""Estimated means, totals, missing rates and frequencies: named results, never a silent NaN.

The mean of those who answered is a ratio: what they said in total, over how many
they are. Its interval is Fieller's (the values ``m`` for which ``numerator - m *
denominator`` is compatible with 0). It covers as promised even when few answered,
and it says so when the reports cannot rule out that *nobody* answered: then no
bounded interval keeps its promise, and the range reported is the whole domain.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple

from planner.errors import InputError
from planner.estimates.counts import normal_quantile
from planner.frames import Framed

_QUANTITIES = ("mean", "total", "missing_rate", "frequency")
BOUNDED, UNBOUNDED, UNDEFINED = "bounded", "unbounded", "undefined"


@dataclass(frozen=True, slots=True)
class Estimate:
    """One estimated quantity.

    Attributes
    ----------
    value:
        The estimate, not clipped to its possible range (clipping would bias it);
        ``None`` if it is undefined.
    standard_error:
        Its estimated standard deviation, same unit; ``None`` if undefined.
    lower, upper:
        Ends of the interval, always finite.
    confidence:
        Share of repeated collections in which the interval covers the truth, by the
        large-sample normal approximation.
    status:
        ``"bounded"``: an ordinary interval. ``"unbounded"``: the reports do not
        limit the quantity, and the interval is its whole possible range.
        ``"undefined"``: there is no estimate either.
    note:
        The reason, as a sentence, unless the status is ``"bounded"``.
    """

    value: float | None
    standard_error: float | None
    lower: float
    upper: float
    confidence: float
    status: str = BOUNDED
    note: str = ""

    def scaled(self, offset: float, factor: float) -> Estimate:
        """The estimate of ``offset + factor * quantity``, for ``factor > 0``."""
        return Estimate(
            None if self.value is None else offset + factor * self.value,
            None if self.standard_error is None else factor * self.standard_error,
            offset + factor * self.lower,
            offset + factor * self.upper,
            self.confidence,
            self.status,
            self.note,
        )


@dataclass(frozen=True, slots=True, repr=False)
class NumericEstimates(Framed):
    """What a collector learns from ``users`` reports about a numeric question.

    Attributes
    ----------
    users:
        Number of reports.
    mean:
        Mean of those who answered, in the question's unit; of everybody, fake answers
        included, for a mechanism that forces an answer.
    total:
        Sum of the answers, in the question's unit.
    missing_rate:
        Share of users without an answer; ``None`` for a mechanism that forces one.
    frequency:
        Share of "yes" among those who answered; ``None`` unless the question is yes/no.
    """

    users: int
    mean: Estimate
    total: Estimate
    missing_rate: Estimate | None = None
    frequency: Estimate | None = None

    @property
    def summary(self) -> str:
        """How many reports are behind them."""
        return f"Estimates from {self.users:,} reports."

    def columns(self) -> dict[str, Any]:
        """One row a quantity that was estimated."""
        found = {name: getattr(self, name) for name in _QUANTITIES}
        found = {name: one for name, one in found.items() if one is not None}
        columns = ("value", "standard_error", "lower", "upper", "confidence", "status", "note")
        frame = {name: [getattr(one, name) for one in found.values()] for name in columns}
        return {"quantity": list(found), **frame}


class Ratio(NamedTuple):
    """Numerator and denominator estimates with their (co)variances, to estimate a ratio.

    Examples
    --------
    >>> ratio = Ratio(0.2, 0.5, 1e-4, 1e-4, 0.0).estimate(0.95, (-1.0, 1.0))
    >>> ratio.status, round(ratio.lower, 3), round(ratio.upper, 3)
    ('bounded', 0.358, 0.443)
    >>> Ratio(0.2, -0.01, 1e-4, 1e-4, 0.0).estimate(0.95, (-1.0, 1.0)).status
    'undefined'
    """

    numerator: float
    denominator: float
    numerator_variance: float
    denominator_variance: float
    covariance: float

    def estimate(self, confidence: float, possible: tuple[float, float]) -> Estimate:
        """Ratio, first-order standard error and Fieller's interval.

        ``possible`` is the range that the ratio can have: the interval when the
        denominator is not distinguishable from 0.
        """
        a, b = self.numerator, self.denominator
        z2 = _two_sided_quantile(confidence) ** 2
        if b <= 0:
            return unlimited(None, None, b, confidence, possible)
        value = a / b
        error = sqrt(max(self._variance_of_gap(value), 0.0)) / b
        square = b * b - z2 * self.denominator_variance
        if square <= 0:
            return unlimited(value, error, b, confidence, possible)
        middle = a * b - z2 * self.covariance
        constant = a * a - z2 * self.numerator_variance
        root = sqrt(max(middle * middle - square * constant, 0.0))
        lower, upper = (middle - root) / square, (middle + root) / square
        return Estimate(value, error, lower, upper, confidence)

    def _variance_of_gap(self, m: float) -> float:
        return self.numerator_variance - 2 * m * self.covariance + m * m * self.denominator_variance


def large_sample(value: float, variance: float, confidence: float) -> Estimate:
    """The normal-approximation interval of an unbiased estimate.

    Examples
    --------
    >>> large_sample(0.5, 0.01, 0.95).upper.__round__(3)
    0.696
    """
    error = sqrt(variance)
    half = _two_sided_quantile(confidence) * error
    return Estimate(value, error, value - half, value + half, confidence)


def unlimited(
    value: float | None,
    standard_error: float | None,
    answer_rate: float,
    confidence: float,
    possible: tuple[float, float],
) -> Estimate:
    """The mean where nobody may have answered: its interval is its whole possible range."""
    if value is None:
        status = UNDEFINED
        note = "The mean is undefined: as far as these reports show, nobody answered"
    else:
        status = UNBOUNDED
        note = "The reports cannot rule out that nobody answered, so they do not limit the mean"
    note += f" (estimated answer rate {answer_rate:.3g})."
    return Estimate(value, standard_error, *possible, confidence, status, note)


def _two_sided_quantile(confidence: float) -> float:
    if not (isinstance(confidence, int | float) and 0 < confidence < 1):
        allowed = "a share strictly between 0 and 1, such as 0.95"
        remedy = "Write 95 % as 0.95."
        raise InputError("confidence", confidence, allowed, remedy)
    return -normal_quantile((1 - confidence) / 2)
