"""Mechanisms as outsiders see them: what hides a pair of answers, best guess, largest weight.

One class for each shape of report. Each has the levels of its answers (``names``, ``sizes``), a
*blanket* for every pair of levels (:mod:`planner.outsiders.blanket`), the success of the best
guess, and by how many people one false report moves a count.

An observer who believes that answer ``x`` has probability ``pi_x`` guesses the answer that is
likeliest after the report. That succeeds with probability ``sum over y of max_x pi_x Pr[y | x]``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import number_column
from planner.errors import InputError
from planner.laws import bits, hashing, rows, staircase
from planner.laws.shape import Shape
from planner.limits import DENOMINATOR
from planner.mechanisms import subset_design
from planner.outsiders.blanket import Blanket
from planner.policy.policy import PrivacyPolicy
from planner.solvers.types import OutputTypes

Array = NDArray[np.float64]
_MOST_ITEMS = 1_000_000  # of which one is guessed


@dataclass(frozen=True, slots=True)
class Guess:
    """Probability that the best guess is right: from one report, and blind, without any."""

    success: float
    blind: float


@dataclass(frozen=True, eq=False)
class Seen(ABC):
    """A mechanism as outsiders see it: names of the levels of answers, and how many are of each."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    set_size = 0  # of item sets, how many answers a person has of whom one is guessed

    @abstractmethod
    def blanket(self, first: int, second: int) -> Blanket:
        """What hides two different answers of these levels, whatever others answer."""

    def guess(self, prior: ArrayLike | None = None) -> Guess | None:  # noqa: ARG002
        """Success of the best guess from one report, None where it is not known.

        ``prior`` has the probability of each answer, through the levels; all alike if omitted. Of
        item sets, without a prior only: of one answer of a person who has as many as are padded to.
        """
        return None

    def reach(self) -> Array | None:
        """By how many people one false report moves a count at most, by level, shape ``(t,)``.

        In place of an honest one: the larger of the largest weight, and 1 less the smallest. None
        where no counts are estimated.
        """
        return None


@dataclass(frozen=True, eq=False)
class Anything(Seen):
    """Whatever mechanism keeps a policy's pair budgets, e.g. one that is not chosen yet.

    Examples
    --------
    >>> any_one = Anything.of(PrivacyPolicy([1.0, 2.0], [1, 4], names=["severe", "common"]))
    >>> round(any_one.blanket(0, 1).local_epsilon, 6), any_one.guess()
    (1.0, None)
    """

    budgets: Array
    leakage: Array

    @classmethod
    def of(cls, policy: PrivacyPolicy) -> Anything:
        """Of a policy."""
        sizes = tuple(policy.item_counts.tolist())
        return cls(policy.names, sizes, policy.bounds(), policy.leakage_epsilons)

    def blanket(self, first: int, second: int) -> Blanket:
        worst = float(self.leakage[[first, second]].max())
        return Blanket.of_budget(float(self.budgets[first, second]), worst)


