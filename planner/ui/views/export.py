"""Step 3: confirm, verify, download."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from planner.deployment.building import deployable_files
from planner.deployment.parameters import Parameters
from planner.deployment.questionnaire import questionnaire
from planner.planning.ledger import Ledger
from planner.planning.plan import SurveyPlan
from planner.planning.sampled import SamplingPlan
from planner.show.html import report_html
from planner.show.kinds import promises, reliance_sentence
from planner.show.plan import costs, lots_sentence
from planner.survey.file import survey_text
from planner.ui import render
from planner.ui.document import stem_of
from planner.ui.fields import kept_item
from planner.ui.results import remembered, result

_SEND_TO = "An https address, or a path such as /reports on the host that the page is from."


def page() -> None:
    """Summarise, prove, and hand out."""
    render.header("Export", "Read what is promised, and take the files to clients and collector.")
    found = result()
    render.problems(found.mistakes, "Mend this first: a plan is exported whole or not at all.")
    if found.mistakes or found.plan is None:
        return
    plan = found.plan
    _summary(plan)
    for one in plan.questions:
        sampling = one.fact(SamplingPlan)
        if sampling is not None and not sampling.acknowledged:
            tick = f'Tick "I vouch for this" at {one.name!r} on the page Questions'
            st.warning(render.plain(f"{tick}, if it is true: until then nothing is exported."))
            return
    with render.complaint():
        files = remembered(("files", plan), lambda: deployable_files(plan))
        _downloads(plan, files)


def _summary(plan: SurveyPlan) -> None:
    for title, sentences in (
        ("What is promised", promises(plan)),
        ("What it costs", costs(plan)),
        ("What it relies on", _relies_on(plan)),
    ):
        st.subheader(title)
        st.markdown("\n".join(f"- {render.plain(sentence)}" for sentence in sentences))


def _relies_on(plan: SurveyPlan) -> list[str]:
    """What nobody can prove, of this plan."""
    relied = [
        "Levels and budgets are right: the planner cannot know how sensitive an answer is.",
        "Every report is randomised on the person's own device, with the operating system's "
        "randomness, by the exported parameters and nothing else.",
    ]
    if any(one.kind.adds_up and one.question.rounds is None for one in plan.questions):
        relied.append("Each person reports once. Asked again, a person spends the budget again.")
    relied += filter(None, [lots_sentence(plan)])
    relied += [
        f"{one.name}: each person reports as said once, by a client that remembers it. One whose "
        "memory is lost may report again, and spend the budget again."
        for one in plan.questions
        if one.question.rounds is not None
    ]
    relied += [
        f"{one.name}: each person reports twice. {reliance_sentence(sampling)}"
        for one in plan.questions
        if (sampling := one.fact(SamplingPlan)) is not None
    ]
    nothing = "Nothing else about the person travels with a report: no address, time or free text."
    return [*relied, nothing]


def _downloads(plan: SurveyPlan, files: dict[str, Parameters]) -> None:
    st.subheader("Take it away")
    for name, parameters in files.items():
        parameters.verify()  # raises unless every pair keeps its budget
        st.success(
            render.plain(
                f"{stem_of(plan.survey)}-{name}.json: every pair keeps its promised budget, proven "
                f"in exact arithmetic. Content hash {parameters.hash[:16]}."
            )
        )
    exported = " ".join(parameters.hash for parameters in files.values())
    agreed = st.checkbox(
        "I have read what is promised, what it costs and what it relies on",
        key=f"agreed {exported}",  # to these files, and to no others
    )
    if not agreed:
        st.caption("Tick this to download.")
        return
    survey = survey_text(plan.survey)
    stem = stem_of(plan.survey)
    with st.container(horizontal=True):
        for name, parameters in files.items():
            title = parameters.questions[0].name if len(files) > 1 else "Parameters"
            _offer(
                f"{title} (JSON)",
                f"{stem}-{name}.json",
                parameters.to_json,
                help="For clients and collector; check it with: ldp-planner verify FILE",
                type="primary",
            )
        _offer("Report (HTML)", f"{stem}.html", partial(report_html, plan))
        _offer("Survey (TOML)", f"{stem}.toml", survey)
        _offer("Python snippet", f"{stem}.py", python_snippet(survey, plan.ledger))
        if plan.spending:
            with render.complaint():
                _offer("Ledger (JSON)", "ledger.json", _ledger_after(plan))
    with render.complaint():
        _questionnaire(plan, files, stem)


def _questionnaire(plan: SurveyPlan, files: dict[str, Parameters], stem: str) -> None:
    """The page that people answer, to take away and to try."""
    st.subheader("Questionnaire")
    st.caption(
        "One file that people open in a browser: it asks, randomises on their device, says what is "
        "sent, and sends reports alone. Its words are set on the page Questions."
    )
    empty = "nowhere: people save them as a file"
    where = kept_item(
        st.text_input, "Reports go to", "send-to", "", help=_SEND_TO, placeholder=empty
    )
    round_number = None
    rounds = max(law.rounds[-1] or 0 for one in files.values() for law in one.questions)
    if rounds:
        round_number = kept_item(
            st.number_input, "Round", "round", 1, min_value=1, max_value=rounds
        )
    for name, parameters in files.items():
        title = f"{render.plain(parameters.questions[0].name)}: " if len(files) > 1 else ""
        given = plan.survey, parameters.to_json().encode(), where, round_number
        file = f"{stem}-{name.replace('parameters', 'questionnaire')}.html"
        _offer(f"{title}Questionnaire (HTML)", file, questionnaire(*given))
        box = render.drawer(f"{title}Preview", f"preview {name}")
        if box.open:
            box.iframe(questionnaire(*given, preview=True), height=800)


def _offer(label: str, name: str, data: str | Callable[[], str], **more: Any) -> None:
    """A file to download; its data may be a function that makes it on demand."""
    st.download_button(label, data, name, key=f"download {name}", on_click="ignore", **more)


def _ledger_after(plan: SurveyPlan) -> str:
    """The ledger with this survey in it, for planning the next one."""
    today = datetime.datetime.now(datetime.UTC).date()
    return plan.ledger.after(plan.collection(today)).model_dump_json(indent=2)


def python_snippet(survey: str, ledger: Ledger) -> str:
    """Python that plans the survey in this TOML text, prints the plan, and needs no other file.

    Examples
    --------
    >>> print(python_snippet('users = 10', Ledger()).splitlines()[5])
    users = 10
    """
    before = ledger.model_dump_json(indent=1) if ledger.collections else ""
    spent = f"Ledger.model_validate_json({_quoted(before)})" if before else "Ledger()"
    return f'''"""Plan this survey again. Install the package ldp-planner first."""

from planner import Ledger, plan_survey, survey_from_text

SURVEY = {_quoted(survey)}
SPENT_BEFORE = {spent}

plan = plan_survey(survey_from_text(SURVEY), SPENT_BEFORE)
for question in plan.questions:
    print(question.summary)
    print(question.to_frame().to_string(index=False))
'''


def _quoted(text: str) -> str:
    """A Python literal of several lines, line by line as they are."""
    body = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""\\\n{body}\n"""'
