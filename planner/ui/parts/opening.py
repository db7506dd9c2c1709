"""Opening a survey, a list of items or an example in place of the draft."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import PurePath

import streamlit as st

from planner.errors import PlannerError
from planner.ui.draft.categorical import CategoricalDraft
from planner.ui.draft.survey import SurveyDraft
from planner.ui.parts import show, uploads
from planner.ui.parts.questions import chosen_question, place_of
from planner.ui.state import EXAMPLES, example_survey, replace_draft, session, undo


def show_opening() -> None:
    """Offer examples, files, and what there was before."""
    here = session()
    with st.expander("Open a survey, a list of items, or an example"):
        left, right = st.columns(2)
        left.selectbox(
            "Example",
            [None, *EXAMPLES],
            format_func=lambda name: EXAMPLES[name] if name else "choose one",
            key=f"example-{here.revision}",
            on_change=_take_example,
        )
        right.file_uploader(
            "File",
            type=["toml", "csv", "json"],
            key=f"upload-{here.revision}",
            on_change=_take_upload,
            help="A survey (TOML), a list of items with level or epsilon (CSV, first line "
            "item,level,epsilon), or an exported parameter file (JSON). It stays on this machine.",
        )
        if here.undo:
            st.button(show.plain(f"Undo: {here.undo[-1][0]}"), on_click=undo)


def _take_example() -> None:
    name = st.session_state[f"example-{session().revision}"]
    if name:
        replace_draft(example_survey(name), f"opening the example {EXAMPLES[name]!r}")


def _take_upload() -> None:
    here = session()
    file = st.session_state[f"upload-{here.revision}"]
    if file is None:
        return
    name, data = PurePath(file.name).name, file.getvalue()
    try:
        if name.lower().endswith(".csv"):
            replace_draft(_with_items(here.draft, name, data), f"opening {name}")
        else:
            replace_draft(uploads.survey_from_upload(name, data), f"opening {name}")
    except PlannerError as error:
        here.complaints.append(str(error))


def _with_items(draft: SurveyDraft, name: str, data: bytes) -> SurveyDraft:
    """The draft with the items of a CSV file in place of the chosen question's rows."""
    chosen = chosen_question(CategoricalDraft)
    rows = uploads.rows_from_items(name, data, chosen.rows if chosen else [])
    changed = copy.deepcopy(draft)
    if chosen is None:
        changed.questions.append(CategoricalDraft("question", rows))
    else:
        changed.questions[place_of(chosen)] = replace(copy.deepcopy(chosen), rows=rows)
    return changed
