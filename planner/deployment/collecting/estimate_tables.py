"""Tables of estimates: their columns, rows of a question in them, and files."""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from planner.arrays import Array
from planner.errors import FileError
from planner.estimates.rows import NUMBERS, AnswerRows
from planner.files import replace_file

TABLE_SUFFIXES = (".parquet", ".csv", ".json")
# lower to upper covers the answer's true number with the stated confidence; the joint limits
# cover all answers of a question together; an empty limit claims nothing. processed is biased,
# see remark. Of counts share is their share of the people, with its limits; of a difference
# between two groups it is that of their shares, and p the chance of a larger one if there is
# none. limits_for says whose variance errors and limits count: that of the people asked, or of
# people drawn at random from a population.
_TEXT_COLUMNS = ("question", "group", "of", "level", "answer")
_NUMBER_COLUMNS = (*NUMBERS, "share", "share_lower", "share_upper", "p")
ESTIMATE_COLUMNS = pa.schema(
    [
        *((name, pa.string()) for name in _TEXT_COLUMNS),
        ("users", pa.int64()),
        *((name, pa.float64()) for name in _NUMBER_COLUMNS),
        ("limits_for", pa.string()),
        ("remark", pa.string()),
    ]
)
ASKED = "people asked"
POPULATION = "population"

# The name of a question, and of which rounds or parts of it rows are.
RowsName = tuple[str, str]


def table_of(
    name: RowsName,
    rows: AnswerRows,
    group: str = "",
    p: Array | None = None,
    limits: str = ASKED,
) -> pa.Table:
    """Rows as a table of estimates.

    Parameters
    ----------
    name, rows:
        What they are of, and the rows.
    group:
        The people whom they are about; all if empty.
    p:
        Of differences the chance of a larger one if there is none, shape ``(rows,)``.
    limits:
        :data:`ASKED` or :data:`POPULATION`: whose variance they count.
    """
    question, part = name
    size = len(rows.answers)
    numbers = rows.numbers.copy()
    shares = rows.numbers[[0, 2, 3]] / rows.whole  # estimate, lower and upper
    if p is None:
        p = np.full(size, np.nan)
    else:  # of counts a difference is one of shares
        numbers[:, ~np.isnan(rows.whole)] = np.nan
    figures = np.vstack([numbers, shares, p])
    figures[~np.isfinite(figures)] = np.nan  # an infinite limit claims nothing
    columns: list[object] = [
        pa.repeat(question, size),
        pa.repeat(group, size),
        pa.repeat(part, size),
        _texts(rows.levels),
        _texts(rows.answers),
        pa.repeat(rows.users, size),
    ]
    for figure in figures:
        columns.append(pa.array(figure, from_pandas=True))  # an empty cell for NaN
    columns.append(pa.repeat(limits, size))
    columns.append(_texts(rows.remarks))
    by_name = dict(zip(ESTIMATE_COLUMNS.names, columns, strict=True))
    return pa.table(by_name, schema=ESTIMATE_COLUMNS)


def _texts(column: Sequence[str]) -> object:
    """A column of one text takes no list: there may be millions of rows."""
    if all(text == column[0] for text in column):
        return pa.repeat(column[0], len(column))
    return column


def write_table(path: str | Path, table: pa.Table, *, excel: bool = False) -> None:
    """Write a table as Parquet, CSV or JSON (a list of rows), by the ending of the path.

    In a CSV, which spreadsheets open, a text that they would take for a formula begins with an
    apostrophe (OWASP ASVS 5.0, 1.2.10); the other two have names as they are. For ``excel`` it
    begins with a byte order mark.

    Raises
    ------
    FileError
        Another ending, or the path cannot be written.
    """
    suffix = Path(path).suffix
    if suffix not in TABLE_SUFFIXES:
        reason = f"ends in none of {', '.join(TABLE_SUFFIXES)}"
        raise FileError(path, reason, "Rename it.")
    if suffix == ".json":
        text = json.dumps(table.to_pylist(), indent=1, allow_nan=False)
        replace_file(path, text + "\n")
        return
    content = io.BytesIO()
    if suffix == ".parquet":
        pq.write_table(table, content)
    else:
        if excel:
            content.write(codecs.BOM_UTF8)
        pa_csv.write_csv(_without_formulas(table), content)
    replace_file(path, content.getvalue())


def _without_formulas(table: pa.Table) -> pa.Table:
    """Texts of which none begins like a formula, nor does a cell that a spreadsheet makes of it.

    Where a comma is the mark of decimals, spreadsheets begin a cell at each semicolon.
    """
    columns = {}
    for name in table.column_names:
        column = table[name]
        if pa.types.is_string(column.type):
            column = pc.replace_substring_regex(column, r"\A([=+\-@\t\r\x00])", r"'\1")
            column = pc.replace_substring_regex(
                column, r"([;\t\r\n]\"?)([=+\-@])", r"\1'\2"
            )
        columns[name] = column
    return pa.table(columns)
