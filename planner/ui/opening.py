"""Opening a survey, a list of items or an example in place of the document; uploaded files."""

from __future__ import annotations

import copy
import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath, PurePosixPath
from tempfile import TemporaryDirectory

import streamlit as st

from planner.errors import FileError, InputError, PlannerError
from planner.files import read_text
from planner.laws.schema import Document
from planner.survey.description import Mistake
from planner.survey.survey import read_document, settle
from planner.survey.tables import Reading, open_table
from planner.survey.values import split, text_of
from planner.ui.document import (
    EXAMPLES,
    FieldRow,
    example_document,
    form_of,
    name_of,
)
from planner.ui.render import problems
from planner.ui.state import session

_FORM_ENDINGS = ("xlsx", "xls")
"""Endings of forms as ODK, Kobo and SurveyCTO have them."""
# Lines of a list of items: all of its answers become the text of fields in the browser.
_MOST_SURVEY_LINES = 100_000
# Of the first of some pasted rows, if these are no level's.
_HEADINGS = {"level", "budget", "epsilon", "answers", "number of answers", ""}


def opening() -> None:
    """Offer examples and files."""
    new = session().revision
    names: dict[str | None, str] = {None: "choose one"}
    for name, text in EXAMPLES.items():
        names[name] = text.capitalize()
    # With the revision in its key the list stands at its first entry again when an
    # example was taken.
    key = f"example-{new}"
    st.selectbox(
        "Example",
        list(names),
        key=key,
        format_func=names.__getitem__,
        on_change=_take_example,
    )
    label = "A survey (TOML), a form (XLSForm), or items (CSV)"
    what_it_is = "The first line of a CSV file is item,level,epsilon. Files stay on this machine."
    key = f"upload-{new}"
    st.file_uploader(
        label,
        ["toml", "csv", *_FORM_ENDINGS],
        key=key,
        on_change=_take_upload,
        help=what_it_is,
    )
    rest = "Nothing was opened. Undo and what is typed are as they were."
    problems(session().refused, rest)


def _take_example() -> None:
    name = st.session_state[f"example-{session().revision}"]
    if name:
        session().replace(example_document(name))


def _take_upload() -> None:
    here = session()
    file = st.session_state[f"upload-{here.revision}"]
    here.refused = []
    if file is None:  # it was taken out again
        return
    name = PurePath(file.name).name
    data = file.getvalue()
    try:
        if name.lower().endswith(".csv"):
            document = _with_items(here.document, name, data)
        elif name.lower().endswith(_FORM_ENDINGS):
            document = _of_form(name, data)
        else:
            document, mistakes = survey_in(name, data)
            # All mistakes at once: whoever mends the file would else come back once for
            # each.
            here.refused = [str(mistake.error.within(name)) for mistake in mistakes]
    except PlannerError as error:
        here.refused = [str(error)]
    # Nothing is taken half: the document would then be neither the file nor what was
    # typed.
    if not here.refused:
        here.replace(document)
        opened = f"{name} is open. Undo brings back what was here before."
        here.notices.append((opened, False))


def _of_form(name: str, data: bytes) -> Document:
    """The document of a form: budgets, which no form has, are still empty.

    What could not be taken over is said until somebody closes it.
    """
    # Few visits open a form, and the first page is to come fast.
    from planner.survey.xlsform import survey_of_form

    with as_file(name, data) as path:
        imported = survey_of_form(path)
    left_out = [f"{question}, as {why}" for question, why in imported.left_out.items()]
    changed = [f"{question}: {what}" for question, what in imported.changed.items()]
    for said, sentences in (("Left out", left_out), ("Changed", changed)):
        if sentences:
            notice = f"{said}: {'; '.join(sentences)}."
            session().notices.append((notice, True))
    return read_document(imported.text, name)


