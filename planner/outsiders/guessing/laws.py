"""The best guess of a person's answer from one report, exactly from the law of reports.

An observer who believes that answer ``x`` has probability ``pi_x`` guesses the answer that is
likeliest after the report. That succeeds with probability ``sum over y of max_x pi_x Pr[y | x]``.
In all mechanisms here ``Pr[y | x] = g(y) high_x`` if report y supports x, else ``g(y) low_x``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import number_column, whole_number
from planner.designs.output_types import OutputTypes
from planner.errors import InputError
from planner.mechanisms.direct import GeneralizedRandomizedResponse
from planner.mechanisms.hashing import OptimizedLocalHashing, xxh32
from planner.mechanisms.packed import unpack
from planner.mechanisms.subset import SubsetSelection
from planner.mechanisms.unary import UnaryMechanism
from planner.outsiders.guessing.designs import DesignGuessing
from planner.outsiders.guessing.reidentification import Likelihoods
from planner.policy.policy import PrivacyPolicy

Array = NDArray[np.float64]
_MOST_KINDS = 20_000  # of reports, to be listed


@dataclass(frozen=True, slots=True)
class Guess:
    """How well the best guess of an answer, or of one of a set of answers, does.

    Attributes
    ----------
    success:
        Probability that the best guess from one report is right.
    blind:
        The same without a report: the likeliest answer's probability.
    """

    success: float
    blind: float

    @property
    def lift(self) -> float:
        """``success / blind``, at least 1.

        No prior gives more than the uniform one (Braun, Chatzikokolakis and Palamidessi, 2009).
        """
        return self.success / self.blind


class GuessingLaw(Protocol):
    """A law of reports, as somebody who guesses sees it."""

    @property
    def items(self) -> int:
        """Number of answers."""

    def success(self, prior: Array) -> float:
        """``sum over y of max_x prior_x Pr[y | x]``, prior of shape ``(items,)``."""

    def likelihoods(self) -> Likelihoods | None:
        """Of all kinds of reports, if answers are alike; None where the kinds are too many."""


def best_guess(law: GuessingLaw, prior: ArrayLike | None = None) -> Guess:
    """Success of the best guess from one report under a prior.

    Parameters
    ----------
    law:
        The law of reports.
    prior:
        Probability of each answer, shape ``(items,)``; all alike if omitted, which gives the
        largest lift that any prior gives.

    Examples
    --------
    >>> guess = best_guess(SubsetGuessing.of(GeneralizedRandomizedResponse(1.0, 100)))
    >>> round(guess.success, 4), round(guess.lift, 2)
    (0.0267, 2.67)
    """
    chances = np.full(law.items, 1 / law.items) if prior is None else _checked(prior, law.items)
    return Guess(law.success(chances), float(chances.max()))


def any_mechanism_success(policy: PrivacyPolicy, prior: ArrayLike | None = None) -> float:
    """Bound for every mechanism that keeps a policy's pair budgets.

    ``success <= min_x0 max_x prior_x e^r(x, x0)``: compare each report's law with that of one
    answer ``x0``. Items are numbered through the levels; under the rule min the smallest budget
    caps the lift.

    Examples
    --------
    >>> policy = PrivacyPolicy([1.0, 2.0], [5, 95])
    >>> round(any_mechanism_success(policy), 4)
    0.0272
    """
    counts = policy.item_counts
    level_of = np.repeat(np.arange(policy.size), counts)
    size = int(counts.sum())
    chances = np.full(size, 1 / size) if prior is None else _checked(prior, size)
    likeliest = np.zeros(policy.size)
    np.maximum.at(likeliest, level_of, chances)
    factors = np.exp(np.minimum(policy.bounds(), 700))
    own = [float(chances[level_of == i].min()) for i in range(policy.size)]
    columns = factors * likeliest[:, None]
    for i in np.flatnonzero(counts == 1):
        columns[i, i] = own[i]  # the only item of its level, against itself
    return min(1.0, float(columns.max(axis=0).min()))


@dataclass(frozen=True, slots=True, eq=False)
class MatrixGuessing:
    """A law with few reports: ``Pr[report | answer]``, shape ``(answers, reports)``."""

    law: Array

    @property
    def items(self) -> int:
        """Number of answers."""
        return len(self.law)

    def success(self, prior: Array) -> float:
        """As the formula says."""
        return float(np.max(prior[:, None] * self.law, axis=0).sum())

    def likelihoods(self) -> Likelihoods:
        """One kind a report."""
        law = self.law[:, self.law.max(axis=0) > 0].T
        return Likelihoods.of(np.ones(len(law)), law, np.full(law.shape, 1 / self.items))


@dataclass(frozen=True, slots=True, eq=False)
class UnaryGuessing:
    """Independent bits with probabilities ``a`` and ``b`` per item.

    Against the law of "no item", ``high = a/b`` and ``low = (1-a)/(1-b)``. With ``L = max
    prior low`` and items in falling order of ``v = prior high``, the first set bit with ``v > L``
    decides, else L: ``success = sum_k b_k v_k prod_(j < k) (1 - b_j) + L prod (1 - b)``.

    Examples
    --------
    >>> law = UnaryGuessing.of(UnaryMechanism.rappor(1.0, items=3))
    >>> round(law.success(np.full(3, 1 / 3)), 6)
    0.46579
    """

    a: Array
    b: Array

    @classmethod
    def of(cls, mechanism: UnaryMechanism) -> UnaryGuessing:
        """The law of a mechanism as it is really drawn."""
        return cls(mechanism.a, mechanism.b)

    @property
    def items(self) -> int:
        """Number of answers."""
        return self.a.size

    @property
    def high(self) -> Array:
        """Likelihood of the items that a report supports, against "no item"."""
        return self.a / self.b

    @property
    def low(self) -> Array:
        """Likelihood of the others."""
        return (1 - self.a) / (1 - self.b)

    def supports(self, reports: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which items each packed report supports, shape ``(n, items)``."""
        return unpack(reports, self.items).astype(bool)

    def success(self, prior: Array) -> float:
        """As the class says; O(m log m)."""
        values, least = prior * self.high, float(np.max(prior * self.low))
        order = np.argsort(-values, kind="stable")
        order = order[values[order] > least]
        unset = np.cumprod(1 - self.b[order])
        before = np.concatenate([[1.0], unset])
        return float((self.b[order] * values[order]) @ before[:-1] + least * before[-1])

    def likelihoods(self) -> Likelihoods | None:
        """By how many items of each pair ``(a, b)`` a report supports."""
        pairs, counts = np.unique(np.column_stack([self.a, self.b]), axis=0, return_counts=True)
        if np.prod(counts + 1.0) > _MOST_KINDS:
            return None
        supported = np.indices(tuple(counts + 1)).reshape(counts.size, -1).T
        a, b = pairs.T
        weights = np.prod(_binomial(supported, counts, b), axis=1)
        sides = np.hstack(
            [
                np.broadcast_to(a / b, supported.shape),
                np.broadcast_to((1 - a) / (1 - b), supported.shape),
            ]
        )
        shares = np.hstack([supported, counts - supported]) / self.items
        return Likelihoods.of(weights, sides, shares)


