"""Counting rare answers by sampling: what it costs, and whom it protects from whom."""

from __future__ import annotations

import streamlit as st

from planner.show.blocks import Sentence
from planner.show.plan import question_blocks
from planner.ui import render
from planner.ui.results import chosen_place, planned_question, result, shown


def page() -> None:
    """Show the parameters, the errors and all three guarantees."""
    render.header(
        "Sampling Privacy",
        "Everybody is asked twice; a sampled few move to their true answer. The three guarantees "
        "are far from equal: whoever can link both rounds of a person learns the answer.",
    )
    found, place = result(), chosen_place(("sampled-choice",), "sampling")
    render.problems(found.mistakes, "Mend this on the page Questions.")
    if place is None:
        st.info("This survey has no such question.")
        return
    plan = planned_question(found.plan, place)
    if plan is not None and plan.sampling is not None:
        with shown(found):
            blocks = question_blocks(plan)
            spoken = [one for one in blocks if one.rank == "everybody" or isinstance(one, Sentence)]
            render.render(spoken)
            box = render.drawer("Details", "sampling-details")
            if box.open:
                with box:
                    render.render(block for block in blocks if block not in spoken)
