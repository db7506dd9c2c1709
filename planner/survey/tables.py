"""Tables as their owners have them: delimited text, JSON lines, Parquet, Excel, transactions.

Text is read by Python's ``csv`` in its strict mode. The readers of pandas and Arrow lose people
without a word: the first fills up a row that is too short, and both join the rows between two stray
quotes. Here every line below the header is a person or is refused by its number.
"""

from __future__ import annotations

import codecs
import csv
import json
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import dropwhile, islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from zipfile import ZipFile

from pydantic import Field

from planner.errors import FileError, InputError, PlannerError
from planner.files import unreadable
from planner.laws.levels import folded
from planner.laws.schema import Document, Json
from planner.limits import MEBIBYTE
from planner.survey.description import Description

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_MEBIBYTES = 1024
_MOST_HEADINGS = 10_000
_LONGEST_LINE = 4 * MEBIBYTE
_PARQUET_ROWS = 2**14  # rows of Parquet at a time
_SAMPLE = 100  # lines by which a delimiter is found
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ENCODING_NAMES = {"cp1252": "Windows-1252", "iso8859-1": "Latin-1"}
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_TRANSACTIONS = (".dat", ".data", ".txt")
_WHOLE = "Give a part of it."
Row = tuple[int, list[str]]
NumberedRows = Iterator[Row]
Lines = Callable[[], Iterator[str]]  # reads a text from its beginning
Reader = Callable[[], NumberedRows]  # reads a file from its beginning


class Reading(Description):
    """How a file of answers is read; what is left out is found out.

    ``delimiter`` is one of comma, semicolon, tab and bar; ``encoding`` one that Python knows;
    ``decimal`` the mark of decimals. ``skip_rows`` are rows above the header. With
    ``place_unlisted``, answers that no level lists take the places, in their order, that levels
    without a list have. ``first_item`` keeps the first item of each transaction.
    """

    delimiter: Literal[",", ";", "|", "tab"] | None = None
    encoding: str | None = None
    decimal: Literal[".", ","] | None = None
    skip_rows: int = Field(default=0, ge=0)
    place_unlisted: bool = False
    first_item: bool = False


class AnswerTable:
    """A file with a header, a person a row.

    Attributes
    ----------
    form:
        As what it was read, in words.
    mark:
        What stands between cells of text; empty if it is none.
    blank:
        Blank lines at the end, counted when the rows are read: people, if there is one column.

    Raises
    ------
    FileError
        The file cannot be read or is no table: when it is opened or, by its line, when rows are.
    """

    def __init__(self, path: Path, form: str, rows: Reader, mark: str = "") -> None:
        self.path = path
        self.form = form
        self.mark = mark
        self.blank = 0
        self._all = rows
        with _told(path):
            first = next(
                (row for row in rows() if any(map(str.strip, row[1]))), (0, list[str]())
            )
        self._line, self._header = first
        if not self._header:
            raise FileError(path, "is empty", "Give a header and rows.")
        self.header = [name.strip() for name in self._header]

    def rows(self) -> NumberedRows:
        """Every row with the number of its line, all of them as long as the header."""
        width = len(self.header)
        blank = 0
        first = 0
        above = self._line
        with _told(self.path):
            for line, row in dropwhile(lambda one: one[0] <= above, self._all()):
                if not row or (len(row) == 1 and row[0].isspace()):
                    first = first if blank else line
                    blank = blank + 1
                    continue
                if blank:
                    if width > 1:
                        reason = f"line {first} is blank, and others follow"
                        raise FileError(self.path, reason, "Take blank lines out.")
                    yield from ((first + k, [""]) for k in range(blank))
                    blank = 0
                if row == self._header and width > 1:
                    remedy = "Take it out: a file has one header."
                    raise FileError(
                        self.path, f"line {line} is the header again", remedy
                    )
                if len(row) != width:
                    reason = f"line {line} has {counted(len(row), 'cell')}, and the header {width}"
                    raise FileError(
                        self.path, reason, "Give every row a cell for each column."
                    )
                yield line, row
        self.blank = blank
        if width == 1:  # nothing else could stand for somebody without an answer
            yield from ((first + k, [""]) for k in range(blank))

    def place(self, name: str) -> int:
        """Where the column of this name is; a FileError unless there is one."""
        places = [k for k, one in enumerate(self.header) if folded(one) == folded(name)]
        if len(places) != 1:
            listed = ", ".join(self.header)
            listed = listed if len(listed) < 300 else f"{listed[:300]} ..."
            found = "there is none" if not places else f"there are {len(places)}"
            remedy = (
                f"Name a column like the question, or choose one of these: {listed}."
            )
            raise FileError(
                self.path, f"one column {name!r} is needed, and {found}", remedy
            )
        return places[0]


