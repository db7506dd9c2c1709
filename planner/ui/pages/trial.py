"""Page 5: every mechanism on answers that are known, predicted beside measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from streamlit.delta_generator import DeltaGenerator

from planner.planning.datasets import Answers
from planner.show.charts.ordered import ordered_figure
from planner.show.charts.simulation import one_survey_figure, simulation_figure
from planner.survey import Question
from planner.survey.kinds import ORDINAL
from planner.trial.measured import (
    Measured,
    answers_in_question,
    error_scale,
    mean_mechanisms,
    measure_mean,
    measure_ordered,
    one_ordered_survey,
    ordered_channels,
)
from planner.trial.one_survey import one_survey
from planner.trial.simulate import (
    Simulated,
    assign_levels,
    build_mechanisms,
    mechanism_label,
    simulate,
)
from planner.ui.draft.categorical import CategoricalDraft
from planner.ui.draft.numeric import NumericDraft
from planner.ui.draft.parts import QuestionDraft
from planner.ui.parts import cells, show
from planner.ui.parts.fields import kept_item
from planner.ui.parts.known_answers import known_answers, known_numbers
from planner.ui.parts.questions import categorical_question, question_of
from planner.ui.parts.tables import show_table
from planner.ui.state import session

_KINDS: dict[type[QuestionDraft], str] = {CategoricalDraft: "a choice", NumericDraft: "a number"}

_MOST_RUNS = 1000
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class _Settings:
    """What is to be simulated; equal settings give equal results."""

    question: Question
    data: str  # fingerprint of the answers
    repeats: int
    seed: int
    top: int
    padding: int


@dataclass(frozen=True, slots=True)
class _Trial:
    """A finished simulation."""

    settings: _Settings
    results: tuple[Simulated | Measured, ...]
    users: int
    items: int


def page() -> None:
    """Choose answers and settings; run, cancel, compare."""
    show.header(
        "Try it on data",
        "Run every mechanism on answers that are known, and compare the errors with what was "
        "predicted. Nothing leaves this machine, and nothing is kept after the session.",
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
            settings = _settings(question, answers, fingerprint)
            _one_survey(settings, answers)
            _run(settings, answers)


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
            missing = int(np.isnan(values).sum())
            st.caption(f"{values.size:,} people, {missing:,} without an answer.")
            _run(_Settings(question, fingerprint, runs, start, 0, 0), values)


def _runs_and_seed(repeats: DeltaGenerator, seed: DeltaGenerator) -> tuple[int, int]:
    runs = kept_item(repeats.text_input, "Runs per mechanism", "t-repeats", "100")
    start = kept_item(
        seed.text_input, "Seed", "t-seed", "1", help="The same seed gives the same figures."
    )
    return (
        cells.whole_number(runs, "runs", largest=_MOST_RUNS),
        cells.whole_number(start, "seed", least=0),
    )


def _settings(question: Question, answers: Answers, fingerprint: str) -> _Settings:
    present = int(np.count_nonzero(answers.counts))
    usual_top = str(min(10, present))
    repeats, seed, top, padding = st.columns(4, vertical_alignment="bottom")
    runs, start = _runs_and_seed(repeats, seed)
    most = ""
    if question.kind != ORDINAL:
        most = kept_item(
            top.text_input,
            "Judge the most frequent",
            "t-top",
            "",
            placeholder=usual_top,
            help="Relative error and precision are those of this many items. Empty: 10, or all.",
        )
    length = 0
    if answers.sets is not None:
        mean = max(1, round(float(answers.sets.sizes.mean())))
        usual = str(question.padding_length or mean)
        typed = kept_item(
            padding.text_input,
            "Padding length",
            "t-padding",
            "",
            placeholder=usual,
            help="Every set is padded or cut to this many items before one is sampled. Empty: "
            "the survey's, or the mean size of the sets.",
        )
        length = cells.whole_number(typed or usual, "padding length", largest=10_000)
    st.caption(f"{answers.users:,} people, {len(answers.labels):,} items, {present:,} in use.")
    return _Settings(
        question,
        fingerprint,
        runs,
        start,
        cells.whole_number(most or usual_top, "judged items", largest=present),
        length,
    )


def _one_survey(settings: _Settings, answers: Answers) -> None:
    """A picture of one survey with the planned mechanism, and another at each push of a button.

    Of a mean there is no more to see than its error.
    """
    if settings.question.of_mean:
        return
    box = show.drawer("What my result would look like: one simulated survey", "t-one")
    if not box.open:
        return
    if settings.question.kind == ORDINAL:
        with box:
            _one_ordered(settings, answers)
        return
    with box:
        place_rng, *_ = np.random.default_rng(settings.seed).spawn(2)
        placed = assign_levels(settings.question, answers.labels, place_rng)
        mechanisms = build_mechanisms(placed, settings.padding or None)
        planned = settings.question.mechanism
        usual = [planned, f"idue-{planned}", f"{planned}-ps", f"idue-{planned}-ps"]
        name = kept_item(
            st.selectbox,
            "Mechanism",
            f"t-one-{planned}-{bool(settings.padding)}",
            next((name for name in usual if name in mechanisms), next(iter(mechanisms))),
            options={name: mechanism_label(name) for name in mechanisms},
        )
        found = one_survey(mechanisms[name], answers, _another(settings))
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


def _one_ordered(settings: _Settings, answers: Answers) -> None:
    counts = answers_in_question(settings.question, answers)
    channel = ordered_channels(settings.question)[settings.question.mechanism]
    found = one_ordered_survey(channel, counts, _another(settings))
    truth = np.cumsum(counts) / answers.users
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
            f"{settings.question.ordered[int(np.argmax(truth >= 0.5))]}. Draw more: no two "
            "surveys say the same."
        )
    )


def _run(settings: _Settings, answers: Answers | NDArray[np.float64]) -> None:
    state = st.session_state
    if state.get("t-asked") != settings:
        st.button("Run the simulation", type="primary", on_click=_ask, args=(settings,))
    elif state.get("t-trial") is None or state["t-trial"].settings != settings:
        st.button("Cancel", on_click=_ask, args=(None,))  # a click stops the run below
        state["t-trial"] = _simulated(settings, answers)
        st.rerun()
    trial: _Trial | None = state.get("t-trial")
    if trial is not None:
        _show(trial, current=trial.settings == settings)


def _ask(settings: _Settings | None) -> None:
    st.session_state["t-asked"] = settings


def _simulated(settings: _Settings, answers: Answers | NDArray[np.float64]) -> _Trial:
    place_rng, run_rng = np.random.default_rng(settings.seed).spawn(2)
    question, mechanisms = settings.question, {}
    numbers = {} if isinstance(answers, Answers) else mean_mechanisms(question, answers.size)
    channels = ordered_channels(question) if question.kind == ORDINAL else {}
    if isinstance(answers, Answers) and not channels:
        placed = assign_levels(question, answers.labels, place_rng)
        mechanisms = build_mechanisms(placed, settings.padding or None)
    total, done = settings.repeats * (len(channels) + len(mechanisms) + len(numbers)), 0
    bar = st.progress(0.0, "Simulating")

    def advance() -> None:
        nonlocal done
        done += 1
        bar.progress(done / total, f"Simulating: {done} of {total} runs")

    results: Sequence[Simulated | Measured]
    if not isinstance(answers, Answers):
        results = measure_mean(numbers, answers, settings.repeats, run_rng, advance)
        return _Trial(settings, tuple(results), answers.size, 0)
    if channels:
        counts = answers_in_question(question, answers)
        results = measure_ordered(channels, counts, settings.repeats, run_rng, advance)
    else:
        results = simulate(mechanisms, answers, settings.repeats, run_rng, settings.top, advance)
    return _Trial(settings, tuple(results), answers.users, len(answers.labels))


def _show(trial: _Trial, *, current: bool) -> None:
    if not current:
        st.info("The figures below belong to the settings of the last run, not to those above.")
    of_mean = trial.settings.question.of_mean
    numeric = trial.settings.question.numeric is not None
    scale = error_scale(trial.settings.question, trial.users)
    unit = "in its unit" if numeric else "in score" if of_mean else "people"
    st.subheader("Total error, measured and predicted")
    show.chart(
        simulation_figure(
            trial.results,
            scale,
            {one.name: mechanism_label(one.name) for one in trial.results},
            unit,
        ),
        "trial",
        "Measured and predicted total error per mechanism.",
    )
    ranked = sorted(trial.results, key=lambda one: one.predicted_mse)
    users, top = trial.users, trial.settings.top
    counts = [one for one in ranked if isinstance(one, Simulated)]
    bands = [one for one in ranked if isinstance(one, Measured)]
    of_counts = {
        f"relative error, top {top}": [f"{one.relative_error:.1%}" for one in counts],
        "predicted": [f"{one.predicted_relative_error:.1%}" for one in counts],
        f"precision, top {top}": [f"{one.precision:.0%}" for one in counts],
    }
    show_table(
        {
            "mechanism": [mechanism_label(one.name) for one in ranked],
            f"measured, {unit}": [_root(scale * one.mse, of_mean) for one in ranked],
            f"predicted, {unit}": [_root(scale * one.predicted_mse, of_mean) for one in ranked],
            "measured / predicted": [
                f"{np.sqrt(one.mse / one.predicted_mse):.3f}" for one in ranked
            ],
            **(of_counts if counts else {"held": [f"{one.covered:.1%}" for one in bands]}),
        }
    )
    meaning = (
        f"Precision: the share of the {top} largest estimates that are truly among the {top} most "
        "frequent."
    )
    if bands:
        meaning = "Held: the share of the runs whose 95 % intervals, all at once, hold the truth."
    items = "" if numeric else f", {trial.items:,} items"
    st.caption(
        f"{trial.settings.repeats} runs, {users:,} people{items}. {meaning} "
        "Runs differ: the mean over the runs is shown, with its standard error as a bar."
    )


def _root(square: float, of_mean: bool) -> float:
    return round(float(np.sqrt(square)), 4 if of_mean else 1)
