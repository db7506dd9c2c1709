"""Tables as text: with any delimiter and encoding, or as transactions without a header.

Text is read by Python's ``csv`` in its strict mode. The readers of pandas and Arrow lose people
without a word: the first fills up a row that is too short, and both join the rows between two stray
quotes. Here every line below the header is a person or is refused by its number.
"""

from __future__ import annotations

import codecs
import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from planner.errors import FileError, InputError
from planner.laws.levels import folded
from planner.limits import MEBIBYTE
from planner.survey.rows import NumberedRows, OpenedFile

if TYPE_CHECKING:
    from _csv import Reader

LONGEST_LINE = 4 * MEBIBYTE
TRANSACTIONS = (".dat", ".data", ".txt")
_SAMPLE = 100  # lines by which a delimiter is found
LINE_SHOWN = 40  # letters of a line, in an error
# Programs for Windows begin a text with these bytes, and nothing else says that it is
# UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ENCODING_NAMES = {"cp1252": "Windows-1252", "iso8859-1": "Latin-1"}
BLANK = " "  # one or more stand between cells
_DELIMITERS = {
    ",": "commas",
    ";": "semicolons",
    "\t": "tabs",
    "|": "bars",
    BLANK: "blanks",
}
Lines = Callable[[], Iterator[str]]  # reads a text from its beginning


def open_text(
    path: Path,
    column_names: Sequence[str],
    *,
    delimiter: str | None,
    encoding: str | None,
    skip_rows: int,
    as_lists: bool,
    first_item: bool,
) -> OpenedFile:
    """Find out what stands between cells: by it the header has these ``column_names``.

    Of transactions, cells are lists in JSON if ``as_lists``, or the ``first_item`` alone.
    """
    name = find_encoding(path, encoding)

    def lines() -> Iterator[str]:
        return islice(read_lines(path, name), skip_rows, None)

    # The delimiter by which the header has the names, or else by which all rows are alike.
    sample = list(islice(lines(), _SAMPLE))
    marks = list(_DELIMITERS)
    if delimiter is not None:
        marks = [delimiter]
    fits = [_fit(sample, mark, column_names) for mark in marks]
    if delimiter is None:
        blanks = fits[marks.index(BLANK)]
        if not (blanks.named and blanks.alike):
            # Words of a text have blanks between them, too.
            fits.remove(blanks)
    best = max(fits, key=itemgetter(slice(3)))
    dialect = best.dialect
    shown = _ENCODING_NAMES.get(name, name.upper())
    # Benchmarks of frequent item sets (FIMI) come without a header: a person's item
    # numbers on each line.
    headless = path.suffix.lower() in TRANSACTIONS and not best.named
    if headless and len(column_names) == 1:
        transactions = _Transactions(column_names[0], lines, skip_rows)
        form = f"transactions, {transactions.between}, {shown}"
        rows = partial(transactions.rows, as_lists=as_lists, first_item=first_item)
        return OpenedFile(form, rows)
    between = "one column"
    if best.width > 1:
        between = _DELIMITERS[dialect.mark]
    rows = partial(delimited_rows, path, lines, dialect, skip_rows)
    return OpenedFile(f"{between}, {shown}", rows, dialect.mark)


class _Transactions:
    """Lines of items, a person each, between semicolons if any line has one, else blanks."""

    def __init__(self, name: str, lines: Lines, skipped: int) -> None:
        self._name = name
        self._lines = lines
        self._skipped = skipped
        self._separator: str | None = None
        self.between = _DELIMITERS[BLANK]
        if any(";" in line for line in lines()):
            self._separator = ";"
            self.between = _DELIMITERS[";"]

    def rows(self, *, as_lists: bool, first_item: bool) -> NumberedRows:
        """A cell of the whole line each, of its items in JSON, or of the first of them."""
        yield 0, [self._name]
        lines = map(str.strip, self._lines())
        for number, line in enumerate(lines, self._skipped + 1):
            if not line:
                yield number, []
                continue
            cells = map(str.strip, line.split(self._separator))
            items = list(filter(None, cells))
            if first_item:
                yield number, ["".join(items[:1])]
            elif as_lists:
                yield number, [json.dumps(items)]
            else:
                yield number, [line]


def find_encoding(path: Path, stated: str | None) -> str:
    """The encoding: as stated, by its mark, or the first of UTF-8 and Windows-1252 that fits."""
    with path.open("rb") as file:
        start = file.read(3)
    named = stated
    if named is None:
        for mark, name in _BYTE_ORDER_MARKS:
            if start.startswith(mark):
                named = name
                break
    # Nearly any bytes are text in Windows-1252; what can be read as UTF-8 is UTF-8.
    candidates = ["utf-8", "cp1252"]
    if named is not None:
        candidates = [named]
    for candidate in candidates:
        try:
            name = codecs.lookup(candidate).name
            _scan(path, name)
        except UnicodeError:
            continue
        except LookupError:
            remedy = "Write for example utf-8, utf-16, cp1252 or latin-1."
            raise InputError(
                "encoding", stated, "an encoding of text", remedy
            ) from None
        return name
    reason = f"is no text in {named or 'UTF-8, nor in Windows-1252'}"
    raise FileError(path, reason, "Save it as UTF-8, or say its encoding.")


