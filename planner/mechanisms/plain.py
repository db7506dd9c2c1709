"""Counts of single items: what all their mechanisms share, and those of plain LDP in closed form.

A report *supports* item ``k`` with probability ``a_k`` if the user's item is ``k`` and ``b_k``
otherwise (a set bit, the reported item, a member of the reported subset, an item that hashes to
the reported value). Hence, whatever the mechanism,

    estimate   (count_k - n b_k) / (a_k - b_k)                  unbiased
    variance   n b_k (1-b_k) / (a_k-b_k)^2 + c_k (1-a_k-b_k) / (a_k-b_k)

with ``c_k`` the true count (Wang et al., USENIX Security 2017; IDUE paper, eq. 8).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import exp, expm1
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner import arguments
from planner.errors import InputError
from planner.estimates.counts import Estimates, SupportEstimates
from planner.laws.hashing import Hash
from planner.laws.levels import Levels
from planner.laws.shape import Shape
from planner.laws.sides import Sides
from planner.limits import DENOMINATOR
from planner.mechanisms import inputs
from planner.mechanisms.counting import Aggregate
from planner.policy import logodds

Array = NDArray[np.float64]
MAX_HASHING_EPSILON = 20.0
"""Beyond it there are too many hash values for a grid of 2^-32."""
_BELOW = 1 - 1e-15  # a float may err by one unit: stay below


def chances_of(law: Shape) -> tuple[Array, Array]:
    """Chances that a report supports each element, as the own one and as another."""
    support = law.support() or []
    if law.levels.dummies and len(support) == len(law.levels.names):
        support = [*support, support[law.levels.dummy_level]]
    counts = [count for count, _ in law.levels.members]
    own, other = np.repeat(np.array(support, dtype=np.float64), counts, axis=0).T
    return own, other


class FrequencyMechanism(ABC):
    """Interface of the mechanisms that estimate how many users have each item, from its law."""

    __slots__ = ()
    items: int

    @property
    @abstractmethod
    def law(self) -> Any:
        """The form of report with its whole numbers, which says how likely it supports an item."""

    @property
    def a(self) -> Array:
        """``Pr[report supports k | the user's item is k]`` as really drawn, shape ``(items,)``."""
        return chances_of(self.law)[0]

    @property
    def b(self) -> Array:
        """``Pr[report supports k | the user's item is another]``, shape ``(items,)``."""
        return chances_of(self.law)[1]

    def estimate(self, aggregate: Aggregate) -> Estimates:
        """Unbiased counts with standard errors, shape ``(items,)``, in users.

        The standard errors put the estimated counts, limited to ``[0, n]``, in
        place of the true ones in the exact variance. InputError for no users, or a wrong shape.
        """
        return linear_estimates(aggregate, self.a, self.b)

    def bias(self, true_counts: ArrayLike) -> Array:
        """Bias of each estimated count, shape ``(items,)``: none."""
        return np.zeros(inputs.true_counts(true_counts, self.items).size)

    def variance(self, true_counts: ArrayLike) -> Array:
        """Exact variance of each estimated count, shape ``(items,)``, in users squared.

        ``true_counts`` are the users of each item, shape ``(items,)``, ``n`` in all.
        """
        counts = inputs.true_counts(true_counts, self.items)
        noise, signal = self.variance_terms()
        return counts.sum() * noise + counts * signal

    def variance_terms(self) -> tuple[Array, Array]:
        """``(noise, signal)``: variance per user, and extra per user who has the item.

        Each of shape ``(items,)``; ``Var = n noise + c signal``.
        """
        a, b = self.a, self.b
        return logodds.noise_from_probabilities(a, b), logodds.signal_from_probabilities(a, b)

    def draw_aggregate(self, true_counts: ArrayLike, rng: np.random.Generator) -> Aggregate:
        """Support counts with the law that everybody's reports would give each of them.

        ``Binomial(c_k, a_k) + Binomial(n - c_k, b_k)`` per item; how counts depend on each other
        is left out.
        """
        counts = inputs.true_counts(true_counts, self.items)
        draw = inputs.generator(rng).binomial
        n = int(counts.sum())
        return Aggregate(n, draw(counts, self.a) + draw(n - counts, self.b))


@dataclass(frozen=True, slots=True)
class SubsetSelection(FrequencyMechanism):
    """Subset selection: every report is a set of ``d`` of the ``m`` items.

    Output law: a given set that contains the user's item has probability
    ``h / C(m-1, d-1)``, any other ``(1-h) / C(m-1, d)``, with
    ``h = d e^eps / (d e^eps + m - d)`` rounded down to a multiple of 2^-32 and
    ``d = round(m / (e^eps + 1))``, at least 1. Hence ``a = h`` and
    ``b = h (d-1)/(m-1) + (1-h) d/(m-1)``. The best order of error for every budget.

    Source: Ye and Barg (IEEE Trans. Inf. Theory 2018); Wang et al. (2016).

    Parameters
    ----------
    epsilon:
        Budget in nats, above 0 and at most 50.
    items:
        Number of items, at least 2.

    Examples
    --------
    >>> SubsetSelection(1.0, items=12).size
    3
    """

    epsilon: float
    items: int

    def __post_init__(self) -> None:
        arguments.budget("epsilon", self.epsilon)
        inputs.item_count(self.items)
        if self.held <= self.size * DENOMINATOR // self.items:
            raise _too_coarse(self.epsilon, self.items)

    @property
    def size(self) -> int:
        """Items per report, ``d``."""
        return max(1, round(self.items / (exp(self.epsilon) + 1)))

    @property
    def held(self) -> int:
        """``2^32 h``, a whole number."""
        d, m = self.size, self.items
        share = d * (1 + expm1(self.epsilon)) / (d * expm1(self.epsilon) + m)
        return min(int(share * DENOMINATOR * _BELOW), DENOMINATOR - 1)

    @property
    def law(self) -> Sides:
        """One type of one group."""
        weights = (((DENOMINATOR - self.held, self.held),),)
        return Sides(_alike(self.epsilon, self.items), (0,), ((self.size,),), weights, ())


class GeneralizedRandomizedResponse(SubsetSelection):
    """Generalised (k-ary) randomised response, also called direct encoding: subsets of one item.

    Output law, with ``m`` items: ``Pr[y = x] = e^eps / (e^eps + m - 1)``, rounded down to a
    multiple of 2^-32, and for each other item alike. Best for a handful of items, hopeless for
    thousands: the variance grows with ``m``.

    Source: Kairouz, Bonawitz and Ramage (ICML 2016); IDUE paper, section III-C.

    Parameters
    ----------
    epsilon, items:
        As of :class:`SubsetSelection`.

    Examples
    --------
    >>> mechanism = GeneralizedRandomizedResponse(np.log(4), items=5)
    >>> round(float(mechanism.variance([20, 20, 20, 20, 20]).sum() / 100), 2)  # table II: 4.89 n
    4.89
    """

    __slots__ = ()

    @property
    def size(self) -> int:
        """Items per report: 1."""
        return 1


@dataclass(frozen=True, slots=True)
class OptimizedLocalHashing(FrequencyMechanism):
    """Optimised local hashing (OLH): reports of constant size for any number of items.

    Output law: the user draws a seed, uniform over 2^32, and hashes the item to one of
    ``g = round(e^eps) + 1`` values (XXH32 of the item's four little-endian bytes,
    modulo ``g``); the value is told with a probability that is a multiple of 2^-32, else any value
    alike. Given the seed, hence whatever the hash, two items differ by a factor ``e^eps`` at most.

    A report supports the items that hash to its value: ``a`` is the chance of the own value,
    ``b = 1/g``, to within ``g 2^-32``. The variance is about that of OUE. Counting costs a hash
    per user and item.

    Source: Wang, Blocki, Li and Jha (USENIX Security 2017).

    Parameters
    ----------
    epsilon:
        Budget in nats, above 0 and at most 20 (``g`` must stay well below 2^32).
    items:
        Number of items, at least 2.

    Examples
    --------
    >>> OptimizedLocalHashing(1.0, items=1000).law.values
    4
    """

    epsilon: float
    items: int

    def __post_init__(self) -> None:
        inputs.item_count(self.items)
        if arguments.budget("epsilon", self.epsilon) > MAX_HASHING_EPSILON:
            remedy = "With so large a budget use generalised randomised response."
            allowed = f"above 0 and at most {MAX_HASHING_EPSILON:g}"
            raise InputError("epsilon", self.epsilon, allowed, remedy)
        if self.law.truth < 1:
            raise _too_coarse(self.epsilon, self.law.values)

    @property
    def law(self) -> Hash:
        """The value is the own one's with ``truth``, else any alike."""
        values, grown = round(exp(self.epsilon)) + 1, expm1(self.epsilon)
        truth = int(grown / (grown + values) * DENOMINATOR * _BELOW)
        return Hash(_alike(self.epsilon, self.items), "xxh32", truth, values)


def linear_estimates(aggregate: Aggregate, a: Array, b: Array) -> SupportEstimates:
    """``(count - n b) / (a - b)`` with standard errors, for probabilities of shape ``(items,)``."""
    require_counts(aggregate, a.shape)
    n = aggregate.users
    noise = logodds.noise_from_probabilities(a, b)
    signal = logodds.signal_from_probabilities(a, b)
    values = (aggregate.counts - n * b) / (a - b)
    variance = n * noise + np.clip(values, 0, n) * signal
    errors, null = np.sqrt(variance), np.sqrt(n * noise)
    return SupportEstimates(values, errors, null, n, aggregate.counts, a, b)


def require_counts(aggregate: Aggregate, shape: tuple[int, ...]) -> None:
    """InputError unless there are users, and counts of this shape."""
    if aggregate.users < 1:
        raise InputError("users", aggregate.users, "at least 1", "Collect reports first.")
    if aggregate.counts.shape != shape:
        remedy = "Count the reports with the mechanism that made them."
        raise InputError("counts", aggregate.counts.shape, f"of the shape {shape}", remedy)


def xxh32(number: NDArray[np.uint32], seed: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """XXH32 of four little-endian bytes, for whole arrays (broadcast) of numbers and seeds.

    The reference libraries hash one buffer a call; this is their algorithm for a
    four-byte buffer, and the tests compare the two.

    Examples
    --------
    >>> hex(xxh32(np.array([1], dtype=np.uint32), np.array([7], dtype=np.uint32))[0])
    '0x57848006'
    """
    u = np.uint32
    h = seed + u(374761393) + u(4) + number * u(3266489917)
    h = ((h << u(17)) | (h >> u(15))) * u(668265263)
    h = (h ^ (h >> u(15))) * u(2246822519)
    h = (h ^ (h >> u(13))) * u(3266489917)
    return h ^ (h >> u(16))


def _alike(epsilon: float, items: int) -> Levels:
    return Levels(("any answer",), (float(epsilon),), (int(items),), ((),))


def _too_coarse(epsilon: float, items: int) -> InputError:
    allowed = f"large enough for {items} items on a grid of 2^-32"
    return InputError("epsilon", epsilon, allowed, "Raise it or merge items.")
