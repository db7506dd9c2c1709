"""Checks shared by all mechanisms; each runs before any randomness is drawn."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from planner.arguments import whole_number
from planner.arrays import Whole
from planner.errors import InputError

MAX_ITEMS = 2**31 - 1


def generator(rng: object) -> np.random.Generator:
    """Return ``rng`` itself if it is a NumPy generator; simulation never picks its own seed."""
    if isinstance(rng, np.random.Generator):
        return rng
    remedy = "Pass numpy.random.default_rng(seed), so that the run can be repeated."
    raise InputError("rng", rng, "a numpy.random.Generator", remedy)


def item_count(items: int, least: int = 2) -> int:
    """Return the size of an item domain, a whole number of at least ``least``."""
    return whole_number("items", items, least, MAX_ITEMS, "Count the possible answers.")


def item_numbers(values: ArrayLike, items: int, argument: str = "values") -> Whole:
    """Item numbers, one per user, whole and from 0 to ``items - 1``, shape ``(n,)``.

    Examples
    --------
    >>> item_numbers([0, 3], items=3)
    Traceback (most recent call last):
    ...
    planner.errors.InputError: values[1] is 3 but must be an item number from 0 to 2. ...
    """
    array = _whole_numbers(argument, values)
    if array.ndim != 1 or array.size == 0:
        allowed = "a list with one item number per user, not empty"
        remedy = "Put the answers of all users in one flat list."
        raise InputError(argument, array.shape, allowed, remedy)
    for k in np.flatnonzero((array < 0) | (array >= items)):
        allowed = f"an item number from 0 to {items - 1}"
        remedy = "Items are numbered from 0: the last is one less than their number."
        raise InputError(f"{argument}[{k}]", int(array[k]), allowed, remedy)
    return np.asarray(array, np.int64)


def true_counts(counts: ArrayLike, items: int) -> Whole:
    """True numbers of users per item, shape ``(items,)``, whole, not negative, not all 0."""
    array = _whole_numbers("true_counts", counts)
    remedy = "Give 0 for items that nobody has."
    if array.shape != (items,):
        allowed = f"one count per item, shape ({items},)"
        raise InputError("true_counts", array.shape, allowed, remedy)
    for k in np.flatnonzero(array < 0):
        raise InputError(f"true_counts[{k}]", int(array[k]), "at least 0", remedy)
    if not array.any():
        remedy = "Count at least one user."
        raise InputError("true_counts", "0 everywhere", "above 0 for at least one item", remedy)
    return np.asarray(array, np.int64)


def _whole_numbers(argument: str, values: ArrayLike) -> Whole:
    try:
        array: Whole = np.asarray(values)
    except (TypeError, ValueError):
        remedy = "Give one item number per user, all in one flat list."
        raise InputError(argument, values, "a list of whole numbers", remedy) from None
    if array.dtype.kind in "iu" or array.size == 0:
        return array
    if array.dtype.kind == "f":
        for position in np.flatnonzero(array.ravel() != np.floor(array.ravel())):
            value = float(array.ravel()[position])  # NaN too: it equals nothing
            remedy = "Items go by whole numbers: replace what is missing or broken."
            raise InputError(f"{argument}[{position}]", value, "a whole number", remedy)
    remedy = "Convert with numpy.asarray(values, dtype=int) once you know that they are whole."
    raise InputError(argument, f"of dtype {array.dtype}", "of an integer dtype", remedy)
