"""A CSV file of true answers, for pilots and tests: each cell as the person would give it."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from planner.deployment.client.mechanisms.law import Encoder, Law
from planner.errors import FileError, InputError
from planner.files import unreadable

__all__ = ["Column", "read_answers"]

_BLOCK = 2**14  # answers at a time


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the file, headed by the name of the question that it answers."""

    name: str
    law: Law
    encoder: Encoder


def read_answers(data: Path, columns: Sequence[Column]) -> Iterator[list[list[Any]]]:
    """Blocks of rows; each row holds, for each column, the code that its encoder draws from.

    Raises
    ------
    FileError
        The file cannot be read or holds an answer that is none; the line is named.
    """
    try:
        with data.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.reader(file)
            header = [name.strip() for name in next(rows, [])]
            places = [_place(data, header, column.name) for column in columns]
            # A blank line is one empty cell: a missing answer, if there is one column.
            coded = (_codes(data, rows.line_num, row or [""], places, columns) for row in rows)
            while block := list(islice(coded, _BLOCK)):
                yield block
    except OSError as error:
        raise unreadable(data, error) from error
    except (UnicodeDecodeError, csv.Error) as error:
        remedy = "Save it as CSV in UTF-8."
        raise FileError(data, f"is not CSV in UTF-8: {error}", remedy) from error


def _place(data: Path, header: list[str], name: str) -> int:
    if header.count(name) != 1:
        remedy = "Name the column like the question."
        raise FileError(data, f"one column {name!r} is needed; there are {header}", remedy)
    return header.index(name)


def _codes(
    data: Path, line: int, row: list[str], places: list[int], columns: Sequence[Column]
) -> list[Any]:
    if len(row) <= max(places):
        remedy = "Give each question one column, empty where there is no answer."
        raise FileError(data, f"line {line} has too few columns", remedy)
    try:
        return [
            column.encoder.code(column.law.from_text(row[place]))
            for place, column in zip(places, columns, strict=True)
        ]
    except InputError as error:
        raise FileError(data, f"line {line}: {error.reason}", error.remedy) from error
