"""Known answers: how many people have each, and what sets; what a pilot tells of sets."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from planner.arrays import Array, Whole
from planner.errors import FileError, InputError
from planner.estimates.item_sets import SIZES_MISS
from planner.files import unreadable
from planner.laws.answers import Number
from planner.mechanisms.inputs import ItemSets
from planner.survey.assumed import AssumedSets, SetMoments, SumsBySize, size_limits
from planner.survey.choices import ItemSet
from planner.survey.columns import AnswerColumn
from planner.survey.reading import AnswerFile
from planner.survey.tables import Reading

_MOST_MEMBERS = 10_000_000  # items of all sets together: they take less than a gigabyte


@dataclass(frozen=True, slots=True, eq=False)
class AnswerCounts:
    """True answers of all users, in a question's places."""

    labels: tuple[str, ...]
    counts: Whole
    sets: ItemSets | None = None

    @property
    def users(self) -> int:
        """Number of users."""
        if self.sets:
            return self.sets.users
        return int(self.counts.sum())


KnownAnswers = AnswerCounts | Array
"""Of a number one a person, NaN for none."""


class Known(NamedTuple):
    """The answers of a file, and as what it was read."""

    answers: KnownAnswers
    read_as: str


def read_known(
    path: str | Path, column: AnswerColumn, reading: Reading | None = None
) -> Known:
    """Read the true answers to one question.

    At most 10 million people with as many items in all.

    Raises
    ------
    FileError
        The file cannot be read, or holds what is no answer or none at all.
    """
    file = AnswerFile(path, [column], reading)
    if isinstance(column.asked, Number):
        # A person at a time: the column of a large file is never held as Python numbers.
        numbers = (np.nan if code is None else code for code in file.given())
        answers = np.fromiter(numbers, np.float64)
        return Known(answers, file.read_as)
    names = column.asked.levels.item_names()
    (reader,) = file.columns
    # Answers without a list of their own took these places.
    for number, label in reader.placed.items():
        names[number] = label
    labels = tuple(names)
    if column.asked.several:
        sets = _sets(file)
        known = AnswerCounts(labels, sets.counts(), sets)
    else:
        codes = np.fromiter(file.given(), np.int64)
        # Answers that nobody gave are counted, too: as 0.
        counts = np.bincount(codes, minlength=len(labels))
        known = AnswerCounts(labels, counts)
    return Known(known, file.read_as)


def _sets(file: AnswerFile) -> ItemSets:
    members = array("i")
    sizes = array("i", [0])
    path = file.table.path
    # Compact arrays: as Python lists ten million items would take several times the memory.
    for code in file.given():
        sizes.append(len(code))
        members.extend(code)
        if len(members) > _MOST_MEMBERS:
            reason = f"the sets have more than {_MOST_MEMBERS:,} items in all"
            raise FileError(path, reason, "Give some of the people.")
    if not members:
        raise FileError(path, "there is no item", "Give somebody one at least.")
    items = file.columns[0].asked.levels.total
    # Where each set starts among all members, and where the last ends.
    offsets = np.cumsum(sizes, dtype=np.int64)
    return ItemSets(items, np.array(members), offsets)


class _Sums(NamedTuple):
    """Sums over members by the size of their set: all, per level, and over pairs of one item.

    ``squares.longer`` holds sums over items of ``N^2``, ``N R`` and ``R^2``, where ``N`` counts the
    sets from a size on that have the item, and ``R`` adds up their ``1/size``: the square of
    what the item loses is ``(N - l R)^2``.
    """

    slots: SumsBySize
    levels: tuple[SumsBySize, ...]
    squares: SumsBySize


def _sums(sets: ItemSets, level_of: Whole | None) -> _Sums:
    size_of = np.repeat(sets.sizes, sets.sizes)  # of every member the size of its set
    sizes, members = np.unique(size_of, return_counts=True)
    levels = []
    if level_of is not None:
        level_of_member = level_of[sets.members]
        largest = sizes[-1]
        for level in range(int(level_of.max()) + 1):
            sizes_here = size_of[level_of_member == level]
            by_size = np.bincount(sizes_here, minlength=largest + 1)
            members_here = by_size[sizes]
            levels.append(SumsBySize.of(sizes, members_here))
    return _Sums(
        slots=SumsBySize.of(sizes, members),
        levels=tuple(levels),
        squares=_pairs(sets, size_of),
    )


def _pairs(sets: ItemSets, size_of: Whole) -> SumsBySize:
    """Sums over all pairs of sets that share an item, by the smaller size of the two.

    With ``n_k`` the sets of a size or larger that hold item ``k``, and ``s_k`` the sum of one over
    their sizes, a longer set at a time: ``sum_k n_k^2``, ``sum_k n_k s_k`` and ``sum_k s_k^2``.
    """
    order = np.argsort(size_of, kind="stable")
    sizes, starts = np.unique(size_of[order], return_index=True)
    members_by_size = np.split(sets.members[order], starts[1:])
    number = np.zeros(sets.items)  # n_k
    inverse = np.zeros(sets.items)  # s_k
    total = np.zeros(3)
    sums = [np.zeros(3)]
    # The largest first, so that each sum has those of all longer sets in it.
    for position in reversed(range(sizes.size)):
        size = sizes[position]
        members = members_by_size[position]
        item, count = np.unique(members, return_counts=True)
        # Only the items of this group change what they add.
        total -= _products(number[item], inverse[item])
        number[item] += count
        inverse[item] += count / size
        total += _products(number[item], inverse[item])
        sums.append(total.copy())
    smallest_first = np.array(sums)[::-1]
    return SumsBySize(sizes, smallest_first.T)


