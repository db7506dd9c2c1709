"""A pilot: what people's item sets look like, estimated from some of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from planner.errors import FileError, InputError
from planner.files import unreadable
from planner.mechanisms.itemsets import ItemSets
from planner.planning.datasets import read_transactions
from planner.survey import Question
from planner.survey.set_model import PilotFile, SetModel, SetMoments

__all__ = ["PilotSets", "set_model_of"]


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

    def __post_init__(self) -> None:
        if self.sets.users < 2:
            raise InputError("pilot", self.sets.users, "the sets of at least 2 people")
        if self.sets.members.size == 0:
            raise InputError("pilot", "only empty sets", "sets with items")
        if self.level_of is not None and np.shape(self.level_of) != (self.sets.items,):
            allowed = f"one level number per item, shape ({self.sets.items},)"
            raise InputError("level_of", np.shape(self.level_of), allowed)

    @property
    def mean_size(self) -> float:
        """Items per person in the pilot."""
        return self.sets.members.size / self.sets.users

    @property
    def largest(self) -> int:
        """Size of the pilot's largest set."""
        return int(self.sets.sizes.max())

    def moments(self, length: int, item_counts: NDArray[np.int64]) -> SetMoments:
        """See the module; ``lost2`` without the bias of squaring an estimate."""
        sizes, members, n = self.sets.sizes, self.sets.members, self.sets.users
        chance = np.repeat(1 / np.maximum(sizes, length), sizes)
        lost = np.maximum(0.0, 1 - length * chance)
        squares = float(lost @ lost)
        total = np.bincount(members, lost)
        lost2 = max(0.0, (float(total @ total) - squares) / (n * (n - 1)))
        if self.level_of is None:
            once = chance.sum() * item_counts / item_counts.sum()
        else:
            once = np.bincount(self.level_of[members], chance, item_counts.size)
        return SetMoments(lost2, squares / n, once / n, float(chance @ chance) / n)


def set_model_of(question: Question) -> SetModel | None:
    """What is known of an item-set question's sets; a pilot's file is read here.

    Raises
    ------
    FileError
        The pilot cannot be read, or has items that the levels do not have.
    """
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