def guess_of_set(items: GuessingLaw, size: int) -> Guess:
    """Success of guessing one of the ``size`` answers of a person from one report.

    All sets of this size are taken as equally likely, and one answer of the set is sent as by
    unary encoding, without padding. If ``s`` is the success of guessing the answer that was sent,
    a wrong guess is any of the others alike, and right for one of the set all the same with
    probability ``(size - 1) / (items - 1)``.

    Parameters
    ----------
    items:
        The law of single items, such as of their bits.
    size:
        ``l``, the padding length; at most the number of items.

    Examples
    --------
    >>> guess = guess_of_set(UnaryGuessing.of(UnaryMechanism.rappor(1.0, items=4)), size=2)
    >>> round(guess.success, 4), guess.blind
    (0.582, 0.5)
    """
    whole_number("size", size, most=items.items)
    sent = items.success(np.full(items.items, 1 / items.items))
    other = (size - 1) / max(items.items - 1, 1)
    return Guess(sent + (1 - sent) * other, size / items.items)


@dataclass(frozen=True, slots=True, eq=False)
class SubsetGuessing:
    """A set of ``size`` items, with the true one in it with probability ``held``.

    Randomised response reports sets of one item. Against sets drawn alike,
    ``high = held m / size`` and ``low = (1 - held) m / (m - size)``; the likeliest item of the set
    decides, or the likeliest of all if none of the set is likely enough.
    """

    items: int
    size: int
    held: float

    @classmethod
    def of(cls, mechanism: SubsetSelection | GeneralizedRandomizedResponse) -> SubsetGuessing:
        """The law of a mechanism as it is really drawn."""
        size = getattr(mechanism, "size", 1)
        return cls(mechanism.items, size, float(mechanism.a[0]))

    @property
    def high(self) -> Array:
        """Likelihood of the items in a set, against sets drawn alike."""
        return np.full(self.items, self.held * self.items / self.size)

    @property
    def low(self) -> Array:
        """Likelihood of the others."""
        return np.full(self.items, (1 - self.held) * self.items / (self.items - self.size))

    def supports(self, reports: NDArray[np.int64] | NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which items each report supports, shape ``(n, items)``."""
        if reports.ndim == 1:
            return np.arange(self.items) == reports[:, None]
        return unpack(reports.astype(np.uint64), self.items).astype(bool)

    def success(self, prior: Array) -> float:
        """That of a subset design with this one type of reports."""
        low, high = ([[float(side[0])]] for side in (self.low, self.high))
        types = OutputTypes([self.items], [1.0], low, high, [[self.size]])
        return DesignGuessing(types, np.zeros(self.items, dtype=np.int64)).success(prior)

    def likelihoods(self) -> Likelihoods:
        """All reports are of one kind."""
        held = np.array([[self.high[0], self.low[0]]])
        return Likelihoods.of(
            np.ones(1), held, np.array([[self.size, self.items - self.size]]) / self.items
        )


@dataclass(frozen=True, slots=True, eq=False)
class HashGuessing:
    """Randomised response of one of ``values`` hash values, with the seed in the report.

    ``success`` takes hash values of different items as independent and uniform; XXH32 over all
    seeds is near to that, and the simulation uses the real one.
    """

    items: int
    values: int
    p: float
    q: float

    @classmethod
    def of(cls, mechanism: OptimizedLocalHashing) -> HashGuessing:
        """The law of a mechanism as it is really drawn."""
        p = float(mechanism.a[0])
        return cls(mechanism.items, mechanism.values, p, (1 - p) / (mechanism.values - 1))

    @property
    def high(self) -> Array:
        """Likelihood of the items that hash to the reported value."""
        return np.full(self.items, self.p)

    @property
    def low(self) -> Array:
        """Likelihood of the others."""
        return np.full(self.items, self.q)

    def supports(self, reports: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Which items hash to each report's value, shape ``(n, items)``."""
        seeds, values = reports.T[:, :, None]
        hashed = xxh32(np.arange(self.items, dtype=np.uint32), seeds)
        return hashed % np.uint32(self.values) == values

    def success(self, prior: Array) -> float:
        """Each value's likeliest item decides; the k-th item is first at its value by chance."""
        values = np.sort(prior)[::-1]
        least = self.q * float(values[0])
        first = (1 - 1 / self.values) ** np.arange(self.items)
        empty = self.values * (1 - 1 / self.values) ** self.items
        return float(first @ np.maximum(self.p * values, least) + empty * least)

    def likelihoods(self) -> Likelihoods:
        """By how many items hash to the reported value, taken as independent and uniform."""
        hashed = np.arange(self.items + 1)
        chances = _binomial(hashed, self.items, 1 / self.values)
        there = chances > 0
        sides = np.broadcast_to([self.p, self.q], (int(there.sum()), 2))
        shares = np.column_stack([hashed, self.items - hashed])[there] / self.items
        return Likelihoods.of(self.values * chances[there], sides, shares)


def _binomial(hits: NDArray[np.int64], draws: ArrayLike, chance: ArrayLike) -> Array:
    """Probability of so many hits; scipy.stats would take half a second to load."""
    from scipy.special import gammaln, xlog1py, xlogy

    misses = np.asarray(draws) - hits
    ways = gammaln(np.asarray(draws) + 1.0) - gammaln(hits + 1.0) - gammaln(misses + 1.0)
    logs = ways + xlogy(hits, chance) + xlog1py(misses, -np.asarray(chance))
    return np.asarray(np.exp(logs))


def _checked(prior: ArrayLike, items: int) -> Array:
    chances = number_column("prior", prior)
    if chances.shape != (items,):
        allowed = f"one probability per answer, shape ({items},)"
        remedy = "Give 0 for an answer that nobody has."
        raise InputError("prior", chances.shape, allowed, remedy)
    for x in np.flatnonzero(chances < 0)[:1]:
        remedy = "Give 0 for an answer that nobody has."
        raise InputError(f"prior[{x}]", float(chances[x]), "not negative", remedy)
    if abs(float(chances.sum()) - 1) > 1e-9:
        remedy = "Divide the numbers of people by their total."
        raise InputError("sum of prior", float(chances.sum()), "1", remedy)
    return chances
