"""Step 3: confirm, verify, download."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import streamlit as st

from planner.deployment.parameters import Parameters, survey_parameters
from planner.deployment.questionnaire import questionnaire
from planner.planning.plan import SurveyPlan
from planner.planning.sampled import SamplingPlan
from planner.show.blocks import rows_table
from planner.show.html import handout_html, report_html
from planner.show.others import relied_on
from planner.show.plan import costs
from planner.show.promises import promises
from planner.survey.survey import survey_text
from planner.ui import render
from planner.ui.document import stem_of
from planner.ui.fields import kept_item
from planner.ui.working import remembered, result

_SEND_TO = (
    "An https address, or a path such as /reports on the host that the page is from."
)


def page() -> None:
    """Summarise, prove, and hand out."""
    render.header(
        "Export", "Read what is promised, and take the files to clients and collector."
    )
    planned = result()
    rest = "Mend this first: a plan is exported whole or not at all."
    render.problems(planned.sentences, rest)
    if planned.mistakes or planned.plan is None:
        return
    plan = planned.plan
    _summary(plan)
    for question in plan.questions:
        sampling = question.fact(SamplingPlan)
        # The parameters would else rely on a claim that nobody has made.
        if sampling is not None and not sampling.acknowledged:
            tick = f'Tick "I vouch for this" at {question.name!r} on the page Questions'
            st.warning(
                render.plain(f"{tick}, if it is true: until then nothing is exported.")
            )
            return
    with render.complaint():
        _downloads(plan, remembered(("file", plan), lambda: survey_parameters(plan)))


def _summary(plan: SurveyPlan) -> None:
    render.section("What is promised")
    render.bullets(promises(plan))
    render.section("What it costs")
    render.bullets(costs(plan))
    render.section("What it relies on")
    render.bullets(relied_on(plan))


def _downloads(plan: SurveyPlan, parameters: Parameters) -> None:
    render.section("Take it away")
    stem = stem_of(plan.survey)
    parameters.verify()  # raises unless every pair keeps its budget
    file = f"{stem}-parameters.json"
    asked = ", ".join(question.name for question in parameters.questions)
    drawing = parameters.drawing
    if drawing is not None:
        asked = f"{drawing.questions_each} of {asked}, drawn on each device"
    row = (file, asked, parameters.hash[:16])
    st.success("Every pair keeps its promised budget, proven in exact arithmetic.")
    headings = "file", "asks", "content hash"
    render.render([rows_table("", headings, [row], words=3)])
    agreed = st.checkbox(
        "I have read what is promised, what it costs and what it relies on",
        key=f"agreed {row[-1]}",  # to this file, and to no other
    )
    if not agreed:
        st.caption("Tick this to download.")
        return
    # What takes long to make is made when it is downloaded, and not with the page.
    with st.container(horizontal=True):
        what_for = f"For clients and collector. To check it: ldp-planner verify {file}"
        _offer("Parameters", file, parameters.to_json, help=what_for, type="primary")
        _offer("Report", f"{stem}.html", partial(report_html, plan))
        _offer("Handout", f"{stem}-handout.html", partial(handout_html, plan))
        _offer("Survey", f"{stem}.toml", survey_text(plan.survey))
        if plan.spending:
            with render.complaint():  # for planning the next survey
                today = datetime.now(UTC).date()
                after = plan.ledger.after(plan.collection(today))
                text = after.model_dump_json(indent=2)
                _offer("Ledger", f"{stem}-ledger.json", text)
    spent = bool(plan.ledger.collections)
    with_it = " and the ledger it was planned with" if spent else ""
    st.caption(f"The same in Python, beside the survey's file{with_it}:")
    st.code(python_snippet(f"{stem}.toml", spent=spent))
    with render.complaint():
        _questionnaire(plan, parameters, stem)


def _questionnaire(plan: SurveyPlan, parameters: Parameters, stem: str) -> None:
    """The page that people answer, to take away and to try."""
    render.section("Questionnaire")
    st.caption(
        "One file that people open in a browser: it asks, randomises on their device, says what is "
        "sent, and sends reports alone. Its words are set on the page Questions."
    )
    where = kept_item(
        st.text_input,
        "Reports go to",
        "send-to",
        "",
        help=_SEND_TO,
        placeholder="nowhere: people save them as a file",
    )
    round_number = None
    rounds = max(law.rounds[-1] or 0 for law in parameters.questions)
    if rounds:
        round_number = kept_item(
            st.number_input, "Round", "round", 1, min_value=1, max_value=rounds
        )
    data = parameters.to_json().encode()
    make = partial(questionnaire, plan.survey, data, where, round_number)
    # Made with the page, unlike the files above: a wrong address is refused beside its
    # field, not in a download.
    _offer("Questionnaire", f"{stem}-questionnaire.html", make())
    preview = partial(make, preview=True)
    render.drawer("Preview", "preview parameters", partial(_framed, preview))


def _framed(make: Callable[[], str]) -> None:
    st.iframe(make(), height=800)


def _offer(
    label: str, name: str, data: str | Callable[[], str], **settings: Any
) -> None:
    """A file to download, under its own name; its data may be a function that makes it."""
    text = render.plain(f"{label} ({name})")
    key = f"download {name}"
    st.download_button(text, data, name, key=key, on_click="ignore", **settings)


def python_snippet(survey: str, *, spent: bool) -> str:
    """Python that plans the survey of this file again, after the ledger of what was ``spent``.

    Examples
    --------
    >>> print(python_snippet("clinic.toml", spent=False))
    from planner import plan_survey
    plan = plan_survey("clinic.toml")
    print(plan.to_frame().T)
    """
    imported = "plan_survey"
    arguments = f'"{survey}"'
    if spent:
        imported += ", read_ledger"
        arguments += ', read_ledger("ledger.json")'
    return (
        f"from planner import {imported}\n"
        f"plan = plan_survey({arguments})\n"
        "print(plan.to_frame().T)"
    )
