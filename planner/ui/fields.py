"""Fields and tables to type in. What is typed outlives them.

A widget's own state disappears when its page is left, and a run of the page may be cut short
at any point. The document is the lasting copy: a widget always starts from it, and gives it every
change at once, even when the page is left with the same tap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from planner.laws.schema import Document
from planner.survey.values import text_of
from planner.ui.document import CELLS, TABLE_COLUMNS, FieldRow
from planner.ui.state import session

MOST_PASTED = 100
"""Rows added by hand; each costs the table more than the one before."""

Take = Callable[[Any], None]


def kept(
    slot: Any, holder: Document, path: str, place: object = "", **more: Any
) -> None:
    """A widget for a cell of a document, which has what was typed from then on.

    Parameters
    ----------
    slot:
        Where it is put: a column, or ``st`` for below.
    holder, path:
        The question, or the whole document; and which of :data:`~planner.ui.document.CELLS`.
    place:
        The question's number; the key is made new when the document is replaced or the page is
        entered.
    more:
        Further arguments of the widget, such as options that differ.
    """
    cell = CELLS[path]
    (*table, key) = path.split(".")
    settings = ({"options": cell.options} if cell.options else {}) | more
    widget = cell.widget or ("selectbox" if "options" in settings else "text_input")
    start: Any = widget != "toggle" and next(iter(settings.get("options", [""])))
    inner = holder.get(table[0], {}) if table else holder
    value = inner.get(key, start)
    if widget == "text_input":
        settings["placeholder"], value = cell.empty or "needed", text_of(value, key)

    def take(now: Any) -> None:
        home = holder.setdefault(table[0], {}) if table else holder
        if now != start:
            home[key] = now
        else:
            home.pop(key, None)
            if table and not home:
                del holder[table[0]]

    label = settings.pop("label", cell.label)
    name = f"{path}-{place}"
    field(
        getattr(slot, widget),
        label,
        name,
        value,
        take,
        help=cell.help or None,
        **settings,
    )


def kept_row(holder: Document, place: object, *paths: str) -> None:
    """Cells side by side."""
    slots = st.columns(len(paths), vertical_alignment="bottom") if paths else ()
    for slot, path in zip(slots, paths, strict=True):
        kept(slot, holder, path, place)


def kept_item(
    widget: Callable[..., Any], label: str, name: str, start: Any, **more: Any
) -> Any:
    """A widget whose value is kept for the session, under its name; its value."""
    place = session().typed
    value = place.setdefault(name, start)
    take = partial(place.__setitem__, name)
    field(widget, label, name, value, take, **more)
    return place[name]


def edit_rows(
    name: str, rows: Sequence[FieldRow], columns: Mapping[str, Any], take: Take
) -> None:
    """A table in which every cell is text and rows can be added.

    Parameters
    ----------
    name:
        Key of the table; made new whenever the document is replaced or the page is entered.
    rows:
        What it shows when its page is entered; cells without a column are kept.
    columns:
        Configuration of those that are shown, by name, in order.
    take:
        Takes the rows as they are after each change.
    """

    def changed() -> None:
        if key in st.session_state and not _too_many(key):
            seed: pd.DataFrame = st.session_state[f"{key}-seed"]
            edited = _edited(seed, st.session_state[key])
            if edited != list(rows):
                take(edited)

    name = f"{name}-{'-'.join(columns)}"  # other columns make another table
    key = _key(name)
    shown = {"column_order": list(columns), "column_config": dict(columns)}
    make = partial(pd.DataFrame, list(rows), columns=list(TABLE_COLUMNS), dtype=str)
    edit_frame(name, make, num_rows="dynamic", on_change=changed, **shown)
    changed()


def edit_frame(
    name: str, make: Callable[[], pd.DataFrame], **more: Any
) -> pd.DataFrame:
    """A table for editing, made when its page is entered; what is in it now."""
    key = _key(name)
    if key not in st.session_state:
        st.session_state[f"{key}-seed"] = make()
    elif _too_many(key):
        refuse_paste(len(st.session_state[key]["added_rows"]))
        st.rerun()
    seed: pd.DataFrame = st.session_state[f"{key}-seed"]
    return st.data_editor(seed, key=key, hide_index=True, **more)


def _too_many(key: str) -> bool:
    return (
        key in st.session_state
        and len(st.session_state[key]["added_rows"]) > MOST_PASTED
    )


def refuse_paste(rows: int) -> None:
    """Go back to the table as it was, before the rows are put into it one by one."""
    here = session()
    here.revision += 1
    sentence = (
        f"{rows:,} rows were pasted, and the table takes {MOST_PASTED:,}. Open them as a file "
        "(CSV with the header item,level,epsilon): items of one level become one row."
    )
    here.notices.append((sentence, True))


def _key(name: str) -> str:
    return f"{name}-{session().revision}"


def field(
    widget: Callable[..., Any],
    label: str,
    name: str,
    value: Any,
    take: Take,
    **more: Any,
) -> None:
    """A widget whose start is ``value`` in every run, so that none can leave it blank.

    ``take`` is given what differs from it.
    """
    key = _key(name)
    settings = dict(more)
    if isinstance(settings.get("options"), Mapping):
        settings["format_func"] = settings["options"].__getitem__
    if "options" in settings:
        settings["options"] = list(settings["options"])

    def changed() -> None:
        if st.session_state[key] != value:
            take(st.session_state[key])

    start = _start(widget.__name__, value, settings.get("options", ()))
    now = widget(label, key=key, on_change=changed, **start, **settings)
    if now != value:
        take(now)


def _start(kind: str, value: Any, options: Sequence[Any]) -> dict[str, Any]:
    """The argument with which a kind of widget is told its value."""
    if kind in ("selectbox", "radio"):
        return {"index": options.index(value) if value in options else 0}
    return {"default" if kind == "segmented_control" else "value": value}


def _edited(seed: pd.DataFrame, edits: Mapping[str, Any]) -> list[FieldRow]:
    """Rows after what a table says was done to them, in the order in which it does it."""
    rows: list[dict[Any, Any]] = [dict(row) for row in seed.to_dict("records")]
    for place, cells in edits["edited_rows"].items():
        rows[int(place)].update(cells)
    gone = set(edits["deleted_rows"])
    rows = [row for place, row in enumerate(rows) if place not in gone] + edits[
        "added_rows"
    ]
    return [{str(key): str(row.get(key) or "") for key in seed.columns} for row in rows]
