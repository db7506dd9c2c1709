"""A question that is asked again: its rounds, and how often one answer may change."""

from __future__ import annotations

from typing import Annotated, Self

import pydantic

from planner.laws.rounds import MOST_ROUNDS, Rounds
from planner.survey import values
from planner.survey.description import Description, wrong

_CHANGES = "Write never, any, or the most changes that one person's answer may make."


def _read_changes(value: object) -> str | int:
    match value:
        case "never" | "any":
            return value
    return values.read_count(value, 1, MOST_ROUNDS - 1, _CHANGES)


class AskedAgain(Description):
    """The rounds of a question that is asked again, ``count`` times from 2 to 1000.

    ``changes`` is ``"never"`` (one report serves all rounds), ``"any"``, or the most changes of one
    person's answer; only with such a number, below ``count``, may ``times_open`` let an observer
    see when an answer changes.

    Examples
    --------
    >>> AskedAgain(12, 1, times_open=True).deployed
    Rounds(count=12, changes=1)
    """

    count: Annotated[
        int,
        values.count(2, MOST_ROUNDS, "Leave the rounds out if it is asked one time."),
    ]
    changes: Annotated[str | int, pydantic.PlainValidator(_read_changes)] = "any"
    times_open: bool = False

    @pydantic.model_validator(mode="after")
    def _fits(self) -> Self:
        # A limit at or above the number of rounds limits nothing, and open times would tell.
        if self.times_open and (
            type(self.changes) is str or self.most_changes >= self.count
        ):
            allowed = f"a number from 1 to {self.count - 1} where times are open"
            raise wrong(self.changes, allowed, _CHANGES, "changes")
        return self

    @property
    def most_changes(self) -> int:
        """Changes of one person's answer that are allowed for: of any number, one a round."""
        match self.changes:
            case "never":
                return 0
            case int():
                return self.changes
        return self.count - 1

    @property
    def deployed(self) -> Rounds | None:
        """What the parameter file says; None where one report serves all rounds."""
        if self.changes == "never":
            return None
        return Rounds(self.count, self.most_changes if self.times_open else None)
