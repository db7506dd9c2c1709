"""Known answers and pilots: readers of transactions, or of a column of a CSV file."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.errors import FileError, InputError
from planner.estimates.truncation import SIZES_MISS
from planner.files import read_column, read_lines, unreadable
from planner.mechanisms.itemsets import ItemSets
from planner.survey.questions import ItemSet, Question
from planner.survey.sets import SetModel, SetMoments, Slots, size_limits
from planner.survey.values import read_numbers

_MOST_MEMBERS = 10_000_000  # items of all sets together: they take less than a gigabyte
_MOST_ITEMS = 1_000_000
_LONGEST = 1_000  # letters of an answer
_SHOWN = 40  # of them, in an error
_DIGITS = 18  # of an item number: below 2^63


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """True answers of all users."""

    labels: tuple[str, ...]
    counts: NDArray[np.int64]
    sets: ItemSets | None = None

    @property
    def users(self) -> int:
        """Number of users."""
        return self.sets.users if self.sets else int(self.counts.sum())

    def first_items(self) -> Answers:
        """Single-item use: the first item of every set that is not empty."""
        if self.sets is None:
            return self
        firsts = self.sets.firsts()
        return Answers(self.labels, np.bincount(firsts, minlength=len(self.labels)))


def read_answers(path: str | Path, column: str, *, sets: bool = False) -> Answers:
    """Read a file by its name: a ``.csv`` has a column of answers, or of sets (``tea;rice``).

    Anything else (``.dat``, ``.data``, ``.txt``): transactions. Files are read a line at a time: at
    most 10 million people with as many items in all, of one million kinds, 1,000 letters each.
    Answers are ordered alphabetically, or by their value if all are whole numbers.
    """
    if not str(path).lower().endswith(".csv"):
        return read_transactions(path)
    found = _sets(path, read_column(path, column), _parts if sets else lambda answer: [answer])
    return found if sets else Answers(found.labels, found.counts)


def read_known(path: Path, column: str, kind: str) -> Answers | NDArray[np.float64]:
    """The true answers to a question of this kind; of a number one a person, NaN for none."""
    if kind == "numeric":
        return read_numbers(path, column, gaps=True)
    return read_answers(path, column, sets=kind == "item-set")


class _Numbers(dict[str, int]):
    """Numbers different answers as they come, and refuses too many, too long and wrong ones."""

    def __init__(self, path: str | Path, *, numeric: bool = False) -> None:
        super().__init__()
        self.path, self.numeric, self.line = path, numeric, 0

    def __missing__(self, answer: str) -> int:
        if not answer:
            remedy = "Leave the row out, or give missing answers a name of their own."
            raise FileError(self.path, f"line {self.line} has no answer", remedy)
        if self.numeric and not _is_number(answer):
            reason = f"line {self.line}: {_shown(answer)} is not an item number"
            remedy = "Separate item numbers by blanks, or named items by semicolons."
            raise FileError(self.path, reason, remedy)
        if len(answer) > _LONGEST:
            reason = f"line {self.line}: {_shown(answer)} has more than {_LONGEST:,} letters"
            raise FileError(self.path, reason, "Give answers short names.")
        if len(self) == _MOST_ITEMS:
            reason = f"there are more than {_MOST_ITEMS:,} different answers"
            raise FileError(self.path, reason, "Group answers that are rare.")
        self[answer] = len(self)
        return self[answer]


def read_transactions(path: str | Path) -> Answers:
    """A user a line, no header: item numbers separated by blanks, or items by semicolons.

    This is the form of the FIMI repository's data (Kosarak, retail). An empty line is a user
    without items. An item that stands in a line again counts once.
    """
    named = any(";" in line for line in read_lines(path))
    return _sets(path, enumerate(read_lines(path), 1), _parts if named else str.split, not named)


def _parts(text: str) -> list[str]:
    return [part for part in map(str.strip, text.split(";")) if part]


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) <= _DIGITS and text.isascii()


def _sets(
    path: str | Path,
    lines: Iterable[tuple[int, str]],
    split: Callable[[str], list[str]],
    numeric: bool = False,
) -> Answers:
    """The sets on these lines; the order within a set stays."""
    known = _Numbers(path, numeric=numeric)
    members, sizes = array("i"), array("i")
    for known.line, text in lines:
        once = dict.fromkeys(split(text))
        sizes.append(len(once))
        members.extend(map(known.__getitem__, once))
        if len(members) > _MOST_MEMBERS:
            reason = f"the sets have more than {_MOST_MEMBERS:,} items in all"
            raise FileError(path, reason, "Give some of the people.")
    if not known:
        raise FileError(path, "there is no item", "Give somebody one at least.")
    names = sorted(known)
    if all(map(_is_number, names)):
        names.sort(key=int)
    place = np.empty(len(names), dtype=np.int64)
    place[[known[name] for name in names]] = np.arange(len(names))
    starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    sets = ItemSets(len(names), place[np.array(members)], starts)
    return Answers(tuple(names), sets.counts(), sets)


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


class _Sums(NamedTuple):
    """Sums over members by the size of their set: all, per level, and over pairs of one item.

    ``squares.longer`` holds sums over items of ``N^2``, ``N R`` and ``R^2``, where ``N`` counts the
    sets from a size on that have the item, and ``R`` adds up their ``1/size``: the square of
    what the item loses is ``(N - l R)^2``.
    """

    slots: Slots
    levels: tuple[Slots, ...]
    squares: Slots


def _sums(sets: ItemSets, level_of: NDArray[np.int64] | None) -> _Sums:
    size_of = np.repeat(sets.sizes, sets.sizes)
    sizes, members = np.unique(size_of, return_counts=True)
    size = sizes.astype(np.float64)
    levels = []
    if level_of is not None:
        home = level_of[sets.members]
        for level in range(int(level_of.max()) + 1):
            here = np.bincount(size_of[home == level], minlength=sizes[-1] + 1)
            levels.append(Slots.of(size, here[sizes].astype(np.float64)))
    return _Sums(Slots.of(size, members.astype(np.float64)), tuple(levels), _pairs(sets, size_of))


def _pairs(sets: ItemSets, size_of: NDArray[np.int64]) -> Slots:
    order = np.argsort(-size_of, kind="stable")
    sizes, starts = np.unique(-size_of[order], return_index=True)
    number, inverse = np.zeros(sets.items), np.zeros(sets.items)
    total, sums = np.zeros(3), [np.zeros(3)]
    for size, group in zip(-sizes.astype(np.float64), np.split(order, starts[1:]), strict=True):
        item, count = np.unique(sets.members[group], return_counts=True)
        before, share = (number[item], inverse[item]), count / size
        number[item] += count
        inverse[item] += share
        after = (number[item], inverse[item])
        for k, (i, j) in enumerate(((0, 0), (0, 1), (1, 1))):
            total[k] += float(after[i] @ after[j]) - float(before[i] @ before[j])
        sums.append(total.copy())
    return Slots(-sizes[::-1].astype(np.float64), np.array(sums)[::-1].T)


@dataclass(frozen=True, slots=True, eq=False)
class PilotSets:
    """A pilot: sets of people who agreed to share them, or public data of the same kind.

    The moments are unbiased estimates for the population the pilot was drawn from, so a few
    hundred people do; ``sets`` has at least two. ``level_of`` is the level number of each item,
    shape ``(items,)``; without it items are taken to be spread over the levels like their sizes.

    Raises
    ------
    InputError
        Fewer than two people, only empty sets, or levels that do not fit.
    """

    sets: ItemSets
    level_of: NDArray[np.int64] | None = None
    _sums: _Sums = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.sets.users < 2:
            remedy = "Collect a larger pilot."
            raise InputError("pilot", self.sets.users, "the sets of at least 2 people", remedy)
        if self.sets.members.size == 0:
            remedy = "Collect a pilot in which somebody has an item."
            raise InputError.because("pilot", "all sets of the pilot are empty", remedy)
        if self.level_of is not None and np.shape(self.level_of) != (self.sets.items,):
            allowed = f"one level number per item, shape ({self.sets.items},)"
            remedy = "Give the level of every item, in the order of the items."
            raise InputError("level_of", np.shape(self.level_of), allowed, remedy)
        object.__setattr__(self, "_sums", _sums(self.sets, self.level_of))

    @property
    def mean_size(self) -> float:
        """Items per person in the pilot."""
        return self.sets.members.size / self.sets.users

    @property
    def largest(self) -> int:
        """Size of the pilot's largest set."""
        return int(self.sets.sizes.max())

    def moments(
        self, length: int | NDArray[np.int64], item_counts: NDArray[np.int64]
    ) -> SetMoments:
        """See ``planner.survey.sets``; ``lost2`` without the bias of squared estimates."""
        n, slots, squares = self.sets.users, self._sums.slots, self._sums.squares
        of_one = slots.at(length)
        pairs = squares.at(length).squared  # of all members that share an item
        lost2 = np.maximum(0.0, pairs - of_one.squared) / (n * (n - 1))
        if self.level_of is None:
            once = of_one.once[..., None] * item_counts / item_counts.sum()
        else:
            levels = self._sums.levels
            once = np.zeros((*np.shape(length), item_counts.size))
            once[..., : len(levels)] = np.stack([one.at(length).once for one in levels], axis=-1)
        drawn = once / n
        return SetMoments(lost2, of_one.squared / n, drawn, of_one.twice / n, of_one.lost / n)

    def longer(self, length: int, items: int) -> tuple[tuple[int, float], ...]:
        """Upper limits (Clopper and Pearson) that hold together with probability 0.999.

        Sets may be longer than all of the pilot's: up to all items.
        """
        from scipy.special import betaincinv

        if length >= items:
            return ()
        limits = [*size_limits(length, min(self.largest, items - 1)), items]
        n, sizes = self.sets.users, np.sort(self.sets.sizes)
        above = n - np.searchsorted(sizes, limits[:-1], side="right")
        miss = SIZES_MISS / above.size
        shares = np.where(above < n, betaincinv(above + 1.0, np.maximum(n - above, 1), 1 - miss), 1)
        return tuple(zip(limits[1:], shares.tolist(), strict=True))


