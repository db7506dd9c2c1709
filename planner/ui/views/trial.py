"""The plan on answers that are known: predicted beside measured, true beside estimated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import streamlit as st

from planner.show.others import (
    about_trial,
    beside_truth,
    measured_facts,
    one_survey,
    simulation_blocks,
)
from planner.survey.questions import QUESTIONS
from planner.survey.values import read_count
from planner.trial.simulate import Simulated, Trial
from planner.ui import render
from planner.ui.fields import kept_item
from planner.ui.known_answers import known_answers
from planner.ui.state import session
from planner.ui.working import looked_at, remembered

_TRIED = [kind for kind, question in QUESTIONS.items() if not question.apart]
_MOST_RUNS = 1000


class _Settings(NamedTuple):
    """What is to be simulated: the answers in the question's places; equal ones give the same."""

    trial: Trial
    repeats: int
    seed: int


def page() -> None:
    """Choose answers; run, cancel, compare."""
    render.header(
        "Try it on data",
        "Run the plan, and what else could be deployed, on answers that are known. They stay on "
        "this machine, and are forgotten with the visit.",
    )
    found, _, plan = looked_at("trial", _TRIED)
    if found.mistakes:
        return
    if plan is None:
        st.info("A question that is asked in two rounds cannot be tried here.")
        return
    with render.complaint():
        answers, fingerprint = known_answers(plan)
        if answers is not None:
            key = ("trial", plan, fingerprint)  # the same as long as neither changes
            trial = remembered(key, lambda: Trial.of(plan, answers))
            _run(_settings(trial))


def _settings(trial: Trial) -> _Settings:
    repeats, seed = st.columns(2)
    runs = kept_item(repeats.text_input, "Runs per mechanism", "t-repeats", "100")
    start = kept_item(
        seed.text_input,
        "Seed of the runs",
        "t-seed",
        "1",
        help="The same seed gives the same figures.",
    )
    st.caption(f"{about_trial(trial)}.")
    repeated = read_count(runs, most=_MOST_RUNS, argument="runs")
    return _Settings(trial, repeated, read_count(start, 0, argument="seed"))


def _run(settings: _Settings) -> None:
    typed = session().typed
    finished: tuple[_Settings, tuple[Simulated, ...]] | None = typed.get("t-trial")
    run, cancel = {"t-asked": settings}, {"t-asked": None}
    if typed.get("t-asked") != settings:
        st.button("Run the simulation", type="primary", on_click=typed.update, args=(run,))
    elif finished is None or finished[0] != settings:
        st.button("Cancel", on_click=typed.update, args=(cancel,))  # a click stops the run below
        typed["t-trial"] = settings, _simulated(settings)
        st.rerun()
    if finished is not None:
        if finished[0] != settings:
            st.info("The figures below belong to the settings of the last run.")
        _show(*finished)


def _simulated(settings: _Settings) -> tuple[Simulated, ...]:
    trial, done = settings.trial, 0
    total = settings.repeats * len(trial.names)
    bar = st.progress(0.0, "Simulating")

    def advance() -> None:
        nonlocal done
        done += 1
        bar.progress(done / total, f"Simulating: {done} of {total} runs")

    rng = np.random.default_rng(settings.seed)
    return tuple(trial.run(settings.repeats, rng, progress=advance))


def _show(settings: _Settings, results: tuple[Simulated, ...]) -> None:
    """Measured and predicted, all mechanisms in details; then one survey, or another."""
    render.facts(measured_facts(settings.trial, results[0]))
    compared = simulation_blocks(settings.trial, results)[1:]
    render.details("Details: mechanisms compared", "trial-details", lambda: compared)
    _one_survey(settings)


def _one_survey(settings: _Settings) -> None:
    """True beside estimated."""
    trial, typed = settings.trial, session().typed
    st.subheader("One survey: true and estimated")
    typed["t-draw"] = typed.get("t-draw", 0) + st.button("Draw another survey")
    rng = np.random.default_rng((settings.seed, typed["t-draw"]))
    drawn, alt, told = one_survey(trial, trial.one(trial.names[0], rng))
    render.chart(drawn, "one-survey", alt)
    st.caption(render.plain(told))
    for table, truth in trial.tables(rng):
        render.render(beside_truth(table, truth))