@dataclass(frozen=True, eq=False)
class Bits(Seen):
    """Unary encoding with bit probabilities per level: IDUE, RAPPOR, OUE; padded sets of such.

    Two answers' laws differ in their own two bits. Another's report has the law of "no item" in all
    bits but one, so ``omega`` is that law times ``min_z (1 - a_z)/(1 - b_z)``; four outcomes are
    left. A padded and sampled set's report has a mixture of its items' laws, dummies among them, so
    no two sets are told apart better than the worst pair of items.
    """

    counts: tuple[int, ...]  # without dummies
    a: Array
    b: Array
    set_size: int

    @classmethod
    def of(cls, law: bits.Bits) -> Bits:
        """Of whole numbers, padded to as many items as there are dummies."""
        levels, counts = law.levels, list(law.levels.item_counts)
        counts[levels.dummy_level] += levels.dummies
        a, b = (np.array(column) / DENOMINATOR for column in (law.a, law.b))
        return cls(levels.names, tuple(counts), levels.item_counts, a, b, levels.dummies)

    def blanket(self, first: int, second: int) -> Blanket:
        a, b = self.a, self.b
        pairs = (a[first], b[second]), (b[first], a[second]), (b[first], b[second])
        one, two, further = (np.multiply.outer(_bit(p), _bit(q)).ravel() for p, q in pairs)
        return Blanket.from_laws(one, two, [further * np.min((1 - a) / (1 - b))])

    def guess(self, prior: ArrayLike | None = None) -> Guess | None:
        """As :class:`Seen` says.

        All sets of as many answers as are padded to are taken as equally likely. If ``s`` is the
        success of guessing the answer that was sent, a wrong guess is any of the others alike, and
        right for one of the set all the same with probability ``(size - 1) / (items - 1)``.
        """
        items, size = sum(self.counts), self.set_size
        if items > _MOST_ITEMS or (size and (prior is not None or size > items)):
            return None
        a, b = (np.repeat(column, self.counts) for column in (self.a, self.b))
        sent = _guess(prior, items, lambda chances: _guessed_bits(a, b, chances))
        if not size:
            return sent
        success = sent.success + (1 - sent.success) * (size - 1) / max(items - 1, 1)
        return Guess(success, size / items)

    def reach(self) -> Array:
        return _reach_of_two(self.a, self.b, self.set_size or 1)


@dataclass(frozen=True, eq=False)
class Sides(Seen):
    """A type of report, and for every item the side that it stands on: subset designs.

    All splits of a type are alike but for the sides of single items, so ``omega`` is the type's
    weight times the smallest likelihood of a side on which anybody stands, and the outcomes of a
    pair are the types with the sides of ``x`` and ``x'``: four a type.

    Examples
    --------
    >>> from planner import randomized_response
    >>> ten = seen_of(randomized_response(1.0, items=10).shape)
    >>> round(ten.guess().success, 4), ten.reach().round(2).tolist()
    (0.232, [6.24])
    """

    types: OutputTypes
    groups: NDArray[np.int64]  # of each level of the policy
    counts: tuple[int, ...]  # answers of each
    estimator: Array

    @classmethod
    def of(cls, law: subset_design.Sides) -> Sides:
        """Of whole numbers; levels that differ in name alone are one."""
        groups, found = np.array(law.groups), [list[str]() for _ in law.counts]
        for name, group in zip(law.levels.names, law.groups, strict=True):
            found[group].append(name)
        called = tuple(
            ", ".join(x) if len(x) < 4 else f"{x[0]} and {len(x) - 1} more" for x in found
        )
        counts = law.levels.item_counts
        return cls(called, law.counts, law.output_types, groups, counts, law.estimator)

    def blanket(self, first: int, second: int) -> Blanket:
        """By the sides of two different answers of these levels."""
        types, one, two = self.types, first, second
        hiding = np.where(types.low_counts > 0, types.low, types.high).min(axis=1)
        if np.any((types.high[:, [one, two]].max(axis=1) > 0) & (hiding <= 0)):
            names = f"{self.names[one]!r}, {self.names[two]!r}"
            allowed = "connected to all others by finite pair budgets"
            raise InputError(f"levels {names}", "not", allowed, "Shuffling hides none of them.")
        likelihoods, counts = (types.low, types.high), (types.low_counts, types.high_counts)
        outcomes = []
        for left, right in product((0, 1), repeat=2):
            taken = int(one == two and left == right)  # the second stands beside the first
            share = counts[left][:, one] / self.sizes[one]
            share = share * np.maximum(counts[right][:, two] - taken, 0)
            share = share / (self.sizes[two] - int(one == two))
            there = (share > 0) & (hiding > 0)
            ratios = (likelihoods[left][:, one], likelihoods[right][:, two])
            columns = types.weights * hiding * share, *(ratio / hiding for ratio in ratios)
            outcomes.append([column[there] for column in columns])
        return Blanket(*map(np.concatenate, zip(*outcomes, strict=True))).merged()

    def guess(self, prior: ArrayLike | None = None) -> Guess | None:
        """As :class:`Seen` says; levels are split independently, so it is linear in the weights."""
        items = sum(self.counts)
        return None if items > _MOST_ITEMS else _guess(prior, items, self._guessed)

    def reach(self) -> Array:
        there = np.stack([self.types.low_counts > 0, self.types.high_counts > 0], axis=2)
        largest = np.max(np.where(there, self.estimator, -np.inf), axis=(0, 2))
        least = np.min(np.where(there, self.estimator, np.inf), axis=(0, 2))
        return np.maximum(largest, 1 - least)[self.groups]

    def _guessed(self, prior: Array) -> float:
        """The likeliest item of each level, high or at all; the likeliest of these, by type."""
        types, level_of = self.types, np.repeat(self.groups, self.counts)
        falling = [np.sort(prior[level_of == i])[::-1] for i in range(len(self.sizes))]
        total = 0.0
        for o, weight in enumerate(types.weights.tolist()):
            sides = zip(falling, types.low[o], types.high[o], types.high_counts[o], strict=True)
            total += weight * _mean_of_largest([_likeliest(*one) for one in sides])
        return total


