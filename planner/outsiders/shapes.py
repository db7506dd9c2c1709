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
from planner.limits import DENOMINATOR
from planner.mechanisms.itemsets import PaddedUnaryMechanism
from planner.mechanisms.means import MeanMechanism
from planner.mechanisms.plain import (
    GeneralizedRandomizedResponse,
    OptimizedLocalHashing,
    SubsetSelection,
)
from planner.mechanisms.rounding import drawn_design
from planner.mechanisms.set_design import SetDesignMechanism
from planner.mechanisms.unary import thresholds_above, thresholds_below
from planner.outsiders.blanket import Blanket
from planner.policy.policy import PrivacyPolicy
from planner.solvers.answers import Channel, SubsetDesign, UnaryTable
from planner.solvers.types import OutputTypes

Array = NDArray[np.float64]
_MOST_ITEMS = 1_000_000  # of which one is guessed


@dataclass(frozen=True, slots=True)
class Guess:
    """Probability that the best guess is right: from one report, and blind, without any."""

    success: float
    blind: float


class Seen(ABC):
    """A mechanism as outsiders see it."""

    set_size: int | None = None
    """Of item sets, how many answers a person has of whom one is guessed; else None."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """One name per level of answers."""

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, ...]:
        """Number of answers of each level."""

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
    >>> any_one = Anything(PrivacyPolicy([1.0, 2.0], [1, 4], names=["severe", "common"]))
    >>> round(any_one.blanket(0, 1).local_epsilon, 6), any_one.guess()
    (1.0, None)
    """

    policy: PrivacyPolicy

    @property
    def names(self) -> tuple[str, ...]:
        return self.policy.names

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(self.policy.item_counts.tolist())

    def blanket(self, first: int, second: int) -> Blanket:
        worst = float(self.policy.leakage_epsilons[[first, second]].max())
        return Blanket.of_budget(float(self.policy.bounds()[first, second]), worst)


@dataclass(frozen=True, eq=False)
class Bits(Seen):
    """Unary encoding with bit probabilities per level: IDUE, RAPPOR, OUE; padded sets of such.

    Two answers' laws differ in their own two bits. Another's report has the law of "no item" in all
    bits but one, so ``omega`` is that law times ``min_z (1 - a_z)/(1 - b_z)``; four outcomes are
    left. A padded and sampled set's report has a mixture of its items' laws, dummies among them, so
    no two sets are told apart better than the worst pair of items.

    Parameters
    ----------
    policy:
        Levels and how many items each has.
    a, b:
        Bit probabilities per level as they are drawn, shape ``(t,)``, ``0 < b < a < 1``.
    set_size, dummy_level:
        Of item sets, what they are padded to, and the level that the dummies are drawn like.

    Examples
    --------
    >>> bits = Bits(PrivacyPolicy([1.0], [3]), np.array([0.5]), np.array([0.25]))
    >>> bits.blanket(0, 0).mass < 1, round(bits.guess().success, 4), bits.reach().tolist()
    (True, 0.4792, [3.0])
    """

    policy: PrivacyPolicy
    a: Array
    b: Array
    set_size: int | None = None
    dummy_level: int = 0

    def __post_init__(self) -> None:
        for i in np.flatnonzero(~((self.b > 0) & (self.b < self.a) & (self.a < 1)))[:1]:
            pair = (float(self.a[i]), float(self.b[i]))
            remedy = "Is b, the chance of a false 1, swapped with a?"
            raise InputError(f"(a, b) of level {i}", pair, "such that 0 < b < a < 1", remedy)

    @classmethod
    def of(cls, table: UnaryTable, set_size: int | None = None, dummy_level: int = 0) -> Bits:
        """The law of a table as its mechanism really draws it, rounded to the private side."""
        a, b = thresholds_below(table.a), thresholds_above(table.b)
        return cls(table.policy, a / DENOMINATOR, b / DENOMINATOR, set_size, dummy_level)

    @property
    def names(self) -> tuple[str, ...]:
        return self.policy.names

    @property
    def sizes(self) -> tuple[int, ...]:
        counts = self.policy.item_counts.copy()
        counts[self.dummy_level] += self.set_size or 0
        return tuple(counts.tolist())

    def blanket(self, first: int, second: int) -> Blanket:
        pair, further = self._two_bits(first, second), self._no_item(first, second)
        return Blanket.from_laws(*pair, [further * np.min((1 - self.a) / (1 - self.b))])

    def guess(self, prior: ArrayLike | None = None) -> Guess | None:
        """As :class:`Seen` says.

        All sets of as many answers as are padded to are taken as equally likely. If ``s`` is the
        success of guessing the answer that was sent, a wrong guess is any of the others alike, and
        right for one of the set all the same with probability ``(size - 1) / (items - 1)``.
        """
        counts = self.policy.item_counts
        items = int(counts.sum())
        if items > _MOST_ITEMS:
            return None
        a, b = (np.repeat(column, counts) for column in (self.a, self.b))
        size = self.set_size
        if size is None:
            return _guess(prior, items, lambda chances: _guessed_bits(a, b, chances))
        if prior is not None or size > items:
            return None
        sent = _guessed_bits(a, b, np.full(items, 1 / items))
        return Guess(sent + (1 - sent) * (size - 1) / max(items - 1, 1), size / items)

    def reach(self) -> Array:
        return _reach_of_two(self.a, self.b, self.set_size or 1)

    def _two_bits(self, first: int, second: int) -> tuple[Array, Array]:
        one = np.multiply.outer(_bit(self.a[first]), _bit(self.b[second])).ravel()
        two = np.multiply.outer(_bit(self.b[first]), _bit(self.a[second])).ravel()
        return one, two

    def _no_item(self, first: int, second: int) -> Array:
        return np.multiply.outer(_bit(self.b[first]), _bit(self.b[second])).ravel()


