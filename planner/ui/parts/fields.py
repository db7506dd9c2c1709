"""Fields and tables to type in. What is typed outlives them.

A widget's own state disappears when its page is left; the draft is the lasting copy. Here a
widget is seeded from it once per visit, and keeps its own edits until the page is left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from planner.ui.draft.parts import Row
from planner.ui.state import session

__all__ = ["edit_frame", "edit_rows", "kept", "kept_choice"]


def kept(widget: Callable[..., Any], label: str, name: str, value: Any, **settings: Any) -> Any:
    """A widget that shows ``value`` when its page is entered, and then what the user does.

    ``name`` is its key, made new whenever the draft is replaced.
    """
    key = f"{name}-{session().revision}"
    if key not in st.session_state:
        st.session_state[key] = value
    return widget(label, key=key, **settings)


def kept_choice(
    widget: Callable[..., Any],
    label: str,
    name: str,
    value: str,
    options: Mapping[str, str],
    **settings: Any,
) -> str:
    """The same for one of several ``options``, each with the words that stand for it."""
    chosen: str = kept(
        widget,
        label,
        name,
        value,
        options=list(options),
        format_func=options.__getitem__,
        **settings,
    )
    return chosen


def edit_rows(
    name: str, rows: Sequence[Row], columns: Mapping[str, Any], hidden: Sequence[str] = ()
) -> list[Row]:
    """A table in which every cell is text and rows can be added; what is typed in it.

    Parameters
    ----------
    name:
        Key of the table; made new whenever the draft is replaced.
    rows:
        What it shows when its page is entered.
    columns:
        Their configuration, by name, in order.
    hidden:
        Columns that are kept but not shown.
    """
    edited = edit_frame(
        name,
        lambda: pd.DataFrame(list(rows), columns=list(columns)).fillna("").astype(str),
        num_rows="dynamic",
        column_order=[column for column in columns if column not in hidden],
        column_config=dict(columns),
    )
    filled = edited.astype(object).where(edited.notna(), "")
    return [{str(k): str(v) for k, v in row.items()} for row in filled.to_dict("records")]


def edit_frame(name: str, make: Callable[[], pd.DataFrame], **settings: Any) -> pd.DataFrame:
    """A table for editing, made when its page is entered; what is in it now."""
    key = f"{name}-{session().revision}"
    if key not in st.session_state:
        st.session_state[f"{key}-seed"] = make()
    edited: pd.DataFrame = st.data_editor(
        st.session_state[f"{key}-seed"], key=key, hide_index=True, **settings
    )
    return edited
