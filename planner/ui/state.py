"""What a session holds: its own draft, what it was before, and its named scenarios.

Everything lives in Streamlit's session state, which no other session can see. A widget's
own state disappears when its page is left; the draft is the lasting copy, and
:func:`kept` seeds the widget from it once per visit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, TypeVar

import streamlit as st

from planner.survey import Survey
from planner.survey.file import survey_from_text
from planner.ui.draft.survey import Built, QuestionDraft, SurveyDraft

__all__ = [
    "EXAMPLES",
    "Session",
    "chosen_place",
    "example_survey",
    "kept",
    "part_of_survey",
    "question_of",
    "question_or_new",
    "replace_draft",
    "session",
    "undo",
]

EXAMPLES = {
    "health": "Health survey, five diagnoses",
    "browsing": "Browsing, a hundred pages",
    "answer-rate": "Hospital bills, many do not answer",
    "sampled-ages": "Registry, age groups of a rare illness",
}
_MOST_UNDO = 20
D = TypeVar("D", bound=QuestionDraft)


@dataclass
class Session:
    """One visitor's work.

    Attributes
    ----------
    draft:
        What is being edited.
    revision:
        Rises when the draft is replaced as a whole, so that widgets start afresh.
    undo:
        Drafts that were replaced, oldest first, with what replaced them.
    notices:
        Sentences to show once, after an upload for example.
    scenarios:
        Named surveys to compare.
    """

    draft: SurveyDraft
    revision: int = 0
    undo: list[tuple[str, SurveyDraft]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    scenarios: dict[str, Survey] = field(default_factory=dict)

    def build(self) -> Built:
        """The survey of all that is right, and what is not."""
        return self.draft.build()


def session() -> Session:
    """The session of this visitor, started with the example that the address asks for."""
    if "session" not in st.session_state:
        asked = st.query_params.get("example", "")
        name = asked if asked in EXAMPLES else "health"
        st.session_state["session"] = Session(SurveyDraft.of(example_survey(name)))
    found: Session = st.session_state["session"]
    return found


def example_survey(name: str) -> Survey:
    """A bundled example by its short name."""
    path = resources.files("planner.ui") / "surveys" / f"{name}.toml"
    return survey_from_text(path.read_text(encoding="utf-8"), source=f"{name}.toml")


def replace_draft(survey: Survey | SurveyDraft, why: str) -> None:
    """Put another survey in place of the draft; the old one can be had back."""
    here = session()
    here.undo = [*here.undo, (why, here.draft)][-_MOST_UNDO:]
    here.draft = SurveyDraft.of(survey) if isinstance(survey, Survey) else survey
    here.revision += 1
    if isinstance(survey, Survey) and here.draft.build().survey != survey:
        here.notices.append(
            "Blanks around names were dropped while reading; compare the table with the file."
        )


def undo() -> None:
    """Put the last replaced draft back."""
    here = session()
    if here.undo:
        _, here.draft = here.undo.pop()
        here.revision += 1


def kept(widget: Callable[..., Any], label: str, name: str, value: Any, **settings: Any) -> Any:
    """A widget that shows ``value`` when its page is entered, and then what the user does.

    ``name`` is its key, made new whenever the draft is replaced.
    """
    key = f"{name}-{session().revision}"
    if key not in st.session_state:
        st.session_state[key] = value
    return widget(label, key=key, **settings)


def question_of(kind: type[D], where: str) -> D | None:
    """The question of a kind to look at; a choice is offered if there are several."""
    drafts = [one for one in session().draft.questions if isinstance(one, kind)]
    if len(drafts) <= 1:
        return drafts[0] if drafts else None
    remembered = f"question of {kind.__name__}"
    before = st.session_state.get(remembered, 0)
    place = kept(
        st.selectbox,
        "Which question",
        f"question-{where}",
        before if before < len(drafts) else 0,
        options=range(len(drafts)),
        format_func=lambda i: drafts[i].name,
    )
    st.session_state[remembered] = place
    return drafts[place]


def chosen_place(kind: type[QuestionDraft]) -> int:
    """Which question of a kind was looked at last."""
    place: int = st.session_state.get(f"question of {kind.__name__}", 0)
    return place


def question_or_new(kind: type[D], where: str, make: Callable[[], D]) -> D:
    """As :func:`question_of`; without one, a new one that is not part of the survey yet."""
    found = question_of(kind, where)
    if found is None:
        found = make()
        found.included = False
        session().draft.questions.append(found)
    return found


def part_of_survey(draft: QuestionDraft, where: str) -> None:
    """A switch that takes a question into the survey or out of it."""
    draft.included = kept(
        st.toggle,
        "Part of the survey",
        f"included-{where}-{session().draft.questions.index(draft)}",
        draft.included,
        help="Only questions that are part of the survey are planned together and exported.",
    )
