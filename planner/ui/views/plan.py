"""Step 2: how exact the answers will be, what one survey would look like, and what to change."""

from __future__ import annotations

import numpy as np
import streamlit as st

from planner.estimates.channel import OrderedEstimates
from planner.laws.schema import Document
from planner.limits import SAME_ERROR
from planner.planning.datasets import KnownAnswers
from planner.planning.plan import SurveyPlan
from planner.planning.question import QuestionPlan
from planner.show.blocks import Block, said
from planner.show.others import one_survey, others_sentence
from planner.show.plan import pictures, question_blocks, survey_blocks
from planner.survey.numeric import Numeric
from planner.trial.made_up import made_up_answers, made_up_numbers, shapes_of
from planner.trial.simulate import OneSurvey, Trial
from planner.ui import render
from planner.ui.document import name_of
from planner.ui.state import session
from planner.ui.working import (
    Step,
    design_step,
    looked_at,
    question_at,
    remembered,
    shown,
    take_step,
)

# So that a picture comes at once.
_MOST_PEOPLE_DRAWN = 10_000_000
_MOST_ANSWERS_DRAWN = 200_000


def page() -> None:
    """Show the result of the chosen question, then of the survey, then the details."""
    render.header("Plan", "How exact answers will be, and what is promised.")
    result, number, plan = looked_at("plan")
    if number is None or plan is None or result.plan is None:
        return
    survey = result.plan
    shared: list[Block] = []
    if len(survey.questions) > 1:
        _, *shared = survey_blocks(survey)  # without the heading

    def first() -> list[Block]:
        return [*question_blocks(plan, details=False), *pictures(plan)]

    def details() -> None:
        own = remembered(("details", plan), lambda: question_blocks(plan))
        blocks = own + shared
        render.render(block for block in blocks if block.rank == "details")

    with shown(result), render.complaint():
        if plan.name != name_of(question_at(number)):  # a part is planned in its whole
            st.markdown(f"**{render.plain(plan.name)}**")
        blocks = remembered(("blocks", plan), first) + shared
        render.render(block for block in blocks if block.rank != "details")
        if not result.mistakes:
            # A button would change the document by figures of what it was before the
            # mistake.
            _offer(_step(survey, plan, question_at(number)))
        render.render(said([others_sentence(plan)]))
        _picture(plan)
        render.drawer("Details", "details", details)


def _offer(step: Step | None) -> None:
    """A button for what would help most, if there is something."""
    if step is None:
        return
    label, *change = step
    shown = render.plain(label)
    st.button(shown, on_click=take_step, args=change, type="primary")


def _step(survey: SurveyPlan, plan: QuestionPlan, question: Document) -> Step | None:
    """A better design, more people for a missed target, or another mechanism.

    What is on the button, and the table of the document with what is changed in it. What weakens
    protection is a sentence with its price.
    """
    design = design_step(survey)
    if design is not None:
        return design
    needed = []
    for target in plan.targets:
        if not target.met:
            if target.users is None:  # no number of people meets that target
                return None
            needed.append(target.users)
    if needed:
        # Errors fall with the number of people, so that the largest number meets every
        # target.
        most = f"{max(needed):,}"
        return f"Ask {most} people", session().document["survey"], {"users": most}
    return _mechanism_step(plan, question)


def _mechanism_step(plan: QuestionPlan, question: Document) -> Step | None:
    """The step to another mechanism, where it has a smaller error and promises no less."""
    if "anchor" in question:  # it has the mechanism of its question
        return None
    for option in plan.solved_options:
        # A difference within what solvers leave undecided is no reason to change
        # anything.
        if option.against < -SAME_ERROR and not option.compared:
            if option.by_level > plan.planned.by_level:
                return None
            return f"Use {option.title}", question, {"mechanism": option.name}
    return None


def _picture(plan: QuestionPlan) -> None:
    """One simulated survey: what is true, and estimates with their intervals."""
    items = sum(level.item_count for level in plan.deployed.levels)
    if not plan.question.locally_private:
        return
    if plan.part.everybody > _MOST_PEOPLE_DRAWN or items > _MOST_ANSWERS_DRAWN:
        return
    with render.complaint():
        render.section("What one survey could look like")
        trial, survey = remembered(("picture", plan), lambda: _one_survey(plan))
        drawn, alt, remark = one_survey(trial, survey)
        render.chart(drawn, "one-survey", alt)
        how = "around the expected mean"
        if items:
            how = shapes_of(plan.deployed)[0]
        st.caption(render.plain(f"Made-up answers, {how}. {remark}"))


def _one_survey(plan: QuestionPlan) -> tuple[Trial, OneSurvey | OrderedEstimates]:
    # Always the same draw: a picture that changes at every visit would seem to report
    # something new.
    rng = np.random.default_rng(1)
    asked = plan.deployed
    everybody = plan.part.everybody
    answers: KnownAnswers
    if isinstance(asked, Numeric):
        missing = 1 - plan.answering / plan.part.people
        answers = made_up_numbers(asked, everybody, missing, rng)
    else:
        shape, *_ = shapes_of(asked)
        answers = made_up_answers(asked, everybody, shape, rng)
    trial = Trial.of(plan, answers)
    survey = trial.one(trial.names[0], rng, most=8)
    return trial, survey
