"""How often a question is asked, and what may happen to answers between the rounds."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import PlainValidator, model_validator

from planner.errors import InputError
from planner.laws.rounds import MOST_ROUNDS, Rounds
from planner.survey.description import Description
from planner.survey.values import at, read_count

_CHANGES = "Write never, any, or the most changes that one person's answer may make."


def _read_rounds(value: object) -> int:
    return read_count(value, 2, MOST_ROUNDS, "Leave the rounds out if it is asked one time.")


def _read_changes(value: Any) -> Literal["never", "any"] | int:
    if value in ("never", "any"):
        return value
    return read_count(value, 1, MOST_ROUNDS - 1, _CHANGES)


class AskedAgain(Description):
    """The rounds of a question.

    Attributes
    ----------
    count:
        How often it is asked, 2 to 1000.
    changes:
        ``"never"``: answers stay, and one report serves all rounds. ``"any"``, or the most changes
        of one person's answer.
    times_open:
        Whether an observer may see when an answer changes; needs a number of changes, below the
        number of rounds.

    Examples
    --------
    >>> AskedAgain(12, 1, times_open=True).deployed
    Rounds(count=12, changes=1)
    """

    count: Annotated[int, PlainValidator(_read_rounds)]
    changes: Annotated[Literal["never", "any"] | int, PlainValidator(_read_changes)] = "any"
    times_open: bool = False

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.times_open and not (isinstance(self.changes, int) and self.changes < self.count):
            allowed = f"a number from 1 to {self.count - 1} where times are open"
            raise at("changes", error=InputError("changes", self.changes, allowed, _CHANGES))
        return self

    @property
    def deployed(self) -> Rounds | None:
        """What the parameter file says; None where one report serves all rounds."""
        if self.changes == "never":
            return None
        return Rounds(self.count, self.changes if self.times_open else None)  # type: ignore[arg-type]
