"""A pilot: what people's item sets look like, estimated from some of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.errors import FileError, InputError
from planner.estimates.truncation import SIZES_MISS, LongerSets
from planner.files import unreadable
from planner.mechanisms.itemsets import ItemSets
from planner.planning.datasets import read_transactions
from planner.survey.questions import ItemSet, Question
from planner.survey.sets import OnlyCap, PilotFile, SetModel, SetMoments, Slots, size_limits


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
    hundred people do.

    Parameters
    ----------
    sets:
        The pilot's sets, of at least two people.
    level_of:
        Level number of each item, shape ``(items,)``; without it items are taken to be
        spread over the levels like the levels' sizes.

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
        lost = slots.lost(length).squared
        pairs = squares.lost(length).squared  # of all members that share an item
        lost2 = np.maximum(0.0, pairs - lost) / (n * (n - 1))
        if self.level_of is None:
            once = slots.once(length)[..., None] * item_counts / item_counts.sum()
        else:
            levels = self._sums.levels
            once = np.zeros((*np.shape(length), item_counts.size))
            once[..., : len(levels)] = np.stack([one.once(length) for one in levels], axis=-1)
        lost2, cut = np.asarray(lost2), slots.lost(length).once / n
        return SetMoments(lost2, lost / n, once / n, slots.twice(length) / n, cut, (lost2, lost2))

    def longer(self, length: int, items: int) -> LongerSets:
        """Upper limits (Clopper and Pearson) that hold together with probability 0.999.

        Sets may be longer than all of the pilot's: up to all items.
        """
        from scipy.special import betaincinv

        if length >= items:
            return LongerSets(length, (), ())
        limits = [*size_limits(length, min(self.largest, items - 1)), items]
        n, sizes = self.sets.users, np.sort(self.sets.sizes)
        above = n - np.searchsorted(sizes, limits[:-1], side="right")
        miss = SIZES_MISS / above.size
        shares = np.where(above < n, betaincinv(above + 1.0, np.maximum(n - above, 1), 1 - miss), 1)
        return LongerSets(length, tuple(limits[1:]), tuple(shares.tolist()))


def set_model_of(question: Question) -> SetModel | None:
    """What is known of an item-set question's sets; a pilot's file is read here."""
    if not isinstance(question, ItemSet) or isinstance(question.sets, OnlyCap):
        return None
    if not isinstance(question.sets, PilotFile):
        return question.sets
    path = Path(question.sets.path)
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
