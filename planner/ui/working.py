"""Plans of what was typed, remembered for this visit alone, and the last one while it is wrong."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import streamlit as st

from planner.errors import InputError, PlannerError
from planner.laws.schema import Document
from planner.patience import patience
from planner.planning.ledger import Ledger
from planner.planning.plan import SurveyPlan, plan_survey
from planner.planning.question import QuestionPlan
from planner.survey.description import Mistake
from planner.survey.survey import settle
from planner.survey.values import text_of
from planner.ui import render
from planner.ui.document import (
    KIND_WORDS,
    cleaned,
    is_empty,
    joint_of,
    kind_of,
    label_of,
    sentence_of,
)
from planner.ui.fields import kept_item
from planner.ui.state import session

T = TypeVar("T")
LONGEST = 30.0
"""Seconds that anything may take in the app; what takes longer is for the command line."""
_PAUSE = 0.25
_TURN = (
    threading.Semaphore()
)  # threads that compute at once slow each other down: one at a time
_LONGEST_TURN = 1.0  # for what does not look at the clock
_MOST_SIDE_BY_SIDE = 6


@dataclass(frozen=True)
class Result:
    """What is planned: of the document as it is, or of what it was before a mistake."""

    plan: SurveyPlan | None
    mistakes: tuple[str, ...] = ()
    asks: bool = False
    """Whether all of these are about what is still empty: nobody did anything wrong."""


def result() -> Result:
    """The plan of the document, after what the ledger has, and all that is wrong with it."""
    here = session()
    survey, mistakes = settle(cleaned(here.document))
    if survey is not None:
        try:
            ledger = (
                None if here.ledger is None else Ledger.model_validate_json(here.ledger)
            )
            make = partial(plan_survey, survey, ledger)
            here.planned = remembered(("plan", survey, here.ledger), make)
        except InputError as error:
            mistakes = (Mistake((), error),)
        except PlannerError as error:
            return Result(here.planned, (error.worded(label_of),))
    asks = all(map(is_empty, mistakes))
    return Result(here.planned, tuple(map(sentence_of, mistakes)), asks)


def remembered(key: tuple[object, ...], make: Callable[[], T]) -> T:
    """What ``make`` returns, within the time there is, and while the visitor waits for it.

    Raises
    ------
    InputError
        It took longer than :data:`LONGEST`.
    """
    slot = st.empty()
    turn = ExitStack()

    def waited_for() -> T:
        if _TURN.acquire(timeout=_LONGEST_TURN):
            turn.callback(_TURN.release)
        begun = asked = time.monotonic()

        def check() -> None:
            nonlocal asked
            now = time.monotonic()
            if now - begun > LONGEST:
                remedy = (
                    "Take fewer answers or levels, or plan it with the command line."
                )
                reason = f"this takes longer than the {LONGEST:g} seconds there are for it here"
                raise InputError.because("time", reason, remedy)
            if now - asked > _PAUSE:
                asked = now
                turn.close()  # what is long lets the others pass
                # Streamlit ends the run here if there is a newer one, or nobody.
                slot.caption(f"Planning for {now - begun:.0f} s")

        with turn, patience(check):
            found = make()
        slot.empty()
        return found

    return session().remembered(key, waited_for)


@contextmanager
def shown(found: Result, where: str = "results") -> Iterator[None]:
    """A place for results, greyed while they are of what was there before a mistake."""
    with st.container(key=f"{'stale' if found.mistakes else 'current'}-{where}"):
        yield


def chosen_place(where: str, kinds: Collection[str] = KIND_WORDS) -> int | None:
    """The place of the question to look at, of one of these kinds; a choice if there are several.

    All pages look at the question that was chosen last.
    """
    here = session()
    names = [text_of(one.get("name")) for one in here.document["question"]]
    places = [
        k for k, one in enumerate(here.document["question"]) if kind_of(one) in kinds
    ]
    if not places:
        return None
    before = here.typed.get("question", 0)
    if before not in places:
        before = places[0]
    if len(places) > 1:
        here.typed[f"question-{where}"] = before
        options = {k: render.plain(names[k]) or "(no name)" for k in places}
        few = {"required": True} if len(places) <= _MOST_SIDE_BY_SIDE else {}
        widget: Any = st.segmented_control if few else st.selectbox
        before = kept_item(
            widget, "Question", f"question-{where}", before, options=options, **few
        )
        here.typed["question"] = before
    return int(before)


def planned_question(plan: SurveyPlan | None, place: int | None) -> QuestionPlan | None:
    """The plan of the question at this place, or of the joint one that it is a part of."""
    if plan is None or place is None:
        return None
    document = session().document
    joint = joint_of(document)
    planned = [k for k in range(len(document["question"])) if k not in joint]
    whole = joint.get(place, place)
    number = planned.index(whole) if whole in planned else len(planned)
    return plan.questions[number] if number < len(plan.questions) else None


def looked_at(
    where: str, kinds: Collection[str] = KIND_WORDS
) -> tuple[Result, int | None, QuestionPlan | None]:
    """The result, what is wrong said; the place and the plan of the chosen question."""
    found = result()
    rest = "Fill this in" if found.asks else "Mend this"
    rest += " on the page Questions. What is greyed is from before."
    render.problems(found.mistakes, rest, asks=found.asks)
    place = chosen_place(where, kinds)
    plan = planned_question(found.plan, place)
    same = (
        plan is not None and plan.question.kind in kinds
    )  # or it is from before a mistake
    return found, place, plan if same else None


def question_at(place: int) -> Document:
    """The question at this place, as typed."""
    found: Document = session().document["question"][place]
    return found
