"""What the numeric mechanisms share: coins, the interface, histograms of reports.

Answers are numbers in ``[lower, upper]``; NaN means "no answer". Every answer, NaN
included, is perturbed: nothing about a person leaves a mechanism unrandomised.
Reports are whole numbers, one per user, from 0 to ``outputs - 1``, and the
aggregate is their histogram.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil, exp
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner import arguments
from planner.errors import InputError
from planner.estimates.means import NumericEstimates
from planner.limits import DENOMINATOR
from planner.mechanisms import inputs
from planner.mechanisms.aggregate import Aggregate
from planner.survey.numeric_domain import NumericDomain

__all__ = [
    "NumericDomain",
    "NumericMechanism",
    "NumericVariance",
    "SignCoin",
    "answers_given",
    "chunks",
    "require_domain",
    "require_drawable",
]

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

    def threshold(self, unit: NDArray[np.float64]) -> NDArray[np.float64]:
        """``T(v)``: whole numbers from ``low`` to ``2^32 - low``."""
        return np.rint(self.low + (unit + 1) * (DENOMINATOR / 2 - self.low))

    def chance(self, unit: NDArray[np.float64]) -> NDArray[np.float64]:
        """``Pr[1 | v]``, a multiple of 2^-32."""
        return self.threshold(unit) / DENOMINATOR

    @staticmethod
    def toss(threshold: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.bool_]:
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
    def _draw(self, unit: NDArray[np.float64], rng: np.random.Generator) -> NDArray[Any]:
        """One report per value in ``[-1, 1]`` or NaN."""

    @abstractmethod
    def _law(self, unit: NDArray[np.float64]) -> NDArray[np.float64]:
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

    def output_law(self, values: ArrayLike | None = None) -> NDArray[np.float64]:
        """``Pr[report | answer]``, shape ``(len(values), outputs)``, exactly as drawn.

        Without ``values``: for the lower end, the middle (not for a yes/no question),
        the upper end and no answer.
        """
        ends = [self.domain.lower, self.domain.upper]
        middle = [] if self.domain.yes_no else [self.domain.center]
        chosen = [*ends[:1], *middle, *ends[1:], np.nan] if values is None else values
        return self._law(self.domain.to_unit(self.domain.answers(chosen)))

    def report_index(self, reports: ArrayLike) -> NDArray[np.int64]:
        """The column of :meth:`output_law` of each report: the report itself."""
        return np.asarray(reports, dtype=np.int64)

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


def answers_given(unit: NDArray[np.float64]) -> NDArray[np.float64]:
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
