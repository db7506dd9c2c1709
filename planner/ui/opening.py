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
from planner.survey.values import text_of
from planner.ui.document import EXAMPLES, FieldRow, example_document, form_of
from planner.ui.render import problems
from planner.ui.state import session

_MOST_SURVEY_LINES = 100_000


def opening() -> None:
    """Offer examples and files."""
    new = session().revision
    names = {None: "choose one"} | {
        name: text.capitalize() for name, text in EXAMPLES.items()
    }
    key = f"example-{new}"
    written = names.__getitem__
    st.selectbox(
        "Example", list(names), key=key, format_func=written, on_change=_take_example
    )
    label = "A survey (TOML), or items with level or epsilon (CSV)"
    what_it_is = "The first line of a CSV file is item,level,epsilon. Files stay on this machine."
    key = f"upload-{new}"
    st.file_uploader(
        label, ["toml", "csv"], key=key, on_change=_take_upload, help=what_it_is
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
    if file is None:
        return
    name = PurePath(file.name).name
    data = file.getvalue()
    try:
        if name.lower().endswith(".csv"):
            document = _with_items(here.document, name, data)
        else:
            document, mistakes = _survey_in(name, data)
            here.refused = [str(mistake.error.within(name)) for mistake in mistakes]
    except PlannerError as error:
        here.refused = [str(error)]
    if not here.refused:
        here.replace(document)
        opened = f"{name} is open. Undo brings back what was here before."
        here.notices.append((opened, False))


def document_from_upload(name: str, data: bytes) -> Document:
    """The document of a survey file.

    Raises
    ------
    FileError
        It is none, not right, or names another file.
    """
    document, mistakes = _survey_in(name, data)
    for mistake in mistakes:
        raise mistake.error.within(name)
    return document


def _survey_in(name: str, data: bytes) -> tuple[Document, tuple[Mistake, ...]]:
    """The document of a survey file, and all that is wrong with it."""
    with as_file(name, data) as path:
        document = read_document(read_text(path), name)
    _, mistakes = settle(document)
    return document, mistakes


def _with_items(document: Document, name: str, data: bytes) -> Document:
    """The document with the items of a CSV file in place of the chosen question's rows."""
    changed = copy.deepcopy(document)
    number = session().typed.get("question", 0)
    questions = changed["question"]
    question = questions[number if number < len(questions) else 0]
    if not form_of(question).small:
        question = {"name": "question"}
        questions.append(question)
    question["level"] = rows_from_items(name, data, question.get("level", ()))
    if not isinstance(question.get("rule", ""), str):
        del question["rule"]
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
        given = {
            text_of(row.get("name")): text_of(row.get("epsilon"), "epsilon")
            for row in before
        }
        levels: dict[tuple[str, str], list[str]] = {}
        for line, row in table.rows():
            cells = dict(zip(header, map(str.strip, row), strict=True))
            missing = [
                key for key in ("item", "level", "epsilon") if cells.get(key) == ""
            ]
            if missing:
                raise FileError(
                    path, f"line {line} has no {missing[0]}", "Fill in the cell."
                )
            if line > _MOST_SURVEY_LINES:
                remedy = "Give items by their number."
                raise FileError(
                    path, f"there are over {_MOST_SURVEY_LINES:,} lines", remedy
                )
            level = cells.get("level") or f"epsilon {cells['epsilon']}"
            budget = cells.get("epsilon", given.get(level, ""))
            levels.setdefault((level, budget), []).append(cells["item"])
        if not levels:
            raise FileError(
                path, "there are no items below the header", "Add a line per item."
            )
    return [
        {"name": level, "epsilon": budget, "items": text_of(tuple(items))}
        for (level, budget), items in levels.items()
    ]


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
    lines = [line.strip("\r\n") for line in text.splitlines() if line.strip()]
    mark = _mark_between(lines)
    if column == "items" and mark != "\t":
        listed = tuple(line.strip() for line in lines)
        return [{"items": text_of(listed)}]
    if not mark:
        reason = f"{len(lines):,} lines of one column were pasted"
        remedy = "Paste a list into Answers, or rows of level, budget and answers."
        raise InputError.because("level", reason, remedy)
    table = csv.reader(lines, delimiter=mark)
    cells = [[cell.strip() for cell in row] for row in table]
    header = [cell.lower() for cell in cells[0]]
    if "item" in header:
        return [*rows_from_items("what was pasted", text.encode(), before)]
    answers_of: dict[tuple[str, str], list[str]] = {}
    number_of: dict[tuple[str, str], str] = {}
    for line in cells:
        level, budget, answer, number = [*line, "", "", ""][:4]
        answers_of.setdefault((level, budget), []).extend([answer] if answer else [])
        number_of[level, budget] = number
    levels = []
    for (level, budget), answers in answers_of.items():
        # One cell may list several answers as the field does, so that it stays as it is.
        items = answers[0] if len(answers) == 1 else text_of(tuple(answers))
        row = {"name": level, "epsilon": budget, "items": items}
        row["item_count"] = number_of[level, budget]
        levels.append({key: cell for key, cell in row.items() if cell})
    return levels


def _mark_between(lines: Sequence[str]) -> str:
    """What stands between the cells of pasted lines; "" if each is one cell.

    Spreadsheets put tabs between them. Another mark is one that all lines have equally often.
    """
    if any("\t" in line for line in lines):
        return "\t"
    for mark in (";", ","):
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
            inner.mkdir()
            path = inner / (PurePosixPath(name.replace("\\", "/")).name or "upload")
            path.write_bytes(data)
            paths.append(path)
        try:
            yield paths
        except FileError as error:
            name = Path(str(error.value)).name
            raise FileError(name, error.problem, error.remedy) from None
