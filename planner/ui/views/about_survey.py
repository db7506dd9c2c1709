"""Drawers of the page Questions about the whole survey: its words, who is asked, known groups."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from planner.errors import PlannerError
from planner.laws.schema import Document
from planner.planning.ledger import Ledger, read_ledger
from planner.show.blocks import column
from planner.ui import render
from planner.ui.document import CELLS, name_of
from planner.ui.fields import field, kept, kept_row, message_below
from planner.ui.opening import as_file
from planner.ui.state import session
from planner.ui.typed import set_group, text_of_group, text_of_pairs


def wording(document: Document) -> None:
    """How the page that people answer puts it."""
    kept_row(document, None, ["survey.title", "survey.language"])
    kept_row(document, None, ["survey.intro", "survey.thanks"])
    for number, question in enumerate(document["question"]):
        label = render.plain(f"Question: {name_of(question)}")
        kept(st, question, "ask", number, label=label)


def whole_survey(document: Document) -> None:
    """Who answers what, and what the same people have spent before."""
    if len(document["question"]) > 1:
        kept(st, document, "survey.design")
        if document["survey"].get("design") == "some-each":
            kept(st, document, "survey.asked")
        else:
            # How many questions each is asked belongs to that design alone, and is
            # refused beside another.
            document["survey"].pop("asked", None)
    _groups(document["survey"])
    _ledger()


def _groups(survey: Document) -> None:
    """What is known of people anyway: names of groups, their values, and how many people."""
    st.markdown("**Known groups**")
    st.caption(
        "What you know of people anyway, such as a region or an age. It is not randomised, and "
        "whoever sees a report sees it, too; results come by group. Values are names, such as "
        "north; south, or whole numbers, such as 18 to 99 or 20 to 90 by 10."
    )
    rows = _group_rows(survey)
    for number, (name, values) in enumerate(rows):
        _group(survey, number, name, text_of_group(values))
    message_below(st, ("survey", "groups"))
    if len(rows) == 1:
        return
    cell = CELLS["survey.population"]
    people, limits = st.columns(2)
    field(
        people.text_input,
        cell.label,
        "population",
        text_of_pairs(survey.get("population", "")),
        partial(_take_population, survey),
        placeholder=cell.empty,
        help=cell.help,
    )
    message_below(people, ("survey", "population"))
    kept(limits, session().document, "survey.limits")


def _group_rows(survey: Document) -> list[tuple[str, Any]]:
    """The names of the groups with their values, and a blank row for another one."""
    groups: dict[str, Any] = survey.get("groups", {})
    return [*groups.items(), ("", "")]


def _group(survey: Document, number: int, name: str, values: str) -> None:
    """The fields of a group, of which the last begins another one."""
    is_first = number == 0
    left, right = st.columns([1, 2])
    for slot, label, key, text in (
        (left, "Group", "name", name),
        (right, "Values", "values", values),
    ):
        field(
            slot.text_input,
            label if is_first else f"{label}, row {number + 1}",
            f"group-{number}-{key}",
            text,
            partial(_take_group, survey, number, key),
            placeholder="another group" if key == "name" else "",
            label_visibility="visible" if is_first else "collapsed",
        )


def _take_group(survey: Document, number: int, key: str, text: str) -> None:
    name, values = _group_rows(survey)[number]
    if key == "name":
        name = text
    else:
        values = text
    set_group(survey, number, name, values)


def _take_population(survey: Document, text: str) -> None:
    survey.pop("population", None)
    if text.strip():
        survey["population"] = text


def _ledger() -> None:
    here = session()
    label = "Ledger of earlier collections from the same people"
    content = "Downloaded here after an earlier survey. What was spent is taken off every level."
    key = f"ledger-{here.revision}"
    st.file_uploader(label, ["json"], key=key, on_change=_take_ledger, help=content)
    if here.ledger is None:
        return
    ledger = Ledger.model_validate_json(here.ledger)
    levels = {}
    for collection in ledger.collections:
        for level in collection.spent:
            levels[level] = ledger.spent(level)
    render.table(
        (column("level", levels), column("spent so far", levels.values(), ".4f"))
    )
    st.button("Forget the ledger", on_click=_forget_ledger)


def _take_ledger() -> None:
    here = session()
    file = st.session_state[f"ledger-{here.revision}"]
    if file is None:
        return
    try:
        with as_file(file.name, file.getvalue()) as path:
            # Written again from what was read: the session holds a ledger that has been
            # checked.
            here.ledger = read_ledger(path).model_dump_json()
    except PlannerError as error:
        notice = str(error)
        if here.ledger is not None:
            notice += " The ledger that was here before is still used."
        here.notices.append((notice, True))


def _forget_ledger() -> None:
    here = session()
    here.ledger = None
    here.revision += 1  # the upload goes with it
