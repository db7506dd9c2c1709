"""Samples of tolerated epsilons from CSV files."""

from __future__ import annotations

from math import isfinite
from pathlib import Path

from planner.errors import FileError
from planner.files import read_csv
from planner.survey.preferences.observed import EmpiricalPreferences

__all__ = ["read_preferences"]


def read_preferences(path: str | Path, column: str | None = None) -> EmpiricalPreferences:
    """Read a sample of tolerated epsilons from a CSV file with a header line.

    Parameters
    ----------
    path:
        The file.
    column:
        Name of the column; may be omitted if the file has one column only.

    Raises
    ------
    FileError
        The file cannot be read, has no such column, or a cell is not a finite number.
    """
    header, rows = read_csv(path)
    name = header[0] if column is None and len(header) == 1 else column
    if name not in header:
        have = ", ".join(header)
        raise FileError(path, f"there is no column {name!r}", f"Name one of its columns: {have}.")
    if column is None and _number(header[0]) is not None:
        reason = f"the first line, {header[0]!r}, is a number and no header"
        raise FileError(path, reason, "Name the column in a line of its own.")
    place = header.index(name)
    cells = [(line, row[place] if len(row) > place else "") for line, row in rows]
    if not cells:
        raise FileError(path, "the sample of preferences is empty", "Add a line per person.")
    return EmpiricalPreferences([_cell(path, line, text) for line, text in cells])


def _cell(path: str | Path, line: int, text: str) -> float:
    value = _number(text)
    if value is None:
        remedy = "Write a number such as 1.5, or delete the line."
        raise FileError(path, f"line {line}: {text!r} is not a finite number", remedy)
    return value


def _number(text: str) -> float | None:
    """A finite number, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None
