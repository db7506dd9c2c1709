"""Page 5: every mechanism on answers that are known, predicted beside measured."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from streamlit.delta_generator import DeltaGenerator

from planner.estimates.ordered import OrderedEstimates
from planner.mechanisms.catalogue import CATALOGUE
from planner.planning.datasets import Answers
from planner.planning.whole_survey.question_plan import QuestionPlan
from planner.show.charts.ordered import ordered_figure
from planner.show.charts.simulation import one_survey_figure, simulation_figure
from planner.survey import Question, Survey
from planner.survey.kinds import ORDINAL
from planner.trial.simulate import OneSurvey, Simulated, Trial
from planner.ui.draft.categorical import CategoricalDraft
from planner.ui.draft.numeric import NumericDraft
from planner.ui.draft.parts import QuestionDraft
from planner.ui.parts import cells, show
from planner.ui.parts.fields import kept_item
from planner.ui.parts.known_answers import known_answers, known_numbers
from planner.ui.parts.questions import categorical_question, question_of
from planner.ui.parts.results import survey_plan
from planner.ui.parts.tables import show_table
from planner.ui.state import session

_KINDS: dict[type[QuestionDraft], str] = {CategoricalDraft: "a choice", NumericDraft: "a number"}

_MOST_RUNS = 1000
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class _Settings:
    """What is to be simulated; equal settings give equal results."""

    planned: QuestionPlan
    data: str  # fingerprint of the answers
    repeats: int
    seed: int
    top: int


@dataclass(frozen=True, slots=True)
class _Finished:
    """A finished simulation."""

    settings: _Settings
    trial: Trial
    results: tuple[Simulated, ...]


def page() -> None:
    """Choose answers and settings; run, cancel, compare."""
    show.header(
        "Try it on data",
        "Run what the plan deploys, and what else could be, on answers that are known, and compare "
        "the errors with what was predicted. Nothing leaves this machine, and nothing is kept "
        "after the session.",
    )
    if _of_number():
        _numbers()
        return
    _, question = categorical_question("trial")
    if question is None:
        return
    with show.complaint():
        question, answers, fingerprint = known_answers(question)
        if answers is not None:
            planned = _planned(question)
            trial = _placed(planned, answers, fingerprint)
            settings = _settings(planned, trial, fingerprint)
            _one_survey(settings, trial)
            _run(settings, trial)


def _planned(question: Question) -> QuestionPlan:
    """The plan of the question in its survey, or alone where it is no part of one."""
    survey = session().build().survey
    if survey is None or question.name not in [one.name for one in survey.questions]:
        survey = Survey("trial", session().draft.read_users(), (question,))
    asked = (question if one.name == question.name else one for one in survey.questions)
    survey = replace(survey, questions=tuple(asked))
    return survey_plan(survey, session().ledger).question(question.name)


def _placed(
    planned: QuestionPlan, answers: Answers | NDArray[np.float64], fingerprint: str
) -> Trial:
    """The answers in the question's places: the same as long as neither changes."""
    known = st.session_state.get("t-placed")
    if known is None or known[:2] != (planned, fingerprint):
        known = planned, fingerprint, Trial.of(planned, answers, np.random.default_rng(0))
        st.session_state["t-placed"] = known
    found: Trial = known[2]
    return found


def _of_number() -> bool:
    """Whether to try a question for a number; a choice is offered if there are others too."""
    drafts = session().draft.questions
    kinds = [kind for kind in _KINDS if any(isinstance(draft, kind) for draft in drafts)]
    if len(kinds) < 2:
        return kinds == [NumericDraft]
    words = {kind.__name__: _KINDS[kind] for kind in kinds}
    name: str = kept_item(
        st.segmented_control,
        "Try a question for",
        "t-kind",
        CategoricalDraft.__name__,
        options=words,
        required=True,
    )
    return name == NumericDraft.__name__


def _numbers() -> None:
    draft = question_of(NumericDraft, "trial")
    question, found = draft.build() if draft else (None, [])
    show.problems(found, "Mend it on the page Answer rates.")
    if question is None or question.numeric is None:
        return
    with show.complaint():
        values, fingerprint = known_numbers(question, question.numeric)
        if values is not None:
            repeats, seed, _, _ = st.columns(4, vertical_alignment="bottom")
            runs, start = _runs_and_seed(repeats, seed)
            planned = _planned(question)
            trial = _placed(planned, values, fingerprint)
            st.caption(f"{_people(trial)}, {trial.missing:,} without an answer.")
            _run(_Settings(planned, fingerprint, runs, start, 0), trial)


def _runs_and_seed(repeats: DeltaGenerator, seed: DeltaGenerator) -> tuple[int, int]:
    runs = kept_item(repeats.text_input, "Runs per mechanism", "t-repeats", "100")
    start = kept_item(
        seed.text_input, "Seed", "t-seed", "1", help="The same seed gives the same figures."
    )
    return (
        cells.whole_number(runs, "runs", largest=_MOST_RUNS),
        cells.whole_number(start, "seed", least=0),
    )


def _people(trial: Trial) -> str:
    asked = trial.asked
    some = f", {asked.asked:,} of them asked" if asked.some else ""
    return f"{asked.people:,} people{some}"


def _settings(planned: QuestionPlan, trial: Trial, fingerprint: str) -> _Settings:
    usual_top = str(min(10, trial.present))
    repeats, seed, top, _ = st.columns(4, vertical_alignment="bottom")
    runs, start = _runs_and_seed(repeats, seed)
    most = ""
    if planned.question.kind != ORDINAL:
        most = kept_item(
            top.text_input,
            "Judge the most frequent",
            "t-top",
            "",
            placeholder=usual_top,
            help="Relative error and precision are those of this many items. Empty: 10, or all.",
        )
    length = planned.padding_length
    padded = "" if length is None else f" Sets are padded or cut to {length} items, as planned."
    st.caption(f"{_people(trial)}, {len(trial.labels):,} items, {trial.present:,} in use.{padded}")
    judged = cells.whole_number(most or usual_top, "judged items", largest=trial.present)
    return _Settings(planned, fingerprint, runs, start, judged)