def _scan(path: Path, encoding: str) -> None:
    """Refuse what is no text in this encoding, and lines that no text has."""
    line = 1
    letters = 0  # of the line that is not yet at its end
    with path.open(encoding=encoding, newline="") as file:
        while text := file.read(MEBIBYTE):
            if "\0" in text:
                line += text[: text.index("\0")].count("\n")
                remedy = "Is it text? Say its encoding, or take that out."
                raise FileError(path, f"line {line} has a character U+0000", remedy)
            # Old Macs end lines with a carriage return alone.
            ends = text.count("\n") or text.count("\r")
            line += ends
            if ends:
                last = max(text.rfind("\n"), text.rfind("\r"))
                letters = len(text) - 1 - last
            else:
                letters += len(text)
            if letters > LONGEST_LINE:
                reason = f"line {line} has more than {LONGEST_LINE // MEBIBYTE} MiB"
                raise FileError(path, reason, "Is it the right file?")


def read_lines(path: Path, encoding: str) -> Iterator[str]:
    """Lines with their ends, of a file that was scanned."""
    with path.open(encoding=encoding, newline="") as file:
        for line in islice(file, 1):
            yield line.removeprefix("\ufeff")
        yield from file


class Dialect(NamedTuple):
    """How rows are written.

    ``quote`` stands around cells, where anything does. With ``row_names`` every row begins with a
    name that has no title in the header, as R's ``write.table`` has it.
    """

    mark: str
    quote: str = '"'
    row_names: bool = False

    def rows(self, lines: Iterable[str], *, strict: bool) -> Reader:
        """The cells of each row; a blank at the end of a line ends no cell."""
        blanks = self.mark == BLANK
        if blanks:
            lines = (line.rstrip(" \r\n") + "\n" for line in lines)
        return csv.reader(
            lines,
            delimiter=self.mark,
            quotechar=self.quote,
            skipinitialspace=blanks,
            strict=strict,
        )


def delimited_rows(
    path: Path, lines: Lines, dialect: Dialect, above: int
) -> NumberedRows:
    """Rows with the lines on which they begin."""
    rows = dialect.rows(lines(), strict=True)
    start = above + 1
    untitled = dialect.row_names
    try:
        for row in rows:
            if untitled and row:
                untitled = False
                yield start, ["", *row]
            else:
                yield start, row
            start = above + rows.line_num + 1
    except csv.Error as error:
        from_start = islice(lines(), start - above - 1, None)
        text = next(from_start, "")
        reason = f"line {start}, {text[:LINE_SHOWN]!r}, is not CSV: {error}"
        remedy = (
            "Close its quotes; one that is part of a cell is written twice, in quotes."
        )
        raise FileError(path, reason, remedy) from error


class _Fit(NamedTuple):
    """How well a delimiter fits: of two the one with the larger first three fits better."""

    named: bool  # the header has what is wanted
    alike: bool  # all rows are as long as the header
    width: int
    dialect: Dialect


def _fit(sample: Sequence[str], mark: str, column_names: Sequence[str]) -> _Fit:
    dialect = Dialect(mark, _quote(sample, mark))
    try:
        read = list(dialect.rows(sample, strict=False))
    except csv.Error:
        read = []
    rows = list(filter(None, read))
    header: list[str] = []
    if rows:
        header = rows[0]
    if len(sample) == _SAMPLE:  # the last row may be cut
        rows = rows[:-1]
    if _have_row_names(sample, rows):
        dialect = dialect._replace(row_names=True)
        header = ["", *header]
        rows[0] = header
    titles = set(map(folded, header))
    named = titles.issuperset(map(folded, column_names))
    width = len(header)
    alike = all(len(row) == width for row in rows)
    return _Fit(named, alike, width, dialect)


def _quote(sample: Sequence[str], mark: str) -> str:
    """What stands around cells: a single quote where it stands around every title."""
    header = next(filter(str.strip, sample), "").strip()
    quoted = re.compile("'.*'", re.DOTALL)
    for title in header.split(mark):
        if not quoted.fullmatch(title.strip()):
            return '"'
    return "'"


def _have_row_names(sample: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether each row has a name in quotes, another one for each, that no title is of."""
    if len(rows) < 2:
        return False
    header, *others = rows
    width = len(header) + 1
    names = set()
    for row in others:
        if len(row) != width or row[0] in names:
            return False
        names.add(row[0])
    # Without quotes it could be a column whose title was forgotten, at the end.
    lines = filter(str.strip, sample)
    return all(line.startswith('"') for line in lines)
