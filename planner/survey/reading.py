"""The one reader of answers: from cells of a table to answers of the questions of a survey.

Whoever reads answers reads them here, so that all take and refuse the same, in the same words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from planner.errors import FileError, InputError, mark
from planner.laws.answers import LEFT_OUT, Asked, Code
from planner.laws.levels import folded, spans
from planner.limits import JOINED
from planner.survey.tables import Reading, Row, counted, open_table

Cell = str | tuple[str, ...]
# at a time, and in all
_ROWS_AT_A_TIME = 2**14
_MOST_PEOPLE = 10_000_000
_MOST_KNOWN = 2**16  # different cells that are remembered
# answers that no level lists, and letters of one
_MOST_PLACED = 1_000_000
_LONG_CELL = 1_000
_SHOWN = 40  # letters of a cell, in an error
_TICKED = ("1", "yes", "x", "true")
_NOT_TICKED = ("0", "no", "false", "")
_COMMA = re.compile(
    r"[+-]?\d*,(\d{1,2}|\d{4,})"
)  # of three digits it may stand between thousands
_CORRECT = "Correct it, or name it in missing = [...] of the survey if it stands for no answer."
_UNLISTED = "List it in a level, or let answers that no level lists take places."
_DECIMAL = "Write the decimal mark as a point, as in 1.5, or say that it is a comma."


class AnswerColumn(NamedTuple):
    """A question whose answers are read.

    ``columns`` are where they stand: one called like the question, or the only one of the file, if
    empty; of several, each is an answer that is ticked, or a part of a ``joined`` one. ``missing``
    are cells that stand for no answer; a blank one if None.
    """

    name: str
    asked: Asked
    columns: tuple[str, ...] = ()
    missing: tuple[str, ...] | None = None
    joined: bool = False


class AnswerFile:
    r"""A file of answers to some questions.

    Parameters
    ----------
    path:
        A file of any form that ``planner.survey.tables`` reads.
    wanted:
        The questions.
    reading:
        What is not to be found out.

    Raises
    ------
    FileError
        The file cannot be read, or holds an answer that is none; line, column and cell are named.

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
    >>> file.said
    "Read as: semicolons, UTF-8, 3 rows; 1 without an answer to 'drink' left out."
    """

    def __init__(
        self,
        path: str | Path,
        wanted: Sequence[AnswerColumn],
        reading: Reading | None = None,
    ) -> None:
        self.reading, self.asked = reading or Reading(), len(wanted)
        named = [name for one in wanted for name in one.columns or (one.name,)]
        self.table = open_table(path, self.reading, named)
        self.people, self.columns = 0, [_Codes(self, one) for one in wanted]
        self.decimal = self.reading.decimal or self._decimal()
        for column in self.columns if self.reading.place_unlisted else ():
            column.place_unlisted()

    def blocks(self) -> Iterator[list[list[Code]]]:
        """Codes of each question, of some people at a time, in their order; some are left out."""
        self.people, rows = 0, self.table.rows()
        for column in self.columns:
            column.left_out = 0
        while block := list(islice(rows, _ROWS_AT_A_TIME)):
            self.people += len(block)
            if self.people > _MOST_PEOPLE:
                reason = f"has more than {_MOST_PEOPLE:,} rows"
                raise FileError(self.table.path, reason, "Give a part of it.")
            self._whole(block)
            yield [column.codes(block) for column in self.columns]
        if not self.people:
            reason = "there are no rows below the header"
            raise FileError(self.table.path, reason, "Add a line per person.")
        for column in self.columns:
            if column.left_out == self.people:
                reason = f"nobody has an answer to {column.name!r}"
                raise FileError(self.table.path, reason, "Is it the right column?")

    def given(self) -> Iterator[Code]:
        """Codes of the one question, of those who have an answer."""
        return (
            code for (block,) in self.blocks() for code in block if code is not LEFT_OUT
        )

    @property
    def said(self) -> str:
        """As what it was read, and who was left out: once the blocks are read."""
        parts = [f"Read as: {self.table.form}, {counted(self.people, 'row')}"]
        parts[0] += ", decimal commas" if self.decimal == "," else ""
        for column in self.columns:
            if column.left_out:
                parts.append(
                    f"{column.left_out:,} without an answer to {column.name!r} left out"
                )
            placed = [
                f"{column.asked.levels.item_name(k)} is {label!r}"
                for k, label in islice(column.placed.items(), 4)
            ]
            parts += (
                [", ".join(placed[:3]) + ", ..." * (len(placed) > 3)] if placed else []
            )
        if self.table.blank:
            among = " among them" * (len(self.table.header) == 1)
            parts.append(f"{counted(self.table.blank, 'blank line')} at the end{among}")
        return "; ".join(parts) + "."

    def _decimal(self) -> str:
        """A comma, if the first numbers have some and no point."""
        numbers = [one for one in self.columns if one.asked.decimals]
        rows = list(islice(self.table.rows(), _ROWS_AT_A_TIME)) if numbers else []
        cells = [row[one.places[0]].strip() for one in numbers for _, row in rows]
        commas = any(_COMMA.fullmatch(cell) for cell in cells)
        return "," if commas and not any("." in cell for cell in cells) else "."

    def _whole(self, block: Sequence[Row]) -> None:
        """Refuse a cell that has whole rows in it: two stray quotes hide those between them."""
        mark = self.table.mark
        width = len(self.table.header)
        after = [*block[1:], (0, [])]
        long = [
            one
            for one, (start, _) in zip(block, after, strict=True)
            if start != one[0] + 1
        ]
        for line, row in long if mark and width > 1 else ():
            rows = [one.split(mark) for one in mark.join(row).splitlines()]
            if (
                all(len(one) == width for one in rows)
                and sum(map(self._answers, rows)) > 1
            ):
                reason = (
                    f"line {line} has quotes with a whole line between them, {rows[1]}"
                )
                raise FileError(self.table.path, reason, "Take the quotes out.")

    def _answers(self, row: list[str]) -> bool:
        try:
            return bool([column[column.cell(row)] for column in self.columns])
        except InputError:
            return False


class _Codes(dict[Cell, Code]):
    """The codes of one question's cells, each worked out once."""

    def __init__(self, file: AnswerFile, wanted: AnswerColumn) -> None:
        super().__init__()
        self.file = file
        self.name = wanted.name
        self.asked = wanted.asked
        self.names = wanted.columns or (wanted.name,)
        first = folded(self.names[0])
        titles = file.table.header
        named = [] if first == folded(self.name) else self.names[:1]
        suspects = named if first in map(folded, titles) else titles
        if len(self.names) == 1 and any(map(self._is_one, suspects)):
            reason = f"the first line, {', '.join(titles)[:_SHOWN]!r}, holds an answer, no header"
            raise FileError(
                file.table.path, reason, "Name the columns in a line of their own."
            )
        alone = len(titles) == file.asked == 1 and not file.reading.place_unlisted
        self.names = tuple(titles) if alone and not wanted.columns else self.names
        self.places = [file.table.place(name) for name in self.names]
        self.missing = set(map(folded, wanted.missing or ()))
        self.several = len(self.names) > 1
        ticked = self.several and not wanted.joined
        self.ticks = self._answers_of_columns() if ticked else []
        self.left_out, self.placed = 0, dict[int, str]()
        self.wrong: Cell = ""

    def cell(self, row: Sequence[str]) -> Cell:
        """What is read of a row."""
        return (
            tuple(row[k] for k in self.places) if self.several else row[self.places[0]]
        )

    def codes(self, block: Sequence[Row]) -> list[Code]:
        """The codes of these rows."""
        place = self.places[0]
        cells = [self.cell(row) if self.several else row[place] for _, row in block]
        try:
            found = [*map(self.__getitem__, cells)]
        except InputError as error:
            line, _ = block[cells.index(self.wrong)]
            where = f"line {line}, column {error.argument!r}"
            reason = f"{where}: {error.value} must be {error.allowed}"
            raise FileError(self.file.table.path, reason, error.remedy) from None
        self.left_out += found.count(LEFT_OUT)
        return found

    def __missing__(self, cell: Cell) -> Code:
        self.wrong = cell
        if isinstance(cell, str):
            code = self._read(cell.strip())
        else:
            code = self._ticked(cell) if self.ticks else self._read(self._joined(cell))
        if len(self) < _MOST_KNOWN:
            self[cell] = code
        return code

    def _joined(self, cell: tuple[str, ...]) -> str:
        """One answer, blank if a part of it is missing."""
        parts = [part.strip() for part in cell]
        whole = all(part and folded(part) not in self.missing for part in parts)
        return JOINED.join(parts) if whole else ""

    def _is_one(self, text: str) -> bool:
        try:
            return self.asked.read_cell(text) is not None
        except InputError:
            return False

    def _read(self, text: str) -> Code:
        if not text or (self.missing and folded(text) in self.missing):
            return self.asked.without(blank=not text and "" not in self.missing)
        number = text
        if self.asked.decimals and self.file.decimal == ",":
            number = (
                "" if "." in text else text.replace(",", ".")
            )  # a point between thousands?
        try:
            return self.asked.read_cell(number)
        except InputError as error:
            raise _wrong(
                self.names[0], text, error.allowed, self._remedy(text)
            ) from error

    def _remedy(self, text: str) -> str:
        if self.asked.decimals:
            return f"{_DECIMAL} {_CORRECT}" if "," in text or "." in text else _CORRECT
        wrong = (one for one in self.asked.texts(text) if self.asked.find(one) is None)
        names = {
            folded(name): name
            for row in self.asked.levels.items
            for name in row[:_LONG_CELL]
        }
        close = get_close_matches(folded(next(wrong, text)), names, 1)
        if close:
            return f"Did you mean {names[close[0]]!r}? {_CORRECT}"
        if self.file.table.form.startswith("transactions") and not self.asked.several:
            return "Keep the first item of each person, or ask with the kind item-set."
        return _CORRECT if self.asked.levels.named else f"{_UNLISTED} {_CORRECT}"

    def _answers_of_columns(self) -> list[int]:
        """Which answer each of several columns is: by their names, or else in their order."""
        found = [*map(self.asked.find, self.names)]
        total = self.asked.levels.total
        if found.count(None) == len(found) == total:
            return list(range(total))
        for name, one in zip(self.names, found, strict=True):
            if one is None or found.count(one) > 1:
                allowed = (
                    f"an answer's name each, or {total} for all answers in their order"
                )
                raise InputError(
                    "columns", name, allowed, "Name a column for each answer."
                )
        return [one for one in found if one is not None]

    def _ticked(self, cells: tuple[str, ...]) -> Code:
        held = set[int]()
        away = "" in self.missing and not any(map(str.strip, cells))
        for name, number, cell in zip(self.names, self.ticks, cells, strict=True):
            text = folded(cell)
            if (
                text in _TICKED
                or text == folded(name)
                or self.asked.find(cell) == number
            ):
                held.add(number)
            elif text not in _NOT_TICKED and text not in self.missing:
                yes = ", ".join(_TICKED)
                no = ", ".join(_NOT_TICKED[:3])
                raise _wrong(name, cell, f"ticked by {yes}, or not, by {no}", _CORRECT)
            away |= bool(text) and text in self.missing
            if away and held:
                raise _wrong(name, cell, "left out, as others are ticked", _CORRECT)
        return self.asked.without(blank=False) if away else tuple(sorted(held))

    def place_unlisted(self) -> None:
        """Give what no level lists the places, in order, that levels without a list have."""
        levels = self.asked.levels
        path = self.file.table.path
        place = self.places[0]
        if levels.named or self.several:
            return
        labels = dict[str, str]()
        used = set[int | None]()
        for cell in dict.fromkeys(row[place] for _, row in self.file.table.rows()):
            skipped = not cell.strip() or folded(cell) in self.missing
            for text in [] if skipped else self.asked.texts(cell.strip()):
                number = self.asked.find(text)
                if number is None:
                    labels.setdefault(folded(text), text.strip())
                used.add(number)
                if len(text) > _LONG_CELL or len(labels) > _MOST_PLACED:
                    most = f"more than {_MOST_PLACED:,} answers"
                    reason = f"has {most}, or one of over {_LONG_CELL:,} letters, {text[:_SHOWN]!r}"
                    raise FileError(path, reason, "Group rare answers.")
        parts = zip(spans(levels.item_counts), levels.items, strict=True)
        vacant = (
            k
            for span, items in parts
            if not items
            for k in range(*span)
            if k not in used
        )
        free = [*islice(vacant, len(labels))]  # a level may have a trillion
        if len(labels) > len(free):
            named = ", ".join(map(repr, list(labels.values())[:5])) + ", ..." * (
                len(labels) > 5
            )
            reason = f"{len(labels):,} answers are in no level, {named}, and levels without a list"
            remedy = f"List them in a level, or raise {mark('item_count')} of one without a list."
            raise FileError(path, f"{reason} have room for {len(free):,} more", remedy)
        order = sorted(labels, key=int if all(map(str.isdecimal, labels)) else None)
        self.placed = {k: labels[one] for k, one in zip(free, order, strict=False)}
        self.asked = self.asked.placing(dict(zip(order, free, strict=False)))


def _wrong(column: str, cell: str, allowed: str, remedy: str) -> InputError:
    """The mistake of a cell: it is shown, as whoever reads a file of answers may see them."""
    shown = repr(cell if len(cell) <= _SHOWN else cell[:_SHOWN] + "...")
    return InputError(column, shown, allowed, remedy)
