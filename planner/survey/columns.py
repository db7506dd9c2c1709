"""Which columns of a file hold the answers to a question, and which answer each of several is."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

from planner.errors import InputError, mark
from planner.laws.answers import WayOfAsking
from planner.laws.levels import Levels, spans

# What stands between the name of a question and that of an answer: drinks/tea (Kobo), drinks_1
# (SurveyCTO), drinks___tea (REDCap), drinks[tea] (LimeSurvey), "Drinks - tea" (other exports).
_SEPARATOR = re.compile(r"[/._:\[]|\s-\s")
_BARE_NUMBER = re.compile("[0-9]+")
_NAMES_SHOWN = 5  # names in an error

Pairs = tuple[tuple[str, str], ...]


class AnswerColumn(NamedTuple):
    """A question whose answers are read.

    Attributes
    ----------
    columns:
        Where answers stand: in one called like the question, or the only one of the file, if
        empty. Of several each is an answer that is ticked, or a part of a ``joined`` one. Pairs
        are the answers with the column of each.
    missing:
        Cells that stand for no answer; a blank one if None.
    ticks, unticked:
        Cells that stand for a tick, and for none; the usual ones if None.
    labels:
        Answers as people read them; a cell may have these, too.
    recoded:
        Cells, and what stands for each of them; for every part of a joined one.
    blanks:
        Of every part of a joined one the answer of who has none of its others, which a cell that
        stands for no answer means; blank where the whole answer is missing then.
    """

    name: str
    asked: WayOfAsking
    columns: tuple[str, ...] | Pairs = ()
    missing: tuple[str, ...] | None = None
    joined: bool = False
    ticks: tuple[str, ...] | None = None
    unticked: tuple[str, ...] | None = None
    labels: Pairs = ()
    recoded: tuple[Pairs, ...] = ()
    blanks: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        names = []
        for column in self.columns:
            if isinstance(column, str):
                names.append(column)
            else:
                _, name = column
                names.append(name)
        return tuple(names) or (self.name,)

    @property
    def stated_answers(self) -> tuple[str, ...]:
        """The answer of each column, where the survey says so."""
        answers = []
        for column in self.columns:
            if not isinstance(column, str):
                answer, _ = column
                answers.append(answer)
        return tuple(answers)

    @property
    def ticked(self) -> bool:
        """Whether each column is an answer, which is ticked or not."""
        several = len(self.names) > 1 or bool(self.stated_answers)
        return several and not self.joined


class TickedAnswers(NamedTuple):
    """The number of the answer of each column; ``placed`` are those that no level lists."""

    numbers: list[int]
    placed: dict[int, str]


def ticked_answers(
    column: AnswerColumn, asked: WayOfAsking, place_unlisted: bool = False
) -> TickedAnswers:
    """The answer that each of several columns is: by their names, never by their order.

    A column is called like its answer, or ends in that name after a separator and words that all
    the columns begin with. Every listed answer has a column, unless the survey states which has
    which. With ``place_unlisted``, other columns take the places of levels without a list.

    Raises
    ------
    InputError
        A column is no answer, two are the same one, or a listed answer has no column.

    Examples
    --------
    >>> from planner.laws.item_sets import OneOfSet
    >>> asked = OneOfSet(Levels(("all",), (1.0,), (2,), (("beer", "tea"),)), 1)
    >>> names = ("drinks/tea", "drinks/beer")
    >>> ticked_answers(AnswerColumn("drinks", asked, names), asked).numbers
    [1, 0]
    >>> ticked_answers(AnswerColumn("drinks", asked, ("drinks/tea", "x")), asked)
    Traceback (most recent call last):
    ...
    planner.errors.InputError: columns of 'drinks': no answer is called like 'drinks/tea', 'x'; no column is called like 'beer', 'tea'. Say which column is which answer: columns = { "beer" = "drinks/tea", ... }.
    """  # noqa: E501 - the message is one line
    texts = column.stated_answers or _ends(column.names, asked)
    numbers = [asked.find(text) for text in texts]
    placed = dict[int, str]()
    if place_unlisted:
        vacant = vacant_places(asked.levels, set(numbers))
        for k, text in enumerate(texts):
            vacancy = None
            if numbers[k] is None:
                vacancy = next(vacant, None)
            if vacancy is not None:
                numbers[k] = vacancy
                placed[vacancy] = text
    _require_met(column, asked.levels, numbers)
    met = [number for number in numbers if number is not None]
    return TickedAnswers(met, placed)


def vacant_places(levels: Levels, used: Container[int | None]) -> Iterator[int]:
    """The numbers of items of levels without a list, in order, but for those that are used."""
    rows = zip(spans(levels.item_counts), levels.items, strict=True)
    for (start, end), items in rows:
        if items:
            continue
        for number in range(start, end):  # such a level may have a trillion
            if number not in used:
                yield number


def _ends(names: Sequence[str], asked: WayOfAsking) -> Sequence[str]:
    """The names without words that all begin with, so that most of them are answers.

    What they begin with is the same for all: in drinks/tea and drinks/iced_tea, the second is not
    the answer tea. Of several such beginnings that serve alike, the shortest is taken.
    """
    # Without anything taken off; a beginning has to serve better than that.
    best = names
    most = _answers_among(names, asked)
    for separator in _SEPARATOR.finditer(names[0]):
        beginning = names[0][: separator.end()]
        # Longer beginnings contain this one, so that none of them is common to all
        # either.
        if not all(name.startswith(beginning) for name in names):
            break
        ends = [name.removeprefix(beginning).strip(" ]") for name in names]
        numbered = all(map(_BARE_NUMBER.fullmatch, ends))
        if numbered and not asked.levels.named:
            continue  # they may count from 1; the items of levels without a list, from 0
        met = _answers_among(ends, asked)
        if met > most:
            best = ends
            most = met
    return best


def _answers_among(texts: Sequence[str], asked: WayOfAsking) -> int:
    numbers = set(map(asked.find, texts))
    return len(numbers - {None})


def _require_met(
    column: AnswerColumn, levels: Levels, numbers: Sequence[int | None]
) -> None:
    """Refuse columns that are no answer, or the same one, and answers without a column."""
    # All that is wrong is said at once, so that one correction is enough.
    unmet = []
    twice = []
    for name, number in zip(column.names, numbers, strict=True):
        if number is None:
            unmet.append(name)
        elif numbers.count(number) > 1:
            twice.append(name)
    absent = []
    if not column.stated_answers:
        absent = _without_column(levels, numbers)
    reasons = []
    if unmet:
        reasons.append(f"no answer is called like {_listed(unmet)}")
    if twice:
        reasons.append(f"one answer is called like {_listed(twice)}")
    if absent:
        reasons.append(f"no column is called like {_listed(absent)}")
    if reasons:
        answer = (*absent, levels.item_name(0))[0]
        other = (*unmet, *twice, *column.names)[0]
        row = f"{json.dumps(answer, ensure_ascii=False)} = {json.dumps(other, ensure_ascii=False)}"
        table = mark(f"columns = {{ {row}, ... }}")
        remedy = f"Say which column is which answer: {table}."
        reason = f"{mark('columns')} of {column.name!r}: {'; '.join(reasons)}"
        raise InputError.because("columns", reason, remedy)


def _without_column(levels: Levels, numbers: Sequence[int | None]) -> list[str]:
    """The listed answers that no column is of."""
    answers = []
    for answer, number in levels.numbers().items():
        if number not in numbers:
            answers.append(answer)
    return answers


def _listed(names: Sequence[str]) -> str:
    shown = list(map(repr, names[:_NAMES_SHOWN]))
    if len(names) > _NAMES_SHOWN:
        shown.append("...")
    return ", ".join(shown)
