"""The table of a survey file that says what people's item sets look like."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from planner.datasets import read_transactions
from planner.errors import FileError, InputError
from planner.mechanisms.itemsets import ItemSets
from planner.set_model import AssumedSets, PilotSets
from planner.survey import Level
from planner.survey_tables import Table

__all__ = ["SetsTable"]


class SetsTable(Table):
    """``[question.sets]``: a histogram of set sizes, or the file of a pilot."""

    sizes: list[float] | None = None
    popularity: str | list[float] = "zipf"
    pilot: str | None = None

    def read(self, folder: Path, levels: Sequence[Level]) -> AssumedSets | PilotSets:
        """What the table says; a pilot's file is looked for in the survey's ``folder``.

        Raises
        ------
        InputError
            Both or neither of ``sizes`` and ``pilot``, or a wrong number in them.
        FileError
            The pilot cannot be read, or has an item that no level lists.
        """
        if (self.sizes is None) == (self.pilot is None):
            remedy = "Give the share of people with 0, 1, 2, ... items, or a file of transactions."
            raise InputError(
                "sets (sizes, pilot)", (self.sizes, self.pilot), "one of the two", remedy
            )
        if self.sizes is not None:
            return AssumedSets(self.sizes, self.popularity)
        return _pilot(folder / str(self.pilot), levels)


def _pilot(path: Path, levels: Sequence[Level]) -> PilotSets:
    answers = read_transactions(path)
    total = sum(level.item_count for level in levels)
    if answers.sets is None or len(answers.labels) > total:
        reason = f"has {len(answers.labels)} different items, but the levels have {total}"
        raise FileError(path, reason, "Add the missing items to a level.")
    if not all(level.items for level in levels):
        return PilotSets(answers.sets)
    return _placed(path, answers.sets, answers.labels, levels)


def _placed(
    path: Path, sets: ItemSets, labels: tuple[str, ...], levels: Sequence[Level]
) -> PilotSets:
    """The pilot with its items numbered as in the levels."""
    home = {item: i for i, level in enumerate(levels) for item in level.items}
    level_of: list[int] = []
    for label in labels:
        if label not in home:
            reason = f"has an item {label!r} that no level lists"
            raise FileError(path, reason, "Add it to a level.")
        level_of.append(home[label])
    column: NDArray[np.int64] = np.array(level_of, dtype=np.int64)
    return PilotSets(sets, column)
