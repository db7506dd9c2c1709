"""Strict access to the fields of a JSON object, with the standard library only."""

from __future__ import annotations

from typing import Any

from planner.errors import InputError
from planner.limits import REPORTS_REMEDY

__all__ = ["Fields"]

_MISSING = object()


class Fields:
    """One JSON object; each accessor returns a field of the right type and range or raises.

    Parameters
    ----------
    where:
        Where the object is, for errors.
    data:
        The parsed object.

    Examples
    --------
    >>> Fields("question 'q'", {"truth": -1}).whole("truth", 0, 10)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    planner.errors.InputError: truth of question 'q' is -1 but must be a whole number...
    """

    __slots__ = ("_data", "_where")

    def __init__(self, where: str, data: Any) -> None:
        if not isinstance(data, dict):
            raise InputError(where, data, "a JSON object", REPORTS_REMEDY)
        self._where = where
        self._data = data

    def text(self, key: str) -> str:
        """Text that is not empty."""
        value = self._get(key)
        if not isinstance(value, str) or not value:
            raise self.wrong(key, value, "text that is not empty")
        return value

    def whole(self, key: str, least: int, most: int) -> int:
        """A whole number from ``least`` to ``most``."""
        value = self._get(key)
        if type(value) is not int or not least <= value <= most:
            raise self.wrong(key, value, f"a whole number from {least} to {most}")
        return value

    def value(self, key: str) -> Any:
        """Any value."""
        return self._get(key)

    def wrong(self, key: str, value: object, allowed: str) -> InputError:
        """The error for a field that is not as it must be."""
        return InputError(f"{key} of {self._where}", value, allowed, REPORTS_REMEDY)

    def _get(self, key: str) -> Any:
        value = self._data.get(key, _MISSING)
        if value is _MISSING:
            raise InputError(f"{key} of {self._where}", None, "given", REPORTS_REMEDY)
        return value
