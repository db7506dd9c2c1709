"""The plan on answers that are known, drawn or read from a file: predicted beside measured."""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from planner.errors import InputError
from planner.laws.levels import folded
from planner.planning.datasets import AnswerCounts, KnownAnswers, read_known
from planner.planning.question import QuestionPlan
from planner.show.others import (
    about_trial,
    beside_truth,
    measured_facts,
    one_survey,
    simulation_blocks,
)
from planner.survey.columns import AnswerColumn
from planner.survey.questions import QUESTIONS, Numeric, Question
from planner.survey.tables import SUFFIXES, Reading, open_table
from planner.survey.values import read_count, read_share
from planner.trial.simulate import Simulated, Trial
from planner.ui import render
from planner.ui.fields import kept_item
from planner.ui.opening import as_file
from planner.ui.state import session
from planner.ui.working import looked_at, remembered

_TRIED = [kind for kind, question in QUESTIONS.items() if not question.apart]
_MOST_RUNS = 1000
_MOST_PASTED_ITEMS = 200_000
_MOST_USERS = 10_000_000, 1_000_000  # of a number each has one of their own
_STEPS = 200  # over the range: people alike are drawn at once
_SPREAD = 0.3  # of half the range, where none is expected
_SOURCES = {"generate": "made-up answers", "upload": "a file"}
_OPTIONS = {
    "delimiter": "Delimiter",
    "encoding": "Encoding",
    "decimal": "Decimal mark",
    "skip_rows": "Rows above the header",
}
_TAKE_PLACES = "Answers that no level lists take the places of levels without a list"
_SHAPES = {"power": "few frequent, many rare", "even": "all equally frequent"}


class _Settings(NamedTuple):
    """What is to be simulated: the answers in the question's places; equal ones give the same."""

    trial: Trial
    repeats: int
    seed: int


def page() -> None:
    """Choose answers; run, cancel, compare."""
    purpose = (
        "Run the plan, and what else could be deployed, on answers that are known."
    )
    stay = "They stay on this machine, and are forgotten with the visit."
    render.header("Try it on data", f"{purpose} {stay}")
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
    same = "The same seed gives the same figures."
    start = kept_item(seed.text_input, "Seed of the runs", "t-seed", "1", help=same)
    st.caption(f"{about_trial(trial)}.")
    repeated = read_count(runs, most=_MOST_RUNS, argument="runs")
    return _Settings(trial, repeated, read_count(start, 0, argument="seed"))


def _run(settings: _Settings) -> None:
    typed = session().typed
    finished: tuple[_Settings, tuple[Simulated, ...]] | None = typed.get("t-trial")
    run = {"t-asked": settings}
    cancel = {"t-asked": None}
    if typed.get("t-asked") != settings:
        st.button(
            "Run the simulation", type="primary", on_click=typed.update, args=(run,)
        )
    elif finished is None or finished[0] != settings:
        st.button(
            "Cancel", on_click=typed.update, args=(cancel,)
        )  # a click stops the run below
        typed["t-trial"] = settings, _simulated(settings)
        st.rerun()
    if finished is not None:
        if finished[0] != settings:
            st.info("The figures below belong to the settings of the last run.")
        _show(*finished)


def _simulated(settings: _Settings) -> tuple[Simulated, ...]:
    trial = settings.trial
    done = 0
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
    trial = settings.trial
    typed = session().typed
    render.facts(measured_facts(trial, results[0]))
    fill = partial(render.render, simulation_blocks(trial, results)[1:])
    render.drawer("Details: mechanisms compared", "trial-details", fill)
    st.subheader("One survey: true and estimated")
    typed["t-draw"] = typed.get("t-draw", 0) + st.button("Draw another survey")
    rng = np.random.default_rng((settings.seed, typed["t-draw"]))
    drawn, alt, told = one_survey(trial, trial.one(trial.names[0], rng))
    render.chart(drawn, "one-survey", alt)
    st.caption(render.plain(told))
    for table, truth in trial.tables(rng):
        render.render(beside_truth(table, truth))


# The answers


def known_answers(plan: QuestionPlan) -> tuple[KnownAnswers | None, str]:
    """Generate or read answers to a planned question; of a number one a person, NaN for none.

    Returns
    -------
    tuple
        The answers, ``None`` until there are some, and a fingerprint that differs where they do.

    Raises
    ------
    PlannerError
        They are too many to simulate, or the file is not right.
    """
    source = kept_item(
        st.segmented_control,
        "Answers",
        "t-source",
        "generate",
        options=_SOURCES,
        required=True,
    )
    if source == "generate":
        return _generated(plan)
    told = (
        "A person a row, in a column of answers: text with any delimiter, JSON lines, Parquet "
        "or Excel. Or transactions (.dat, .data, .txt): a person's items on each line."
    )
    key = f"t-file-{not plan.question.levels}"
    file = st.file_uploader("Answers", list(SUFFIXES), key=key, help=told)
    if file is None:
        st.info("Upload answers to begin.")
        return None, ""
    return _read(plan.question, file.name, file.getvalue())