def survey_in(name: str, data: bytes) -> tuple[Document, tuple[Mistake, ...]]:
    """The document of a survey file, and all that is wrong with it.

    A FileError if it is none.
    """
    with as_file(name, data) as path:
        document = read_document(read_text(path), name)
    _, mistakes = settle(document)
    return document, mistakes


def _with_items(document: Document, name: str, data: bytes) -> Document:
    """The document with the items of a CSV file in place of the chosen question's rows."""
    # A refusal further down must leave alone what is typed.
    changed = copy.deepcopy(document)
    questions = changed["question"]
    number = session().typed.get("question", 0)
    if number >= len(questions):
        number = 0
    question = questions[number]
    # A number has no answers to list: the items become a question of their own.
    if not form_of(question).small:
        question = {"name": "question"}
        questions.append(question)
    question["level"] = rows_from_items(name, data, question.get("level", ()))
    if not isinstance(question.get("rule", ""), str):
        del question["rule"]  # a matrix has a row for each level that was there before
    return changed


def rows_from_items(
    name: str, data: bytes, before: Sequence[Document]
) -> list[FieldRow]:
    r"""Levels from a CSV file with a header: a column ``item`` and ``level``, ``epsilon`` or both.

    Without ``epsilon``, a level keeps the budget it has in ``before``, or waits for one.
    Without ``level``, the items of equal budget form a level.

    Raises
    ------
    FileError
        A column or a cell is missing; a mistake in one is named like one that was typed.

    Examples
    --------
    >>> rows_from_items("i.csv", b"item,epsilon\nHIV,ln 4\nflu,2\n", [])[0]
    {'name': 'epsilon ln 4', 'epsilon': 'ln 4', 'items': 'HIV'}
    """
    with as_file(name, data) as path:
        table = open_table(path, Reading(), ("item",))
        header = [title.lower() for title in table.header]
        if "item" not in header or not {"level", "epsilon"} & set(header):
            reason = "columns 'item' and 'level' or 'epsilon' are needed"
            remedy = "The first line names the columns, for example: item,level,epsilon"
            raise FileError(path, f"{reason}, not {', '.join(header)[:80]}", remedy)
        budgets = {
            name_of(row): text_of(row.get("epsilon"), "epsilon") for row in before
        }
        # The answers of each level and budget, in the order of the file.
        answers_of: dict[tuple[str, str], list[str]] = {}
        for line, row in table.rows():
            cells = dict(zip(header, map(str.strip, row), strict=True))
            for key in ("item", "level", "epsilon"):
                if cells.get(key) == "":
                    reason = f"line {line} has no {key}"
                    raise FileError(path, reason, "Fill in the cell.")
            if line > _MOST_SURVEY_LINES:
                reason = f"there are over {_MOST_SURVEY_LINES:,} lines"
                raise FileError(path, reason, "Give items by their number.")
            level = cells.get("level") or f"epsilon {cells['epsilon']}"
            # It may stay blank: the page then asks for the budget at its field.
            budget = cells.get("epsilon", budgets.get(level, ""))
            answers_of.setdefault((level, budget), []).append(cells["item"])
        if not answers_of:
            reason = "there are no items below the header"
            raise FileError(path, reason, "Add a line per item.")
    rows = []
    for (level, budget), answers in answers_of.items():
        items = text_of(tuple(answers))
        rows.append({"name": level, "epsilon": budget, "items": items})
    return rows