def _products(n: Array, s: Array) -> Array:
    """``sum n^2``, ``sum n s`` and ``sum s^2``."""
    return np.array([n @ n, n @ s, s @ s])


@dataclass(frozen=True, slots=True, eq=False)
class PilotSets:
    """A pilot: sets of people who agreed to share them, or public data of the same kind.

    The moments are unbiased estimates for the population the pilot was drawn from, so a few
    hundred people do; ``sets`` has at least two. ``level_of`` is the level number of each item,
    shape ``(items,)``; without it items are taken to be spread over the levels like their sizes.
    ``read_as`` says how its file was read, in words.

    Raises
    ------
    InputError
        Fewer than two people, only empty sets, or levels that do not fit.

    Examples
    --------
    >>> from planner import ItemSets
    >>> pilot = PilotSets(ItemSets.of([[0, 2], [1], [0], []], items=3))
    >>> pilot.sets.users
    4
    """

    sets: ItemSets
    level_of: Whole | None = None
    read_as: str = ""
    _sums: _Sums = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.sets.users < 2:
            remedy = "Collect a larger pilot."
            raise InputError(
                "pilot", self.sets.users, "the sets of at least 2 people", remedy
            )
        if self.sets.members.size == 0:
            remedy = "Collect a pilot in which somebody has an item."
            raise InputError.because("pilot", "all sets of the pilot are empty", remedy)
        items = self.sets.items
        if self.level_of is not None:
            shape = np.shape(self.level_of)
            if shape != (items,):
                allowed = f"one level number per item, shape ({items},)"
                remedy = "Give the level of every item, in the order of the items."
                raise InputError("level_of", shape, allowed, remedy)
        sums = _sums(self.sets, self.level_of)
        object.__setattr__(self, "_sums", sums)

    @property
    def mean_size(self) -> float:
        """Items per person in the pilot."""
        return self.sets.members.size / self.sets.users

    @property
    def largest(self) -> int:
        """Size of the pilot's largest set."""
        return int(self.sets.sizes.max())

    def moments(self, length: int | Whole, item_counts: Whole) -> SetMoments:
        """See ``planner.survey.assumed``; squared means without the bias of squared estimates."""
        people = self.sets.users
        of_members = self._sums.slots.at(length)
        # Of every two people who share an item: a person is no pair.
        of_pairs = self._sums.squares.at(length).squared_loss
        pairs = np.maximum(0.0, of_pairs - of_members.squared_loss)
        # How often an item of each level is the one that is drawn of a set.
        if self.level_of is None:
            shares = item_counts / item_counts.sum()
            inclusion = of_members.inclusion[..., None] * shares
        else:
            lengths = np.shape(length)
            inclusion = np.zeros((*lengths, item_counts.size))
            for level, sums in enumerate(self._sums.levels):
                inclusion[..., level] = sums.at(length).inclusion
        ordered_pairs = people * (people - 1)
        return SetMoments(
            squared_mean_loss=pairs / ordered_pairs,
            squared_loss=of_members.squared_loss / people,
            inclusion=inclusion / people,
            squared_inclusion=of_members.squared_inclusion / people,
            lost=of_members.lost / people,
        )

    def longer(self, length: int, items: int) -> tuple[tuple[int, float], ...]:
        """Upper limits (Clopper and Pearson) that hold together with probability 0.999.

        Where ``k`` of ``n`` people have a set above a size, their share is at most the quantile
        ``1 - miss`` of the law ``Beta(k + 1, n - k)``. Sets may be longer than all of the pilot's:
        up to all items.
        """
        from scipy.special import betaincinv

        if length >= items:
            return ()
        largest = min(self.largest, items - 1)
        starts = size_limits(length, largest)
        n = self.sets.users
        sizes = np.sort(self.sets.sizes)
        k = n - np.searchsorted(sizes, starts, side="right")
        # Each limit may miss by an even part of what all of them may (Bonferroni).
        miss = SIZES_MISS / k.size
        others = np.maximum(n - k, 1)  # where all are above, the law does not exist
        quantiles = betaincinv(k + 1.0, others, 1 - miss)
        shares = np.where(k < n, quantiles, 1)
        # The share above a size is that of sets up to the next one looked at, or all items.
        ends = [*starts[1:], items]
        return tuple(zip(ends, shares.tolist(), strict=True))


SetModel = AssumedSets | PilotSets  # what a choice of the padding length needs to know


def set_model_of(question: ItemSet) -> SetModel | None:
    """What is known of an item-set question's sets; a pilot's file is read here."""
    assumed = question.sets
    if assumed is None:
        return None
    if assumed.pilot is None:
        if assumed.sizes:
            return assumed
        return None  # a cap alone says nothing of the sets
    path = Path(assumed.pilot)
    try:
        changed = path.stat().st_mtime_ns
    except OSError as error:
        raise unreadable(path, error) from error
    return _read(path, changed, question.answer_column, assumed.reading)


@lru_cache(maxsize=8)
def _read(
    path: Path, _changed: int, column: AnswerColumn, reading: Reading
) -> PilotSets:
    file = AnswerFile(path, [column], reading)
    # The time at which the file was changed is an argument so that a changed one is read again.
    level_of = None
    # Places of unlisted items say nothing of their levels.
    if not reading.place_unlisted:
        level_of = np.array(column.asked.levels.level_of())
    return PilotSets(_sets(file), level_of, file.read_as)
