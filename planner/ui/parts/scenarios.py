"""Named scenarios, kept for the session and compared side by side."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from planner.planning.whole_survey.compare import COMPARED_ERRORS, ComparedRow, compare_plans
from planner.survey import Survey
from planner.ui.draft.survey import Built
from planner.ui.parts import show
from planner.ui.parts.results import survey_plan
from planner.ui.parts.tables import show_table
from planner.ui.state import replace_draft, session

_MOST = 50


def show_scenarios(built: Built) -> None:
    """Keep the current survey under a name, go back to a kept one, compare two."""
    st.subheader("Scenarios")
    scenarios = session().scenarios
    st.caption("Kept until this browser tab is closed; download the survey to keep it longer.")
    name, keep = st.columns([3, 1], vertical_alignment="bottom")
    typed = name.text_input("Name of the scenario", key="scenario-name", placeholder="cautious")
    keep.button(
        "Keep the current survey",
        on_click=_keep,
        args=(typed.strip(), built.survey),
        disabled=not built.complete or not typed.strip() or len(scenarios) >= _MOST,
        width="stretch",
    )
    if typed.strip() in scenarios:
        st.caption("A scenario of this name is kept already; keeping replaces it.")
    if not scenarios:
        return
    names = list(scenarios)
    chosen, back, drop = st.columns([3, 1, 1], vertical_alignment="bottom")
    pick = chosen.selectbox("Kept scenario", names, key="scenario-pick")
    if pick is not None:
        back.button("Edit it", on_click=_edit, args=(pick,), width="stretch")
        drop.button("Forget it", on_click=_forget, args=(pick,), width="stretch")
    _compare(built)


def _keep(name: str, survey: Survey | None) -> None:
    if name and survey is not None:
        session().scenarios[name] = survey


def _edit(name: str) -> None:
    replace_draft(session().scenarios[name], f"going back to scenario {name!r}")


def _forget(name: str) -> None:
    session().scenarios.pop(name, None)


def _compare(built: Built) -> None:
    now = "(the current survey)"
    kept = dict(session().scenarios)
    if built.complete and built.survey is not None:
        kept[now] = built.survey
    options = list(kept)
    if len(options) < 2:
        return
    left, right = st.columns(2)
    first = left.selectbox("Compare", options, index=0, key="compare-first")
    second = right.selectbox("with", options, index=len(options) - 1, key="compare-second")
    with show.complaint():
        before, after = (survey_plan(kept[name], session().ledger) for name in (first, second))
        _differences(first, second, compare_plans(before, after).rows)


def _differences(first: str, second: str, rows: Sequence[ComparedRow]) -> None:
    show_table(
        {
            "question": [row.question for row in rows],
            "level": [row.level for row in rows],
            "what": [row.what for row in rows],
            f"in {first}": [_number(row.first) for row in rows],
            f"then in {second}": [_number(row.second) for row in rows],
            "change": ["" if row.change is None else f"{row.change:+.1%}" for row in rows],
        }
    )
    st.caption(COMPARED_ERRORS)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
