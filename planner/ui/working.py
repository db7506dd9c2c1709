"""Plans of what was typed, remembered for this visit alone, and the last one while it is wrong."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import streamlit as st

from planner.errors import InputError, PlannerError
from planner.laws.schema import Document
from planner.patience import patience
from planner.planning.ledger import Ledger
from planner.planning.plan import SurveyPlan, part_of, plan_survey
from planner.planning.question import QuestionPlan, plan_question
from planner.show.plan import each_in_words
from planner.survey.description import Mistake, Where
from planner.survey.survey import settle
from planner.ui import render
from planner.ui.document import (
    KIND_WORDS,
    alike,
    cell_of,
    cleaned,
    is_empty,
    joint_of,
    kind_of,
    names_of,
    sentence_of,
    sentences_of,
)
from planner.ui.fields import field
from planner.ui.state import session

T = TypeVar("T")
LONGEST = 30.0
"""Seconds that anything may take in the app; what takes longer is for the command line."""
# Seconds between two looks at whether somebody still waits: each sends a message to the
# browser.
_PAUSE = 0.25
# Threads that compute at once slow each other down: one at a time.
_TURN = threading.Semaphore()
_LONGEST_TURN = 1.0  # for what does not look at the clock
# Names in a row of buttons: more of them would wrap, and become a list instead.
_MOST_SIDE_BY_SIDE = 6
_MOST_AT_FIELDS = 3  # mistakes of one kind; more are said once, below the table


@dataclass(frozen=True)
class Result:
    """What is planned: of the document as it is, or of what it was before a mistake."""

    plan: SurveyPlan | None
    mistakes: tuple[Mistake, ...] = ()

    @property
    def asks(self) -> bool:
        """Whether all mistakes are about what is still empty: nobody did anything wrong."""
        return all(map(is_empty, self.mistakes))

    @property
    def sentences(self) -> list[str]:
        """What is wrong, in the words of the pages."""
        return sentences_of(self.mistakes)

    def place_mistakes(self, slots: Mapping[Where, Any]) -> list[str]:
        """Say each mistake in the slot of its field; sentences for those that have none in sight.

        ``slots`` go by where their cell stands in the document.
        """
        elsewhere: list[Mistake] = []
        sentences: dict[Where, list[str]] = {}
        for group in alike(self.mistakes):
            fields: list[Where] = []
            for mistake in group:
                nearest = _nearest(cell_of(mistake), slots)
                if nearest is not None:
                    fields.append(nearest)
            # A pasted list may err in every row: that is said once, below the table.
            if len(group) > _MOST_AT_FIELDS or len(fields) < len(group):
                elsewhere += group
                continue
            for mistake, where in zip(group, fields, strict=True):
                sentence = sentence_of(mistake, at_its_field=True)
                sentences.setdefault(where, []).append(sentence)
        for where, said in sentences.items():
            text = render.plain(" ".join(said))
            if not self.asks:
                text = f":red[{text}]"
            slots[where].caption(text)
        return sentences_of(elsewhere)


def _nearest(where: Where, slots: Mapping[Where, Any]) -> Where | None:
    """The slot of the cell that stands ``where``, or of what it is in."""
    # A place of one part is a whole table of the document, for which no field stands.
    for length in range(len(where), 1, -1):
        if where[:length] in slots:
            return where[:length]
    return None


def result() -> Result:
    """The plan of the document, after what the ledger has, and all that is wrong with it."""
    here = session()
    survey, mistakes = settle(cleaned(here.document))
    if survey is None:
        return Result(here.planned, mistakes)
    try:
        ledger = None
        if here.ledger is not None:
            # The session keeps it as text, which is hashable and so can be part of the
            # key below.
            ledger = Ledger.model_validate_json(here.ledger)
        make = partial(plan_survey, survey, ledger)
        # Equal surveys are one key, so that Undo finds its plan again.
        here.planned = remembered(("plan", survey, here.ledger), make)
    except InputError as error:
        # The last plan stays in view: figures that vanish with every half-typed number
        # would make the page jump.
        return Result(here.planned, (Mistake(_question_of(error), error),))
    except PlannerError as error:
        # Other errors of planning concern no single argument, and pages know mistakes
        # alone.
        refused = InputError.because("", error.reason, error.remedy)
        return Result(here.planned, (Mistake((), refused),))
    return Result(here.planned)


def _question_of(error: InputError) -> Where:
    """The question that a mistake found in planning is about, as its place says; () for none."""
    for number, name in enumerate(names_of(session().document)):
        if error.place[:1] == (f"question {name!r}",):
            return "question", number
    return ()


def planned_alone(survey: SurveyPlan, plan: QuestionPlan) -> QuestionPlan:
    """A question as it would be planned with all of its budgets, of all people."""
    beside = plan.part
    if beside.share == 1 and beside.fraction == 1:  # it is alone already
        return plan
    # Beside the question's own figures this shows what it pays for being asked with the
    # others.
    people = beside.everybody
    part = part_of(beside.asked, people, survey.ledger, groups=beside.groups)
    return remembered(("alone", part), lambda: plan_question(part))


def remembered(key: tuple[object, ...], make: Callable[[], T]) -> T:
    """What ``make`` returns, within the time there is, and while the visitor waits for it.

    Raises
    ------
    InputError
        It took longer than :data:`LONGEST`.
    """
    # The place is made in every run, also where nothing is computed: else all that
    # stands below would move by one, and be drawn anew.
    slot = st.empty()
    # A long computation gives up its turn early, and its end does so again: a stack
    # releases once.
    turn = ExitStack()

    def waited_for() -> T:
        # Who waited that long computes beside the other one.
        if _TURN.acquire(timeout=_LONGEST_TURN):
            turn.callback(_TURN.release)
        begun = time.monotonic()
        asked = begun

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
            outcome = make()
        slot.empty()
        return outcome

    return session().remembered(key, waited_for)


@contextmanager
def shown(planned: Result, where: str = "results") -> Iterator[None]:
    """A place for results, greyed while they are of what was there before a mistake."""
    kind = "current"
    if planned.mistakes:
        kind = "stale"  # which the page's style greys
    with st.container(key=f"{kind}-{where}"):
        yield


def chosen_question(where: str, kinds: Collection[str] = KIND_WORDS) -> int | None:
    """The number of the question to look at, of one of these kinds; a choice if there are several.

    All pages look at the question that was chosen last.
    """
    here = session()
    questions = here.document["question"]
    numbers = []
    for number, question in enumerate(questions):
        if kind_of(question) in kinds:
            numbers.append(number)
    if not numbers:
        return None
    chosen = here.typed.get("question", 0)
    if chosen not in numbers:
        chosen = numbers[0]
    if len(numbers) == 1:
        return int(chosen)
    names = names_of(here.document)
    options = {}
    for number in numbers:
        options[number] = render.plain(names[number]) or "(no name)"
    widget: Any = st.selectbox
    settings = {}
    if len(numbers) <= _MOST_SIDE_BY_SIDE:
        widget = st.segmented_control
        # A second click would else take the choice back, and no question would be
        # looked at.
        settings["required"] = True
    take = partial(here.typed.__setitem__, "question")
    name = f"question-{where}"
    field(widget, "Question", name, chosen, take, options=options, **settings)
    # The field above may have taken another number in this very run.
    chosen = here.typed.get("question", chosen)
    return int(chosen)


def planned_question(
    plan: SurveyPlan | None, number: int | None
) -> QuestionPlan | None:
    """The plan of the question of this number, or of the joint one that it is a part of."""
    if plan is None or number is None:
        return None
    document = session().document
    joint = joint_of(document)
    whole = joint.get(number, number)
    # Plans stand in the order of the questions, without those that are parts of joint ones.
    before = 0
    for other in range(whole):
        if other not in joint:
            before += 1
    # The plan may be from before a mistake, and have fewer questions.
    return plan.questions[before] if before < len(plan.questions) else None


def looked_at(
    where: str, kinds: Collection[str] = KIND_WORDS
) -> tuple[Result, int | None, QuestionPlan | None]:
    """The result, what is wrong said; the number and the plan of the chosen question."""
    planned = result()
    rest = "Mend this"
    if planned.asks:
        rest = "Fill this in"
    rest += " on the page Questions. What is greyed is from before."
    render.problems(planned.sentences, rest, asks=planned.asks)
    number = chosen_question(where, kinds)
    plan = planned_question(planned.plan, number)
    if plan is not None and plan.question.kind not in kinds:
        plan = None  # it is from before a mistake
    return planned, number, plan


def question_at(number: int) -> Document:
    """The question of this number, as typed."""
    question: Document = session().document["question"][number]
    return question


Step = tuple[str, Document, Document]
"""What is on a button, and the table of the document with what is changed in it."""


def design_step(survey: SurveyPlan) -> Step | None:
    """Who answers what, if another design has smaller errors."""
    design = survey.better_design
    if design is None or survey.allocation is None:
        return None
    label = f"Ask each person {each_in_words(survey.allocation.best_each)}"
    if design == "split":
        label = "Ask everybody everything"
    # How many questions each person is asked goes back to the best number: one that was
    # typed for the old design would stand.
    return label, session().document["survey"], {"design": design, "asked": ""}


def take_step(holder: Document, changes: Document) -> None:
    """Make a change that a button offers."""
    here = session()
    here.note()  # so that Undo takes this step alone back
    holder.update(changes)
    here.revision += 1
