"""Blankets of the mechanisms, for every pair of privacy levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.designs.table import UnaryTable
from planner.errors import InputError
from planner.limits import DENOMINATOR
from planner.mechanisms.bernoulli import thresholds_above, thresholds_below
from planner.mechanisms.direct import GeneralizedRandomizedResponse
from planner.mechanisms.hashing import OptimizedLocalHashing
from planner.mechanisms.padding import PaddedUnaryMechanism
from planner.outsiders.shuffling.blanket import Blanket
from planner.outsiders.shuffling.designs import DesignReports
from planner.policy.policy import PrivacyPolicy

Array = NDArray[np.float64]
MOST_HASH_VALUES = 10_000
"""Largest number of hash values for which collisions were counted."""

COLLISIONS = 1.01
"""Items 0 and 1 collide under at most this over g of the seeds, for every such number g."""


class ShuffledReports(Protocol):
    """What is asked of a mechanism: the levels of its answers, and what hides each pair."""

    @property
    def names(self) -> tuple[str, ...]:
        """One name per level."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of answers of each level."""

    def blanket(self, first: int, second: int) -> Blanket:
        """For two different answers of these levels, whatever others answer."""

    def examples(self, first: int, second: int) -> list[Blanket]:
        """The same where all others have one given answer: each an exact delta of data sets."""


@dataclass(frozen=True, slots=True, eq=False)
class AnyMechanism:
    """Whatever mechanism keeps a policy's pair budgets, e.g. one that is not chosen yet.

    With ``p = e^r(x, x')``, the largest possible total variation ``(p - 1)/(p + 1)`` and
    ``q = e^max(worst budget of x, worst budget of x')``; see
    :meth:`~planner.outsiders.shuffling.blanket.Blanket.from_numbers`. It has no examples.

    Examples
    --------
    >>> reports = AnyMechanism(PrivacyPolicy([1.0, 2.0], [1, 4], names=["severe", "common"]))
    >>> round(reports.blanket(0, 1).local_epsilon, 6)
    1.0
    """

    policy: PrivacyPolicy

    @property
    def names(self) -> tuple[str, ...]:
        return self.policy.names

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(int(count) for count in self.policy.item_counts)

    def blanket(self, first: int, second: int) -> Blanket:
        worst = self.policy.leakage_epsilons[[first, second]].max()
        budget = min(self.policy.bounds()[first, second], worst)
        if not np.isfinite(worst):
            names = f"{self.names[first]!r}, {self.names[second]!r}"
            allowed = "connected to all others by finite pair budgets"
            raise InputError(f"levels {names}", "not", allowed, "Shuffling hides none of them.")
        ratio = exp(budget) * (1 + 1e-12)
        return Blanket.from_numbers(ratio, (ratio - 1) / (ratio + 1), exp(worst) * (1 + 2e-12))

    def examples(self, first: int, second: int) -> list[Blanket]:  # noqa: ARG002
        return []