@dataclass(frozen=True, eq=False)
class Sides(Seen):
    """A type of report, and for every item the side that it stands on: subset designs.

    All splits of a type are alike but for the sides of single items, so ``omega`` is the type's
    weight times the smallest likelihood of a side on which anybody stands, and the outcomes of a
    pair are the types with the sides of ``x`` and ``x'``: four a type.

    Parameters
    ----------
    types:
        The types as drawn, by level or group of levels.
    answers:
        One name per level of the types.
    groups:
        Level of the types of each level of the policy, shape ``(t,)``.
    items:
        Answers of each level of the policy, shape ``(t,)``.
    estimator:
        What a report adds to an item's count, by type, level and side, shape ``(n, ., 2)``.

    Examples
    --------
    >>> ten = seen_of(GeneralizedRandomizedResponse(1.0, items=10), PrivacyPolicy([1.0], [10]))
    >>> round(ten.guess().success, 4), ten.reach().round(2).tolist()
    (0.232, [6.24])
    """

    types: OutputTypes
    answers: tuple[str, ...]
    groups: NDArray[np.int64]
    items: NDArray[np.int64]
    estimator: Array

    @classmethod
    def of_design(cls, design: SubsetDesign) -> Sides:
        """The law of a design as its client rounds it.

        Raises
        ------
        VerificationError, InputError
            It cannot be drawn: see :func:`planner.mechanisms.rounding.round_types`.
        """
        types, counts = drawn_design(design).types, design.policy.item_counts
        estimator = types.estimator(design.prior)
        return cls(types, design.group_names, design.groups, counts, estimator)

    @classmethod
    def of_selection(cls, items: int, size: int, held: float, policy: PrivacyPolicy) -> Sides:
        """Sets of ``size`` items with the own one among them with probability ``held``."""
        low, high = (1 - held) * items / (items - size), held * items / size
        types = OutputTypes([items], [1.0], [[low]], [[high]], [[size]])
        other = (size - held) / (items - 1)
        weights = np.array([[[-other, 1 - other]]]) / (held - other)
        groups = np.zeros(policy.size, dtype=np.int64)
        return cls(types, ("any answer",), groups, policy.item_counts, weights)

    @property
    def names(self) -> tuple[str, ...]:
        return self.answers

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(int(count) for count in self.types.item_counts)

    def blanket(self, first: int, second: int) -> Blanket:
        types = self.types
        sides = np.where(types.low_counts > 0, types.low, types.high)
        hiding = sides.min(axis=1)
        sent = types.high[:, [first, second]].max(axis=1) > 0
        if np.any(sent & (hiding <= 0)):
            names = f"{self.names[first]!r}, {self.names[second]!r}"
            allowed = "connected to all others by finite pair budgets"
            raise InputError(f"levels {names}", "not", allowed, "Shuffling hides none of them.")
        return self._seen((first, second), hiding)

    def guess(self, prior: ArrayLike | None = None) -> Guess | None:
        """As :class:`Seen` says; levels are split independently, so it is linear in the weights."""
        items = int(self.items.sum())
        if items > _MOST_ITEMS:
            return None
        return _guess(prior, items, self._guessed)

    def reach(self) -> Array:
        there = np.stack([self.types.low_counts > 0, self.types.high_counts > 0], axis=2)
        largest = np.max(np.where(there, self.estimator, -np.inf), axis=(0, 2))
        least = np.min(np.where(there, self.estimator, np.inf), axis=(0, 2))
        return np.maximum(largest, 1 - least)[self.groups]

    def _guessed(self, prior: Array) -> float:
        """The likeliest item of each level, high or at all; the likeliest of these, by type."""
        level_of = np.repeat(self.groups, self.items)
        levels = range(self.types.item_counts.size)
        falling = [np.sort(prior[level_of == i])[::-1] for i in levels]
        total = 0.0
        for o, weight in enumerate(self.types.weights.tolist()):
            sides = zip(
                self.types.low[o], self.types.high[o], self.types.high_counts[o], strict=True
            )
            columns = [_likeliest(column, *one) for column, one in zip(falling, sides, strict=True)]
            total += weight * _mean_of_largest(columns)
        return total

    def _seen(self, pair: tuple[int, int], hiding: Array) -> Blanket:
        """By the sides of two different answers of these levels; ``hiding`` likelihoods by type."""
        types, (one, two) = self.types, pair
        counts = types.low_counts, types.high_counts
        masses, first, second = [], [], []
        for left, right in product((0, 1), repeat=2):
            taken = int(one == two and left == right)  # the second stands beside the first
            share = counts[left][:, one] / self.sizes[one]
            share = share * np.maximum(counts[right][:, two] - taken, 0)
            share = share / (self.sizes[two] - int(one == two))
            there = (share > 0) & (hiding > 0)
            masses.append((types.weights * hiding * share)[there])
            first.append(((types.low, types.high)[left][:, one] / hiding)[there])
            second.append(((types.low, types.high)[right][:, two] / hiding)[there])
        return Blanket(*map(np.concatenate, (masses, first, second))).merged()


