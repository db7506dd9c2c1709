"""Several numeric answers of one person: each person reports one of them, picked at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.errors import InputError
from planner.estimates.means import NumericEstimates
from planner.mechanisms import inputs
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.bisample import BiSample
from planner.mechanisms.forced_answer import ForcedAnswerMechanism
from planner.mechanisms.numeric import NumericMechanism, chunks


@dataclass(frozen=True, slots=True, init=False)
class SampledAttributes:
    """One attribute per person, uniformly at random, through its own mechanism.

    Output law: attribute ``j`` of ``d`` with probability ``1/d``, then the law of
    mechanism ``j``. Which attribute is reported does not depend on the answers, so
    nobody spends more than the largest of the mechanisms' budgets. A report is one
    whole number: the mechanism's report, after the outputs of the mechanisms before it.

    Variance: that of mechanism ``j`` for the ``~ n/d`` people who report attribute
    ``j``, plus the variance of drawing them.

    Source: Nguyen et al. (2016), algorithm 4; BiSample paper, theorem 3, whose constants
    :meth:`error_bound` makes explicit.

    Parameters
    ----------
    mechanisms:
        One numeric mechanism per attribute, at least one.

    Raises
    ------
    InputError
        No mechanism, or something that is not a numeric mechanism.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> several = SampledAttributes([BiSample(1.0), BiSample(1.0)])
    >>> answers = np.tile([0.5, -0.25], (200_000, 1))
    >>> estimates = several.estimate(several.aggregate(several.perturb(answers, rng)))
    >>> [e.mean.lower < truth < e.mean.upper for e, truth in zip(estimates, (0.5, -0.25))]
    [True, True]
    >>> several.error_bound(200_000, beta=0.05).round(3).tolist()
    [0.022, 0.022]
    """

    mechanisms: tuple[NumericMechanism, ...]

    def __init__(self, mechanisms: Sequence[NumericMechanism]) -> None:
        chosen = tuple(mechanisms)
        if not chosen or not all(isinstance(one, NumericMechanism) for one in chosen):
            allowed = "one numeric mechanism per attribute, at least one"
            remedy = "Write SampledAttributes([Piecewise(1.0), Hybrid(1.0)])."
            raise InputError("mechanisms", mechanisms, allowed, remedy)
        object.__setattr__(self, "mechanisms", chosen)

    @property
    def attributes(self) -> int:
        """Number of attributes, ``d``."""
        return len(self.mechanisms)

    @property
    def outputs(self) -> int:
        """Number of different reports."""
        return int(self._offsets[-1])

    def perturb(self, values: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """One report per user, shape ``(n,)``, for answers of shape ``(n, d)``, NaN allowed.

        Raises
        ------
        InputError
            A value outside its domain or no generator; nothing has been drawn then.
        """
        table = np.asarray(values)
        if table.ndim != 2 or table.shape[1] != self.attributes:
            allowed = f"a table with one row per user and {self.attributes} columns"
            raise InputError(
                "values", table.shape, allowed, "Give a column per mechanism, in their order."
            )
        columns = [
            one.domain.answers(table[:, j], f"values[:, {j}]")
            for j, one in enumerate(self.mechanisms)
        ]
        attribute = inputs.generator(rng).integers(self.attributes, size=len(table))
        reports = np.empty(len(table), np.int64)
        for j, mechanism in enumerate(self.mechanisms):
            users = np.flatnonzero(attribute == j)
            if users.size:
                drawn = mechanism.perturb(columns[j][users], rng)
                reports[users] = drawn.astype(np.int64) + self._offsets[j]
        return reports

    def aggregate(self, reports: ArrayLike) -> Aggregate:
        """Histogram of the reports, shape ``(outputs,)``."""
        numbers = inputs.item_numbers(reports, self.outputs, "reports")
        counts = np.zeros(self.outputs, np.int64)
        for part in chunks(numbers.size):
            counts += np.bincount(numbers[part], minlength=self.outputs)
        return Aggregate(numbers.size, counts)

    def estimate(self, aggregate: Aggregate, confidence: float = 0.95) -> list[NumericEstimates]:
        """Estimates of each attribute, from the people who reported it.

        Totals are those of the people who reported the attribute, about ``1/d`` of all.

        Raises
        ------
        InputError
            Nobody reported some attribute.
        """
        if aggregate.counts.shape != (self.outputs,):
            allowed = f"a histogram of {self.outputs} cells"
            remedy = "Count the reports by aggregate of these mechanisms."
            raise InputError("counts", aggregate.counts.shape, allowed, remedy)
        parts = np.split(aggregate.counts, self._offsets[1:-1])
        return [
            mechanism.estimate(Aggregate(int(part.sum()), part), confidence)
            for mechanism, part in zip(self.mechanisms, parts, strict=True)
        ]

    def output_law(self, values: ArrayLike) -> NDArray[np.float64]:
        """``Pr[report | answers]``, shape ``(rows, outputs)``, for answers ``(rows, d)``."""
        table = np.asarray(values, dtype=np.float64)
        laws = [one.output_law(table[:, j]) for j, one in enumerate(self.mechanisms)]
        return np.hstack(laws) / self.attributes

    def privacy_loss(self) -> float:
        """The largest loss of the mechanisms, in nats: a person uses only one."""
        return max(mechanism.privacy_loss() for mechanism in self.mechanisms)

    def error_bound(self, users: int, beta: float = 0.05) -> NDArray[np.float64]:
        """Errors that no attribute's mean exceeds, with probability ``1 - beta``, ``(d,)``.

        The constants behind theorem 3, for mechanisms that force an answer. A mean is
        taken over ``c`` groups in all, each user in a given one with probability ``1/c``
        (``c = 2d`` for BiSample's two directions, ``d`` else). Half of ``beta`` pays for
        groups smaller than ``(1 - delta) n/c`` (Chernoff),

            delta = sqrt(2 c ln(2c / beta) / n),

        the other half for the means (Hoeffding for samples without replacement; the
        two directions of BiSample are negatively associated, so their errors
        concentrate as if independent), of outputs within ``[-B, B]``:

            |estimate - mean| <= B sqrt(2 d ln(4d / beta) / ((1 - delta) n)).

        ``B = 1/theta ~ 2/eps`` for BiSample and Harmony gives the theorem's order.
        ``inf`` where ``delta >= 1``: too few users for any promise.

        Parameters
        ----------
        users:
            Number of people ``n``, at least 1.
        beta:
            Probability of a larger error in some attribute, strictly between 0 and 1.

        Raises
        ------
        InputError
            Out of range, or a mechanism whose mean is a ratio (BiSample-MD, PrivKVM).
        """
        if users < 1:
            raise InputError(
                "users", users, "at least 1", "Give the number of people who will report."
            )
        if not 0 < beta < 1:
            remedy = "Write 0.05 for a bound that holds in 95 of 100 cases."
            raise InputError("beta", beta, "a probability strictly between 0 and 1", remedy)
        return np.array([self._bound(one, users, beta) for one in self.mechanisms])

    def _bound(self, mechanism: NumericMechanism, n: int, beta: float) -> float:
        if not isinstance(mechanism, ForcedAnswerMechanism):
            remedy = "Use the intervals of the estimates instead."
            raise InputError("mechanism", type(mechanism).__name__, "a forced-answer one", remedy)
        d = self.attributes
        groups = 2 * d if any(isinstance(one, BiSample) for one in self.mechanisms) else d
        delta = sqrt(2 * groups * log(2 * groups / beta) / n)
        largest = float(np.abs(mechanism.output_values).max())
        if delta >= 1:
            return inf
        spread = sqrt(2 * d * log(4 * d / beta) / ((1 - delta) * n))
        return mechanism.domain.radius * largest * spread

    @property
    def _offsets(self) -> NDArray[np.int64]:
        return np.cumsum([0, *(mechanism.outputs for mechanism in self.mechanisms)])