def open_table(
    path: str | Path, reading: Reading, wanted: Sequence[str] = ()
) -> AnswerTable:
    """Find out what a file is, with the names of columns that are ``wanted``.

    A FileError says what cannot be read.
    """
    path = Path(path)
    with _told(path):
        if path.stat().st_size > _MOST_MEBIBYTES * MEBIBYTE:
            raise FileError(path, f"is larger than {_MOST_MEBIBYTES} MiB", _WHOLE)
        suffix = path.suffix.lower()
        if suffix not in _OTHERS:
            return _text(path, reading, wanted)
        for key in (
            "delimiter",
            "encoding",
            *(["skip_rows"] if suffix != ".xlsx" else []),
        ):
            if getattr(reading, key):
                allowed = f"left out for a {suffix} file"
                raise InputError(
                    key, getattr(reading, key), allowed, "The file says how it is."
                )
        form, opened = _OTHERS[suffix]
        return AnswerTable(path, form, opened(path, reading.skip_rows))


def counted(number: int, thing: str) -> str:
    """So many things, in words.

    Examples
    --------
    >>> counted(1, "row"), counted(20_000, "row")
    ('1 row', '20,000 rows')
    """
    return f"{number:,} {thing}{'s' * (number != 1)}"


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """What the system says of a file is said of it by us."""
    try:
        yield
    except OSError as error:
        raise unreadable(path, error) from error
    except UnicodeError as error:
        remedy = "Save it as UTF-8, or say its encoding."
        raise FileError(
            path, f"is not text in its encoding: {error}", remedy
        ) from error


# -- text ---------------------------------------------------------------------------------


def _text(path: Path, reading: Reading, wanted: Sequence[str]) -> AnswerTable:
    encoding = _encoding(path, reading.encoding)
    above = reading.skip_rows

    def lines() -> Iterator[str]:
        return islice(_lines(path, encoding), above, None)

    sample = list(islice(lines(), _SAMPLE))
    marks = (
        [reading.delimiter.replace("tab", "\t")]
        if reading.delimiter
        else list(_DELIMITERS)
    )
    fits = {mark: _fits(sample, mark, wanted) for mark in marks}
    best = max(marks, key=fits.__getitem__)
    named, _, width = fits[best]
    shown = _ENCODING_NAMES.get(encoding, encoding.upper())
    if path.suffix.lower() in _TRANSACTIONS and not named and len(wanted) == 1:
        between = ";" if any(";" in line for line in lines()) else None
        form = f"transactions, {_DELIMITERS.get(between or '', 'blanks')}, {shown}"
        return AnswerTable(
            path, form, lambda: _transactions(lines(), between, reading, wanted[0])
        )
    form = f"{_DELIMITERS[best] if width > 1 else 'one column'}, {shown}"
    return AnswerTable(path, form, lambda: _delimited(path, lines, best, above), best)


def _encoding(path: Path, told: str | None) -> str:
    """As told, or by its mark, or the first of UTF-8 and Windows-1252 that all of it is."""
    with path.open("rb") as file:
        start = file.read(3)
    marked = next(
        (name for mark, name in _BYTE_ORDER_MARKS if start.startswith(mark)), None
    )
    named = told or marked
    for one in [named] if named else ["utf-8", "cp1252"]:
        try:
            name = codecs.lookup(one).name
            _scan(path, name)
        except UnicodeError:
            continue
        except LookupError:
            remedy = "Write for example utf-8, utf-16, cp1252 or latin-1."
            raise InputError("encoding", told, "an encoding of text", remedy) from None
        return name
    reason = f"is no text in {named or 'UTF-8, nor in Windows-1252'}"
    raise FileError(path, reason, "Save it as UTF-8, or say its encoding.")