@dataclass(frozen=True, eq=False)
class Rows(Seen):
    """Any mechanism with few outputs, by its law; each answer is a level of its own.

    Parameters
    ----------
    law:
        ``Pr[report | answer]``, shape ``(answers, reports)``. Answers that are mixtures of these
        (values between the ends of an interval, say) are covered as well.
    answers:
        One name per answer.

    Examples
    --------
    >>> rows = Rows(np.array([[0.75, 0.25], [0.25, 0.75]]), ("yes", "no"))
    >>> rows.blanket(0, 1).masses.tolist(), rows.guess()
    ([0.25, 0.25], Guess(success=0.75, blind=0.5))
    """

    law: Array
    answers: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return self.answers

    @property
    def sizes(self) -> tuple[int, ...]:
        return (1,) * len(self.names)

    def blanket(self, first: int, second: int) -> Blanket:
        return Blanket.from_laws(self.law[first], self.law[second], self.law)

    def guess(self, prior: ArrayLike | None = None) -> Guess:
        return _guess(
            prior,
            len(self.law),
            lambda chances: float(np.max(chances[:, None] * self.law, axis=0).sum()),
        )


@dataclass(frozen=True, eq=False)
class Hashed(Seen):
    """Local hashing: given the seed, randomised response of the hash values.

    ``omega`` is ``q`` for every value. Seeds with which the two answers collide tell less: their
    W has the same mean within the range of the others', so "no collision" is the worst case,
    whatever the hash function.

    The guess takes hash values of different items as independent and uniform; XXH32 over all seeds
    is near to that.
    """

    mechanism: OptimizedLocalHashing
    policy: PrivacyPolicy

    @property
    def names(self) -> tuple[str, ...]:
        return ("any answer",)

    @property
    def sizes(self) -> tuple[int, ...]:
        return (self.mechanism.items,)

    def blanket(self, first: int, second: int) -> Blanket:
        return self._response().blanket(first, second)

    def guess(self, prior: ArrayLike | None = None) -> Guess:
        return _guess(prior, self.mechanism.items, self._guessed)

    def reach(self) -> Array:
        one = _reach_of_two(self.mechanism.a[:1], self.mechanism.b[:1])
        return np.repeat(one, self.policy.size)

    def _guessed(self, prior: Array) -> float:
        """Each value's likeliest item decides; the k-th item is first at its value by chance."""
        p, g = float(self.mechanism.a[0]), self.mechanism.values
        values, least = np.sort(prior)[::-1], (1 - p) / (g - 1) * float(prior.max())
        first = (1 - 1 / g) ** np.arange(prior.size)
        empty = g * (1 - 1 / g) ** prior.size
        return float(first @ np.maximum(p * values, least) + empty * least)

    def _response(self) -> Sides:
        g = self.mechanism.values
        response = GeneralizedRandomizedResponse(self.mechanism.epsilon, g)
        one = PrivacyPolicy([self.mechanism.epsilon], [g])
        return Sides.of_selection(g, 1, float(response.a[0]), one)


