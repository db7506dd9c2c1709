"""What a session holds: its own document, what it was before, and what was planned of it.

Everything lives in Streamlit's session state, which no other session can see, and which is
forgotten with the visit.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import streamlit as st

from planner.errors import PlannerError
from planner.laws.schema import Document
from planner.planning.plan import SurveyPlan
from planner.survey.description import Where
from planner.ui.address import documents_of_word, word_of
from planner.ui.document import (
    EXAMPLES,
    FIRST_EXAMPLE,
    example_document,
)

T = TypeVar("T")
INTRODUCED = "ldp-planner-introduced"
"""The cookie of a browser whose visitor has dismissed the introduction."""
# Steps of Undo that the server keeps, and the fewer that a browser does: each is a
# whole document.
_MOST_STEPS = 50
_MOST_KEPT = 20
# A hand that moves sliders makes new results without end, and the server holds those of
# every visit.
_MOST_REMEMBERED = 64


@dataclass
class Session:
    """One visitor's work.

    Attributes
    ----------
    document:
        What is being edited.
    word_at_start:
        The document with which the visit began, as a word; it is not worth an address.
    last:
        The survey that this browser had last, if it is offered.
    introduced:
        Whether this browser has been told what the app is for.
    revision:
        Rises when the document is replaced as a whole or another page is entered, so that
        widgets start afresh from it.
    past, future:
        Documents before and after it, as JSON: what Undo and Redo go to.
    seen:
        The document as it was noted last, as JSON.
    notices:
        Sentences to show once, after an upload for example, and whether something went wrong.
    ledger:
        What earlier collections from the same people have spent: a ledger file's JSON.
    typed:
        What was chosen, typed or left open that is no part of the survey, by name.
    page:
        The page that was shown last.
    planned:
        The last plan, which stays in view while something is wrong.
    memory:
        Other results, by what they were computed from.
    message_slots:
        Places of this run of the page for what is wrong, by where the cell stands in the document.
    refused:
        What is wrong with the file that was opened last.
    """

    document: Document
    word_at_start: str = ""
    last: Document | None = None
    introduced: bool = True
    revision: int = 0
    past: list[str] = field(default_factory=list)
    future: list[str] = field(default_factory=list)
    seen: str = ""
    notices: list[tuple[str, bool]] = field(default_factory=list)
    ledger: str | None = None
    typed: dict[str, Any] = field(default_factory=dict)
    page: str = ""
    planned: SurveyPlan | None = None
    memory: dict[Hashable, Any] = field(default_factory=dict)
    message_slots: dict[Where, Any] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)

    def note(self) -> None:
        """Take a change of the document as one step that can be undone."""
        now = json.dumps(self.document)  # a copy that later changes do not reach
        if now != self.seen and self.seen:
            self.past = [*self.past, self.seen][-_MOST_STEPS:]
            self.future = []  # a new change has no way on
        self.seen = now

    def undo(self) -> None:
        """Take the last change back."""
        # A button's callback runs before the page: what was typed with the same tap
        # must first be a step, or Undo would skip it.
        self.note()
        self._go(self.past, self.future)

    def redo(self) -> None:
        """Make the change again that was taken back last."""
        self.note()
        self._go(self.future, self.past)

    def replace(self, document: Document) -> None:
        """Put another survey in place of the document; Undo brings the old one back."""
        self.note()
        # Else the document on offer would be edited in place, and come back changed the
        # next time.
        self.document = copy.deepcopy(document)
        self.planned = None  # figures of another survey say nothing of this one
        self.last = None  # the offer of the last survey is declined by that
        # The number of the question that was looked at means nothing in another survey.
        self.typed.pop("question", None)
        self.revision += 1

    def steps(self) -> str:
        """The document and what Undo goes to, for the browser; it comes back in :meth:`recall`."""
        # Where nothing can be undone, nothing is kept: a browser that only looked
        # stores no survey.
        if not self.past:
            return ""
        past = map(json.loads, self.past[-_MOST_KEPT:])
        return word_of(*past, self.document)

    def recall(self, steps: str, last: str) -> None:
        """What the browser kept: the steps to this document, and the last survey; or not."""
        with suppress(PlannerError):
            # A browser that keeps nothing sends an empty word, which is refused like a
            # damaged one: neither is worth a sentence.
            *past, now = documents_of_word(steps)
            # These steps lead to one document alone: from another one, Undo would jump
            # to a survey that was never here. The present one goes through a word as
            # well, since that drops files.
            if not self.past and [now] == documents_of_word(word_of(self.document)):
                self.past = [json.dumps(step) for step in past]
        with suppress(PlannerError):
            self.last = documents_of_word(last)[-1]

    def enter(self, page: str) -> None:
        """Note which page is shown: the widgets of a page start afresh when it is entered."""
        # Widgets that a page left hold what they had; the document may be another by now.
        if self.page and self.page != page:
            self.revision += 1
        self.page = page

    def remembered(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` returns or why it cannot, computed once for this visit."""
        if key not in self.memory:
            try:
                outcome: T | PlannerError = make()
            except PlannerError as error:
                # Without its traceback, which would keep what it was computed from.
                outcome = error.with_traceback(None)
            while len(self.memory) >= _MOST_REMEMBERED:  # the oldest goes first
                del self.memory[next(iter(self.memory))]
            self.memory[key] = outcome
        result = self.memory[key]
        if isinstance(result, PlannerError):
            raise result
        value: T = result
        return value

    def _go(self, steps: list[str], back: list[str]) -> None:
        if steps:
            back.append(self.seen)
            self.seen = steps.pop()
            self.document = json.loads(self.seen)
            self.revision += 1


def session() -> Session:
    """The session of this visitor, started with what the address asks for."""
    if "session" not in st.session_state:
        st.session_state["session"] = _started()
    here: Session = st.session_state["session"]
    return here


def _started() -> Session:
    example = st.query_params.get("example", "")
    if example not in EXAMPLES:
        example = FIRST_EXAMPLE
    new = Session(example_document(example))
    new.word_at_start = word_of(new.document)
    # A cookie comes with the first request. The browser's store would come a run later,
    # when the introduction had already flashed up.
    new.introduced = st.context.cookies.get(INTRODUCED) == "1"
    word = st.query_params.get("survey", "")
    if word:
        try:
            new.document = documents_of_word(word)[-1]
        except PlannerError as error:
            # A damaged link must not end in a blank page: the example stands there, and
            # a sentence says why.
            new.notices.append((str(error), True))
    # Without this, the first change would have no document before it to go back to.
    new.note()
    return new
