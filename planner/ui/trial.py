"""Page 5: every mechanism on answers that are known, predicted beside measured."""

from __future__ import annotations

import csv
import hashlib
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import streamlit as st

from planner.charts.simulation import simulation_figure
from planner.datasets import Answers, read_answers
from planner.errors import InputError, PlannerError
from planner.planning.mechanism_choice import NAMES
from planner.simulate import Simulated, assign_levels, build_mechanisms, simulate
from planner.survey import Question
from planner.ui import cells, show, uploads
from planner.ui.draft.categorical import CategoricalDraft
from planner.ui.state import kept, question_of, session

__all__ = ["Settings", "Trial", "page"]

_MOST_ITEMS = 200_000
_MOST_USERS = 10_000_000
_MOST_RUNS = 100
_SOURCES = {"generate": "generate answers", "upload": "use a file"}
_SHAPES = {"power": "few frequent, many rare (power law)", "even": "all equally frequent"}
_NAMES = NAMES | {f"idue-{name}": NAMES[name] for name in ("opt0", "opt1", "opt2")}


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
    draft = question_of(CategoricalDraft, "trial")
    question = draft.build()[0] if draft else None
    if question is None:
        st.info("Describe a categorical question on the page Budgets first.")
        return
    try:
        question, answers, fingerprint = _answers(question)
        if answers is None:
            return
        settings = _settings(question, answers, fingerprint)
        _run(settings, answers)
    except PlannerError as error:
        st.warning(show.plain(error))


def _answers(question: Question) -> tuple[Question, Answers | None, str]:
    source = kept(
        st.segmented_control,
        "Answers",
        "t-source",
        "generate",
        options=list(_SOURCES),
        format_func=_SOURCES.__getitem__,
        required=True,
    )
    if source == "generate":
        return (question, *_generated(question))
    file = st.file_uploader(
        "Answers",
        type=["csv", "dat", "txt"],
        key="t-file",
        help="A CSV with the header item,count; a CSV with a column of answers; or transactions: "
        "the item numbers of one person on each line.",
    )
    if file is None:
        st.info("Upload answers to begin.")
        return question, None, ""
    name, data = file.name, file.getvalue()
    column = _column(name, data, question.name)
    answers, fingerprint = _read(name, data, column)
    if answers.sets is not None and st.toggle(
        "One item a person: keep only the first of each", key="t-first"
    ):
        answers, fingerprint = answers.first_items(), f"{fingerprint} first"
    if st.toggle(
        "Spread the items over the levels at random",
        key="t-spread",
        help="In proportion to the levels' numbers of items, for data whose items the survey "
        "does not list.",
    ):
        levels = tuple(replace(level, items=()) for level in question.levels)
        question = replace(question, levels=levels)
    return question, answers, fingerprint


def _generated(question: Question) -> tuple[Answers, str]:
    shape, seed = st.columns(2)
    with shape:
        form = kept(
            st.selectbox,
            "Answers are",
            "t-shape",
            "power",
            options=list(_SHAPES),
            format_func=_SHAPES.__getitem__,
        )
    with seed:
        number = cells.whole_number(
            kept(st.text_input, "Seed of the answers", "t-data-seed", "1"), "seed", least=0
        )
    users = cells.whole_number(session().draft.users, "users")
    items = sum(level.item_count for level in question.levels)
    if items > _MOST_ITEMS or users > _MOST_USERS:
        allowed = f"at most {_MOST_ITEMS:,} items and {_MOST_USERS:,} people to simulate"
        raise InputError("(items, users)", (items, users), allowed, "Try a smaller survey.")
    return _drawn(question, users, form, number), f"{form} {number} {users}"


@lru_cache(maxsize=8)
def _drawn(question: Question, users: int, form: str, seed: int) -> Answers:
    labels = [
        item
        for level in question.levels
        for item in (level.items or [f"{level.name} {k + 1}" for k in range(level.item_count)])
    ]
    rng = np.random.default_rng(seed)
    shares = 1.0 / np.arange(1, len(labels) + 1) if form == "power" else np.ones(len(labels))
    shares = rng.permutation(shares / shares.sum())
    return Answers(tuple(labels), rng.multinomial(users, shares))


def _column(name: str, data: bytes, question: str) -> str:
    if not name.lower().endswith(".csv"):
        return question
    header = next(csv.reader(uploads.text_of(name, data[:100_000]).splitlines()), [])
    titles = [title.strip() for title in header]
    if [title.lower() for title in titles] == ["item", "count"]:
        return question
    usual = titles.index(question) if question in titles else 0
    return st.selectbox("Column with the answers", titles, index=usual, key="t-column") or question


def _read(name: str, data: bytes, column: str) -> tuple[Answers, str]:
    """The answers in a file; remembered for this session only, as they may be sensitive."""
    fingerprint = f"{hashlib.sha256(data).hexdigest()} {name} {column}"
    known = st.session_state.get("t-read")
    if known is None or known[1] != fingerprint:
        with uploads.as_file(name, data) as path:
            known = read_answers(Path(path), column), fingerprint
        st.session_state["t-read"] = known
    found: tuple[Answers, str] = known
    return found


def _settings(question: Question, answers: Answers, fingerprint: str) -> Settings:
    present = int(np.count_nonzero(answers.counts))
    repeats, top, seed, padding = st.columns(4, vertical_alignment="bottom")
    with repeats:
        runs = kept(st.text_input, "Runs per mechanism", "t-repeats", "10")
    with top:
        most = kept(
            st.text_input,
            "Judge the most frequent",
            "t-top",
            str(min(10, present)),
            help="Relative error and precision are those of this many items.",
        )
    with seed:
        start = kept(
            st.text_input, "Seed", "t-seed", "1", help="The same seed gives the same figures."
        )
    length = 0
    if answers.sets is not None:
        usual = str(max(1, round(float(answers.sets.sizes.mean()))))
        with padding:
            typed = kept(
                st.text_input,
                "Padding length",
                "t-padding",
                str(question.padding_length or usual),
                help="Every set is padded or cut to this many items before one is sampled.",
            )
        length = cells.whole_number(typed, "padding length", largest=10_000)
    st.caption(f"{answers.users:,} people, {len(answers.labels):,} items, {present:,} in use.")
    return Settings(
        question,
        fingerprint,
        cells.whole_number(runs, "runs", largest=_MOST_RUNS),
        cells.whole_number(start, "seed", least=0),
        cells.whole_number(most, "judged items", largest=present),
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
    show.table(
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
