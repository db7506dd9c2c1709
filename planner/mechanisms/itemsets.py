"""Item sets, and padding and sampling: one item of a set through a mechanism for single items.

Algorithms 1 and 2 of the IDUE paper. A set is padded with dummies or cut to ``l`` items, and one
of them is drawn: item ``k`` of the set ``x_u`` with probability ``P_u(k) = 1 / max(|x_u|, l)``, a
dummy with the rest. What is drawn is reported.

The estimate is ``l`` times that of the single items: its mean is ``l sum_u P_u(k)``, unbiased if
no set has more than ``l`` items, too small if some have. With ``V`` the single mechanism's variance
for so many people per item as are expected to draw it, the variance is, exactly,

    l^2 [V_k(sum_u P_u) + sum_u P_u(k) - sum_u P_u(k)^2]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from planner.arguments import whole_number
from planner.errors import InputError
from planner.estimates.truncation import LongerSets, TruncatedEstimates, set_estimates
from planner.laws.bits import Bits
from planner.limits import MAX_PADDING_LENGTH
from planner.mechanisms import inputs
from planner.mechanisms.counting import Aggregate
from planner.mechanisms.plain import linear_estimates
from planner.mechanisms.unary import UnaryMechanism
from planner.mechanisms.words import Words
from planner.policy import logodds
from planner.policy.policy import require_set_budgets

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ItemSets:
    """The item sets of ``n`` users; a set may be empty, and never repeats an item.

    Attributes
    ----------
    items:
        Size of the domain, ``m``; items are numbered from 0.
    members:
        All sets one after the other, int64, shape ``(total,)``.
    starts:
        Where each user's set begins in ``members``, and the total at the end,
        int64, shape ``(n + 1,)``.

    Raises
    ------
    InputError
        No users, an item outside the domain, a repeat within a set, or starts that
        do not rise from 0 to the total.

    Examples
    --------
    >>> sets = ItemSets.of([[0, 2], [], [1]], items=3)
    >>> sets.users, sets.sizes.tolist(), sets.counts().tolist()
    (3, [2, 0, 1], [1, 1, 1])
    """

    items: int
    members: NDArray[np.int64]
    starts: NDArray[np.int64]

    def __post_init__(self) -> None:
        inputs.item_count(self.items, least=1)
        starts = np.array(self.starts)
        if starts.dtype.kind not in "iu" or starts.ndim != 1 or starts.size < 2:
            remedy = "Give at least one user's set."
            raise InputError("starts", self.starts, "whole numbers, one more than users", remedy)
        members = np.asarray(self.members)
        if members.size:
            members = inputs.item_numbers(members, self.items, "members")
        members = members.astype(np.int64)  # a copy: the caller's array stays the caller's
        if starts[0] != 0 or starts[-1] != members.size or np.any(np.diff(starts) < 0):
            allowed = f"rising from 0 to the number of members, {members.size}"
            raise InputError(
                "starts", starts.tolist(), allowed, "Use ItemSets.of, which works them out."
            )
        starts = starts.astype(np.int64)
        _no_repeats(members, starts, self.items)
        for name, array in (("members", members), ("starts", starts)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def of(cls, sets: Sets, items: int) -> ItemSets:
        """From one sequence of item numbers per user; item sets of so many items as they are."""
        if isinstance(sets, ItemSets):
            if sets.items != items:
                allowed = f"the mechanism's domain, {items}"
                remedy = "Make the sets for as many items as the mechanism has."
                raise InputError("items of the sets", sets.items, allowed, remedy)
            return sets
        try:
            lists = [list(one) for one in sets]
            members = np.asarray(list(chain.from_iterable(lists)))
        except (TypeError, ValueError):
            remedy = "Write [[0, 2], [], [1]] for three users."
            raise InputError("sets", sets, "one list of item numbers per user", remedy) from None
        return cls(items, members, np.cumsum([0, *map(len, lists)]))

    @property
    def users(self) -> int:
        """Number of users, ``n``."""
        return self.starts.size - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Size of each user's set, shape ``(n,)``."""
        return np.diff(self.starts)

    def counts(self) -> NDArray[np.int64]:
        """How many users have each item, shape ``(items,)``."""
        return np.bincount(self.members, minlength=self.items)

    def sampling_sums(self, padding_length: int) -> NDArray[np.float64]:
        """Sums over users of ``P_u(k)`` and of its square, shape ``(2, items)``.

        ``P_u(k) = 1 / max(|x_u|, l)`` if user ``u`` has item ``k``, else 0: the
        probability that padding and sampling picks it.
        """
        chance = 1 / np.maximum(self.sizes, padding_length)
        each = np.repeat(chance, self.sizes)
        sums = [np.bincount(self.members, each**power, self.items) for power in (1, 2)]
        return np.array(sums)

    def lost(self, padding_length: int) -> NDArray[np.float64]:
        """By how much counts of cut sets are too small on average, not positive, ``(items,)``."""
        return np.asarray(padding_length * self.sampling_sums(padding_length)[0] - self.counts())

    def padded(self, length: int, words: Words) -> NDArray[np.int64]:
        """What whole sets report about: ``length`` elements a user, dummies after the items.

        Longer sets are cut to as many of their items, at random; shape ``(n, length)``.
        """
        sizes, dummies = self.sizes, np.arange(self.items + length - 1, self.items - 1, -1)
        own = np.tile(dummies, (self.users, 1))
        cut = np.repeat(sizes > length, sizes)
        place = np.arange(self.members.size) - np.repeat(self.starts[:-1], sizes)
        own[np.repeat(np.arange(self.users), sizes)[~cut], place[~cut]] = self.members[~cut]
        for user in np.flatnonzero(sizes > length).tolist():
            kept = self.members[self.starts[user] : self.starts[user + 1]].copy()
            for first, move in enumerate(words.below(kept.size - np.arange(length), length)):
                kept[[first, first + move]] = kept[[first + move, first]]
            own[user] = kept[:length]
        return own

    def some(self, users: NDArray[np.int64]) -> ItemSets:
        """The sets of these users, shape ``(k,)``."""
        sizes = self.sizes[users]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        place = np.arange(starts[-1]) + np.repeat(self.starts[users] - starts[:-1], sizes)
        return ItemSets(self.items, self.members[place], starts)

    def firsts(self) -> NDArray[np.int64]:
        """First member of every set that is not empty: single-item use of basket data."""
        return self.members[self.starts[:-1][self.sizes > 0]]


