"""Checks of numbers that several descriptions ask for."""

from __future__ import annotations

from math import isfinite

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.errors import InputError

__all__ = ["finite", "number_column", "positive"]


def finite(argument: str, value: object) -> float:
    """Return a finite number; a boolean is none.

    Raises
    ------
    InputError
        It is anything else.
    """
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not isfinite(value):  # type: ignore[arg-type]
        raise InputError(argument, value, "a finite number")
    return float(value)  # type: ignore[arg-type]


def positive(argument: str, value: object) -> float:
    """Return a finite number above 0.

    Raises
    ------
    InputError
        It is anything else.
    """
    number = finite(argument, value)
    if number <= 0:
        raise InputError(argument, value, "above 0")
    return number


def number_column(argument: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return a copy of one or more finite numbers, which cannot be written to, shape ``(k,)``.

    Raises
    ------
    InputError
        They are anything else.

    Examples
    --------
    >>> number_column("edges", [0, float("nan")])
    Traceback (most recent call last):
    ...
    planner.errors.InputError: edges[1] is nan but must be a finite number.
    """
    try:
        column = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(argument, values, "a list of numbers") from None
    if column.ndim != 1 or column.size == 0:
        raise InputError(argument, values, "a list of one or more numbers", "Add some.")
    for i in np.flatnonzero(~np.isfinite(column))[:1]:
        raise InputError(f"{argument}[{i}]", float(column[i]), "a finite number")
    column.setflags(write=False)
    return column