def rows_of_paste(text: str, column: str, before: Sequence[Document]) -> list[Document]:
    r"""Levels from pasted lines: with a header as in a file, else of level, budget and answers.

    Lines of one level and budget become one level. A list is of the answers of one level, if it is
    pasted into their ``column``.

    Raises
    ------
    InputError
        It is a list that is pasted elsewhere.

    Examples
    --------
    >>> rows_of_paste("severe\tln 4\tHIV\nusual\t2\tflu\nusual\t2\tcold", "name", [])
    [{'name': 'severe', 'epsilon': 'ln 4', 'items': 'HIV'}, {'name': 'usual', ... 'flu; cold'}]
    >>> rows_of_paste("flu\ncold\n", "items", [])
    [{'items': 'flu; cold'}]
    """
    lines = list(filter(str.strip, text.splitlines()))  # the blank ones say nothing
    mark = _mark_between(lines)
    # Commas in a list of answers belong to its answers; only tabs show that columns
    # were copied.
    if column == "items" and mark != "\t":
        answers = [line.strip() for line in lines]
        return [{"items": _one_cell(answers)}]
    if not mark:
        reason = f"{len(lines):,} lines of one column were pasted"
        remedy = "Paste a list into Answers, or rows of level, budget and answers."
        raise InputError.because("level", reason, remedy)
    table = csv.reader(lines, delimiter=mark)
    rows = [list(map(str.strip, row)) for row in table]
    header = set(map(str.lower, rows[0]))
    if "item" in header:
        return [*rows_from_items("what was pasted", text.encode(), before)]
    # Headings that were copied along are no level of that name.
    if header <= _HEADINGS:
        del rows[0]
    # By level and budget, in the order in which they come: cells of answers, and their number.
    answers_of: dict[tuple[str, str], list[str]] = {}
    number_of: dict[tuple[str, str], str] = {}
    for row in rows:
        # Short rows are filled up; what stands behind the fourth cell is not of this table.
        level, budget, answer, number = [*row, "", "", ""][:4]
        key = (level, budget)
        answers_of.setdefault(key, [])
        if answer:
            answers_of[key].append(answer)
        number_of[key] = number
    levels = []
    for key, answers in answers_of.items():
        level, budget = key
        filled = {"name": level, "epsilon": budget, "items": _one_cell(answers)}
        filled["item_count"] = number_of[key]
        levels.append({key: cell for key, cell in filled.items() if cell})
    return levels


def _one_cell(cells: Sequence[str]) -> str:
    """The answers of a level in one cell, as they are typed.

    A cell alone is as it is. Of several each is one answer, though it holds a comma, unless
    semicolons say that it lists more.
    """
    if len(cells) == 1:
        return cells[0]
    answers: list[str] = []
    for cell in cells:
        listed = split(cell)
        if ";" in cell and isinstance(listed, list):
            answers += listed
        else:
            answers.append(cell)
    return text_of(tuple(answers))


def _mark_between(lines: Sequence[str]) -> str:
    """What stands between the cells of pasted lines; "" if each is one cell.

    Spreadsheets put tabs between them. Another mark is one that all lines have equally often.
    """
    if any("\t" in line for line in lines):
        return "\t"
    for mark in (";", ","):
        # A comma within texts stands in different lines a different number of times.
        widths = {len(row) for row in csv.reader(lines, delimiter=mark)}
        if len(widths) == 1 and widths != {1}:
            return mark
    return ""


@contextmanager
def as_file(name: str, data: bytes) -> Iterator[Path]:
    """The upload as a file for functions that read one; gone afterwards.

    Errors name the upload, not the temporary file.
    """
    with as_files([(name, data)]) as (path,):
        yield path


@contextmanager
def as_files(uploads: Sequence[tuple[str, bytes]]) -> Iterator[list[Path]]:
    """Uploads as files under their own names, each in a folder of its own; gone afterwards."""
    paths = []
    with TemporaryDirectory() as folder:
        for number, (name, data) in enumerate(uploads):
            inner = Path(folder, str(number))
            # Two uploads may have one name, by which messages call them.
            inner.mkdir()
            # The last part of the name alone: no upload chooses its folder.
            with_slashes = PurePosixPath(name.replace("\\", "/"))
            path = inner / (with_slashes.name or "upload")
            path.write_bytes(data)
            paths.append(path)
        try:
            yield paths
        except FileError as error:
            name = Path(str(error.value)).name
            raise FileError(name, error.problem, error.remedy) from None