def _no_repeats(members: NDArray[np.int64], starts: NDArray[np.int64], items: int) -> None:
    user = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    keys = np.sort(user * items + members)
    for position in np.flatnonzero(keys[1:] == keys[:-1])[:1]:
        who, item = divmod(int(keys[position]), items)
        remedy = "Give every item of a set once."
        raise InputError(f"set of user {who}", f"item {item} twice", "without repeats", remedy)


Sets = ItemSets | Iterable[Sequence[int]]


class SetMechanism(ABC):
    """What mechanisms for sets have in common: items count with a chance, and times a factor.

    With ``P_u(k) = l / (scale max(|x_u|, l))`` if item ``k`` is in the set ``x_u`` of person ``u``,
    else 0, the estimate is ``scale (count - n b) / (a - b)``, of mean ``scale sum_u P_u(k)`` and
    variance ``scale^2 sum_u q_u (1 - q_u) / (a - b)^2`` with ``q_u = b + (a - b) P_u(k)``; exact.
    """

    padding_length: int
    longer: LongerSets | None
    scale: ClassVar[int] = 1
    """What an estimate is multiplied by."""

    @property
    @abstractmethod
    def law(self) -> Any:
        """The form of report with its whole numbers; dummies are elements, too."""

    @property
    @abstractmethod
    def support(self) -> tuple[Any, Any]:
        """Chances (a, b) that a report supports an item that it is about, and another one."""

    @property
    def items(self) -> int:
        """Number of items without the dummies, ``m``."""
        return int(self.law.levels.total)

    def bias(self, sets: Sets) -> Array:
        """Exact bias of the estimates, not positive, shape ``(items,)``, in users."""
        return ItemSets.of(sets, self.items).lost(self.padding_length)

    def variance(self, sets: Sets) -> Array:
        """Exact variance of the estimates for these sets, shape ``(items,)``, in users squared."""
        checked, (a, b) = ItemSets.of(sets, self.items), self.support
        once, twice = checked.sampling_sums(self.padding_length)
        length, noise = self.padding_length, logodds.noise_from_probabilities(a, b)
        signal = 1 + logodds.signal_from_probabilities(a, b)
        drawn = self.scale * checked.users * noise + length * once * signal
        return np.asarray(self.scale * drawn - length**2 * twice)

    def estimate(self, aggregate: Aggregate) -> TruncatedEstimates:
        """Counts with standard errors, shape ``(items,)``, in users.

        Unbiased unless sets were cut; intervals allow for that by ``longer``. InputError for no
        users, or counts of the wrong shape.
        """
        own, other = (np.broadcast_to(chance, self.items) for chance in self.support)
        once = linear_estimates(aggregate, own, other)
        return set_estimates(once, self.items, self.longer, self.scale)


