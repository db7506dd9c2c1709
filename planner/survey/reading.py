"""The one reader of answers: from cells of a table to answers of the questions of a survey.

Whoever reads answers reads them here, so that all take and refuse the same, in the same words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from planner.errors import FileError, InputError
from planner.laws.answers import LEFT_OUT, Code
from planner.survey.cells import COMMA, ColumnReader
from planner.survey.columns import AnswerColumn
from planner.survey.rows import Row, counted
from planner.survey.tables import Reading, open_table

BLOCK_ROWS = 2**14
MOST_ROWS = 10_000_000
_PLACED_SHOWN = 3


class AnswerFile:
    r"""A file of answers to some questions.

    Parameters
    ----------
    path:
        A file of any form that ``planner.survey.tables`` reads.
    answer_columns:
        The questions.
    reading:
        What is not to be found out.

    Raises
    ------
    FileError
        The file cannot be read, or holds an answer that is none; line, column and cell are named.
    InputError
        Columns and answers of a question do not meet.

    Examples
    --------
    >>> from planner.laws.answers import Item
    >>> from planner.laws.levels import Levels
    >>> asked = Item(Levels(("all",), (1.0,), (2,), (("tea", "rice"),)))
    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp(), "answers.csv")
    >>> size = path.write_text("id;drink\n1; Tea\n2;rice\n3;\n")
    >>> file = AnswerFile(path, [AnswerColumn("drink", asked)])
    >>> [codes for block in file.blocks() for codes in block]
    [[0, 1, 'left out']]
    >>> file.read_as
    "Read as: semicolons, UTF-8, 3 rows; 1 without an answer to 'drink' left out."
    """

    def __init__(
        self,
        path: str | Path,
        answer_columns: Sequence[AnswerColumn],
        reading: Reading | None = None,
    ) -> None:
        self.reading = reading or Reading()
        # Of text, the delimiter is that by which the header has these.
        names = list[str]()
        for column in answer_columns:
            names.extend(column.names)
        self.table = open_table(path, self.reading, names)
        self.people = 0
        alone = len(answer_columns) == 1
        self.columns = list[ColumnReader]()
        for column in answer_columns:
            reader = ColumnReader(self.table, column, self.reading, alone)
            self.columns.append(reader)
        self.decimal = self.reading.decimal or self._decimal_mark()
        for reader in self.columns:
            reader.decimal = self.decimal
            if self.reading.place_unlisted:
                reader.place_unlisted()

    def blocks(self) -> Iterator[list[list[Code]]]:
        """Codes of each question, of some people at a time, in their order; some are left out."""
        self.people = 0
        rows = self.table.rows()
        for column in self.columns:
            column.left_out = 0
        while block := list(islice(rows, BLOCK_ROWS)):
            self.people += len(block)
            if self.people > MOST_ROWS:
                reason = f"has more than {MOST_ROWS:,} rows"
                raise FileError(self.table.path, reason, "Give a part of it.")
            # Before a cell is read: two stray quotes would swallow people.
            self._require_whole_rows(block)
            yield [column.codes(block) for column in self.columns]
        if not self.people:
            reason = "there are no rows below the header"
            raise FileError(self.table.path, reason, "Add a line per person.")
        # Known at the end alone; callers write nothing before they have all blocks.
        for column in self.columns:
            if column.left_out == self.people:
                reason = f"nobody has an answer to {column.name!r}"
                raise FileError(self.table.path, reason, "Is it the right column?")

    def given(self) -> Iterator[Code]:
        """Codes of the one question, of those who have an answer."""
        for (codes,) in self.blocks():
            for code in codes:
                if code is not LEFT_OUT:
                    yield code

    @property
    def read_as(self) -> str:
        """How the file was read, and who was left out, in words: once the blocks are read."""
        form = f"Read as: {self.table.form}, {counted(self.people, 'row')}"
        if self.decimal == ",":
            form += ", decimal commas"
        parts = [form]
        for column in self.columns:
            if column.left_out:
                parts.append(
                    f"{column.left_out:,} without an answer to {column.name!r} left out"
                )
            if column.placed:
                parts.append(self._places_said(column))
        persons = self.table.persons_twice()
        if persons:
            parts.append(
                f"column {persons!r} has the same twice: not every row may be a person"
            )
        if self.table.blank:
            blank = f"{counted(self.table.blank, 'blank line')} at the end"
            if len(self.table.header) == 1:
                blank += " among them"
            parts.append(blank)
        return "; ".join(parts) + "."

    def _places_said(self, column: ColumnReader) -> str:
        levels = column.asked.levels
        placed = []
        for number, text in islice(column.placed.items(), _PLACED_SHOWN):
            placed.append(f"{levels.item_name(number)} is {text!r}")
        if len(column.placed) > _PLACED_SHOWN:
            placed.append("...")
        return ", ".join(placed)

    def _decimal_mark(self) -> str:
        """A comma, if the first numbers have some and no point."""
        places = []
        for column in self.columns:
            if column.asked.decimals:
                places.append(column.places[0])
        if not places:
            return "."
        commas = False
        for _, row in islice(self.table.rows(), BLOCK_ROWS):
            for column_index in places:
                cell = row[column_index].strip()
                if "." in cell:
                    return "."
                commas = commas or COMMA.fullmatch(cell) is not None
        if commas:
            return ","
        return "."

    def _require_whole_rows(self, block: Sequence[Row]) -> None:
        """Refuse a cell that has whole rows in it: two stray quotes hide those between them."""
        mark = self.table.mark
        width = len(self.table.header)
        if not mark or width == 1:
            return
        # Where the next row starts more than a line later, this one holds line breaks.
        starts = [line for line, _ in block[1:]]
        starts.append(0)
        for (line, row), following in zip(block, starts, strict=True):
            if following == line + 1:
                continue  # it has one line, and hides none
            lines = mark.join(row).splitlines()
            rows = [text.split(mark) for text in lines]
            alike = all(len(cells) == width for cells in rows)
            if alike and sum(map(self._holds_answers, rows)) > 1:
                reason = (
                    f"line {line} has quotes with a whole line between them, {rows[1]}"
                )
                raise FileError(self.table.path, reason, "Take the quotes out.")

    def _holds_answers(self, row: list[str]) -> bool:
        try:
            for column in self.columns:
                _ = column[column.cell(row)]
        except InputError:
            return False
        return True
