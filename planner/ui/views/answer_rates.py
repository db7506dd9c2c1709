"""The budget to offer for a number, when a larger one means less noise but fewer answers."""

from __future__ import annotations

import streamlit as st

from planner.planning.mean import plan_answer_rates
from planner.show.others import answer_rate_blocks
from planner.survey.questions import Survey
from planner.ui import render
from planner.ui.document import Document
from planner.ui.results import chosen_place, planned_question, question_at, remembered, result
from planner.ui.state import session


def page() -> None:
    """Show the best budget to offer, and what every other one would give."""
    render.header(
        "Answer rates",
        "People who find a budget too large do not answer: in between is a best one to offer.",
    )
    found, place = result(), chosen_place(("numeric",), "rates")
    render.problems(found.mistakes, "Mend this on the page Questions.")
    if place is None:
        st.info("This survey asks for no number.")
        return
    plan = planned_question(found.plan, place)
    if plan is None or plan.question.kind != "numeric":
        return
    question = plan.question
    if question.kind != "numeric" or question.preferences is None:
        st.info("Everybody answers at any budget. Say on the page Questions what people accept.")
        return
    with render.complaint():
        survey = Survey(name="survey", users=plan.everybody, questions=(question,))
        rates = remembered(("rates", survey), lambda: plan_answer_rates(survey)[question.name])
        render.render(answer_rate_blocks(question.name, rates)[1:])
        best = f"{rates.best.epsilon:.3f}"
        st.button(f"Offer {best}", on_click=_offer, args=(question_at(place), best), type="primary")


def _offer(question: Document, epsilon: str) -> None:
    question["epsilon"] = epsilon
    session().revision += 1
