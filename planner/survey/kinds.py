"""What a question of each kind is about: levels of answers, or the range of a number."""

from __future__ import annotations

from dataclasses import dataclass

from planner import arguments
from planner.errors import InputError
from planner.survey.numeric_domain import NumericDomain
from planner.survey.preferences import Preferences

ORDINAL = "ordinal"
"""One answer out of a few in order: brackets, ages, agreement from 1 to 5."""
KINDS = ("categorical", "item-set", "sampled-choice", "numeric", ORDINAL)
KINDS_IN_WORDS = (
    "Take categorical for one answer each, ordinal if the answers have an order, item-set for "
    "several, numeric for a mean."
)
BEST = "best"
"""Asks for whichever mechanism has the smallest error; planning says which one that is."""
CHANNEL = "channel"
"""Asks for the best of all mechanisms for what is wanted: a mean, or shares of ordered answers."""
USUAL_MECHANISM = {
    "categorical": BEST,
    "item-set": BEST,
    "sampled-choice": "sampling-privacy",
    "numeric": "bisample-md",
    ORDINAL: CHANNEL,
}
"""The mechanism of a question that names none, by its kind."""


@dataclass(frozen=True, slots=True)
class Level:
    """A privacy level of a question.

    Parameters
    ----------
    name:
        Distinct within the question.
    epsilon:
        Budget in nats, above 0, at most 50.
    items:
        The answers in this level, distinct within the question; or empty, with
        ``item_count`` given, while only their number is known.
    item_count:
        Number of answers, at least 1; taken from ``items`` when those are given.
    yes_counts:
        For ``"sampled-choice"``: how many people are expected to have each item.
    prior:
        How many of a person's answers are expected in this level, 0 to the number of
        items: a share of the people where everybody has one answer. For all levels of a
        question or none; with it the expected error is minimised, without it the worst case.
    importance:
        How much this level's error matters beside the other levels', at least 0.
    """

    name: str
    epsilon: float
    items: tuple[str, ...] = ()
    item_count: int = 0
    yes_counts: tuple[int, ...] = ()
    prior: float | None = None
    importance: float = 1.0

    def __post_init__(self) -> None:
        _refuse_text(f"items of level {self.name!r}", self.items)
        object.__setattr__(self, "items", tuple(self.items))
        if self.items and self.item_count not in (0, len(self.items)):
            allowed = f"the number of items listed, {len(self.items)}"
            remedy = "Leave item_count out: listed items are counted."
            raise InputError(f"item_count of level {self.name!r}", self.item_count, allowed, remedy)
        if self.items:
            object.__setattr__(self, "item_count", len(self.items))
        elif self.item_count == 0:
            remedy = "List the level's items, or give their number as item_count."
            raise InputError(f"items of level {self.name!r}", self.items, "not empty", remedy)

    @property
    def labels(self) -> tuple[str, ...]:
        """The answers' names, or the level's with a number while only their number is known."""
        return self.items or tuple(f"{self.name} {k + 1}" for k in range(self.item_count))


@dataclass(frozen=True, slots=True)
class Sampling:
    """What a ``"sampled-choice"`` question needs beyond its levels.

    The meaning, ranges and checks of all fields are those of
    :class:`planner.planning.sampled.SamplingQuestion` and
    :class:`planner.planning.sampled.SamplingPlan`.
    """

    relies_on: str
    acknowledged: str | None = None
    cap: float = 0.45
    floor: float = 0.0
    none_epsilon: float | None = None
    everyone_has_value: bool = False


@dataclass(frozen=True, slots=True)
class Numeric:
    """What a ``"numeric"`` question is about, instead of levels.

    The meaning, ranges and checks of all fields but ``epsilon`` are those of
    :class:`planner.planning.answer_rates.AnswerRateModel`.

    Parameters
    ----------
    epsilon:
        Budget that everybody is offered, in nats, above 0, at most 50; ``None`` while
        it is still to be chosen.
    """

    domain: NumericDomain
    preferences: Preferences | None = None
    epsilon: float | None = None
    mean: float | None = None
    sd: float | None = None

    def __post_init__(self) -> None:
        if self.epsilon is not None:
            arguments.budget("epsilon", self.epsilon)


def _refuse_text(argument: str, value: object) -> None:
    if isinstance(value, str):  # a text is a sequence too, of its letters
        raise InputError(argument, value, "a list of texts", 'Put it in brackets: ["HIV"].')