def _scan(path: Path, encoding: str) -> None:
    """Refuse what is no text in this encoding, and lines that no text has."""
    line = 1
    held = 0
    with path.open(encoding=encoding, newline="") as file:
        while text := file.read(MEBIBYTE):
            if "\0" in text:
                line += text[: text.index("\0")].count("\n")
                remedy = "Is it text? Say its encoding, or take that out."
                raise FileError(path, f"line {line} has a character U+0000", remedy)
            ends = text.count("\n") or text.count("\r")
            held = (
                held + len(text)
                if not ends
                else len(text) - 1 - max(map(text.rfind, "\n\r"))
            )
            line += ends
            if held > _LONGEST_LINE:
                reason = f"line {line} has more than {_LONGEST_LINE // MEBIBYTE} MiB"
                raise FileError(path, reason, "Is it the right file?")


def _lines(path: Path, encoding: str) -> Iterator[str]:
    """Lines with their ends, of a file that was scanned."""
    with path.open(encoding=encoding, newline="") as file:
        for line in file:
            yield line.removeprefix("\ufeff")
            break
        yield from file


def _delimited(path: Path, lines: Lines, mark: str, above: int) -> NumberedRows:
    """Rows with the lines on which they begin."""
    rows = csv.reader(lines(), delimiter=mark, strict=True)
    start = above + 1
    try:
        for row in rows:
            yield start, row
            start = above + rows.line_num + 1
    except csv.Error as error:
        text = next(islice(lines(), start - above - 1, None), "")
        reason = f"line {start}, {text[:40]!r}, is not CSV: {error}"
        remedy = (
            "Close its quotes; one that is part of a cell is written twice, in quotes."
        )
        raise FileError(path, reason, remedy) from error


def _fits(
    sample: Sequence[str], mark: str, wanted: Sequence[str]
) -> tuple[bool, bool, int]:
    """Whether the header has what is wanted, whether all rows are as long, and how long."""
    try:
        rows = [row for row in csv.reader(sample, delimiter=mark) if row]
    except csv.Error:
        rows = []
    # the last may be cut
    header = rows[0] if rows else []
    whole = len(sample) < _SAMPLE
    names = set(map(folded, header))
    alike = all(len(row) == len(header) for row in (rows if whole else rows[:-1]))
    return all(folded(name) in names for name in wanted), alike, len(header)


def _transactions(
    lines: Iterator[str], mark: str | None, reading: Reading, name: str
) -> NumberedRows:
    """A person a line, no header: items between semicolons, if any line has one, or blanks."""
    yield 0, [name]
    for number, line in enumerate(map(str.strip, lines), reading.skip_rows + 1):
        cell = line
        if reading.first_item or reading.place_unlisted:
            parts = [part.strip() for part in line.split(mark) if part.strip()]
            cell = "".join(parts[:1]) if reading.first_item else json.dumps(parts)
        yield number, [cell] if line else []


# -- other forms -----------------------------------------------------------------------------


