"""Page 5: every mechanism on answers that are known, predicted beside measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from planner.mechanisms.catalogue import CATALOGUE
from planner.planning.datasets import Answers
from planner.show.charts.simulation import simulation_figure
from planner.survey import Question
from planner.trial.simulate import Simulated, assign_levels, build_mechanisms, simulate
from planner.ui.parts import cells, show
from planner.ui.parts.fields import kept_item
from planner.ui.parts.known_answers import known_answers
from planner.ui.parts.questions import categorical_question
from planner.ui.parts.tables import show_table

__all__ = ["Settings", "Trial", "page"]

_MOST_RUNS = 1000
_NAMES = {name: offer.label for name, offer in CATALOGUE.items()}
_NAMES |= {f"idue-{name}": _NAMES[name] for name in ("opt0", "opt1", "opt2")}


@dataclass(frozen=True, slots=True)
class Settings:
    """What is to be simulated; equal settings give equal results."""

    question: Question
    data: str  # fingerprint of the answers
    repeats: int
    seed: int
    top: int
    padding: int


@dataclass(frozen=True, slots=True)
class Trial:
    """A finished simulation."""

    settings: Settings
    results: tuple[Simulated, ...]
    users: int
    items: int


def page() -> None:
    """Choose answers and settings; run, cancel, compare."""
    show.header(
        "Try it on data",
        "Run every mechanism on answers that are known, and compare the errors with what was "
        "predicted. Nothing leaves this machine, and nothing is kept after the session.",
    )
    _, question = categorical_question("trial")
    if question is None:
        return
    with show.complaint():
        question, answers, fingerprint = known_answers(question)
        if answers is not None:
            _run(_settings(question, answers, fingerprint), answers)


def _settings(question: Question, answers: Answers, fingerprint: str) -> Settings:
    present = int(np.count_nonzero(answers.counts))
    usual_top = str(min(10, present))
    repeats, top, seed, padding = st.columns(4, vertical_alignment="bottom")
    runs = kept_item(repeats.text_input, "Runs per mechanism", "t-repeats", "100")
    most = kept_item(
        top.text_input,
        "Judge the most frequent",
        "t-top",
        "",
        placeholder=usual_top,
        help="Relative error and precision are those of this many items. Empty: 10, or all.",
    )
    start = kept_item(
        seed.text_input, "Seed", "t-seed", "1", help="The same seed gives the same figures."
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
    return Settings(
        question,
        fingerprint,
        cells.whole_number(runs, "runs", largest=_MOST_RUNS),
        cells.whole_number(start, "seed", least=0),
        cells.whole_number(most or usual_top, "judged items", largest=present),
        length,
    )


def _run(settings: Settings, answers: Answers) -> None:
    state = st.session_state
    if state.get("t-asked") != settings:
        st.button("Run the simulation", type="primary", on_click=_ask, args=(settings,))
    elif state.get("t-trial") is None or state["t-trial"].settings != settings:
        st.button("Cancel", on_click=_ask, args=(None,))  # a click stops the run below
        state["t-trial"] = _simulated(settings, answers)
        st.rerun()
    trial: Trial | None = state.get("t-trial")
    if trial is not None:
        _show(trial, current=trial.settings == settings)


def _ask(settings: Settings | None) -> None:
    st.session_state["t-asked"] = settings


def _simulated(settings: Settings, answers: Answers) -> Trial:
    place_rng, run_rng = np.random.default_rng(settings.seed).spawn(2)
    placed = assign_levels(settings.question, answers.labels, place_rng)
    mechanisms = build_mechanisms(placed, settings.padding or None)
    total, done = settings.repeats * len(mechanisms), 0
    bar = st.progress(0.0, "Simulating")

    def advance() -> None:
        nonlocal done
        done += 1
        bar.progress(done / total, f"Simulating: {done} of {total} runs")

    results = simulate(mechanisms, answers, settings.repeats, run_rng, settings.top, advance)
    return Trial(settings, tuple(results), answers.users, len(answers.labels))


def _show(trial: Trial, *, current: bool) -> None:
    if not current:
        st.info("The figures below belong to the settings of the last run, not to those above.")
    top = trial.settings.top
    st.subheader("Total error, measured and predicted")
    show.chart(
        simulation_figure(trial.results, trial.users, _NAMES),
        "trial",
        "Measured and predicted total error per mechanism.",
    )
    ranked = sorted(trial.results, key=lambda one: one.predicted_mse)
    users = trial.users
    show_table(
        {
            "mechanism": [_NAMES.get(one.name, one.name) for one in ranked],
            "measured, people": [round(float(np.sqrt(users * one.mse)), 1) for one in ranked],
            "predicted, people": [
                round(float(np.sqrt(users * one.predicted_mse)), 1) for one in ranked
            ],
            "measured / predicted": [
                f"{np.sqrt(one.mse / one.predicted_mse):.3f}" for one in ranked
            ],
            f"relative error, top {top}": [f"{one.relative_error:.1%}" for one in ranked],
            "predicted": [f"{one.predicted_relative_error:.1%}" for one in ranked],
            f"precision, top {top}": [f"{one.precision:.0%}" for one in ranked],
        }
    )
    st.caption(
        f"{trial.settings.repeats} runs, {users:,} people, {trial.items:,} items. Precision: the "
        f"share of the {top} largest estimates that are truly among the {top} most frequent. "
        "Runs differ: the mean over the runs is shown, with its standard error as a bar."
    )
