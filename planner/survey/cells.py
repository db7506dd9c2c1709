"""What the cells of one question mean: the code of its answer, or the words of a refusal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Final

from planner.errors import FileError, InputError, mark
from planner.laws.answers import LEFT_OUT, Code
from planner.laws.item_sets import OneOfSet
from planner.laws.levels import folded
from planner.limits import JOINED
from planner.survey.columns import AnswerColumn, ticked_answers, vacant_places
from planner.survey.rows import Row
from planner.survey.tables import AnswerTable, Reading

Cell = str | tuple[str, ...]
_MOST_KNOWN = 2**16  # different cells that are remembered
MOST_PLACED = 1_000_000  # answers that no level lists
LONGEST_PLACED = 1_000  # letters of one
SHOWN = 40  # letters of a cell, in an error
_TICKED_WORDS = (
    "1 yes x true y 1.0 checked on selected ja oui si s\u00ed sim \u2713 \u2714 \u2611"
)
_UNTICKED_WORDS = "0 no false n 0.0 unchecked off nein non n\u00e3o \u2610"
TICKS: Final = tuple(_TICKED_WORDS.split())
UNTICKED: Final = (*_UNTICKED_WORDS.split(), "", "not selected")
# Of three digits after a comma it may stand between thousands.
COMMA = re.compile(r"[+-]?\d*,(\d{1,2}|\d{4,})")
# As tables turn 1-5 or 10/12 into dates: 2026-05-01, 05-Jan, Oct 12.
_DATE = re.compile(
    r"\d{4}-\d\d-\d\d( 00:00:00)?|\d{1,2}[-. ]+[a-z]{3}\.?|[a-z]{3}[-. ]+\d{1,2}"
)
_MISSING = mark("missing = [...] of the survey")
_CORRECT = f"Correct it, or name it in {_MISSING} if it stands for no answer."
_UNLISTED = "List it in a level, or let answers that no level lists take places."
_DECIMAL = "Write the decimal mark as a point, as in 1.5, or say that it is a comma."
_IS_A_DATE = (
    "It is a date, which a spreadsheet makes of answers such as 1-5 or 10/12: say what it stands "
    "for, as in "
)
_UNTICKED = mark("unticked = [...] of the question")
_TICKED = f"Name it in {mark('ticks = [...]')} or {_UNTICKED}."


class ColumnReader(dict[Cell, Code]):
    """The codes of one question's cells, each worked out once.

    Attributes
    ----------
    asked:
        The way of asking, which takes labels and what takes places, too.
    placed:
        The texts that take places of levels without a list, by the number of the item.
    left_out:
        How many people had no answer, of the cells that were read.
    """

    def __init__(
        self, table: AnswerTable, column: AnswerColumn, reading: Reading, alone: bool
    ) -> None:
        super().__init__()
        self.table = table
        self.name = column.name
        self.asked = column.asked
        self.decimal = "."
        self.left_out = 0
        self.placed: dict[int, str] = {}
        self.wrong: Cell = ""
        self._column = column
        self.names = column.names
        self._require_header()
        placing = reading.place_unlisted
        named = bool(column.columns) or placing
        if alone and len(table.header) == 1 and not named:
            self.names = tuple(table.header)
        self.places = [table.place(name) for name in self.names]
        self.missing = set(map(folded, column.missing or ()))
        self._recoded = [_by_folded_key(pairs) for pairs in column.recoded]
        self._value_labels = []
        for column_index in self.places:
            labels = table.value_labels_of(column_index)
            self._value_labels.append(_by_folded_key(labels.items()))
        self._take_labels()
        self._require_persons()
        self._several = len(self.names) > 1 or column.ticked
        self._ticked_answers: list[int] = []
        if column.ticked:
            self._take_ticks(placing)

    def cell(self, row: Sequence[str]) -> Cell:
        """What is read of a row."""
        if self._several:
            return tuple(row[column_index] for column_index in self.places)
        return row[self.places[0]]

    def codes(self, block: Sequence[Row]) -> list[Code]:
        """The codes of these rows."""
        cells = [self.cell(row) for _, row in block]
        try:
            codes = [self[cell] for cell in cells]
        except InputError as error:
            line, _ = block[cells.index(self.wrong)]
            where = f"line {line}, column {error.argument!r}"
            reason = f"{where}: {error.value} must be {error.allowed}"
            raise FileError(self.table.path, reason, error.remedy) from None
        self.left_out += codes.count(LEFT_OUT)
        return codes

    def __missing__(self, cell: Cell) -> Code:
        # Looking up a cell does not know its row: the line of a refusal is found by
        # what was wrong.
        self.wrong = cell
        if isinstance(cell, str):
            code = self._read(self._meant(cell, 0))
        elif self._ticked_answers:
            code = self._read_ticks(cell)
        else:
            code = self._read(self._joined(cell))
        # Numbers rarely stand twice: all of them would only fill the memory.
        if len(self) < _MOST_KNOWN:
            self[cell] = code
        return code

    # -- what is known before a cell is read -----------------------------------------------

    def _require_header(self) -> None:
        """Refuse a first line that holds an answer: the file has no header then."""
        titles = self.table.header
        if len(self.names) > 1 or self._column.ticked:
            return
        first = self.names[0]
        suspects = titles
        if folded(first) in map(folded, titles):
            if folded(first) == folded(self.name):
                return
            suspects = [first]
        if any(map(self._is_answer, suspects)):
            reason = f"the first line, {', '.join(titles)[:SHOWN]!r}, holds an answer, no header"
            remedy = "Name the columns in a line of their own."
            raise FileError(self.table.path, reason, remedy)

    def _require_persons(self) -> None:
        """Refuse a table that has a row for each answer, with the number of people."""
        asked = self.asked
        one_each = not asked.decimals and not asked.several
        if one_each and asked.levels.named and len(self.places) == 1:
            self.table.require_persons(self.places[0], asked.levels.total)

    def _is_answer(self, text: str) -> bool:
        try:
            return self.asked.read_cell(text) is not None
        except InputError:
            return False

    def _take_labels(self) -> None:
        """Let cells have labels, but for one that two answers have, or that is one's name."""
        numbers: dict[str, int | None] = {}
        for answer, label in self._column.labels:
            if self.asked.find(label) is None:
                number = self.asked.find(answer)
                if folded(label) in numbers:  # of two answers
                    number = None
                numbers[folded(label)] = number
        if self.asked.several:  # of which a cell may have some
            for pairs in self._recoded:
                for cell, text in pairs.items():
                    numbers[cell] = self.asked.find(text)
        places = {text: k for text, k in numbers.items() if k is not None}
        if places:
            self.asked = self.asked.placing(places)

    def _take_ticks(self, placing: bool) -> None:
        """Find out which column is which answer, and which cells are ticks."""
        column = self._column
        ticked = ticked_answers(column, self.asked, placing)
        self._ticked_answers = ticked.numbers
        self.placed = ticked.placed
        ticks: Iterable[str] = TICKS
        if column.ticks is not None:
            ticks = column.ticks
        unticked: Iterable[str] = UNTICKED
        if column.unticked is not None:
            unticked = ("", *column.unticked)
        self._ticks = dict.fromkeys(map(folded, ticks))
        self._unticked = dict.fromkeys(map(folded, unticked))
        # What the survey says of a cell comes before what is usual.
        if column.ticks is None:
            for text in self._unticked:
                self._ticks.pop(text, None)
        else:
            for text in self._ticks:
                self._unticked.pop(text, None)
        for name, number in zip(self.names, self._ticked_answers, strict=True):
            for text in sorted(self.missing):
                if text and self._is_tick(text, name, number):
                    allowed = f"left out: it is a tick in column {name!r}"
                    remedy = "It would turn everybody with a tick into a refusal."
                    raise InputError("missing", text, allowed, remedy)

    def place_unlisted(self) -> None:
        """Give what no level lists the places, in order, that levels without a list have."""
        levels = self.asked.levels
        if levels.named or self._several:
            return
        labels: dict[str, str] = {}
        used: set[int | None] = set()
        for text in self._texts():
            number = self.asked.find(text)
            used.add(number)
            if number is None:
                labels.setdefault(folded(text), text.strip())
            if len(text) > LONGEST_PLACED or len(labels) > MOST_PLACED:
                most = f"more than {MOST_PLACED:,} answers"
                long = f"one of over {LONGEST_PLACED:,} letters, {text[:SHOWN]!r}"
                reason = f"has {most}, or {long}"
                raise FileError(self.table.path, reason, "Group rare answers.")
        vacant = vacant_places(levels, used)
        free = list(islice(vacant, len(labels)))
        if len(labels) > len(free):
            first = [repr(label) for label in islice(labels.values(), 5)]
            names = ", ".join(first)
            if len(labels) > 5:
                names += ", ..."
            reason = (
                f"{len(labels):,} answers are in no level, {names}, and levels without a list "
                f"have room for {len(free):,} more"
            )
            remedy = f"List them in a level, or raise {mark('item_count')} of one without a list."
            raise FileError(self.table.path, reason, remedy)
        order = sorted(labels)
        if all(map(str.isdecimal, labels)):
            order.sort(key=int)
        numbers = dict(zip(order, free, strict=False))
        self.placed = {number: labels[text] for text, number in numbers.items()}
        self.asked = self.asked.placing(numbers)

    def _texts(self) -> Iterator[str]:
        """The texts of all cells that name an item each, every different cell once."""
        (column_index,) = self.places
        cells = (row[column_index] for _, row in self.table.rows())
        for cell in dict.fromkeys(cells):  # each once
            text = self._meant(cell, 0)
            if text and folded(text) not in self.missing:
                yield from self.asked.texts(text)

    # -- cells -----------------------------------------------------------------------------

    def _meant(self, cell: str, part: int) -> str:
        """What stands for a cell of this part of a question, without blanks around it.

        Of a code that the file itself explains, it is the code, if that is an answer or was said to
        stand for something, else its label.
        """
        text = cell.strip()
        # Codes that the file itself explains, as SPSS and Stata do, have a second text.
        texts = [text]
        label = self._value_labels[part].get(folded(text))
        if label is not None:
            texts.append(label)
        recoded: Mapping[str, str] = {}
        if part < len(self._recoded):
            recoded = self._recoded[part]
        for candidate in texts:
            answer = recoded.get(folded(candidate))
            if answer is not None:
                return answer
        for candidate in texts:
            if folded(candidate) in self.missing:
                return candidate
        joined = self._column.joined  # whose parts are no answers by themselves
        if label is None or (not joined and self._is_answer(text)):
            return text
        return label

    def _joined(self, cells: tuple[str, ...]) -> str:
        """One answer, blank if a part of it is missing."""
        parts = []
        for part, cell in enumerate(cells):
            text = self._meant(cell, part)
            if not text or folded(text) in self.missing:
                text = ""
                if self._column.blanks:
                    text = self._column.blanks[part]
            if not text:
                return ""
            parts.append(text)
        return JOINED.join(parts)

    def _read(self, text: str) -> Code:
        if not text or folded(text) in self.missing:
            blank = not text and "" not in self.missing
            return self.asked.without(blank=blank)
        number = text
        if self.asked.decimals and self.decimal == ",":
            number = text.replace(",", ".")
            if "." in text:  # between thousands: it is refused
                number = ""
        try:
            return self.asked.read_cell(number)
        except InputError as error:
            remedy = error.remedy
            if not self._is_known(text):
                remedy = self._remedy(text)
            raise _wrong(self.names[0], text, error.allowed, remedy) from error

    def _is_known(self, text: str) -> bool:
        """Whether it names items, of which there are too many then."""
        if not isinstance(self.asked, OneOfSet):
            return False
        numbers = map(self.asked.find, self.asked.texts(text))
        return all(number is not None for number in numbers)

    def _remedy(self, text: str) -> str:
        if _DATE.fullmatch(text.lower()):
            recoding = mark(f'recode = {{ "{text}" = "1-5" }}')
            return f"{_IS_A_DATE}{recoding}."
        if self.asked.decimals:
            return _remedy_of_number(text)
        levels = self.asked.levels
        names: dict[str, str] = {}
        for items in levels.items:
            for name in items[:LONGEST_PLACED]:
                names[folded(name)] = name
        for part in self.asked.texts(text):
            if self.asked.find(part) is None:
                close = get_close_matches(folded(part), names, 1)
                if close:
                    return f"Did you mean {names[close[0]]!r}? {_CORRECT}"
                break
        if self.table.form.startswith("transactions") and not self.asked.several:
            return "Keep the first item of each person, or ask with the kind item-set."
        if levels.named:
            return _CORRECT
        return f"{_UNLISTED} {_CORRECT}"

    def _read_ticks(self, cells: tuple[str, ...]) -> Code:
        """The answers that are ticked; of one answer each, the one."""
        # A row without a tick has none of the answers; no answer if blanks are said to be missing.
        held: set[int] = set()
        missing = "" in self.missing and not any(map(str.strip, cells))
        for column, code in enumerate(cells):
            name = self.names[column]
            number = self._ticked_answers[column]
            cell = self._tick_text(code, column)
            text = folded(cell)
            if self._is_tick(cell, name, number):
                held.add(number)
            elif text not in self._unticked and text not in self.missing:
                raise _wrong(name, cell, self._allowed_ticks(), _TICKED)
            if text and text in self.missing:
                missing = True
            # A tick beside a refusal contradicts it, and so do two where one is asked for.
            most = len(held) if self.asked.several else 1
            if missing:
                most = 0
            if len(held) > most:
                raise _wrong(name, cell, "left out, as others are ticked", _CORRECT)
        if isinstance(self.asked, OneOfSet):
            return self._ticked_set(held, missing=missing)
        if not held:
            return self.asked.without(blank=not missing)
        answer = self.asked.levels.item_name(held.pop())
        return self.asked.read_cell(answer)

    def _ticked_set(self, held: set[int], *, missing: bool) -> Code:
        assert isinstance(self.asked, OneOfSet)  # noqa: S101 - of its caller
        if missing:
            return self.asked.without(blank=False)
        try:
            return self.asked.of_items(held)
        except InputError as error:
            ticks = f"{len(held)} ticks in one row"
            raise _wrong(self.names[0], ticks, error.allowed, error.remedy) from error

    def _tick_text(self, cell: str, column: int) -> str:
        """The cell, or its label where the file has one that says whether it is a tick."""
        labels = self._value_labels[column]
        label = labels.get(folded(cell), "")
        explained = (self._ticks, self._unticked, self.missing)
        if label and any(folded(label) in texts for texts in explained):
            return label
        return cell

    def _is_tick(self, cell: str, name: str, number: int) -> bool:
        """Whether it is a tick, or says the name of the column or of the answer."""
        text = folded(cell)
        named = text == folded(name)
        # Where items have no names, a bare number is none, though it may mean an item.
        if self.asked.levels.named or not text.isdecimal():
            named = named or self.asked.find(cell) == number
        if text not in self._unticked:
            return named or text in self._ticks
        column = self._column
        stated = column.ticks is not None or column.unticked is not None
        if named and text and not stated:  # an answer such as "no" or "0"
            allowed = "said to be a tick or none, as it is also the name of the answer"
            raise _wrong(name, cell, allowed, _TICKED)
        return False

    def _allowed_ticks(self) -> str:
        ticks = ", ".join(islice(self._ticks, 4))
        words = list(filter(None, self._unticked)) or ["a blank"]
        unticked = ", ".join(words[:3])
        return f"ticked, as by {ticks}, or not, as by {unticked}"


def _remedy_of_number(text: str) -> str:
    if "," in text or "." in text:
        return f"{_DECIMAL} {_CORRECT}"
    return _CORRECT


def _by_folded_key(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Texts by their cells, whose case and blanks do not matter."""
    return {folded(cell): text for cell, text in pairs}


def _wrong(column: str, cell: str, allowed: str, remedy: str) -> InputError:
    """The mistake of a cell: it is shown, as whoever reads a file of answers may see them."""
    shown = cell
    if len(cell) > SHOWN:
        shown = cell[:SHOWN] + "..."
    return InputError(column, repr(shown), allowed, remedy)