@dataclass(frozen=True, slots=True, eq=False)
class PaddedUnaryMechanism(SetMechanism):
    """A unary mechanism for item sets (IDUE-PS, RAPPOR-PS, OUE-PS), as this module describes.

    A report has ``m + l`` bits; the last ``l`` belong to dummies, which have the probabilities of
    the level with the smallest budget.

    Privacy (theorem 4, eq. 18; read its eq. 17 with the denominator ``b_i (1-a_j)``): the
    log-ratio between two sets is at most the smaller of their budgets by eq. 16, see
    :func:`set_budgets`.

    Parameters
    ----------
    unary:
        The mechanism for single items.
    padding_length:
        ``l``, a whole number of at least 1. Short sets lose little when it is large, but
        the variance grows with its square.
    longer:
        What is known of sets that are longer, for the upper limits of estimates, which are
        not claimed without it. It changes no report.

    Raises
    ------
    InputError
        The padding length is not a whole number of at least 1, or ``longer`` is of another one.
    VerificationError
        An item and a dummy are told apart by more than the smallest budget.

    Examples
    --------
    >>> unary = UnaryMechanism.oue(2.0, items=4)
    >>> mechanism = PaddedUnaryMechanism(unary, padding_length=2)
    >>> sets = [[0, 1], [0], [0, 2, 3], []]
    >>> mechanism.bias(sets).round(4).tolist()
    [-0.3333, 0.0, -0.3333, -0.3333]
    """

    unary: UnaryMechanism
    padding_length: int
    longer: LongerSets | None = None

    def __post_init__(self) -> None:
        length, longer = self.padding_length, self.longer
        remedy = "Take about the number of items that a user has."
        whole_number("padding_length", length, 1, MAX_PADDING_LENGTH, remedy)
        if longer is None and length >= self.items:  # no set is longer
            object.__setattr__(self, "longer", LongerSets(length, (), ()))
        if longer is not None and longer.padding_length != length:
            remedy = "Ask the model of the sets for this padding length."
            stated = longer.padding_length
            raise InputError("padding_length of longer", stated, f"{length}", remedy)
        self.law.check(None)

    @property
    def law(self) -> Bits:
        """The bits of the items and, last, of the dummies."""
        law = self.unary.law
        return replace(law, levels=law.levels.with_dummies(self.padding_length))

    @property
    def scale(self) -> int:  # type: ignore[override]
        """``l``."""
        return self.padding_length

    @property
    def support(self) -> tuple[Array, Array]:
        """The bits' probabilities, shape ``(items,)`` each."""
        return self.unary.a, self.unary.b

    def draw_aggregate(self, sets: Sets, rng: np.random.Generator) -> Aggregate:
        """An aggregate with the law that perturbing everybody would give, without reports.

        Every user samples an item, a dummy numbered after the items: truncating and then sampling
        is sampling from the whole set. The reports of the samples are drawn as counts.
        """
        checked, draw = ItemSets.of(sets, self.items), inputs.generator(rng)
        slot = draw.integers(np.maximum(checked.sizes, self.padding_length))
        real = slot < checked.sizes
        sampled = checked.members[(checked.starts[:-1] + slot)[real]]
        counts, (a, b) = np.bincount(sampled, minlength=checked.items), self.support
        ones = draw.binomial(counts, a) + draw.binomial(checked.users - counts, b)
        return Aggregate(checked.users, ones)


def set_budgets(mechanism: PaddedUnaryMechanism, sets: Sets) -> NDArray[np.float64]:
    """Budget of each set by eq. 16, in nats, shape ``(n,)``.

    ``eps_x = ln[eta_x mean(e^eps_i, i in x) + (1 - eta_x) e^eps*]`` with
    ``eta_x = |x| / max(|x|, l)`` and ``eps*`` the budget of the dummy items, the smallest.

    Raises
    ------
    InputError
        The policy's rule is not ``"min"``, for which alone the paper defines set budgets.

    Examples
    --------
    >>> mechanism = PaddedUnaryMechanism(UnaryMechanism.oue(2.0, items=4), padding_length=2)
    >>> set_budgets(mechanism, [[0, 1], [0], []]).round(6).tolist()
    [2.0, 2.0, 2.0]
    """
    policy, levels = mechanism.unary.table.policy, mechanism.unary.level_of
    require_set_budgets(policy)
    odds = np.exp(np.append(policy.epsilons[levels], policy.epsilons.min()))
    checked = ItemSets.of(sets, mechanism.items)
    size, length = checked.sizes, mechanism.padding_length
    user = np.repeat(np.arange(checked.users), size)
    total = np.bincount(user, odds[checked.members], checked.users)
    dummies = np.maximum(length - size, 0) * odds[-1]
    return np.log((total + dummies) / np.maximum(size, length))
