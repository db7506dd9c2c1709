"""What mechanisms are given, checked before any randomness is drawn; item sets among it.

Of a set one item goes through a mechanism for single items: padding and sampling, algorithms 1 and
2 of the IDUE paper. A set is padded with dummies or cut to ``l`` items, and one of them is drawn:
item ``k`` of the set ``x_u`` with probability ``P_u(k) = 1 / max(|x_u|, l)``, a dummy with the
rest. What is drawn is reported.

The estimate is ``l`` times that of the single items: its mean is ``l sum_u P_u(k)``, unbiased if
no set has more than ``l`` items, too small if some have. With ``V`` the single mechanism's variance
for so many people per item as are expected to draw it, the variance is, exactly,

    l^2 [V_k(sum_u P_u) + sum_u P_u(k) - sum_u P_u(k)^2]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from planner.arguments import whole_number
from planner.arrays import Array, Whole
from planner.errors import InputError
from planner.mechanisms.words import Words

MAX_ITEMS = 2**31 - 1


def generator(rng: object) -> np.random.Generator:
    """Return ``rng`` itself if it is a NumPy generator; simulation never picks its own seed."""
    if isinstance(rng, np.random.Generator):
        return rng
    remedy = "Pass numpy.random.default_rng(seed), so that the run can be repeated."
    raise InputError("rng", rng, "a numpy.random.Generator", remedy)


def item_count(items: int, least: int = 2) -> int:
    """Return the size of an item domain, a whole number of at least ``least``."""
    return whole_number("items", items, least, MAX_ITEMS, "Count the possible answers.")


def item_numbers(argument: str, values: ArrayLike, items: int) -> Whole:
    """Item numbers, whole and from 0 to ``items - 1``, shape ``(n,)``: a copy.

    Examples
    --------
    >>> item_numbers("values", [0, 3], items=3)
    Traceback (most recent call last):
    ...
    planner.errors.InputError: values[1] is 3 but must be an item number from 0 to 2. ...
    """
    array = _whole_numbers(argument, values)
    if array.ndim != 1:
        allowed = "a flat list of item numbers"
        remedy = "Put the answers of all users in one flat list."
        raise InputError(argument, array.shape, allowed, remedy)
    is_outside = (array < 0) | (array >= items)
    for k in np.flatnonzero(is_outside):
        allowed = f"an item number from 0 to {items - 1}"
        remedy = "Items are numbered from 0: the last is one less than their number."
        raise InputError(f"{argument}[{k}]", int(array[k]), allowed, remedy)
    return np.array(array, np.int64)


def true_counts(counts: ArrayLike, items: int) -> Whole:
    """True numbers of users per item, shape ``(items,)``, whole, not negative, not all 0."""
    array = _whole_numbers("true_counts", counts)
    remedy = "Give 0 for items that nobody has."
    if array.shape != (items,):
        allowed = f"one count per item, shape ({items},)"
        raise InputError("true_counts", array.shape, allowed, remedy)
    for k in np.flatnonzero(array < 0):
        raise InputError(f"true_counts[{k}]", int(array[k]), "at least 0", remedy)
    if not array.any():
        allowed = "above 0 for at least one item"
        remedy = "Count at least one user."
        raise InputError("true_counts", "0 everywhere", allowed, remedy)
    return np.asarray(array, np.int64)


def _whole_numbers(argument: str, values: ArrayLike) -> Whole:
    """The values as an array of whole numbers; an InputError that names the first that is none."""
    try:
        array: Whole = np.asarray(values)
    except (TypeError, ValueError):
        remedy = "Give one item number per user, all in one flat list."
        raise InputError(argument, values, "a list of whole numbers", remedy) from None
    if array.dtype.kind in "iu" or array.size == 0:
        return array
    if array.dtype.kind == "f":
        flat = array.ravel()
        is_broken = flat != np.floor(flat)  # NaN too: it equals nothing
        for position in np.flatnonzero(is_broken):
            value = float(flat[position])
            remedy = "Items go by whole numbers: replace what is missing or broken."
            raise InputError(f"{argument}[{position}]", value, "a whole number", remedy)
    dtype = f"of dtype {array.dtype}"
    remedy = "Convert with numpy.asarray(values, dtype=int) once you know that they are whole."
    raise InputError(argument, dtype, "of an integer dtype", remedy)


# -- item sets -----------------------------------------------------------------------------


class OwnSums(NamedTuple):
    """Of people: how many, and sums over them of the chance ``P_u(k)`` that each element is drawn.

    ``chances`` are ``sum_u P_u(k)`` and ``squares`` ``sum_u P_u(k)^2``, shape ``(elements,)``.
    Where a person has one item ``P`` is 1 or 0, and both are how many have it.
    """

    users: int
    chances: Array
    squares: Array


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
        item_count(self.items, least=1)
        starts = np.array(self.starts)
        is_whole = starts.dtype.kind in "iu"
        if not is_whole or starts.ndim != 1 or starts.size < 2:
            allowed = "whole numbers, one more than users"
            remedy = "Give at least one user's set."
            raise InputError("starts", self.starts, allowed, remedy)
        members = item_numbers("members", self.members, self.items)
        falls = np.any(np.diff(starts) < 0)
        if starts[0] != 0 or starts[-1] != members.size or falls:
            allowed = f"rising from 0 to the number of members, {members.size}"
            remedy = "Use ItemSets.of, which works them out."
            raise InputError("starts", starts.tolist(), allowed, remedy)
        starts = starts.astype(np.int64)
        members.setflags(write=False)
        starts.setflags(write=False)
        object.__setattr__(self, "members", members)
        object.__setattr__(self, "starts", starts)
        # One number for a user and an item: a repeat stands beside itself once they are sorted.
        keys = self._member_users() * self.items + members
        keys.sort()
        is_repeat = keys[1:] == keys[:-1]
        for key in keys[1:][is_repeat].tolist():
            user, item = divmod(key, self.items)
            repeat = f"item {item} twice"
            remedy = "Give every item of a set once."
            raise InputError(f"set of user {user}", repeat, "without repeats", remedy)

    @classmethod
    def of(cls, sets: Sets, items: int) -> ItemSets:
        """Item sets from one sequence of item numbers per user; item sets stay as they are."""
        if isinstance(sets, ItemSets):
            if sets.items != items:
                allowed = f"the mechanism's domain, {items}"
                remedy = "Make the sets for as many items as the mechanism has."
                raise InputError("items of the sets", sets.items, allowed, remedy)
            return sets
        try:
            lists = list(sets)
            members = np.asarray(list(chain.from_iterable(lists)))
            sizes = [len(items_of_user) for items_of_user in lists]
        except (TypeError, ValueError):
            allowed = "one list of item numbers per user"
            remedy = "Write [[0, 2], [], [1]] for three users."
            raise InputError("sets", sets, allowed, remedy) from None
        starts = np.cumsum([0, *sizes])
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

    def _member_users(self) -> Whole:
        """Whose each member is, shape ``(total,)``."""
        users = np.arange(self.users)
        return np.repeat(users, self.sizes)

    def sampling_sums(self, padding_length: int) -> OwnSums:
        """Sums over users of the chance ``P_u(k)`` that padding and sampling picks item ``k``.

        ``P_u(k) = 1 / max(|x_u|, l)`` if user ``u`` has the item, else 0.
        """
        sizes = self.sizes
        chance_by_user = 1 / np.maximum(sizes, padding_length)
        chances = np.repeat(chance_by_user, sizes)
        sums = np.bincount(self.members, chances, self.items)
        squares = np.bincount(self.members, chances**2, self.items)
        return OwnSums(self.users, np.asarray(sums), np.asarray(squares))

    def lost(self, padding_length: int) -> Array:
        """The bias of counts of cut sets, in people, not positive, shape ``(items,)``.

        The mean of the estimate, ``l sum_u P_u(k)``, less the true count.
        """
        expected = padding_length * self.sampling_sums(padding_length).chances
        return np.asarray(expected - self.counts())

    def padded(self, length: int, words: Words) -> Whole:
        """What whole sets report about: ``length`` elements a user, dummies after the items.

        Longer sets are cut to as many of their items, at random; shape ``(n, length)``.
        """
        # The last dummy first: a set of j items takes the places of the last j dummies.
        dummies = self.items + np.arange(length)
        elements = np.tile(dummies[::-1], (self.users, 1))
        user = self._member_users()
        is_same_user = np.diff(user) == 0
        # Each set's items in the order of random words: all orders are equally likely.
        has_ties = True
        while has_ties:  # equal words would favour an order, once in 10^18
            drawn = words.raw(user.size)
            order = np.lexsort((drawn, user))
            is_tie = np.diff(drawn[order]) == 0
            has_ties = bool(np.any(is_tie & is_same_user))
        shuffled = self.members[order]
        position = np.arange(user.size) - self.starts[user]
        is_kept = position < length
        elements[user[is_kept], position[is_kept]] = shuffled[is_kept]
        return elements

    def sampled(self, length: int, words: Words) -> Whole:
        """What sets report about of which one item is drawn: it, or a dummy, shape ``(n,)``."""
        sizes = self.sizes
        padded_sizes = np.maximum(sizes, length)
        slots = words.below(padded_sizes, self.users)
        elements = self.items + words.below(length, self.users)
        # A slot below the set's size is one of its items, any other one a dummy.
        is_item = slots < sizes
        positions = self.starts[:-1] + slots
        elements[is_item] = self.members[positions[is_item]]
        return elements

    def some(self, users: Whole) -> ItemSets:
        """The sets of these users, shape ``(k,)``."""
        sizes = self.sizes[users]
        starts = np.append(0, np.cumsum(sizes))
        total = int(starts[-1])
        # From a member's position here to the one among all sets.
        shift_by_user = self.starts[users] - starts[:-1]
        shifts = np.repeat(shift_by_user, sizes)
        positions = np.arange(total) + shifts
        return ItemSets(self.items, self.members[positions], starts)


Sets = ItemSets | Iterable[Sequence[int]]