def _cell(value: object) -> str:
    """A typed cell as text that means the same."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case list():
            return json.dumps([_cell(one) for one in value])
        case float() if math.isnan(value):
            return ""
        case float() if value.is_integer():
            return str(int(value))
    return str(value)


def _json_lines(path: Path, _skipped: int) -> Reader:
    lines = partial(_lines, path, _encoding(path, "utf-8"))
    names: dict[str, None] = {}
    for number, line in enumerate(lines(), 1):
        names |= dict.fromkeys(_json_object(path, number, line))
        if len(names) > _MOST_HEADINGS:
            raise FileError(
                path, f"has more than {_MOST_HEADINGS:,} different keys", _WHOLE
            )

    def rows() -> NumberedRows:
        yield 0, list(names)
        for number, line in enumerate(lines(), 1):
            found = _json_object(path, number, line)
            yield (
                number,
                [_cell(found.get(name)) for name in names] if line.strip() else [],
            )

    return rows


def _json_object(path: Path, number: int, line: str) -> Document:
    """The object of a line; an empty one of a blank line."""
    try:
        found = json.loads(line, object_pairs_hook=_once) if line.strip() else {}
    except (ValueError, RecursionError) as error:
        reason = f"line {number}, {line[:40]!r}, is not JSON: {error}"
        raise FileError(path, reason, "Write an object a line.") from error
    if type(found) is not dict:
        reason = f"line {number}, {line[:40]!r}, is no JSON object"
        raise FileError(path, reason, 'Write {"question": "answer"} on each line.')
    return found


def _once(pairs: list[tuple[str, Json]]) -> Document:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _parquet(path: Path) -> NumberedRows:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            schema = file.schema_arrow
        names = schema.names
        texts = [name for name in names if pa.types.is_string(schema.field(name).type)]
        with pq.ParquetFile(
            path, read_dictionary=texts
        ) as file:  # each text is kept once
            yield 0, names
            done = 0
            for batch in file.iter_batches(_PARQUET_ROWS):
                columns = [_column(column) for column in batch.columns]
                yield from enumerate(map(list, zip(*columns, strict=True)), done + 1)
                done += batch.num_rows
    except pa.ArrowException as error:
        raise FileError(path, f"is not Parquet: {error}", "Write it again.") from error


def _column(column: pa.Array) -> list[str]:
    if hasattr(column, "dictionary"):
        known = [_cell(value) for value in column.dictionary.to_pylist()]
        return ["" if k is None else known[k] for k in column.indices.to_pylist()]
    return [_cell(value) for value in column.to_pylist()]


def excel_rows(path: Path, skipped: int = 0, sheet: str | None = None) -> NumberedRows:
    """The rows of a sheet of an Excel file, the first if none is named, with their numbers.

    Those that end early are filled up: a sheet does not say where its rows end.
    InputError without the library that reads it; FileError if it is no such file or sheet.
    """
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        remedy = (
            "Install it: pip install 'ldp-planner[excel]'. Or save the file as CSV."
        )
        raise InputError.because(
            "file", "reading Excel needs openpyxl", remedy
        ) from error
    try:
        with ZipFile(path) as packed:
            size = sum(one.file_size for one in packed.infolist())
        if size > _MOST_MEBIBYTES * MEBIBYTE:
            raise FileError(path, f"unpacks to more than {_MOST_MEBIBYTES} MiB", _WHOLE)
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # of colours and checks that no cell's value needs
            book = load_workbook(path, read_only=True, data_only=True)
        names = {folded(name): name for name in book.sheetnames}
        if sheet is not None and sheet not in names:
            listed = ", ".join(book.sheetnames)
            raise FileError(path, f"has no sheet {sheet!r}", f"There are: {listed}.")
        found = book[names[sheet]] if sheet else book.worksheets[0]
        found.reset_dimensions()  # what a file says of its own size may be wrong
        width = 0
        rows = enumerate(found.iter_rows(values_only=True), 1)
        for number, row in islice(rows, skipped, None):
            cells = [_cell(value) for value in row]
            while cells and not cells[-1]:
                cells.pop()
            width = width or len(cells)
            yield number, cells + [""] * (width - len(cells)) if cells else []
        book.close()
    except (PlannerError, OSError):
        raise
    except Exception as error:  # whatever the library meets in a damaged file
        raise FileError(
            path, f"is not an Excel file: {error!r}", "Save it as .xlsx."
        ) from error


_OTHERS: dict[str, tuple[str, Callable[[Path, int], Reader]]] = {
    ".jsonl": ("JSON lines", _json_lines),
    ".ndjson": ("JSON lines", _json_lines),
    ".parquet": ("Parquet", lambda path, _: partial(_parquet, path)),
    ".xlsx": (
        "Excel, the first sheet",
        lambda path, skipped: partial(excel_rows, path, skipped),
    ),
}
# How names of files end that are usual; any other is text, too.
SUFFIXES = ("csv", "tsv", *(one[1:] for one in (*_TRANSACTIONS, *_OTHERS)))
