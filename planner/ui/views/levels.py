"""The table of levels on the page Questions: a row of text fields each, and what budgets mean.

Plain fields instead of a grid: they take every key however fast, are read aloud, and wrap in a
narrow window. The last rows are blank; what is typed there begins another level.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import islice

import streamlit as st

from planner.errors import PlannerError
from planner.laws.schema import Document
from planner.policy.budget_text import parse_epsilon
from planner.show.promises import budget_in_words, guessed_right
from planner.ui import render
from planner.ui.document import CELLS, form_of, texts_of
from planner.ui.fields import field, message_below
from planner.ui.opening import rows_of_paste
from planner.ui.state import Session, session

MOST_PASTED = 100
"""Levels from one paste: more are a list in the wrong column, and are refused."""
# Each row is several widgets, and all of them are sent anew in every run.
_MOST_SHOWN = 25
_BLANK_ROWS = 2
"""Below the levels: who types faster than a busy machine answers finds the next row there."""
_OPTIONAL = {"importance", "prior"}
# Of the width of a row: the columns, and what stands beside a budget.
_WIDTHS = {"name": 2.0, "epsilon": 1.0, "items": 3.6, "item_count": 1.7}
_USUAL_WIDTH = 1.1
_MEANING_WIDTH = 2.2
_REMOVE_WIDTH = 0.4
# The key of a field as the script in the page finds it, with the revision at its end.
_FIELD = re.compile(
    r"level-(?P<number>\d{1,4})-(?P<row>\d{1,5})-(?P<key>[a-z_]+)(-\d+)?"
)
# What the first blank row says of its fields.
_BEGINS = {
    "name": "another level",
    "epsilon": "budget",
    "items": "answers",
    "item_count": "or how many",
}
_NEEDED = ("name", "epsilon", "items", "yes_counts")


def level_table(question: Document, number: int) -> None:
    """The levels of a question: the answers that share a budget."""
    rows = question.get("level", [])
    # A row that was emptied goes, and those below it move up: their fields must start afresh.
    if not all(rows):
        rows = [row for row in rows if row]
        question["level"] = rows
        session().revision += 1
    columns = _columns(question, number)
    # The same class for all, whatever the question: the page's style and script look for it.
    with st.container(key="levels"):
        first = _first_shown(len(rows), number)
        end = min(first + _MOST_SHOWN, len(rows) + _BLANK_ROWS)
        for row in range(first, end):
            _row(question, number, row, columns, with_labels=row == first)
    st.caption(
        "A blank row adds a level. Rows of level, budget and answers can be pasted from a "
        "spreadsheet, a list into Answers. Beside a budget: of 100 people with one of two such "
        "answers, how many somebody may guess right who sees their reports; 50 by chance."
    )


def _columns(question: Document, number: int) -> list[str]:
    """The columns that are shown: one rarely needed only where it is asked for or filled."""
    used = {key for row in question.get("level", ()) for key in row}
    hidden = set()
    if question.get("rule") != "one-sided":
        hidden |= {"against"} - used
    if not _OPTIONAL & used and not session().typed.get(f"more-{number}", False):
        hidden |= _OPTIONAL
    return [key for key in form_of(question).columns if key not in hidden]


def _first_shown(rows: int, number: int) -> int:
    """The first of the rows that are shown: of many, some at a time."""
    if rows + _BLANK_ROWS <= _MOST_SHOWN:  # all at once: there is nothing to choose
        return 0
    starts = range(0, rows + _BLANK_ROWS, _MOST_SHOWN)
    names = {}
    for start in starts:
        last = min(start + _MOST_SHOWN, rows)
        names[start] = f"{start + 1} to {last}, of {rows:,}"
    typed = session().typed
    key = f"levels-from-{number}"
    shown = typed.get(key, 0)
    # Rows may have been taken out since it was chosen.
    if shown not in names:
        shown = 0
    take = partial(typed.__setitem__, key)
    field(st.selectbox, "Levels", key, shown, take, options=names)
    return int(typed.get(key, shown))


def _row(
    question: Document, number: int, row: int, columns: list[str], *, with_labels: bool
) -> None:
    """The fields of a level, what its budget means, and a button that takes it out."""
    rows = question.get("level", ())
    is_blank = row >= len(rows)
    (texts,) = texts_of([{} if is_blank else rows[row]])
    widths = []
    for key in columns:
        widths.append(_WIDTHS.get(key, _USUAL_WIDTH))
        if key == "epsilon":
            widths.append(_MEANING_WIDTH)
    widths.append(_REMOVE_WIDTH)
    slots = iter(st.columns(widths, gap="small", vertical_alignment="bottom"))
    for key in columns:
        _cell(next(slots), question, number, row, key, texts[key], with_labels)
        if key == "epsilon":
            with next(slots):
                budget_meaning(texts["epsilon"])
    if not is_blank:
        # Who sees the page sees a cross instead, which its style draws.
        label = f"Remove {render.plain(texts['name'] or 'this level')}"
        key = f"remove-{number}-{row}-{session().revision}"
        remove = partial(_remove, question, row)
        next(slots).button(label, key=key, on_click=remove, type="tertiary")
    message_below(st, ("question", number, "level", row))


def _cell(
    slot: st.delta_generator.DeltaGenerator,
    question: Document,
    number: int,
    row: int,
    key: str,
    text: str,
    with_labels: bool,
) -> None:
    cell = CELLS[f"level.{key}"]
    levels = question.get("level", ())
    is_blank = row >= len(levels)
    placeholder = cell.empty
    if is_blank:
        placeholder = ""
        if row == len(levels):  # in a narrow window no label stands above these fields
            placeholder = _BEGINS.get(key, "")
    elif key in _NEEDED and not levels[row].get("item_count"):
        placeholder = "needed"
    label = cell.short_label
    if not with_labels:
        # Nobody sees this label, but it is read aloud, and all rows would sound the
        # same.
        label = f"{label}, row {row + 1}"
    field(
        slot.text_input,
        label,
        f"level-{number}-{row}-{key}",
        text,
        partial(_take, question, row, key),
        placeholder=placeholder,
        label_visibility="visible" if with_labels else "collapsed",
    )


def _take(question: Document, row: int, key: str, text: str) -> None:
    """Put what is typed into its row, of which there may be none yet."""
    rows = question.setdefault("level", [])
    if text.strip():
        # Whoever types into the second blank row leaves the first one blank, for now.
        while len(rows) <= row:
            rows.append({})
        rows[row][key] = text
    elif row < len(rows):
        rows[row].pop(key, None)


def _remove(question: Document, row: int) -> None:
    del question["level"][row]
    session().revision += 1


def budget_meaning(text: str) -> None:
    """A budget in words and as a picture of a hundred people (an icon array).

    People choose better by such pictures than by an epsilon (Nanayakkara et al., USENIX Security
    2023).
    """
    try:
        epsilon = parse_epsilon(text)
    except PlannerError:
        render.people_beside(None, "")
    else:
        render.people_beside(guessed_right(epsilon), budget_in_words(epsilon))


def take_paste(here: Session, text: str, field_name: str) -> None:
    """Put pasted lines into the rows from where they were pasted on.

    A list that is pasted into the answers of a level is of its answers. ``field_name`` says where:
    the key of the field, ``level-NUMBER-ROW-COLUMN``.
    """
    where = _FIELD.fullmatch(field_name)  # nothing from a browser is believed
    questions = here.document["question"]
    if where is None or int(where["number"]) >= len(questions):
        return
    question = questions[int(where["number"])]
    row = int(where["row"])
    key = where["key"]
    rows = question.setdefault("level", [])
    try:
        pasted = rows_of_paste(text, key, rows)
    except PlannerError as error:
        here.notices.append((str(error), True))
        here.revision += 1
        return
    answers_alone = len(pasted) == 1 and pasted[0].keys() == {"items"}
    # Planning hundreds of levels took 47 seconds, and nobody means it.
    if len(pasted) > MOST_PASTED:
        here.notices.append((_too_many(len(pasted)), True))
    elif key == "items" and answers_alone:
        _take(question, row, "items", pasted[0]["items"])
    else:
        start = min(row, len(rows))
        filled = []
        for level in pasted:
            filled.append({key: cell for key, cell in level.items() if cell})
        # As in a spreadsheet, what is pasted replaces as many rows as it has.
        rows[start : start + len(pasted)] = filled
    here.revision += 1  # the fields start afresh from what is there now


def _too_many(levels: int) -> str:
    return (
        f"{levels:,} levels were pasted, and {MOST_PASTED:,} can be at once. A list of answers "
        "goes into Answers; in rows of level, budget and answer those of one level become one."
    )


def listed_numbers(question: Document) -> list[str]:
    """What to say of a level whose only answer is a number: it may be how many there are."""
    sentences = []
    for level in islice(texts_of(question.get("level", ())), _MOST_SHOWN):
        answer = level["items"].strip()
        digits = answer.replace(",", "")
        # Nine digits tell whether it is more than 1, however long the text is.
        several = digits.isdecimal() and int(digits[:9]) > 1
        if several and not level["item_count"]:
            sentences.append(
                f"Level {level['name']!r} has one answer, called {answer}. If that is how many "
                "answers there are, type it under Number of answers instead."
            )
    return sentences
