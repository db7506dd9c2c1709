"""Tables whose cells have types: JSON lines, Parquet, and the files of SPSS and Stata."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from planner.errors import FileError
from planner.laws.schema import Document, Json
from planner.survey.rows import (
    GIVE_A_PART,
    NumberedRows,
    OpenedFile,
    missing_library,
)
from planner.survey.text_files import LINE_SHOWN, find_encoding, read_lines

if TYPE_CHECKING:
    import pyarrow as pa

MOST_HEADINGS = 10_000
# At a time, so that a file of millions takes no more memory than one of thousands.
_PARQUET_ROWS = 2**14
STATISTICS_ROWS = 100_000  # at a time: those before them are read again
_STATISTICS = {".sav": "SPSS", ".zsav": "SPSS", ".dta": "Stata"}


def cell_text(value: object) -> str:
    """A typed cell as text that means the same.

    Examples
    --------
    >>> cell_text(3.0), cell_text(True), cell_text(datetime.datetime(2026, 5, 1))
    ('3', 'true', '2026-05-01')
    """
    if value is None:
        return ""
    match value:
        # Parquet and JSON have truth values, which Python would spell with a capital
        # letter.
        case bool():
            return str(value).lower()
        case list():
            return json.dumps([cell_text(item) for item in value])
        case float():  # as pandas and Excel have whole numbers, too
            return _number_text(value)
        case datetime.datetime() if value.time() == datetime.time():
            return value.date().isoformat()
    return str(value)


def _number_text(value: float) -> str:
    """The number as text: without a decimal mark if it is whole; empty for NaN."""
    if math.isnan(value):
        return ""
    if value.is_integer():
        return str(int(value))
    return str(value)


# -- JSON lines ------------------------------------------------------------------------------


def open_json_lines(path: Path, _skipped: int) -> OpenedFile:
    """An object a line; the columns are all of their keys."""
    encoding = find_encoding(path, "utf-8")
    names: dict[str, None] = {}
    for number, line in enumerate(read_lines(path, encoding), 1):
        # All lines are read once for their keys: a person may be the only one with an answer.
        names |= dict.fromkeys(_json_object(path, number, line))
        if len(names) > MOST_HEADINGS:
            reason = f"has more than {MOST_HEADINGS:,} different keys"
            raise FileError(path, reason, GIVE_A_PART)

    def rows() -> NumberedRows:
        yield 0, list(names)
        for number, line in enumerate(read_lines(path, encoding), 1):
            if not line.strip():
                yield number, []
                continue
            person = _json_object(path, number, line)
            yield number, [cell_text(person.get(name)) for name in names]

    return OpenedFile("JSON lines", rows)


def _json_object(path: Path, number: int, line: str) -> Document:
    """The object of a line; an empty one of a blank line."""
    if not line.strip():
        return {}
    try:
        value = json.loads(line, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        reason = f"line {number}, {line[:LINE_SHOWN]!r}, is not JSON: {error}"
        raise FileError(path, reason, "Write an object a line.") from error
    if type(value) is not dict:
        reason = f"line {number}, {line[:LINE_SHOWN]!r}, is no JSON object"
        raise FileError(path, reason, 'Write {"question": "answer"} on each line.')
    return value


def _distinct(pairs: list[tuple[str, Json]]) -> Document:
    # JSON's own reader keeps the last of two, without a word.
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("a key stands twice")
    return table


# -- Parquet ---------------------------------------------------------------------------------


def open_parquet(path: Path, _skipped: int) -> OpenedFile:
    """The columns of a Parquet file."""
    return OpenedFile("Parquet", partial(_parquet_rows, path))


def _parquet_rows(path: Path) -> NumberedRows:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            schema = file.schema_arrow
        names = schema.names
        texts = []
        for name in names:
            if pa.types.is_string(schema.field(name).type):
                texts.append(name)
        # Of a dictionary, each text is kept once, however many rows have it.
        with pq.ParquetFile(path, read_dictionary=texts) as file:
            yield 0, names
            done = 0
            for batch in file.iter_batches(_PARQUET_ROWS):
                columns = [_column_texts(column) for column in batch.columns]
                rows = zip(*columns, strict=True)
                yield from enumerate(map(list, rows), done + 1)
                done += batch.num_rows
    except pa.ArrowException as error:
        raise FileError(path, f"is not Parquet: {error}", "Write it again.") from error


def _column_texts(column: pa.Array) -> list[str]:
    if not hasattr(column, "dictionary"):
        return list(map(cell_text, column.to_pylist()))
    texts: dict[int | None, str] = {None: ""}
    for index, value in enumerate(column.dictionary.to_pylist()):
        texts[index] = cell_text(value)
    return [texts[index] for index in column.indices.to_pylist()]


# -- files of SPSS and Stata -----------------------------------------------------------------


def open_statistics(path: Path, _skipped: int) -> OpenedFile:
    """The variables of a file of SPSS or Stata, with what their codes mean.

    A code that the file says to be missing is a blank.
    """
    # One row is enough: names and labels stand in the file's head.
    _, metadata = _read_statistics(path, 0, 1)
    labels = {}
    for name, table in metadata.variable_value_labels.items():
        meanings = {}
        for code, text in table.items():
            meanings[cell_text(code)] = str(text)
        labels[name] = meanings

    def rows() -> NumberedRows:
        yield 0, list(metadata.column_names)
        done = 0
        while block := list(_statistics_rows(path, done)):
            yield from enumerate(block, done + 1)
            done += len(block)

    form = _STATISTICS[path.suffix.lower()]
    return OpenedFile(form, rows, value_labels=labels)


def _statistics_rows(path: Path, done: int) -> Iterator[list[str]]:
    columns, _ = _read_statistics(path, done, STATISTICS_ROWS)
    for row in zip(*columns.values(), strict=True):
        yield [cell_text(value).strip() for value in row]


def _read_statistics(
    path: Path, first: int, most: int
) -> tuple[dict[str, list[object]], Json]:
    """The columns of at most so many rows, and what the file says about these."""
    form = _STATISTICS[path.suffix.lower()]
    try:
        import pyreadstat
    except ImportError as error:
        raise missing_library(f"files of {form}", "pyreadstat") from error
    read = pyreadstat.read_sav
    if form == "Stata":
        read = pyreadstat.read_dta
    path.open("rb").close()  # the system's own words if it cannot be read
    try:
        return read(path, row_offset=first, row_limit=most, output_format="dict")
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError) as error:
        reason = f"is no file of {form} that can be read: {error}"
        raise FileError(path, reason, "Save it again, or as CSV.") from error
