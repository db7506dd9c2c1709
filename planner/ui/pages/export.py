"""Page 7: confirm, verify, download."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import streamlit as st

from planner.deployment.client.questions import DeployedQuestion
from planner.deployment.parameter_file.building import deployable_files
from planner.deployment.parameter_file.parameters import Parameters, write_parameters
from planner.mechanisms.catalogue import CATALOGUE
from planner.planning.ledger import Ledger
from planner.planning.mechanism_choice import mechanism_choices
from planner.planning.whole_survey.plan import SurveyPlan
from planner.planning.whole_survey.promises import costs, promises
from planner.policy.budget_text import rounded_up
from planner.show.html import report_html
from planner.survey import Survey
from planner.survey.writer import survey_to_text
from planner.ui.parts import show
from planner.ui.parts.fields import kept
from planner.ui.parts.results import survey_plan
from planner.ui.parts.tables import show_table
from planner.ui.parts.uploads import bytes_of
from planner.ui.state import session

_MOST_PAIRS = 500
_RELIES_ON = (
    "Levels and budgets are right: the planner cannot know how sensitive an answer is.",
    "Every report is randomised on the person's own device, with the operating system's "
    "randomness, by the exported parameters and nothing else.",
    "Each person reports once. Asked again, a person spends the budget again.",
    "Nothing else about the person travels with a report: no address, no time, no free text.",
)


def page() -> None:
    """Summarise, prove, and hand out."""
    show.header(
        "Export",
        "Read what is promised, see it proven, and take the files to clients and collector.",
    )
    built = session().build()
    show.problems(built.problems, "Mend this first: a plan is exported whole or not at all.")
    if built.complete and built.survey is not None:
        with show.complaint():
            _export(built.survey, session().ledger)


def _export(survey: Survey, ledger: str | None) -> None:
    survey = _choose(survey)
    plan = survey_plan(survey, ledger)
    _summary(plan)
    files = _files(survey, ledger)
    _verified(files)
    _downloads(plan, files, ledger)


@lru_cache(maxsize=16)
def _files(survey: Survey, ledger: str | None) -> dict[str, Parameters]:
    return deployable_files(survey_plan(survey, ledger))


def _choose(survey: Survey) -> Survey:
    """The survey with the mechanisms that are chosen here, which the questions keep."""
    included = [draft for draft in session().draft.questions if draft.included]
    for place, (draft, question) in enumerate(zip(included, survey.questions, strict=True)):
        options = mechanism_choices(question)
        if len(options) == 1:
            continue
        usable = question.mechanism in options
        draft.mechanism = question.mechanism if usable else options[0]
        kept(
            st.selectbox,
            show.plain(f"Mechanism for {question.name!r}"),
            f"mechanism-{place}",
            draft,
            "mechanism",
            options={name: CATALOGUE[name].label for name in options},
            help="The page Budgets compares them. The plain ones protect every answer like the "
            "most sensitive one.",
        )
    built = session().build()
    return survey if built.survey is None else built.survey


def _summary(plan: SurveyPlan) -> None:
    for title, sentences in (
        ("What is promised to whom", promises(plan)),
        ("What it costs", costs(plan)),
        ("What it relies on", _RELIES_ON),
    ):
        st.subheader(title)
        st.markdown("\n".join(f"- {show.plain(sentence)}" for sentence in sentences))


def _verified(files: dict[str, Parameters]) -> None:
    st.subheader("Verified in exact arithmetic")
    for name, parameters in files.items():
        parameters.verify()  # raises unless every pair keeps its budget
        st.success(
            f"{name}.json: every pair keeps its promised budget. Proven from the integers in the "
            f"file, without rounding. Content hash {parameters.hash[:16]}..."
        )
        for question in parameters.questions:
            heading = f"{question.name}: every pair, {len(question.pairs):,} in all"
            with st.expander(show.plain(heading)):
                _pairs(question)


def _pairs(question: DeployedQuestion) -> None:
    pairs = question.pairs[:_MOST_PAIRS]
    label = _labels(question)
    kept = [pair.realised <= pair.demanded for pair in pairs]
    show_table(
        {
            "answer": [label(pair.first) for pair in pairs],
            "against": [label(pair.second) for pair in pairs],
            "realised epsilon": [rounded_up(pair.realised, 12) for pair in pairs],
            "promised epsilon": [show.allowed(pair.demanded) for pair in pairs],
            "kept": ["yes" if yes else "in round two" for yes in kept],
        }
    )


def _labels(question: DeployedQuestion) -> Callable[[int], str]:
    names = question.law.labels

    def label(place: int) -> str:
        return names[place]

    return label


def _downloads(plan: SurveyPlan, files: dict[str, Parameters], ledger: str | None) -> None:
    st.subheader("Take it away")
    exported = " ".join(parameters.hash for parameters in files.values())
    agreed = st.checkbox(
        "I have read what is promised, what it costs and what it relies on",
        key=f"agreed {exported}",  # to these files, and to no others
    )
    if not agreed:
        st.caption("Tick this to download.")
        return
    survey = survey_to_text(plan.survey)
    columns = st.columns(3)
    offers = [*_parameter_files(plan, files), *_other_files(plan, survey, ledger)]
    for place, offer in enumerate(offers):
        columns[place % len(columns)].download_button(
            offer.label,
            offer.data,
            offer.name,
            offer.mime,
            key=f"download {offer.name}",
            on_click="ignore",
            help=offer.meaning,
        )
    with st.expander("The Python snippet"):
        st.code(_python_snippet(survey), language="python")


class _Offer(NamedTuple):
    """A file to download; its data may be a function that makes it on demand."""

    label: str
    name: str
    mime: str
    data: str | Callable[[], str | bytes]
    meaning: str | None = None


def _parameter_files(plan: SurveyPlan, files: dict[str, Parameters]) -> list[_Offer]:
    return [
        _Offer(
            f"{parameters.questions[0].name if len(files) > 1 else 'Parameters'} (JSON)",
            f"{_stem(plan)}-{name}.json",
            "application/json",
            partial(bytes_of, write_parameters, parameters),
            "For clients and collector; check it with: ldp-planner verify FILE",
        )
        for name, parameters in files.items()
    ]


def _other_files(plan: SurveyPlan, survey: str, ledger: str | None) -> list[_Offer]:
    stem = _stem(plan)
    offers = [
        _Offer("Survey (TOML)", f"{stem}.toml", "application/toml", survey),
        _Offer("Python snippet", f"{stem}.py", "text/x-python", _python_snippet(survey)),
        _Offer("Report (HTML)", f"{stem}.html", "text/html", partial(report_html, plan)),
    ]
    if plan.spending:
        with show.complaint():
            after = _ledger_after(plan, ledger)
            offers.append(_Offer("Ledger (JSON)", "ledger.json", "application/json", after))
    return offers


def _stem(plan: SurveyPlan) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", plan.survey.name).strip("-") or "survey"


def _ledger_after(plan: SurveyPlan, earlier: str | None) -> str:
    """The ledger with this survey in it, for planning the next one."""
    before = Ledger() if earlier is None else Ledger.model_validate_json(earlier)
    today = datetime.datetime.now(datetime.UTC).date()
    return before.after(plan.collection(today)).model_dump_json(indent=2)


def _python_snippet(survey: str) -> str:
    """Python that plans the survey in this TOML text, prints the plan, and needs no other file.

    Examples
    --------
    >>> print(_python_snippet("[survey]")[:38])
    \"\"\"Plan this survey again. Install the
    """
    return f'''"""Plan this survey again. Install the package ldp-planner first."""

from planner import plan_survey
from planner.survey.file import survey_from_text

SURVEY = {survey!r}

plan = plan_survey(survey_from_text(SURVEY))
for question in plan.questions:
    print(question.summary)
    if question.levels is not None:
        print(question.levels.to_frame().to_string(index=False))
'''
