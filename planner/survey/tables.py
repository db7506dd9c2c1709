"""Tables as their owners have them, a person a row: what a file is, and its rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

from pydantic import Field

from planner.errors import FileError, InputError, mark
from planner.laws.levels import folded
from planner.survey.description import Description
from planner.survey.rows import (
    NumberedRows,
    OpenedFile,
    counted,
    require_size,
    system_errors,
)
from planner.survey.spreadsheets import SPREADSHEETS, open_spreadsheet
from planner.survey.text_files import BLANK, TRANSACTIONS, open_text
from planner.survey.typed_files import (
    open_json_lines,
    open_parquet,
    open_statistics,
)

_LONGEST_LIST = 300  # letters of the names of columns, in an error
_NUMBERED = re.compile(r"(.*\S)\s*#([1-9][0-9]{0,3})", re.DOTALL)
# Rows by which a wrong shape is noticed: to look at all would read a large file twice.
_ROWS_LOOKED_AT = 2**14
_MOST_ROWS_A_PERSON = 20
_SPELT_OUT = {"tab": "\t", "blank": BLANK}
_FORMS: dict[str, Callable[[Path, int], OpenedFile]] = {
    ".jsonl": open_json_lines,
    ".ndjson": open_json_lines,
    ".parquet": open_parquet,
    **dict.fromkeys(SPREADSHEETS, open_spreadsheet),
    **dict.fromkeys((".sav", ".zsav", ".dta"), open_statistics),
}
# How names of files end that are usual; any other is text, too.
SUFFIXES = (".csv", ".tsv", *TRANSACTIONS, *_FORMS)
# Columns by which tables are known that have more rows than people, or fewer.
_OF_PERSONS = re.compile(
    r"_?(uu)?id|pid|caseid|key|respondent|participant|(person|respondent|participant|"
    r"subject|user|case|response|record|instance|submission)[ _]?(id|no|nr|number|key)"
)
_OF_COUNTS = re.compile(
    r"n|count|counts|freq|frequency|frequencies|people|persons|number of people|respondents|"
    r"anzahl|h.ufigkeit|effectif|total"
)


class Reading(Description):
    """How a file of answers is read; what is left out is found out.

    ``delimiter`` is one of comma, semicolon, tab, bar and blank; ``encoding`` one that Python
    knows; ``decimal`` the mark of decimals. ``skip_rows`` are rows above the header. With
    ``place_unlisted``, answers that no level lists take the places, in their order, that levels
    without a list have. ``first_item`` keeps the first item of each transaction.
    """

    delimiter: Literal[",", ";", "|", "tab", "blank"] | None = None
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
    value_labels:
        What codes mean where the file says it itself: by the name of the column, by code.

    Raises
    ------
    FileError
        The file cannot be read or is no table: when it is opened or, by its line, when rows are.
    """

    def __init__(self, path: Path, opened: OpenedFile) -> None:
        self.path = path
        self.form = opened.form
        self.mark = opened.mark
        self.value_labels: Mapping[str, Mapping[str, str]] = opened.value_labels
        self.blank = 0
        self._read_all = opened.rows
        self._header_line = 0
        self._header: list[str] = []
        with system_errors(path):
            # Blank lines above the header are nobody.
            for line, row in opened.rows():
                if any(map(str.strip, row)):
                    self._header_line = line
                    self._header = row
                    break
        if not self._header:
            raise FileError(path, "is empty", "Give a header and rows.")
        self.header = [name.strip() for name in self._header]

    def rows(self) -> NumberedRows:
        """Every row with the number of its line, all of them as long as the header."""
        width = len(self.header)
        blank = 0  # lines since the last row
        first_blank = 0
        with system_errors(self.path):
            for line, row in self._read_all():
                if line <= self._header_line:
                    continue
                if not row or (len(row) == 1 and row[0].isspace()):
                    if not blank:
                        first_blank = line
                    blank += 1
                    continue
                if blank and width > 1:
                    reason = f"line {first_blank} is blank, and others follow"
                    raise FileError(self.path, reason, "Take blank lines out.")
                yield from _nobodies(first_blank, blank)
                blank = 0
                # pandas would fill up a short row; here it has lost a cell.
                self._require_row(line, row)
                yield line, row
        self.blank = blank
        if width == 1:  # nothing else could stand for somebody without an answer
            yield from _nobodies(first_blank, blank)

    def _require_row(self, line: int, row: list[str]) -> None:
        width = len(self.header)
        # Files that were put end to end repeat it. In one column it may be an answer,
        # called like the question.
        if row == self._header and width > 1:
            remedy = "Take it out: a file has one header."
            raise FileError(self.path, f"line {line} is the header again", remedy)
        if len(row) != width:
            cells = counted(len(row), "cell")
            reason = f"line {line} has {cells}, and the header {width}"
            remedy = "Give every row a cell for each column."
            raise FileError(self.path, reason, remedy)

    def place(self, name: str) -> int:
        """Where the column of this name is; ``"City #2"`` is the second that is called City.

        A FileError unless there is one.
        """
        places = self._places(name)
        # A column that is really called "City #2" comes before the second "City".
        numbered = _NUMBERED.fullmatch(name)
        if not places and numbered:
            title, number = numbered.groups()
            nth = int(number) - 1
            places = self._places(title)[nth : nth + 1]
        if len(places) == 1:
            return places[0]
        listed = ", ".join(self.header)
        if len(listed) >= _LONGEST_LIST:
            listed = f"{listed[:_LONGEST_LIST]} ..."
        if places:
            reason = f"one column {name!r} is needed, and there are {len(places)}"
            remedy = (
                f"Say which, in {mark('columns')}: '{name} #1' is the first of them."
            )
            raise FileError(self.path, reason, remedy)
        holder = self._column_with(name)
        if holder:
            reason = f"column {holder!r} has {name!r} in its cells: it has a row for each answer"
            remedy = "Make it a table with a row for each person, and a column for each question."
            raise FileError(self.path, reason, remedy)
        reason = f"one column {name!r} is needed, and there is none"
        remedy = f"Name a column like the question, or choose one of these: {listed}."
        raise FileError(self.path, reason, remedy)

    def value_labels_of(self, column_index: int) -> Mapping[str, str]:
        """What the codes of a column mean, where the file says so."""
        return self.value_labels.get(self.header[column_index], {})

    def _places(self, name: str) -> list[int]:
        titles = enumerate(map(folded, self.header))
        return [k for k, title in titles if title == folded(name)]

    def _columns_called(self, pattern: re.Pattern[str]) -> list[int]:
        """The positions of the columns whose titles, folded, are of a ``pattern``."""
        positions = []
        for k, title in enumerate(self.header):
            if pattern.fullmatch(folded(title)):
                positions.append(k)
        return positions

    def _column_with(self, name: str) -> str:
        """The column that has names of questions in its cells; empty if none has this one."""
        if len(self.header) < 2:
            return ""
        for _, row in islice(self._readable_rows(), _ROWS_LOOKED_AT):
            for title, cell in zip(self.header, row, strict=True):
                if folded(cell) == folded(name):
                    return title
        return ""

    def _readable_rows(self) -> NumberedRows:
        """The rows up to one that is wrong."""
        try:
            yield from self.rows()
        except FileError:
            return

    def persons_twice(self) -> str:
        """The column of persons that has one twice, in the first rows; empty if there is none.

        One with few values is a code that is called so: PID is a party, too.
        """
        columns = self._columns_called(_OF_PERSONS)
        if not columns:
            return ""
        rows = [row for _, row in islice(self._readable_rows(), _ROWS_LOOKED_AT)]
        for column in columns:
            cells = [folded(row[column]) for row in rows]
            given = list(filter(None, cells))
            persons = len(set(given))
            if persons < len(given) <= _MOST_ROWS_A_PERSON * persons:
                return self.header[column]
        return ""

    def require_persons(self, answer_column: int, answers: int) -> None:
        """Refuse a table of frequencies: every answer stands once, beside how many people have it.

        Parameters
        ----------
        answer_column:
            The position of the column of answers.
        answers:
            How many different ones there are.
        """
        # A column that is called like a number of people.
        counts = self._columns_called(_OF_COUNTS)
        if answer_column in counts:
            counts.remove(answer_column)
        if not counts:
            return
        # One row more than there are answers shows that rows are people.
        rows = [row for _, row in islice(self._readable_rows(), answers + 1)]
        cells = {folded(row[answer_column]) for row in rows}
        repeated = len(cells) < len(rows)
        if repeated or not 2 <= len(rows) <= answers:
            return
        for count in counts:
            numbers = [row[count].strip() for row in rows]
            if not all(map(str.isdecimal, numbers)):
                continue
            # Numbers that add up to no more than the rows are another column, which
            # happens to be called n.
            if sum(map(int, numbers)) > len(rows):
                title = self.header[count]
                reason = (
                    f"has every answer once, beside {title!r}: a table of frequencies"
                )
                remedy = "Give a row for each person."
                raise FileError(self.path, reason, remedy)


