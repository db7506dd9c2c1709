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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from planner.arrays import Array, Whole
from planner.errors import InputError
from planner.mechanisms import inputs
from planner.mechanisms.words import Words


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
    members: Whole
    starts: Whole

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
            remedy = "Use ItemSets.of, which works them out."
            raise InputError("starts", starts.tolist(), allowed, remedy)
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
            lists = list(sets)
            members = np.asarray(list(chain.from_iterable(lists)))
            starts = np.cumsum([0, *map(len, lists)])
        except (TypeError, ValueError):
            remedy = "Write [[0, 2], [], [1]] for three users."
            raise InputError("sets", sets, "one list of item numbers per user", remedy) from None
        return cls(items, members, starts)

    @property
    def users(self) -> int:
        """Number of users, ``n``."""
        return self.starts.size - 1

    @property
    def sizes(self) -> Whole:
        """Size of each user's set, shape ``(n,)``."""
        return np.diff(self.starts)

    def counts(self) -> Whole:
        """How many users have each item, shape ``(items,)``."""
        return np.bincount(self.members, minlength=self.items)

    def sampling_sums(self, padding_length: int) -> Array:
        """Sums over users of ``P_u(k)`` and of its square, shape ``(2, items)``.

        ``P_u(k) = 1 / max(|x_u|, l)`` if user ``u`` has item ``k``, else 0: the
        probability that padding and sampling picks it.
        """
        chance = 1 / np.maximum(self.sizes, padding_length)
        each = np.repeat(chance, self.sizes)
        sums = [np.bincount(self.members, each**power, self.items) for power in (1, 2)]
        return np.array(sums)

    def lost(self, padding_length: int) -> Array:
        """By how much counts of cut sets are too small on average, not positive, ``(items,)``."""
        return np.asarray(padding_length * self.sampling_sums(padding_length)[0] - self.counts())

    def padded(self, length: int, words: Words) -> Whole:
        """What whole sets report about: ``length`` elements a user, dummies after the items.

        Longer sets are cut to as many of their items, at random; shape ``(n, length)``.
        """
        dummies = np.arange(self.items + length - 1, self.items - 1, -1)
        own, user = np.tile(dummies, (self.users, 1)), np.repeat(np.arange(self.users), self.sizes)
        tied = True
        while tied:  # equal words would favour an order, once in 10^18
            drawn = words.raw(user.size)
            order = np.lexsort((drawn, user))
            tied = bool(np.any((np.diff(drawn[order]) == 0) & (np.diff(user) == 0)))
        mixed = self.members[order]
        place = np.arange(user.size) - self.starts[user]
        kept = place < length
        own[user[kept], place[kept]] = mixed[kept]
        return own

    def sampled(self, length: int, words: Words) -> Whole:
        """What sets report about of which one item is drawn: it, or a dummy, shape ``(n,)``."""
        sizes = self.sizes
        slots = words.below(np.maximum(sizes, length), self.users)
        own, real = self.items + words.below(length, self.users), slots < sizes
        own[real] = self.members[(self.starts[:-1] + slots)[real]]
        return own

    def some(self, users: Whole) -> ItemSets:
        """The sets of these users, shape ``(k,)``."""
        sizes = self.sizes[users]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        place = np.arange(int(starts[-1])) + np.repeat(self.starts[users] - starts[:-1], sizes)
        return ItemSets(self.items, self.members[place], starts)


def _no_repeats(members: Whole, starts: Whole, items: int) -> None:
    user = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    keys = np.sort(user * items + members)
    for position in np.flatnonzero(keys[1:] == keys[:-1]):
        who, item = divmod(int(keys[position]), items)
        remedy = "Give every item of a set once."
        raise InputError(f"set of user {who}", f"item {item} twice", "without repeats", remedy)


Sets = ItemSets | Iterable[Sequence[int]]
