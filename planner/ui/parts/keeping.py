"""Work is kept in the address, and by the browser: a reload or another tab goes on with it.

The server keeps nothing. What is kept is what was typed about the survey; true answers and
uploaded samples of people's preferences never are.
"""

from __future__ import annotations

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from planner.errors import PlannerError
from planner.survey.writer import survey_to_text
from planner.ui.draft.link import draft_of_word, word_of_draft
from planner.ui.state import replace_draft, session

MOST_IN_ADDRESS = 6000
"""Characters; beside the rest of an address, what servers and chat programs let pass."""
_MOST_IN_BROWSER = 300_000

# `kept` is the browser's copy, told once, while this visit has changed nothing.
_SCRIPT = """
const NAME = "ldp-planner survey";
export default function ({ data, setStateValue }) {
  const address = new URL(window.location.href);
  address.searchParams.delete("survey");
  if (data.address) {
    address.searchParams.set("survey", data.address);
    address.searchParams.delete("example");
  }
  if (address.href !== window.location.href)
    window.history.replaceState(window.history.state, "", address);
  try {
    if (data.changed) window.localStorage.setItem(NAME, data.changed);
    else if (data.ask) setStateValue("kept", window.localStorage.getItem(NAME));
  } catch { /* a browser that keeps nothing: the address remains */ }
}
"""


def keep_work(slot: DeltaGenerator, page: str) -> None:
    """Give address and browser what is typed now; take what the browser had kept.

    Parameters
    ----------
    slot:
        Where to say that a survey is too large for an address.
    page:
        The page that is shown: entering one clears the address.
    """
    here = session()
    word = word_of_draft(here.draft)
    changed = here.changed = here.changed or word != here.word_at_start
    fits = len(word) <= MOST_IN_ADDRESS
    data = {
        "page": page,
        "address": word if fits and (changed or here.addressed) else None,
        "changed": word if changed and len(word) <= _MOST_IN_BROWSER else None,
        "ask": not here.addressed and not changed,
    }
    found = _component()(data=data, key="keeping", on_kept_change=_nothing)
    if data["ask"] and found.kept and found.kept != word:
        _take(found.kept)
    if changed and not fits:
        _offer_file(slot)


def _take(word: str) -> None:
    """Go on with what the browser had kept."""
    here = session()
    here.addressed = True  # asked once
    try:
        draft = draft_of_word(word)
    except PlannerError:
        return  # of an older version of the app
    replace_draft(draft, "going on with the survey that this browser had kept")
    st.rerun()


def _offer_file(slot: DeltaGenerator) -> None:
    here = session()
    box = slot.container(horizontal=True, vertical_alignment="center")
    box.caption(
        "This survey is too large for an address, so that a link to it cannot be shared or kept "
        "as a bookmark. Keep its file instead."
    )
    survey = here.build().survey
    if survey is not None:
        box.download_button(
            "Download the survey (TOML)",
            lambda: survey_to_text(survey),
            "survey.toml",
            "application/toml",
            on_click="ignore",
        )


def _component() -> Any:
    """The browser's side, made known once to each run of the server."""
    return st.components.v2.component("ldp_planner_keeping", js=_SCRIPT)


def _nothing() -> None:
    """What the browser had kept is read where it is used."""