def _one_survey(settings: _Settings, trial: Trial) -> None:
    """A picture of one survey with a mechanism, and another at each push of a button.

    Of a mean there is no more to see than its error.
    """
    if settings.planned.question.of_mean:
        return
    box = show.drawer("What my result would look like: one simulated survey", "t-one")
    if not box.open:
        return
    with box:
        deployed, *_ = trial.names
        ordered = settings.planned.question.kind == ORDINAL
        name = deployed
        if not ordered:
            name = kept_item(
                st.selectbox,
                "Mechanism",
                f"t-one-{deployed}",
                deployed,
                options={name: CATALOGUE[name].label for name in trial.names},
            )
        found = trial.one(name, _another(settings))
        if not isinstance(found, OneSurvey):
            _one_ordered(found, trial)
            return
        show.chart(
            one_survey_figure(found),
            "one-survey",
            "True counts and one survey's estimates with intervals, item by item.",
        )
        inside = np.count_nonzero((found.lower <= found.truth) & (found.truth <= found.upper))
        st.caption(
            f"The {len(found.labels)} most frequent items. {inside} of {len(found.labels)} "
            "intervals hold the truth in this survey. Draw more: no two surveys say the same."
        )


def _another(settings: _Settings) -> np.random.Generator:
    """Of one survey after the other, as often as a button is pushed."""
    typed = session().typed
    typed["t-draw"] = typed.get("t-draw", 0) + st.button("Draw another survey")
    return np.random.default_rng((settings.seed, typed["t-draw"]))


def _one_ordered(found: OrderedEstimates, trial: Trial) -> None:
    truth = trial.shares_up_to
    show.chart(
        ordered_figure(found, truth),
        "one-survey",
        "True and estimated shares of the people up to each answer, with their band.",
    )
    lower, upper = found.band
    inside = np.all((lower <= truth + _ROUNDING) & (truth <= upper + _ROUNDING))
    holds = "holds" if inside else "does not hold"
    median = found.quantile()
    st.caption(
        show.plain(
            f"The band {holds} the truth in this survey. Median {median.answer}, from "
            f"{median.lower} to {median.upper}; truly "
            f"{found.answers[int(np.argmax(truth >= 0.5))]}. Draw more: no two "
            "surveys say the same."
        )
    )


def _run(settings: _Settings, trial: Trial) -> None:
    state = st.session_state
    if state.get("t-asked") != settings:
        st.button("Run the simulation", type="primary", on_click=_ask, args=(settings,))
    elif state.get("t-trial") is None or state["t-trial"].settings != settings:
        st.button("Cancel", on_click=_ask, args=(None,))  # a click stops the run below
        state["t-trial"] = _simulated(settings, trial)
        st.rerun()
    finished: _Finished | None = state.get("t-trial")
    if finished is not None:
        _show(finished, current=finished.settings == settings)


def _ask(settings: _Settings | None) -> None:
    st.session_state["t-asked"] = settings


def _simulated(settings: _Settings, trial: Trial) -> _Finished:
    total, done = settings.repeats * len(trial.names), 0
    bar = st.progress(0.0, "Simulating")

    def advance() -> None:
        nonlocal done
        done += 1
        bar.progress(done / total, f"Simulating: {done} of {total} runs")

    rng = np.random.default_rng(settings.seed)
    results = trial.run(settings.repeats, rng, settings.top, advance)
    return _Finished(settings, trial, tuple(results))


def _show(finished: _Finished, *, current: bool) -> None:
    if not current:
        st.info("The figures below belong to the settings of the last run, not to those above.")
    plan, trial, top = finished.settings.planned, finished.trial, finished.settings.top
    st.subheader(f"{plan.objective_name.capitalize()}, measured and predicted")
    show.chart(
        simulation_figure(finished.results, plan.unit),
        "trial",
        "Measured and predicted total error per mechanism.",
    )
    ranked = sorted(finished.results, key=lambda one: one.predicted)
    of_counts = ranked[0].precision is not None
    more = {"held": [f"{one.covered:.1%}" for one in ranked if one.covered is not None]}
    if of_counts:
        more = {
            f"relative error, top {top}": [f"{one.relative_error:.1%}" for one in ranked],
            "predicted": [f"{one.predicted_relative_error:.1%}" for one in ranked],
            f"precision, top {top}": [f"{one.precision:.0%}" for one in ranked],
        }
    digits = 4 if plan.question.of_mean else 1
    show_table(
        {
            "mechanism": [one.label for one in ranked],
            f"measured, {plan.unit}": [round(one.error, digits) for one in ranked],
            f"predicted, {plan.unit}": [round(one.predicted, digits) for one in ranked],
            "measured / predicted": [f"{one.error / one.predicted:.3f}" for one in ranked],
            **more,
        }
    )
    meaning = (
        f"Precision: the share of the {top} largest estimates that are truly among the {top} most "
        "frequent."
        if of_counts
        else "Held: the share of the runs whose 95 % intervals, all at once, hold the truth."
    )
    items = f", {len(trial.labels):,} items" if trial.labels else ""
    st.caption(
        f"{finished.settings.repeats} runs, {_people(trial)}{items}. "
        f"{CATALOGUE[trial.names[0]].label} is what the plan deploys. {meaning} "
        "Runs differ: the mean over the runs is shown, with its standard error as a bar."
    )