def open_table(
    path: str | Path, reading: Reading, column_names: Sequence[str] = ()
) -> AnswerTable:
    """Find out what a file is; of text, the delimiter by which it has these ``column_names``.

    A FileError says what cannot be read.
    """
    path = Path(path)
    with system_errors(path):
        require_size(path, path.stat().st_size)
        suffix = path.suffix.lower()
        if suffix not in _FORMS:
            delimiter = reading.delimiter or ""
            opened = open_text(
                path,
                column_names,
                delimiter=_SPELT_OUT.get(delimiter, delimiter) or None,
                encoding=reading.encoding,
                skip_rows=reading.skip_rows,
                as_lists=reading.place_unlisted,
                first_item=reading.first_item,
            )
            return AnswerTable(path, opened)
        keys = ["delimiter", "encoding"]
        # A sheet often begins with a title; tables with types have nothing above their
        # header.
        if suffix not in SPREADSHEETS:
            keys.append("skip_rows")
        for key in keys:
            if getattr(reading, key):
                allowed = f"left out for a {suffix} file"
                remedy = "The file says how it is."
                raise InputError(key, getattr(reading, key), allowed, remedy)
        return AnswerTable(path, _FORMS[suffix](path, reading.skip_rows))


def _nobodies(first_line: int, number: int) -> Iterator[tuple[int, list[str]]]:
    """Blank lines, as rows of one cell."""
    for line in range(first_line, first_line + number):
        yield line, [""]
