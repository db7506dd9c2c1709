"""What the frequency mechanisms for single items share: support counts and their law.

A report *supports* item ``k`` with probability ``a_k`` if the user's item is ``k``
and ``b_k`` otherwise (a set bit, the reported item, a member of the reported subset,
an item that hashes to the reported value). Hence, whatever the mechanism,

    estimate   (count_k - n b_k) / (a_k - b_k)                  unbiased
    variance   n b_k (1-b_k) / (a_k-b_k)^2 + c_k (1-a_k-b_k) / (a_k-b_k)

with ``c_k`` the true count (Wang et al., USENIX Security 2017; IDUE paper, eq. 8).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.errors import InputError
from planner.estimates.counts import Estimates
from planner.estimates.support import SupportEstimates
from planner.mechanisms import inputs
from planner.mechanisms.aggregate import Aggregate
from planner.policy import logodds


class FrequencyMechanism(ABC):
    """Interface of the mechanisms that estimate how many users have each item.

    A subclass states its law: ``items``, ``a``, ``b``, :meth:`perturb`,
    :meth:`aggregate`, :meth:`privacy_loss`, :meth:`output_law` and
    :meth:`report_index`.
    """

    __slots__ = ()
    items: int
    takes_sets: ClassVar[bool] = False
    """Whether a person's answer is a set of items; here it is one item."""

    @property
    @abstractmethod
    def a(self) -> NDArray[np.float64]:
        """``Pr[report supports k | the user's item is k]``, shape ``(items,)``."""

    @property
    @abstractmethod
    def b(self) -> NDArray[np.float64]:
        """``Pr[report supports k | the user's item is another]``, shape ``(items,)``."""

    @abstractmethod
    def perturb(self, values: ArrayLike, rng: np.random.Generator) -> NDArray[Any]:
        """One report per user, first axis ``n``, for item numbers of shape ``(n,)``."""

    @abstractmethod
    def aggregate(self, reports: NDArray[Any]) -> Aggregate:
        """Support counts per item, shape ``(items,)``."""

    @abstractmethod
    def privacy_loss(self) -> float:
        """Largest log-ratio of the output law over all pairs of items, in nats."""

    @abstractmethod
    def output_law(self) -> NDArray[np.float64]:
        """``Pr[report | item]`` as a matrix (items x reports), for small domains."""

    @abstractmethod
    def report_index(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """The column of :meth:`output_law` that each report belongs to, shape ``(n,)``."""

    def estimate(self, aggregate: Aggregate) -> Estimates:
        """Unbiased counts with standard errors, shape ``(items,)``, in users.

        The standard errors put the estimated counts, limited to ``[0, n]``, in
        place of the true ones in the exact variance.

        Raises
        ------
        InputError
            No users, or counts of the wrong shape.
        """
        return linear_estimates(aggregate, self.a, self.b)

    def bias(self, true_counts: ArrayLike) -> NDArray[np.float64]:
        """Bias of each estimated count, shape ``(items,)``: none."""
        return np.zeros(inputs.true_counts(true_counts, self.items).size)

    def variance(self, true_counts: ArrayLike) -> NDArray[np.float64]:
        """Exact variance of each estimated count, shape ``(items,)``, in users squared.

        Parameters
        ----------
        true_counts:
            Number of users per item, shape ``(items,)``; they sum to ``n``.
        """
        counts = inputs.true_counts(true_counts, self.items)
        return self._variance(counts.astype(np.float64), int(counts.sum()))

    def draw_aggregate(self, true_counts: ArrayLike, rng: np.random.Generator) -> Aggregate:
        """An aggregate with the law that perturbing everybody would give, without reports.

        ``Binomial(c_k, a_k) + Binomial(n - c_k, b_k)`` per item.
        """
        counts = inputs.true_counts(true_counts, self.items)
        draw = inputs.generator(rng).binomial
        n = int(counts.sum())
        return Aggregate(n, draw(counts, self.a) + draw(n - counts, self.b))

    @property
    def largest_set(self) -> int:
        """Items per user: one."""
        return 1

    def variance_terms(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """``(noise, signal)``: variance per user, and extra per user who has the item.

        Each of shape ``(items,)``; ``Var = n noise + c signal``.
        """
        noise = logodds.noise_from_probabilities(self.a, self.b)
        return noise, logodds.signal_from_probabilities(self.a, self.b)

    def _variance(self, counts: NDArray[np.float64], users: int) -> NDArray[np.float64]:
        noise, signal = self.variance_terms()
        return users * noise + counts * signal


class ItemReports(FrequencyMechanism):
    """A mechanism whose reports are item numbers, int64, shape ``(n,)``."""

    __slots__ = ()

    def aggregate(self, reports: ArrayLike) -> Aggregate:
        """How often each item was reported, shape ``(items,)``."""
        numbers = self.report_index(reports)
        return Aggregate(numbers.size, np.bincount(numbers, minlength=self.items))

    def report_index(self, reports: ArrayLike) -> NDArray[np.int64]:
        """The reported item itself."""
        return inputs.item_numbers(reports, self.items, "reports")


def linear_estimates(
    aggregate: Aggregate, a: NDArray[np.float64], b: NDArray[np.float64]
) -> SupportEstimates:
    """``(count - n b) / (a - b)`` with standard errors, for probabilities of shape ``(items,)``.

    Raises
    ------
    InputError
        No users, or counts of the wrong shape.
    """
    n = aggregate.users
    if n < 1:
        raise InputError("users", n, "at least 1", "Collect reports first.")
    if aggregate.counts.shape != a.shape:
        allowed = f"one count per item, shape {a.shape}"
        remedy = "Count the reports with the mechanism that made them."
        raise InputError("counts", aggregate.counts.shape, allowed, remedy)
    noise = logodds.noise_from_probabilities(a, b)
    signal = logodds.signal_from_probabilities(a, b)
    values = (aggregate.counts - n * b) / (a - b)
    variance = n * noise + np.clip(values, 0, n) * signal
    errors, null = np.sqrt(variance), np.sqrt(n * noise)
    return SupportEstimates(values, errors, null, n, aggregate.counts, a, b)