def set_model_of(question: Question) -> SetModel | None:
    """What is known of an item-set question's sets; a pilot's file is read here."""
    known = question.sets if isinstance(question, ItemSet) else None
    if known is None or known.pilot is None:
        return known if known is not None and known.sizes else None
    path = Path(known.pilot)
    listed = tuple(level.items for level in question.levels)
    counts = tuple(level.item_count for level in question.levels)
    try:
        changed = path.stat().st_mtime_ns
    except OSError as error:
        raise unreadable(path, error) from error
    return _read(path, changed, listed, counts)


@lru_cache(maxsize=8)
def _read(
    path: Path, _changed: int, listed: tuple[tuple[str, ...], ...], counts: tuple[int, ...]
) -> PilotSets:
    answers = read_transactions(path)
    if answers.sets is None or len(answers.labels) > sum(counts):
        reason = f"has {len(answers.labels)} different items, but the levels have {sum(counts)}"
        raise FileError(path, reason, "Add the missing items to a level.")
    if not all(listed):
        return PilotSets(answers.sets)
    home = {item: i for i, items in enumerate(listed) for item in items}
    for label in answers.labels:
        if label not in home:
            reason = f"has an item {label!r} that no level lists"
            raise FileError(path, reason, "Add it to a level.")
    level_of = np.array([home[label] for label in answers.labels], dtype=np.int64)
    return PilotSets(answers.sets, level_of)