def seen_of(mechanism: Any, policy: PrivacyPolicy) -> Seen:
    """A table, design, channel or mechanism of a plan as outsiders see it, as it is really drawn.

    Of any other kind only what holds for every mechanism that keeps the policy, whose budgets are
    those that are spent and whose levels number the items.
    """
    for kind in type(mechanism).__mro__:
        if kind in _KINDS:
            return _KINDS[kind](mechanism, policy)
    return Anything(policy)


def _selection(mechanism: Any, policy: PrivacyPolicy) -> Sides:
    """Subset selection; randomised response reports sets of one item."""
    size, held = getattr(mechanism, "size", 1), float(mechanism.a[0])
    return Sides.of_selection(mechanism.items, size, held, policy)


def _alike(policy: PrivacyPolicy, cap: float) -> PrivacyPolicy:
    """Any two sets are told apart by at most ``cap``, whatever they hold."""
    return PrivacyPolicy([cap] * policy.size, policy.item_counts, names=policy.names)


def _ends(mechanism: MeanMechanism) -> Rows:
    """BiSample-MD; the law of a number between is a mixture of those of the ends."""
    law = mechanism.integers / DENOMINATOR
    return Rows(law, ("the lowest number", "the highest number", "no answer"))


_KINDS: dict[type, Callable[[Any, PrivacyPolicy], Seen]] = {
    UnaryTable: lambda table, _: Bits.of(table),
    PaddedUnaryMechanism: lambda one, _: Bits.of(
        one.unary.table, one.padding_length, one.dummy_level
    ),
    SetDesignMechanism: lambda one, policy: Anything(_alike(policy, one.law.cap)),
    SubsetDesign: lambda design, _: Sides.of_design(design),
    SubsetSelection: _selection,
    GeneralizedRandomizedResponse: _selection,
    OptimizedLocalHashing: Hashed,
    MeanMechanism: lambda one, _: _ends(one),
    Channel: lambda channel, _: Rows(channel.matrix, channel.symbols),
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
