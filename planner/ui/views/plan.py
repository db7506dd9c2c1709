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
from planner.trial.simulate import OneSurvey, Trial
from planner.ui import render
from planner.ui.state import session
from planner.ui.views.trial import drawn_answers, drawn_numbers
from planner.ui.working import (
    Step,
    design_step,
    looked_at,
    question_at,
    remembered,
    shown,
    take_step,
)

_MOST_DRAWN = 10_000_000, 200_000  # people, answers


def page() -> None:
    """Show the result of the chosen question, then of the survey, then the details."""
    render.header("Plan", "How exact answers will be, and what is promised.")
    found, place, plan = looked_at("plan")
    if place is None or plan is None or found.plan is None:
        return
    shared = survey_blocks(found.plan)[1:] if len(found.plan.questions) > 1 else []

    def first() -> list[Block]:
        return [*question_blocks(plan, details=False), *pictures(plan)]

    def details() -> None:
        blocks = remembered(("details", plan), lambda: question_blocks(plan))
        render.render(one for one in blocks + shared if one.rank == "details")

    with shown(found), render.complaint():
        blocks = remembered(("blocks", plan), first)
        render.render(one for one in blocks + shared if one.rank != "details")
        step = None if found.mistakes else _step(found.plan, plan, question_at(place))
        if step is not None:
            label, *change = step
            st.button(
                render.plain(label), on_click=take_step, args=change, type="primary"
            )
        render.render(said([others_sentence(plan)]))
        _picture(plan)
        render.drawer("Details", "details", details)


def _step(survey: SurveyPlan, plan: QuestionPlan, question: Document) -> Step | None:
    """A better design, more people for a missed target, or another mechanism.

    What is on the button, and the table of the document with what is changed in it. What weakens
    protection is a sentence with its price.
    """
    design = design_step(survey)
    if design is not None:
        return design
    about = session().document["survey"]
    missed = [answer for answer in plan.targets if not answer.met]
    users = [answer.users for answer in missed if answer.users is not None]
    if missed:
        most = f"{max(users, default=0):,}"
        enough = len(users) == len(missed)
        return (f"Ask {most} people", about, {"users": most}) if enough else None
    own = plan.planned
    better = [
        one for one in plan.found if one.against < -SAME_ERROR and not one.compared
    ]
    if better and better[0].by_level <= own.by_level:
        return f"Use {better[0].title}", question, {"mechanism": better[0].name}
    return None


def _picture(plan: QuestionPlan) -> None:
    """One simulated survey: what is true, and estimates with their intervals."""
    items = sum(level.item_count for level in plan.deployed.levels)
    if plan.question.apart or plan.everybody > _MOST_DRAWN[0] or items > _MOST_DRAWN[1]:
        return
    with render.complaint():
        render.section("What one survey could look like")
        drawn, alt, told = one_survey(
            *remembered(("picture", plan), lambda: _one_survey(plan))
        )
        render.chart(drawn, "one-survey", alt)
        how = "few frequent, many rare" if items else "around the expected mean"
        st.caption(render.plain(f"Made-up answers, {how}. {told}"))


def _one_survey(plan: QuestionPlan) -> tuple[Trial, OneSurvey | OrderedEstimates]:
    rng = np.random.default_rng(1)
    asked = plan.deployed
    everybody = plan.everybody
    if asked.levels:
        answers: KnownAnswers = drawn_answers(asked, everybody, "power", rng)
    else:
        answers = drawn_numbers(asked, everybody, 1 - plan.answering / plan.users, rng)
    trial = Trial.of(plan, answers)
    return trial, trial.one(trial.names[0], rng, most=8)
