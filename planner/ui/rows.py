"""Editing rows of text. The editor keeps its own edits: it is seeded once per visit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from planner.ui.draft.categorical import Row
from planner.ui.state import session

__all__ = ["edit_rows"]


def edit_rows(
    name: str,
    rows: Sequence[Row],
    columns: Mapping[str, Any],
    hidden: Sequence[str] = (),
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
    key = f"{name}-{session().revision}"
    if key not in st.session_state:
        frame = pd.DataFrame(list(rows), columns=list(columns)).fillna("")
        st.session_state[f"{key}-seed"] = frame.astype(str)
    edited = st.data_editor(
        st.session_state[f"{key}-seed"],
        key=key,
        num_rows="dynamic",
        hide_index=True,
        column_order=[column for column in columns if column not in hidden],
        column_config=dict(columns),
    )
    filled = edited.astype(object).where(edited.notna(), "")
    return [{str(k): str(v) for k, v in row.items()} for row in filled.to_dict("records")]
