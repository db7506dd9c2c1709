"""Which question a page is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import streamlit as st

from planner.survey import Question
from planner.ui.draft.categorical import CategoricalDraft
from planner.ui.draft.parts import QuestionDraft
from planner.ui.parts import show
from planner.ui.parts.fields import kept, kept_item
from planner.ui.state import session

D = TypeVar("D", bound=QuestionDraft)


def question_of(kind: type[D], where: str) -> D | None:
    """The question of a kind to look at; a choice is offered if there are several."""
    drafts = _of_kind(kind)
    before = chosen_question(kind)
    if len(drafts) <= 1 or before is None:
        return before
    place: int = kept_item(
        st.selectbox,
        "Which question",
        f"question-{where}",
        0,
        key=_remembered(kind),
        options=range(len(drafts)),
        format_func=lambda i: drafts[i].name,
    )
    return drafts[place]


def chosen_question(kind: type[D]) -> D | None:
    """The question of a kind that was looked at last, on whatever page."""
    drafts = _of_kind(kind)
    if not drafts:
        return None
    place: int = session().typed.get(_remembered(kind), 0)
    return drafts[place if place < len(drafts) else 0]


def choose(draft: QuestionDraft) -> None:
    """Make this the question of its kind that pages look at."""
    kind = type(draft)
    place = next(k for k, one in enumerate(_of_kind(kind)) if one is draft)
    session().typed[_remembered(kind)] = place


def question_or_new(kind: type[D], where: str, make: Callable[[], D]) -> D:
    """As :func:`question_of`; without one, a new one that is not part of the survey yet."""
    found = question_of(kind, where)
    if found is None:
        found = make()
        found.included = False
        session().draft.questions.append(found)
    return found


def categorical_question(where: str) -> tuple[CategoricalDraft | None, Question | None]:
    """The categorical question to look at, as typed, and what is right of it."""
    draft = question_of(CategoricalDraft, where)
    question, found = draft.build() if draft else (None, [])
    show.problems(found, "The rest is used below; mend it on the page Budgets.")
    if question is None:
        st.info("Describe a categorical question on the page Budgets first.")
    return draft, question


def place_of(draft: QuestionDraft) -> int:
    """The place of a question in the survey: two questions may be alike in all they say."""
    return next(i for i, one in enumerate(session().draft.questions) if one is draft)


def part_of_survey(draft: QuestionDraft, where: str) -> None:
    """A switch that takes a question into the survey or out of it."""
    kept(
        st.toggle,
        "Part of the survey",
        f"included-{where}-{place_of(draft)}",
        draft,
        "included",
        help="Only questions that are part of the survey are planned together and exported.",
    )


def answer_names(question: Question) -> list[str]:
    """The name of every possible answer, level by level."""
    names: list[str] = []
    for level in question.levels:
        unnamed = [f"{level.name} {k + 1}" for k in range(level.item_count)]
        names += level.items or unnamed
    return names


def _of_kind(kind: type[D]) -> list[D]:
    return [one for one in session().draft.questions if isinstance(one, kind)]


def _remembered(kind: type[QuestionDraft]) -> str:
    return f"question of {kind.__name__}"