@dataclass(frozen=True, eq=False)
class Rows(Seen):
    """Any mechanism with few outputs, by its law; each answer is a level of its own.

    ``law`` has ``Pr[report | answer]``, shape ``(answers, reports)``. Answers that are mixtures of
    these (values between the ends of an interval, say) are covered as well.

    Examples
    --------
    >>> rows = Rows.of(np.array([[0.75, 0.25], [0.25, 0.75]]), ("yes", "no"))
    >>> rows.blanket(0, 1).masses.tolist(), rows.guess()
    ([0.25, 0.25], Guess(success=0.75, blind=0.5))
    """

    law: Array

    @classmethod
    def of(cls, law: Array, names: tuple[str, ...]) -> Rows:
        """With a name for each answer."""
        return cls(names, (1,) * len(names), law)

    def blanket(self, first: int, second: int) -> Blanket:
        return Blanket.from_laws(self.law[first], self.law[second], self.law)

    def guess(self, prior: ArrayLike | None = None) -> Guess:
        def likeliest(chances: Array) -> float:
            return float(np.max(chances[:, None] * self.law, axis=0).sum())

        return _guess(prior, len(self.law), likeliest)


@dataclass(frozen=True, eq=False)
class Hashed(Seen):
    """Local hashing: given the seed, randomised response of the hash values.

    ``omega`` is ``q`` for every value. Seeds with which the two answers collide tell less: their
    W has the same mean within the range of the others', so "no collision" is the worst case,
    whatever the hash function.

    The guess takes hash values of different items as independent and uniform; XXH32 over all seeds
    is near to that.
    """

    p: float
    values: int
    levels: int

    @classmethod
    def of(cls, law: hashing.Hash) -> Hashed:
        """Of whole numbers."""
        levels, ((own, _), *_) = law.levels, law.support()
        return cls(("any answer",), (levels.total,), float(own), law.values, len(levels.names))

    def blanket(self, first: int, second: int) -> Blanket:
        del first, second
        q = (1 - self.p) / (self.values - 1)
        masses, ratios = np.array([q, q, q * (self.values - 2)]), np.array([self.p / q, 1.0, 1.0])
        there = masses > 0  # the one's value, the other's, any third
        return Blanket(masses[there], ratios[there], ratios[[1, 0, 2]][there])

    def guess(self, prior: ArrayLike | None = None) -> Guess:
        """Each value's likeliest item decides; the k-th item is first at its value by chance."""
        p, g = self.p, self.values

        def right(chances: Array) -> float:
            values, least = np.sort(chances)[::-1], (1 - p) / (g - 1) * float(chances.max())
            first = (1 - 1 / g) ** np.arange(chances.size)
            empty = g * (1 - 1 / g) ** chances.size
            return float(first @ np.maximum(p * values, least) + empty * least)

        return _guess(prior, self.sizes[0], right)

    def reach(self) -> Array:
        chances = np.array([self.p]), np.array([1 / self.values])
        return np.repeat(_reach_of_two(*chances), self.levels)


