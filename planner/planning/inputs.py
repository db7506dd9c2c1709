"""Checks of what plans are asked for."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.errors import InputError

__all__ = ["positive_numbers", "whole_number"]

_MOST_PEOPLE = 10**12


def whole_number(
    argument: str, value: object, least: int = 1, most: int = _MOST_PEOPLE, remedy: str = ""
) -> int:
    """Return a whole number, of people if nothing else is said: ``least`` to ``most``.

    Raises
    ------
    InputError
        It is anything else; a boolean is no number.
    """
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        number = int(value)
        if least <= number <= most:
            return number
    raise InputError(argument, value, f"a whole number from {least} to {most}", remedy)


def positive_numbers(argument: str, values: ArrayLike, most: float) -> NDArray[np.float64]:
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
    planner.errors.InputError: epsilons[1] is 60.0 but must be above 0 and at most 50.
    """
    try:
        column = np.atleast_1d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        raise InputError(argument, values, "a list of numbers") from None
    if column.ndim != 1 or column.size == 0:
        raise InputError(argument, column.shape, "a list of one or more numbers")
    for i in np.flatnonzero(~((column > 0) & (column <= most)))[:1]:
        raise InputError(f"{argument}[{i}]", float(column[i]), f"above 0 and at most {most:.6g}")
    return column