@dataclass(frozen=True, slots=True, eq=False)
class UnaryReports:
    """Unary encoding with bit probabilities per level: IDUE, RAPPOR, OUE.

    Two answers' laws differ in their own two bits. Another's report has the law of "no item"
    in all bits but one, so ``omega`` is that law times ``min_z (1 - a_z)/(1 - b_z)``; four
    outcomes are left. If totals alone are released the other bits say nothing (they do not
    depend on the two), and ``omega`` is the least law of the two bits over ``x``, ``x'`` and
    all other answers: it is larger.

    Examples of data sets: all others have the answer ``x``, or ``x'``, or a further one ``z``, of
    the level that hides least; then bit z counts too. From totals alone, all others at ``z``: W is
    a sum over the bits of ``x`` and ``x'``, so totals lose as much as the two bits do.

    Parameters
    ----------
    policy:
        Levels and how many items each has.
    a, b:
        Bit probabilities per level, shape ``(t,)``, ``0 < b < a < 1``.
    totals_only:
        Only the totals of the bits are released.

    Examples
    --------
    >>> from planner import solve
    >>> table = solve(PrivacyPolicy([1.0, 2.0], [1, 4]))
    >>> shuffled = UnaryReports(table.policy, table.a, table.b)
    >>> totals = UnaryReports(table.policy, table.a, table.b, totals_only=True)
    >>> shuffled.blanket(0, 1).mass < totals.blanket(0, 1).mass < 1
    True
    """

    policy: PrivacyPolicy
    a: Array
    b: Array
    totals_only: bool = False

    def __post_init__(self) -> None:
        for name in ("a", "b"):
            column = np.array(getattr(self, name), dtype=np.float64)
            if column.shape != (self.policy.size,):
                remedy = "Give them in the order of the policy's levels."
                raise InputError(name, column.shape, f"of shape ({self.policy.size},)", remedy)
            object.__setattr__(self, name, column)
        for i in np.flatnonzero(~((self.b > 0) & (self.b < self.a) & (self.a < 1)))[:1]:
            pair = (float(self.a[i]), float(self.b[i]))
            remedy = "Is b, the chance of a false 1, swapped with a?"
            raise InputError(f"(a, b) of level {i}", pair, "such that 0 < b < a < 1", remedy)

    @classmethod
    def of(cls, table: UnaryTable) -> UnaryReports:
        """The law of a table as its mechanism really draws it, rounded to the private side."""
        a, b = thresholds_below(table.a), thresholds_above(table.b)
        return cls(table.policy, a / DENOMINATOR, b / DENOMINATOR)

    @property
    def names(self) -> tuple[str, ...]:
        return self.policy.names

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(int(count) for count in self.policy.item_counts)

    def blanket(self, first: int, second: int) -> Blanket:
        pair, further = self._two_bits(first, second), self._no_item(first, second)
        if self.totals_only:
            return Blanket.from_laws(*pair, [*pair, further])
        return Blanket.from_laws(*pair, [further * np.min((1 - self.a) / (1 - self.b))])

    def examples(self, first: int, second: int) -> list[Blanket]:
        pair, further = self._two_bits(first, second), self._no_item(first, second)
        left = np.array(self.sizes)
        np.subtract.at(left, [first, second], 1)
        if self.totals_only:
            return [Blanket.from_laws(*pair, [further])] if left.any() else []
        blankets = [Blanket.from_laws(*pair, [law]) for law in pair]
        if left.any():
            shares = np.where(left > 0, (1 - self.a) / (1 - self.b), np.inf)
            z = int(np.argmin(shares))
            own, other = _bit(self.b[z]), _bit(self.a[z])
            laws = [
                np.multiply.outer(law, bit).ravel()
                for law, bit in ((pair[0], own), (pair[1], own), (further, other))
            ]
            blankets.append(Blanket.from_laws(laws[0], laws[1], laws[2:]))
        return blankets

    def _two_bits(self, first: int, second: int) -> tuple[Array, Array]:
        one = np.multiply.outer(_bit(self.a[first]), _bit(self.b[second])).ravel()
        two = np.multiply.outer(_bit(self.b[first]), _bit(self.a[second])).ravel()
        return one, two

    def _no_item(self, first: int, second: int) -> Array:
        return np.multiply.outer(_bit(self.b[first]), _bit(self.b[second])).ravel()


@dataclass(frozen=True, slots=True, eq=False)
class MatrixReports:
    """Any mechanism with few outputs, by its law; each answer is a level of its own.

    Parameters
    ----------
    law:
        ``Pr[report | answer]``, shape ``(answers, reports)``. Answers that are mixtures of these
        (values between the ends of an interval, say) are covered as well.
    answers:
        One name per answer; their numbers if omitted.

    Examples
    --------
    >>> reports = MatrixReports([[0.75, 0.25], [0.25, 0.75]])
    >>> reports.blanket(0, 1).masses.tolist()
    [0.25, 0.25]
    """

    law: ArrayLike
    answers: Sequence[str] | None = None

    def __post_init__(self) -> None:
        law = np.array(self.law, dtype=np.float64)
        if law.ndim != 2 or len(law) < 2 or not np.all(law >= 0):
            allowed = "probabilities, one row for each of 2 answers or more"
            remedy = "Write [[0.75, 0.25], [0.25, 0.75]] for two answers and two reports."
            raise InputError("law", law.shape, allowed, remedy)
        for row in np.flatnonzero(np.abs(law.sum(axis=1) - 1) > 1e-9)[:1]:
            remedy = "Give the chances of all reports of this answer."
            raise InputError(f"sum of law[{row}]", float(law[row].sum()), "1", remedy)
        if self.answers is not None and len(self.answers) != len(law):
            remedy = "Name the answers in the order of the rows."
            raise InputError("answers", self.answers, f"{len(law)} names", remedy)
        object.__setattr__(self, "law", law)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.answers or (str(x) for x in range(len(np.asarray(self.law)))))

    @property
    def sizes(self) -> tuple[int, ...]:
        return (1,) * len(self.names)

    def blanket(self, first: int, second: int) -> Blanket:
        law = np.asarray(self.law)
        return Blanket.from_laws(law[first], law[second], law)

    def examples(self, first: int, second: int) -> list[Blanket]:
        law = np.asarray(self.law)
        return [Blanket.from_laws(law[first], law[second], [other]) for other in law]