def drawn_answers(
    question: Question, users: int, form: str, rng: np.random.Generator
) -> AnswerCounts:
    """Made-up answers to a question with levels: by a power law, or all equally frequent."""
    labels = question.plain_levels.item_names()
    shares = (
        1.0 / np.arange(1, len(labels) + 1) if form == "power" else np.ones(len(labels))
    )
    shares = rng.permutation(shares / shares.sum())
    return AnswerCounts(tuple(labels), rng.multinomial(users, shares))


def _generated(plan: QuestionPlan) -> tuple[KnownAnswers, str]:
    """Made-up answers as the fields say, within what can be simulated."""
    about, users, left, right = plan.question, plan.everybody, *st.columns(2)
    if about.levels:
        form = kept_item(
            left.selectbox, "Answers are", "t-shape", "power", options=_SHAPES
        )
    else:
        form = kept_item(
            left.text_input, "Share without an answer", "t-missing", "20 %"
        )
        share = read_share(form, "share without an answer")
    typed = kept_item(right.text_input, "Seed of the answers", "t-data-seed", "1")
    number = read_count(typed, 0, argument="seed")
    items = sum(one.item_count for one in about.levels)
    most = _MOST_USERS[not about.levels]
    if items > _MOST_PASTED_ITEMS or users > most:
        allowed = (
            f"at most {_MOST_PASTED_ITEMS:,} items and {most:,} people to simulate"
        )
        raise InputError(
            "(items, users)", (items, users), allowed, "Try a smaller survey."
        )

    def make() -> KnownAnswers:
        rng = np.random.default_rng(number)
        if about.levels:
            return drawn_answers(about, users, form, rng)
        return drawn_numbers(about, users, share, rng)

    key = ("drawn", about, users, form, number)
    return session().remembered(key, make), f"{form} {number} {users}"


def drawn_numbers(
    about: Question, users: int, missing: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Normal around the expected mean, in steps, and at the ends beyond; some have ``missing``."""
    assert isinstance(about, Numeric)  # noqa: S101 - of its kind
    domain = about.domain
    mean = domain.center if about.mean is None else about.mean
    spread = _SPREAD * domain.radius if about.sd is None else about.sd
    step = (domain.upper - domain.lower) / _STEPS
    steps = np.rint((rng.normal(mean, spread, users) - domain.lower) / step)
    values = np.clip(domain.lower + step * steps, domain.lower, domain.upper)
    if domain.yes_no:
        chance = (mean - domain.lower) / (domain.upper - domain.lower)
        values = np.where(rng.random(users) < chance, domain.upper, domain.lower)
    values[rng.random(users) < missing] = np.nan
    return values


def _read(question: Question, name: str, data: bytes) -> tuple[KnownAnswers, str]:
    """The answers in a file; remembered for this session only, as they may be sensitive."""
    reading = _reading()
    with as_file(name, data) as path:
        column = _column(path, question, reading)
        key = ("read", hashlib.sha256(data).hexdigest(), name, column, reading)
        known = session().remembered(key, partial(read_known, path, column, reading))
    st.caption(known.said)
    return known.answers, str(hash(key))


def _reading() -> Reading:
    """What the fields beside the upload say of the file; what they leave open is found out."""
    places = st.columns(len(_OPTIONS))
    typed = {
        key: kept_item(place.text_input, label, f"t-{key}", "", placeholder="found out")
        for place, (key, label) in zip(places, _OPTIONS.items(), strict=True)
    }
    skipped = read_count(
        typed.pop("skip_rows") or 0, 0, argument="rows above the header"
    )
    unlisted = kept_item(st.toggle, _TAKE_PLACES, "t-place_unlisted", False)
    return Reading(skip_rows=skipped, place_unlisted=unlisted, **typed)


def _column(path: Path, question: Question, reading: Reading) -> AnswerColumn:
    """Where the answers stand: as the survey says, or in the column that is chosen."""
    column = question.answer_column
    names = column.names
    table = open_table(path, reading, names)
    if column.ticked or column.joined or table.header == [column.name]:
        return column
    usual = next(
        (one for one in table.header if folded(one) == folded(names[0])), names[0]
    )
    options = list(dict.fromkeys([usual, *table.header]))
    key = f"t-column-{hash(tuple(table.header))}"
    chosen: str = kept_item(
        st.selectbox, "Column with the answers", key, usual, options=options
    )
    return column if chosen == names[0] else column._replace(columns=(chosen,))
