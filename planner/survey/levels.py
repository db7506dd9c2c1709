"""What can be answered: levels of answers, what is wanted of their errors, ranges of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from planner import arguments
from planner.arrays import Array
from planner.errors import InputError, mark
from planner.laws.levels import folded
from planner.laws.schema import Document
from planner.limits import MAX_COUNT
from planner.survey import values
from planner.survey.description import Description, Where, mistake_at, wrong

_LEAST_WIDTH = 1e-100  # its square, and a share of it, must still be numbers
_LARGEST_BOUND = 1e100
_LIKE_A_NUMBER = re.compile("[0-9]{1,12}")  # no question has more items


class Level(Description):
    """A privacy level: answers that share a budget, ``epsilon`` nats, above 0 and at most 50.

    Attributes
    ----------
    name, items:
        Distinct within the question.
    item_count:
        Number of answers, at least 1, while they are not listed.
    yes_counts:
        For a sampled choice: how many people are expected to have each item.
    prior:
        How many of a person's answers are expected here, 0 to the number of items. For all levels
        of a question, and the expected error is minimised, or for none.
    importance:
        How much this level's error matters beside the others', at least 0; below a millionth of the
        largest counts as that: every answer is estimated.
    against:
        Under the rule ``"one-sided"`` alone: how far a report may lower the odds of these answers
        against others, as ``epsilon`` is written; None for as far as raising those of others does.

    Examples
    --------
    >>> Level("severe", "ln 4", ["HIV", "cancer"]).item_count
    2
    """

    name: values.Name
    epsilon: values.Budget
    items: values.Answers = ()
    item_count: Annotated[int, values.count(1, MAX_COUNT, "Count the answers.")] = 0
    yes_counts: values.CountRow = ()
    prior: values.NotNegative | None = None
    importance: values.NotNegative = 1.0
    against: values.Budget | None = None

    @model_validator(mode="after")
    def _count(self) -> Self:
        if not self.items and not self.item_count:
            remedy = (
                f"List the level's items, or give their number as {mark('item_count')}."
            )
            raise InputError("items", (), "a list of answers", remedy)
        listed = len(self.items)
        if listed and self.item_count not in (0, listed):
            allowed = f"the number of items listed, {listed}"
            remedy = f"Leave {mark('item_count')} out: listed items are counted."
            raise wrong(self.item_count, allowed, remedy, "item_count")
        # The model is frozen: set past it, while it is made.
        self.__dict__["item_count"] = self.item_count or listed
        return self

    @model_serializer(mode="wrap")
    def _written(self, write: SerializerFunctionWrapHandler) -> Document:
        document = dict(write(self))
        if self.items:  # a file's reader counts them
            document.pop("item_count", None)
        return document

    @property
    def labels(self) -> tuple[str, ...]:
        """The answers' names, or the level's with a number while only their number is known."""
        if self.items:
            return self.items
        return tuple(f"{self.name} {k + 1}" for k in range(self.item_count))


def listed_items(levels: Iterable[Level]) -> list[str]:
    """The items that levels list, level by level."""
    items = list[str]()
    for level in levels:
        items.extend(level.items)
    return items


class Target(Description):
    """A requirement on one question, in shares of the users, from 1e-12 to below 1.

    One of three is given: ``error``, the root of the largest total mean squared error over all
    items (of a ``level``: the standard error of a rare item's share); ``detect``, the smallest
    share at which an item must be told apart from one that nobody has (one-sided 95 % test, power
    80 %); or ``difference``, that of an item's share ``between`` any two values of a known group,
    of which one has the share ``from`` (in Python ``from_share``) and the other one so much more
    (two-sided 5 % test, power 80 %).

    Examples
    --------
    >>> Target(detect="1 %", level="severe").value
    0.01
    >>> Target(difference=0.1, between="region", from_share=0.2).kind
    'difference'
    """

    error: Annotated[values.Share, Field(ge=1e-12, lt=1)] | None = None
    detect: Annotated[values.Share, Field(ge=1e-12, lt=1)] | None = None
    level: values.Name | None = None
    difference: Annotated[values.Share, Field(ge=1e-12, lt=1)] | None = None
    between: values.Name | None = None
    from_share: Annotated[values.Share, Field(ge=0, lt=1)] | None = Field(
        default=None, alias="from"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = (self.error, self.detect, self.difference)
        if sum(value is not None for value in given) != 1:
            remedy = (
                "Give the largest error, the smallest share to detect, or the smallest "
                "difference; a target for each."
            )
            allowed = "exactly one of the three"
            raise InputError("(error, detect, difference)", given, allowed, remedy)
        needed = {"between": self.between, "from": self.from_share}
        for key, value in needed.items():
            if (value is None) != (self.difference is None):
                allowed = "given with a difference, and with no other target"
                remedy = 'Write { difference = 0.05, between = "region", from = 0.2 }.'
                raise wrong(value, allowed, remedy, key)
        start = self.from_share or 0.0
        if self.difference is not None and start + self.difference > 1:
            allowed = f"at most {1 - start:g}, as shares end at 1"
            remedy = "Give the smaller of the two shares as from."
            raise wrong(self.difference, allowed, remedy, "difference")
        return self

    @property
    def kind(self) -> Literal["error", "detect", "difference"]:
        """Which of the three requirements is given."""
        if self.error is not None:
            return "error"
        if self.detect is not None:
            return "detect"
        return "difference"

    @property
    def of_all(self) -> bool:
        """Whether it is about the total error of the whole question."""
        return self.error is not None and self.level is None

    @property
    def value(self) -> float:
        """The number asked for, a share of the users."""
        return self.error or self.detect or self.difference or 0.0


def wrong_targets(
    targets: Iterable[Target], levels: Sequence[str]
) -> Iterator[tuple[int, str, InputError]]:
    """Targets, by number and key, that name no level or contradict an earlier target."""
    seen: dict[tuple[str, str | None, str | None, float | None], float] = {}
    # Two targets about the same must agree: which of them would be planned for?
    for i, target in enumerate(targets):
        if target.level is not None and target.level not in levels:
            remedy = (
                "Name a level of the question, or leave it out for the whole question."
            )
            error = InputError.unknown("level", target.level, levels, remedy)
            yield i, "level", error
        # Differences from several shares, or between several groups, do not contradict.
        subject = (target.kind, target.level, target.between, target.from_share)
        earlier = seen.setdefault(subject, target.value)
        if earlier != target.value:
            allowed = f"the same as the other target for it, {earlier:g}"
            remedy = "These targets contradict each other: keep the one that you need."
            error = InputError(target.kind, target.value, allowed, remedy)
            yield i, target.kind, error


def require_distinct(
    named: Iterable[tuple[Where, str]], homes: Sequence[str] = ()
) -> None:
    """No two have the same name, but for case; the homes are said of where the first one is."""
    seen: dict[str, tuple[Where, str]] = {}
    for where, name in named:
        first, other = seen.setdefault(folded(name), (where, name))
        if first is not where:
            allowed = "different from every other"
            if name != other:
                # Case and blanks do not tell names apart.
                allowed += f" by more than {other!r} is"
            if homes:
                allowed += f"; it is in {homes[int(first[1])]!r} already"
            remedy = "Rename one of the two, or delete it."
            raise mistake_at(where, InputError("name", name, allowed, remedy))


def check_items(levels: tuple[Level, ...]) -> None:
    """Names and items differ; items that go by their number have no name like one."""
    names: list[tuple[Where, str]] = []
    items: list[tuple[Where, str]] = []
    unlisted: dict[str, int] = {}  # how many items levels without a list have
    total = 0
    for i, level in enumerate(levels):
        where: Where = ("level", i, "name")
        names.append((where, level.name))
        for k, item in enumerate(level.items):
            where = ("level", i, "items", k)
            items.append((where, item))
        if not level.items:
            unlisted[folded(level.name)] = level.item_count
        total += level.item_count
    require_distinct(names)
    require_distinct(items, [level.name for level in levels])
    if not unlisted:  # none goes by its number
        return
    for where, item in items:
        # Unlisted items are called by their number, or "common 3" by level and number.
        name, _, number = folded(item).rpartition(" ")
        numbered = _number_in(number, 1, unlisted.get(name, 0))
        if numbered or _number_in(item, 0, total - 1):
            allowed = "no number, as items of other levels go by theirs"
            error = InputError("item", item, allowed, "Name all items, or none.")
            raise mistake_at(where, error)


def _number_in(text: str, least: int, most: int) -> bool:
    """Whether a text is a whole number from ``least`` to ``most``."""
    if not _LIKE_A_NUMBER.fullmatch(text):
        return False
    return least <= int(text) <= most


@dataclass(frozen=True, slots=True)
class NumericDomain:
    """The range of a numeric question, mapped to ``[-1, 1]``.

    The bounds are numbers with ``lower < upper``, below 1e100 and at least 1e-100 apart, or an
    :class:`~planner.errors.InputError` is raised. With ``yes_no`` the only answers are ``lower``
    ("no") and ``upper`` ("yes"), and estimates report the share of "yes" too.

    Examples
    --------
    >>> age = NumericDomain(17, 90)
    >>> age.to_unit(np.array([17.0, 53.5, 90.0, np.nan])).tolist()
    [-1.0, 0.0, 1.0, nan]
    """

    lower: float = -1.0
    upper: float = 1.0
    yes_no: bool = False

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            bound = arguments.finite(name, getattr(self, name))
            object.__setattr__(self, name, bound)
        if not self.lower < self.upper:
            remedy = "Swap the bounds, or widen the domain."
            allowed = f"below upper, which is {self.upper!r}"
            raise InputError("lower", self.lower, allowed, remedy)
        width = self.upper - self.lower
        farthest = max(-self.lower, self.upper)
        if not width >= _LEAST_WIDTH or farthest > _LARGEST_BOUND:
            allowed = f"at least {_LEAST_WIDTH:g} apart from lower, both below {_LARGEST_BOUND:g}"
            raise InputError("upper", self.upper, allowed, "Measure in another unit.")

    @property
    def center(self) -> float:
        """The answer that maps to 0."""
        return self.lower / 2 + self.upper / 2

    @property
    def radius(self) -> float:
        """Half the width: one unit of ``[-1, 1]`` in the question's unit."""
        return (self.upper - self.lower) / 2

    def answers(self, values: ArrayLike, argument: str = "values") -> Array:
        """The values as a column of one or more numbers, each in the domain or NaN."""
        try:
            column = np.asarray(values)
        except (TypeError, ValueError):
            column = np.empty(0)
        # Whole numbers, with a sign or without, and floats: text and truth values are
        # refused, not converted; and asarray reveals what a mask hides.
        masked = isinstance(values, np.ma.MaskedArray)
        plain = column.dtype.kind in "iuf" and not masked
        if not plain or column.ndim != 1 or column.size == 0:
            allowed = "a flat, plain list of numbers, one per user, at least one user"
            raise InputError(argument, values, allowed, "Use NaN for no answer.")
        low = self.lower
        high = self.upper
        outside = (column < low) | (column > high)  # which NaN is not
        allowed = f"from {low:g} to {high:g}, or NaN for no answer"
        if self.yes_no:
            outside |= (column > low) & (column < high)
            allowed = f"{low:g} (no), {high:g} (yes) or NaN for no answer"
        for i in np.flatnonzero(outside)[:1]:
            remedy = "Clip it, correct it, or widen the domain before anybody is asked."
            raise InputError(f"{argument}[{i}]", float(column[i]), allowed, remedy)
        return column.astype(np.float64)

    def to_unit(self, values: Array) -> Array:
        """Map ``[lower, upper]`` to ``[-1, 1]``; NaN stays NaN."""
        width = self.upper - self.lower
        share = (values - self.lower) / width
        # Rounding may step past an end by a last digit, and mechanisms take nothing
        # outside.
        return np.clip(2 * share - 1, -1.0, 1.0)
