"""The plan on answers that are known: predicted beside measured, true beside estimated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import streamlit as st

from planner.estimates.channel import OrderedEstimates
from planner.show.blocks import Fact, Facts, people
from planner.show.figures import one_survey_figure, ordered_figure
from planner.show.kinds import objective_name
from planner.show.others import about_trial, simulation_blocks
from planner.show.relating import beside_truth
from planner.survey.values import read_count
from planner.trial.simulate import OneSurvey, Simulated, Trial
from planner.ui import render
from planner.ui.fields import kept_item
from planner.ui.known_answers import known_answers
from planner.ui.state import session
from planner.ui.working import looked_at, remembered

_TRIED = ("categorical", "joint", "item-set", "ordinal", "numeric")
_MOST_RUNS = 1000
_SEEN_ROUNDING = 1e-9


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
    trial, own = settings.trial, results[0]
    spread = "" if own.spread is None else f" ± {people(own.spread)}"
    measured = Fact(f"measured {objective_name(trial.planned)}", people(own.error) + spread)
    render.facts(Facts((measured, Fact("predicted", people(own.predicted)))))
    compared = simulation_blocks(trial, results)[1:]
    render.details("Details: mechanisms compared", "trial-details", lambda: compared)
    _one_survey(settings)


def _one_survey(settings: _Settings) -> None:
    """True beside estimated."""
    trial, typed = settings.trial, session().typed
    st.subheader("One survey: true and estimated")
    typed["t-draw"] = typed.get("t-draw", 0) + st.button("Draw another survey")
    rng = np.random.default_rng((settings.seed, typed["t-draw"]))
    st.caption(render.plain(draw_survey(trial, trial.one(trial.names[0], rng))))
    for table, truth in trial.tables(rng):
        render.render(beside_truth(table, truth))


def draw_survey(trial: Trial, found: OneSurvey | OrderedEstimates) -> str:
    """Draw one survey beside the truth, and say whether its intervals hold it."""
    if isinstance(found, OneSurvey):
        cut = "" if np.isfinite(found.upper).all() else " Sets are cut: upper ends are open."
        alt = "The truth and one survey's estimates with their intervals."
        render.chart(one_survey_figure(found), "one-survey", alt)
        held = np.count_nonzero((found.lower <= found.truth) & (found.truth <= found.upper))
        which = f"{held} of {len(found.labels)} intervals hold"
        if len(found.labels) == 1:
            which = f"The interval {'holds' if held else 'does not hold'}"
        return f"{which} the truth.{cut}"
    truth, (lower, upper), median = trial.shares_up_to, found.band, found.quantile()
    alt = "True and estimated shares of the people up to each answer, with their band."
    render.chart(ordered_figure(found, truth), "one-survey", alt)
    inside = np.all((lower <= truth + _SEEN_ROUNDING) & (truth <= upper + _SEEN_ROUNDING))
    where = "" if median.lower == median.upper else f", from {median.lower} to {median.upper}"
    return (
        f"The band {'holds' if inside else 'does not hold'} the truth. Median "
        f"{median.answer}{where}; truly {found.answers[int(np.argmax(truth >= 0.5))]}."
    )
