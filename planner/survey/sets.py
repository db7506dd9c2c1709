"""The table of a survey file that says what people's item sets look like."""

from __future__ import annotations

from pathlib import Path

from planner.errors import InputError
from planner.set_model import AssumedSets, PilotFile
from planner.survey.tables import Table

__all__ = ["SetsTable"]


class SetsTable(Table):
    """``[question.sets]``: a histogram of set sizes, or the file of a pilot."""

    sizes: list[float] | None = None
    popularity: str | list[float] = "zipf"
    pilot: str | None = None

    def read(self, folder: Path) -> AssumedSets | PilotFile:
        """What the table says; a pilot's file is looked for in the survey's ``folder``.

        Raises
        ------
        InputError
            Both or neither of ``sizes`` and ``pilot``, or a wrong number in them.
        """
        if (self.sizes is None) == (self.pilot is None):
            remedy = "Give the share of people with 0, 1, 2, ... items, or a file of transactions."
            raise InputError(
                "sets (sizes, pilot)", (self.sizes, self.pilot), "one of the two", remedy
            )
        if self.sizes is not None:
            return AssumedSets(self.sizes, self.popularity)
        return PilotFile(str(folder / str(self.pilot)))
