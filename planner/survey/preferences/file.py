"""Samples of tolerated epsilons from CSV files."""

from __future__ import annotations

import csv
from math import isfinite
from pathlib import Path

from planner.errors import FileError
from planner.files import read_text
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
    rows = csv.DictReader(read_text(path).splitlines())
    try:
        header = rows.fieldnames or []
        name = header[0] if column is None and len(header) == 1 else column
        if name not in header:
            have = ", ".join(map(str, header)) or "none"
            raise FileError(path, f"there is no column {name!r} (columns: {have})")
        cells = [(rows.line_num, row[name]) for row in rows]
    except csv.Error as error:
        raise FileError(path, f"is not CSV: {error}", "Check its quotes.") from error
    if not cells:
        raise FileError(path, "the sample of preferences is empty", "Add a line per person.")
    return EmpiricalPreferences([_cell(path, line, text) for line, text in cells])


def _cell(path: str | Path, line: int, text: str | None) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = float("nan")
    if not isfinite(value):
        raise FileError(path, f"line {line}: {text!r} is not a finite number")
    return value