@dataclass(frozen=True, slots=True, eq=False)
class SetReports:
    """Item sets, padded and sampled: a table of bits or a design; dummy items count, too.

    The law of a set's report is a mixture of its items' laws, so no two sets are told apart better
    than the worst pair of an item or dummy each, and a blanket of all items is one of all sets;
    from totals too, as an observer who is told which item each other person sends knows more.
    Whoever has fewer items than the padding length sends no item's law pure, so there are no
    examples of data sets.

    Examples
    --------
    >>> from planner import UnaryMechanism
    >>> sets = SetReports.of(PaddedUnaryMechanism(UnaryMechanism.oue(1.0, items=3), 2))
    >>> sets.sizes
    (5,)
    """

    items: UnaryReports | DesignReports

    @classmethod
    def of(cls, mechanism: PaddedUnaryMechanism, totals_only: bool = False) -> SetReports:
        """The law of bits as they are really drawn; ``totals_only`` as in :class:`UnaryReports`."""
        single = UnaryReports.of(mechanism.unary.table)
        counts = single.policy.item_counts.copy()
        counts[mechanism.dummy_level] += mechanism.padding_length
        policy = single.policy.with_changes(item_counts=counts)
        return cls(UnaryReports(policy, single.a, single.b, totals_only))

    @property
    def names(self) -> tuple[str, ...]:
        return self.items.names

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.items.sizes

    def blanket(self, first: int, second: int) -> Blanket:
        return self.items.blanket(first, second)

    def examples(self, first: int, second: int) -> list[Blanket]:  # noqa: ARG002
        return []


@dataclass(frozen=True, slots=True, eq=False)
class HashedReports:
    """Local hashing: given the seed, randomised response of the hash values.

    ``omega`` is ``q`` for every value. Seeds with which the two answers collide tell less: their
    W has the same mean within the range of the others', so "no collision" is the worst case,
    whatever the hash function.

    Example of data sets: the pair are items 0 and 1, and all others have item 0. They are taken
    to collide for ``1.01 / g`` of the seeds, and so to lose less than they do: XXH32's share is at
    most ``1.0044 / g``, counted over all 2^32 seeds for every g up to 10,000
    (``benchmarks/collisions.py``). No proof for other g is known, so they have no example.
    """

    mechanism: OptimizedLocalHashing

    @property
    def names(self) -> tuple[str, ...]:
        return ("any answer",)

    @property
    def sizes(self) -> tuple[int, ...]:
        return (self.mechanism.items,)

    def blanket(self, first: int, second: int) -> Blanket:
        return DesignReports.of_selection(self._response()).blanket(first, second)

    def examples(self, first: int, second: int) -> list[Blanket]:
        values = self.mechanism.values
        if values > MOST_HASH_VALUES:
            return []
        apart = DesignReports.of_selection(self._response()).examples(first, second)[0]
        collide = COLLISIONS / values
        mass = np.append(apart.masses * (1 - collide), collide)
        return [Blanket(mass, np.append(apart.first, 1.0), np.append(apart.second, 1.0))]

    def _response(self) -> GeneralizedRandomizedResponse:
        return GeneralizedRandomizedResponse(self.mechanism.epsilon, self.mechanism.values)


def _bit(one: float) -> Array:
    return np.array([1 - one, one])
