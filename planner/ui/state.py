"""What a session holds: its own draft, what it was before.

Everything lives in Streamlit's session state, which no other session can see.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import streamlit as st

from planner.errors import PlannerError
from planner.survey import Survey
from planner.survey.file import survey_from_text
from planner.ui.draft.link import draft_of_word, word_of_draft
from planner.ui.draft.survey import Built, SurveyDraft

EXAMPLES = {
    "clinic": "Clinic, sixteen treatments",
    "health": "Health survey, five diagnoses",
    "browsing": "Browsing, a hundred pages",
    "hours": "Unpaid help, hours in order",
    "answer-rate": "Hospital bills, many do not answer",
    "sampled-ages": "Registry, age groups of a rare illness",
}
FIRST_EXAMPLE = "clinic"
"""What a visitor meets: the levels matter, and the answers have names."""
_MOST_UNDO = 20


@dataclass
class Session:
    """One visitor's work.

    Attributes
    ----------
    draft:
        What is being edited.
    revision:
        Rises when the draft is replaced as a whole or another page is entered, so that widgets
        start afresh from the draft.
    undo:
        Drafts that were replaced, oldest first, with what replaced them.
    notices:
        Sentences to show once, after an upload for example.
    complaints:
        Likewise, for what went wrong.
    ledger:
        What earlier collections from the same people have spent: a ledger file's JSON.
    drawers:
        Names of the parts that were left open.
    typed:
        What was chosen and typed that is no part of the survey, by name.
    page:
        The page that was shown last.
    word_at_start:
        The draft with which the visit began, as a word; it is not worth an address.
    """

    draft: SurveyDraft
    revision: int = 0
    undo: list[tuple[str, SurveyDraft]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    ledger: str | None = None
    drawers: set[str] = field(default_factory=set)
    typed: dict[str, Any] = field(default_factory=dict)
    page: str = ""
    word_at_start: str = ""

    def build(self) -> Built:
        """The survey of all that is right, and what is not."""
        return self.draft.build()


def session() -> Session:
    """The session of this visitor, started with what the address asks for."""
    if "session" not in st.session_state:
        st.session_state["session"] = _started()
    found: Session = st.session_state["session"]
    return found


def _started() -> Session:
    asked = st.query_params.get("example", "")
    draft = SurveyDraft.of(example_survey(asked if asked in EXAMPLES else FIRST_EXAMPLE))
    new = Session(draft, word_at_start=word_of_draft(draft))
    word = st.query_params.get("survey", "")
    if word:
        try:
            new.draft = draft_of_word(word)
        except PlannerError as error:
            new.complaints.append(str(error))
    return new


def example_survey(name: str) -> Survey:
    """A bundled example by its short name."""
    path = resources.files("planner.ui") / "surveys" / f"{name}.toml"
    return survey_from_text(path.read_text(encoding="utf-8"), source=f"{name}.toml")


def replace_draft(survey: Survey | SurveyDraft, why: str) -> None:
    """Put another survey in place of the draft; the old one can be had back."""
    here = session()
    draft = SurveyDraft.of(survey) if isinstance(survey, Survey) else survey
    here.undo = [*here.undo, (why, here.draft)][-_MOST_UNDO:]
    here.draft = draft
    here.revision += 1
    if isinstance(survey, Survey) and here.draft.build().survey != survey:
        here.notices.append(
            "Blanks around names were dropped while reading; compare the table with the file."
        )


def enter(page: str) -> None:
    """Note which page is shown: the widgets of a page start afresh when it is entered."""
    here = session()
    if here.page and here.page != page:
        here.revision += 1
    here.page = page


def undo() -> None:
    """Put the last replaced draft back."""
    here = session()
    if here.undo:
        _, here.draft = here.undo.pop()
        here.revision += 1
