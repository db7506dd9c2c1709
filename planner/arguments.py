"""Checks of numbers that several descriptions ask for."""

from __future__ import annotations

from math import isfinite
from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.errors import InputError
from planner.limits import BUDGET_RANGE, BUDGET_REMEDY, MAX_COUNT, MAX_EPSILON


def finite(argument: str, value: object) -> float:
    """Return a finite number; a boolean is none.

    Raises
    ------
    InputError
        It is anything else.
    """
    if not (is_number(value) and isfinite(value)):
        remedy = "Write it in digits, without quotes, such as 1.5."
        raise InputError(argument, value, "a finite number", remedy)
    return float(value)


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is a number; a boolean is none."""
    return isinstance(value, int | float | np.number) and type(value) is not bool


def budget(argument: str, value: object) -> float:
    """Return a privacy budget in nats, above 0 and at most 50.

    Raises
    ------
    InputError
        It is anything else.

    Examples
    --------
    >>> budget("epsilon", 60)
    Traceback (most recent call last):
    ...
    planner.errors.InputError: epsilon is 60 but must be a budget above 0 and at most 50. A ...
    """
    if is_number(value) and 0 < value <= MAX_EPSILON:
        return float(value)
    strict = "Even the strictest level needs a little: 0.1, for example."
    above = is_number(value) and value > MAX_EPSILON
    raise InputError(argument, value, BUDGET_RANGE, BUDGET_REMEDY if above else strict)


def require_budgets(
    argument: str, column: NDArray[np.float64], *, unlimited: bool = False
) -> None:
    """Refuse what is no :func:`budget`; ``unlimited``: nor infinite."""
    fine = (column > 0) & ((column <= MAX_EPSILON) | (unlimited & np.isposinf(column)))
    for i in np.flatnonzero(~fine)[:1]:
        budget(f"{argument}[{i}]", float(column[i]))


def whole_number(
    argument: str,
    value: object,
    least: int = 1,
    most: int = MAX_COUNT,
    remedy: str = "Write it in digits, without quotes or a decimal point.",
) -> int:
    """Return a whole number, of people if nothing else is said: ``least`` to ``most``.

    Raises
    ------
    InputError
        It is anything else; a boolean is no number.
    """
    whole = isinstance(value, int | np.integer) and type(value) is not bool
    if whole and least <= (number := int(value)) <= most:  # type: ignore[call-overload]
        return number
    raise InputError(argument, value, f"a whole number from {least} to {most}", remedy)


def number_column(
    argument: str, values: ArrayLike, *, finite: bool = True
) -> NDArray[np.float64]:
    """Return a copy of one or more numbers, which cannot be written to, shape ``(k,)``.

    Text and booleans are no numbers. Without ``finite`` the caller refuses NaN and infinity.

    Raises
    ------
    InputError
        They are anything else.

    Examples
    --------
    >>> number_column("edges", [0, float("nan")])
    Traceback (most recent call last):
    ...
    planner.errors.InputError: edges[1] is nan but must be a finite number. ...
    """
    remedy = "Write numbers in brackets, with commas between: [1, 2.5]."
    try:
        column = np.array(values)
    except ValueError:  # rows of several lengths
        raise InputError(argument, values, "a list of numbers", remedy) from None
    mixed = isinstance(values, list | tuple) and any(
        type(one) is bool for one in values
    )
    if column.size and (mixed or column.dtype.kind not in "iuf"):
        raise InputError(argument, values, "a list of numbers", remedy)
    column = column.astype(np.float64)
    if column.ndim != 1 or column.size == 0:
        raise InputError(argument, values, "a list of one or more numbers", "Add some.")
    for i in np.flatnonzero(finite & ~np.isfinite(column))[:1]:
        remedy = "Put in the number that is missing, or leave this entry out."
        raise InputError(
            f"{argument}[{i}]", float(column[i]), "a finite number", remedy
        )
    column.setflags(write=False)
    return column


def positive_numbers(
    argument: str, values: ArrayLike, most: float
) -> NDArray[np.float64]:
    """Return one or more numbers above 0 and at most ``most``, shape ``(k,)``.

    Raises
    ------
    InputError
        They are anything else.

    Examples
    --------
    >>> positive_numbers("epsilons", [1, 60], most=50)
    Traceback (most recent call last):
    ...
    planner.errors.InputError: epsilons[1] is 60.0 but must be above 0 and at most 50. ...
    """
    column = number_column(argument, np.atleast_1d(np.asarray(values)))
    for i in np.flatnonzero((column <= 0) | (column > most))[:1]:
        allowed = f"above 0 and at most {most:.6g}"
        remedy = (
            "Change this entry; a number of the list may stand alone, without brackets."
        )
        raise InputError(f"{argument}[{i}]", float(column[i]), allowed, remedy)
    return column
