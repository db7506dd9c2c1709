"""Check a person's answer against a question, before anything is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.deployment.client.laws.levels import Levels
from planner.errors import InputError


def item_number(levels: Levels, numbers: Mapping[str, int], answer: Any) -> int:
    """The number of an item given by its name or, where items have no names, by its number.

    Raises
    ------
    InputError
        It is not one of the items. The answer itself is not repeated in the message,
        which may end up in a log.
    """
    if type(answer) is str and answer in numbers:
        return numbers[answer]
    if not levels.named and type(answer) is int and 0 <= answer < levels.total:
        return answer
    allowed = "the name of an item of this question"
    if not levels.named:
        allowed += f", or its number from 0 to {levels.total - 1}"
    remedy = "Give an item as the parameter file lists it."
    raise InputError("answer", _kind(answer), allowed, remedy)


def item_set(levels: Levels, numbers: Mapping[str, int], answer: Any) -> tuple[int, ...]:
    """The item numbers of a list, tuple or set of items without repeats, ascending; maybe none.

    Raises
    ------
    InputError
        It is not such a collection.
    """
    if type(answer) not in (list, tuple, set, frozenset):
        remedy = "Put the items into a list, [] if there are none."
        raise InputError("answer", _kind(answer), "a list of items, empty for none", remedy)
    found = sorted(item_number(levels, numbers, item) for item in answer)
    if len(set(found)) < len(found):
        remedy = "Give each item once."
        raise InputError.because("answer", "answer is a list that has an item twice", remedy)
    return tuple(found)


def number(answer: Any, lower: float, upper: float, yes_no: bool = False) -> float | None:
    """A number in the range, its ends if ``yes_no``, or ``None`` for no answer (``None``, NaN).

    Raises
    ------
    InputError
        It is neither.
    """
    if answer is None or (isinstance(answer, float) and answer != answer):  # noqa: PLR0124 - NaN
        return None
    plain = isinstance(answer, int | float) and not isinstance(answer, bool)
    allowed = f"a number from {lower:g} to {upper:g}, or none"
    if not plain or not lower <= answer <= upper:
        remedy = "Give a number within the range, or None."
        raise InputError("answer", _kind(answer), allowed, remedy)
    if yes_no and answer not in (lower, upper):
        remedy = "Give one of the two, or None."
        raise InputError("answer", _kind(answer), f"{lower:g}, {upper:g} or none", remedy)
    return float(answer)


def _kind(answer: Any) -> str | None:
    """What kind of thing the answer is, or that there is none; never the answer."""
    return None if answer is None else f"of type {type(answer).__name__}"
