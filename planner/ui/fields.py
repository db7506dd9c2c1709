"""Fields to type in, each with a place below for what is wrong. What is typed outlives them.

A widget's own state disappears when its page is left, and a run of the page may be cut short
at any point. The document is the lasting copy: a widget always starts from it, and gives it every
change at once, even when the page is left with the same tap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from planner.laws.schema import Document
from planner.survey.description import Where
from planner.survey.values import text_of
from planner.ui.document import CELLS
from planner.ui.state import session

Take = Callable[[Any], None]


def kept(
    slot: Any, holder: Document, path: str, number: int | None = None, **settings: Any
) -> None:
    """A widget for a cell of a document, which has what was typed from then on.

    Parameters
    ----------
    slot:
        Where it is put: a column, or ``st`` for below.
    holder, path:
        The question, or the whole document; and which of :data:`~planner.ui.document.CELLS`.
    number:
        The question's; the key is made new when the document is replaced or the page is entered.
    settings:
        Further arguments of the widget, such as options that differ, and a ``take`` that puts
        what is typed elsewhere, too.
    """
    cell = CELLS[path]
    *table, key = path.split(".")  # a table within the question, such as "rounds"
    if cell.options:
        settings.setdefault("options", cell.options)
    widget = cell.widget
    if not widget:
        widget = "selectbox" if "options" in settings else "text_input"
    start = _usual(widget, settings.get("options"))
    inner = holder
    if table:
        inner = holder.get(table[0], {})
    value = inner.get(key, start)
    if widget == "text_input":
        # What blank means is said in the blank field, and never filled in: the cell
        # stays unstated in the file.
        settings.setdefault("placeholder", cell.empty or "needed")
        value = text_of(value, key)  # a number of a file reads back as exactly itself

    def take(typed: Any) -> None:
        home = holder
        if table:
            # The table is made with its first cell: an empty one would count as a
            # change for Undo.
            home = holder.setdefault(table[0], {})
        if typed != start:
            home[key] = typed
            return
        # A file says nothing of what is as usual; nor does it have tables without keys.
        home.pop(key, None)
        if table and not home:
            del holder[table[0]]

    settings.setdefault("take", take)
    settings.setdefault("label", cell.label)
    field(
        getattr(slot, widget),
        name=f"{path}-{'' if number is None else number}",
        value=value,
        help=cell.help or None,
        **settings,
    )
    where: Where = (*table, key)
    if number is not None:
        where = ("question", number, *where)
    message_below(slot, where)


def _usual(widget: str, options: Iterable[Any] | None) -> Any:
    """What an empty cell means: off, the first of some options, or nothing typed."""
    if widget == "toggle":
        return False
    if options is not None:
        return next(iter(options))
    return ""


def kept_row(
    holder: Document, number: int | None, paths: Sequence[str]
) -> dict[str, st.delta_generator.DeltaGenerator]:
    """Cells side by side; the column of each, by its path, for what stands below it."""
    if not paths:
        return {}
    slots = st.columns(len(paths), vertical_alignment="top")
    columns = dict(zip(paths, slots, strict=True))
    for path, slot in columns.items():
        kept(slot, holder, path, number)
    return columns


def kept_item(
    widget: Callable[..., Any], label: str, name: str, start: Any, **settings: Any
) -> Any:
    """A widget whose value is kept for the session, under its name; its value."""
    typed = session().typed
    value = typed.setdefault(name, start)
    take = partial(typed.__setitem__, name)
    field(widget, label, name, value, take, **settings)
    return typed[name]


def message_below(slot: Any, where: Where) -> None:
    """Keep a place for what is wrong with the cell of the document that stands ``where``."""
    # Mistakes are known when all fields are drawn and the survey is settled; the place
    # is kept until then.
    session().message_slots[where] = slot.empty()


def field(
    widget: Callable[..., Any],
    label: str,
    name: str,
    value: Any,
    take: Take,
    **settings: Any,
) -> None:
    """A widget whose start is ``value`` in every run, so that none can leave it blank.

    ``take`` is given what differs from it.
    """
    # Another key is another widget: it forgets what was typed before the document was replaced.
    key = f"{name}-{session().revision}"
    options = settings.get("options")
    # The document gets the file's word, and the page shows what stands for it.
    if isinstance(options, Mapping):
        settings["format_func"] = options.__getitem__
    if options is not None:
        settings["options"] = list(options)

    # Streamlit calls this before the run, so that what stands above the widget knows of it, too.
    def changed() -> None:
        if st.session_state[key] != value:
            take(st.session_state[key])

    start = _start(widget.__name__, value, settings.get("options", ()))
    typed = widget(label, key=key, on_change=changed, **start, **settings)
    # A widget that was typed into while its page was left comes back with it, without a change.
    if typed != value:
        take(typed)


def _start(kind: str, value: Any, options: Sequence[Any]) -> dict[str, Any]:
    """The argument with which a kind of widget is told its value."""
    if kind in ("selectbox", "radio"):
        # A value that is no option any more shows the first one: Streamlit would end
        # the page with an error.
        return {"index": options.index(value) if value in options else 0}
    if kind in ("segmented_control", "multiselect"):
        return {"default": value}
    return {"value": value}
