"""Work is kept in the address: a reload goes on with it, and a link shares it.

What is kept is what was typed about the survey; true answers and uploaded samples of people's
preferences never are.
"""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from planner.survey.writer import survey_to_text
from planner.ui.draft.link import word_of_draft
from planner.ui.state import session

MOST_IN_ADDRESS = 6000
"""Characters; beside the rest of an address, what servers and chat programs let pass."""

_SCRIPT = """
export default function ({ data }) {
  const address = new URL(window.location.href);
  address.searchParams.delete("survey");
  if (data.word) {
    address.searchParams.set("survey", data.word);
    address.searchParams.delete("example");
  }
  if (address.href !== window.location.href)
    window.history.replaceState(window.history.state, "", address);
}
"""


def keep_work(slot: DeltaGenerator, page: str) -> None:
    """Give the address what is typed now, once that is no example.

    Parameters
    ----------
    slot:
        Where to say that a survey is too large for an address.
    page:
        The page that is shown: entering one clears the address.
    """
    here = session()
    word = word_of_draft(here.draft)
    fits = len(word) <= MOST_IN_ADDRESS
    own = word != here.word_at_start
    component = st.components.v2.component("ldp_planner_address", js=_SCRIPT)
    component(data={"page": page, "word": word if own and fits else None}, key="address")
    if own and not fits:
        _offer_file(slot)


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