def seen_of(shape: Shape) -> Seen:
    """A form of report in whole numbers as outsiders see it."""
    return _KINDS[shape.name](shape)


def _any_two_sets(law: staircase.Staircase) -> Anything:
    """Any two sets are told apart by at most ``cap``, whatever they hold."""
    names, counts = law.levels.names, law.levels.item_counts
    return Anything.of(PrivacyPolicy([law.cap] * len(names), counts, names=names))


def _table(law: rows.Rows) -> Rows:
    return Rows.of(np.array(law.rows) / DENOMINATOR, tuple(law.levels.item_names()))


_KINDS: dict[str, Callable[[Any], Seen]] = {
    bits.Bits.name: Bits.of,
    subset_design.Sides.name: Sides.of,
    hashing.Hash.name: Hashed.of,
    staircase.Staircase.name: _any_two_sets,
    rows.Rows.name: _table,
}


def _bit(one: float) -> Array:
    return np.array([1 - one, one])


def _reach_of_two(a: Array, b: Array, length: int = 1) -> Array:
    """Of ``(count - n b) / (a - b)``, by item or level."""
    gap = (a - b) / length
    return np.maximum((1 - b) / gap, 1 + b / gap)


def _guess(prior: ArrayLike | None, items: int, success: Callable[[Array], float]) -> Guess:
    chances = np.full(items, 1 / items) if prior is None else number_column("prior", prior)
    if chances.shape != (items,) or chances.min() < 0 or abs(float(chances.sum()) - 1) > 1e-9:
        allowed = f"{items} probabilities that add up to 1"
        remedy = "Divide the numbers of people by their total; 0 for an answer that nobody has."
        raise InputError("prior", chances, allowed, remedy)
    return Guess(success(chances), float(chances.max()))


def _guessed_bits(a: Array, b: Array, prior: Array) -> float:
    """Success of the best guess from independent bits; O(m log m).

    Against the law of "no item", ``v = prior a/b`` and ``L = max prior (1-a)/(1-b)``. With items in
    falling order of v, the first set bit with ``v > L`` decides, else L:
    ``sum_k b_k v_k prod_(j < k) (1 - b_j) + L prod (1 - b)``.
    """
    values, least = prior * a / b, float(np.max(prior * (1 - a) / (1 - b)))
    order = np.argsort(-values, kind="stable")
    order = order[values[order] > least]
    before = np.concatenate([[1.0], np.cumprod(1 - b[order])])
    return float((b[order] * values[order]) @ before[:-1] + least * before[-1])


def _likeliest(prior: Array, low: float, high: float, high_count: int) -> tuple[Array, Array]:
    """Rising values of ``max prior v`` over a level's items, and the chances not to exceed them.

    The k-th likeliest item is the first on the high side if those before it all are on the low.
    """
    items = prior.size
    least = low * prior[0]
    if high_count == 0:
        return np.array([least]), np.ones(1)
    place = np.arange(items - high_count + 1)
    later = np.cumprod(1 - high_count / (items - place))  # no such item up to this one
    values = np.maximum(high * prior[: place.size], least)
    # Not above the k-th value: nobody before it is on the high side.
    at_most = np.concatenate([[1.0], later[:-1]])
    return values[::-1], at_most[::-1]


def _mean_of_largest(columns: list[tuple[Array, Array]]) -> float:
    """Mean of the largest of independent numbers, given by values and distribution functions."""
    values = np.unique(np.concatenate([column for column, _ in columns]))
    at_most = np.ones(values.size)
    for column, chances in columns:
        place = np.searchsorted(column, values, side="right")
        at_most *= np.concatenate([[0.0], chances])[place]
    return float(values @ np.diff(at_most, prepend=0.0))
