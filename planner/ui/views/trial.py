"""The plan on answers that are known, drawn or read from a file: predicted beside measured."""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from planner.deployment.collecting.formulas import read_model
from planner.deployment.parameters import survey_parameters
from planner.errors import InputError
from planner.laws.levels import folded
from planner.patience import still_wanted
from planner.planning.datasets import KnownAnswers, read_known
from planner.planning.plan import SurveyPlan
from planner.planning.question import QuestionPlan
from planner.show.effects import power_blocks
from planner.show.others import (
    about_trial,
    beside_truth,
    measured_facts,
    one_survey,
    simulation_blocks,
)
from planner.survey.columns import AnswerColumn
from planner.survey.numeric import Numeric
from planner.survey.questions import QUESTIONS, Question
from planner.survey.tables import SUFFIXES, Reading, open_table
from planner.survey.values import read_count, read_share
from planner.trial.effects import KnownPeople, ModelPower, effect_power
from planner.trial.made_up import made_up_answers, made_up_numbers, shapes_of
from planner.trial.simulate import Simulated, Trial
from planner.ui import render
from planner.ui.document import CELLS
from planner.ui.fields import kept_item
from planner.ui.opening import as_file
from planner.ui.state import session
from planner.ui.typed import cells_of, pairs_of
from planner.ui.working import looked_at, remembered

_TRIED = [kind for kind, question in QUESTIONS.items() if question.locally_private]
_MOST_RUNS = 1000
_COLLECTIONS = 200  # of a model: a power of 80 % is then known to 3 points
_MOST_COLLECTIONS = 1000
_MOST_PASTED_ITEMS = 200_000
_MOST_USERS = 10_000_000
_MOST_NUMBERS = 1_000_000  # of which each person has one of their own
_SOURCES = {
    "generate": "made-up answers",
    "upload": "a file",
    "paste": "pasted rows",
}
_OPTIONS = {
    "delimiter": "Delimiter",
    "encoding": "Encoding",
    "decimal": "Decimal mark",
    "skip_rows": "Rows above the header",
}
_TAKE_PLACES = "Answers that no level lists take the places of levels without a list"


class _AnswerData(NamedTuple):
    """What was uploaded or pasted, and how it is read."""

    name: str
    content: bytes
    reading: Reading


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
    result, _, plan = looked_at("trial", _TRIED)
    if result.mistakes:
        return
    if plan is None:
        st.info("A question that is asked in two rounds cannot be tried here.")
        return
    with render.complaint():
        source = kept_item(
            st.segmented_control,
            "Answers",
            "t-source",
            "generate",
            options=_SOURCES,
            required=True,
        )
        data = None
        if source == "generate":
            answers, fingerprint = _generated(plan)
        else:
            data = _given(plan, source)
            if data is None:
                return
            answers, fingerprint = read_answers(
                plan.question, data.name, data.content, data.reading
            )
        key = ("trial", plan, fingerprint)  # the same as long as neither changes
        trial = remembered(key, lambda: Trial.of(plan, answers))
        _run(_settings(trial))
    if data is not None and result.plan is not None and result.plan.survey.groups:
        with render.complaint():
            _model(result.plan, data)


def _settings(trial: Trial) -> _Settings:
    left, right = st.columns(2)
    runs = kept_item(left.text_input, "Runs per mechanism", "t-repeats", "100")
    same = "The same seed gives the same figures."
    start = kept_item(right.text_input, "Seed of the runs", "t-seed", "1", help=same)
    st.caption(f"{about_trial(trial)}.")
    repeats = read_count(runs, most=_MOST_RUNS, argument="runs")
    seed = read_count(start, 0, argument="seed")
    return _Settings(trial, repeats, seed)


def _run(settings: _Settings) -> None:
    """Run it when the button is clicked, and show what was run last."""
    typed = session().typed
    finished: tuple[_Settings, tuple[Simulated, ...]] | None = typed.get("t-trial")
    ask = partial(typed.__setitem__, "t-asked")
    # Other settings than those that were asked for: nothing runs until the next click.
    if typed.get("t-asked") != settings:
        run = partial(ask, settings)
        st.button("Run the simulation", type="primary", on_click=run)
    elif finished is None or finished[0] != settings:
        # A click stops the run below.
        st.button("Cancel", on_click=partial(ask, None))
        # Cancel ends this run before the assignment, so that nothing is kept of half a
        # simulation.
        typed["t-trial"] = settings, _simulated(settings)
        st.rerun()  # which takes the button and the bar away
    if finished is not None:
        last, results = finished
        if last != settings:
            st.info("The figures below belong to the settings of the last run.")
        _show(last, results)


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
    render.facts(measured_facts(trial, results[0]))
    _, *compared = simulation_blocks(trial, results)
    fill = partial(render.render, compared)
    render.drawer("Details: mechanisms compared", "trial-details", fill)
    render.section("One survey: true and estimated")
    typed = session().typed
    draw = typed.get("t-draw", 0)
    if st.button("Draw another survey"):
        draw += 1
    typed["t-draw"] = draw
    # Of both numbers: another draw is another survey, and coming back to the page shows
    # the same one.
    rng = np.random.default_rng((settings.seed, draw))
    survey = trial.one(trial.names[0], rng)
    drawn, alt, said = one_survey(trial, survey)
    render.chart(drawn, "one-survey", alt)
    st.caption(render.plain(said))
    for table, truth in trial.tables(rng):
        render.render(beside_truth(table, truth))


def _model(plan: SurveyPlan, data: _AnswerData) -> None:
    """How surely collections of the file's people would show the effects of a model."""
    render.section("A model of the answers")
    left, middle, right = st.columns([2, 1, 1])
    groups = [name for name, _ in plan.survey.groups]
    what_it_is = (
        "A regression on known groups, which have a column in the file: an answer, a question, or "
        "answer for all of them, then ~ and groups."
    )
    text = kept_item(
        left.text_input,
        "Model",
        "t-model",
        "",
        placeholder=f"answer ~ {' + '.join(groups)}",
        help=what_it_is,
    )
    drawn = kept_item(
        middle.text_input,
        "People drawn",
        "t-model-people",
        "",
        placeholder="those of the file",
        help="So many from the rows for each collection, not all rows.",
    )
    number = kept_item(
        right.text_input, "Collections", "t-collections", str(_COLLECTIONS)
    )
    if not text.strip():
        return
    collections = read_count(number, 2, _MOST_COLLECTIONS, argument="collections")
    people = None
    if drawn.strip():
        people = read_count(drawn, 2, argument="people drawn")

    def make() -> ModelPower:
        parameters = survey_parameters(plan)
        formula = read_model(text, "logit", parameters)
        with as_file(data.name, data.content) as path:
            known = KnownPeople.read(
                parameters, path, formula, plan.survey, data.reading
            )
        return effect_power(
            parameters,
            known,
            formula,
            np.random.default_rng(1),
            collections=collections,
            people=people,
            progress=still_wanted,
        )

    content = hashlib.sha256(data.content).hexdigest()
    key = ("model", plan, text, collections, people, content, data.reading)
    power = remembered(key, make)
    render.render(power_blocks(power))


# The answers


def _given(plan: QuestionPlan, source: str) -> _AnswerData | None:
    """What is pasted or uploaded; None, and what to do, until there is something."""
    if source == "paste":
        label = "Rows, the first with the names of the columns"
        text = kept_item(st.text_area, label, "t-pasted", "", height=160)
        if not text.strip():
            st.info("Paste answers to begin, such as columns of a spreadsheet.")
            return None
        return _AnswerData("pasted.csv", text.encode(), _reading())
    what_it_is = (
        "A person a row, in a column of answers: text with any delimiter, JSON lines, Parquet "
        "or Excel. Or transactions (.dat, .data, .txt): a person's items on each line."
    )
    # Answers to choose and numbers are different files; among questions of one sort the
    # upload stays.
    key = f"t-file-{not plan.question.levels}"
    file = st.file_uploader("Answers", SUFFIXES, key=key, help=what_it_is)
    if file is None:
        st.info("Upload answers to begin.")
        return None
    return _AnswerData(file.name, file.getvalue(), _reading())


def _generated(plan: QuestionPlan) -> tuple[KnownAnswers, str]:
    """Made-up answers as the fields say, within what can be simulated."""
    question = plan.question
    users = plan.part.everybody
    left, right = st.columns(2)
    missing = 0.0
    most = _MOST_USERS
    if question.levels:
        shapes = shapes_of(question)
        name = f"t-shape-{question.kind}"
        form = kept_item(left.selectbox, "Answers are", name, shapes[0], options=shapes)
    else:
        form = kept_item(
            left.text_input, "Share without an answer", "t-missing", "20 %"
        )
        missing = read_share(form, "share without an answer")
        most = _MOST_NUMBERS
    typed = kept_item(right.text_input, "Seed of the answers", "t-data-seed", "1")
    seed = read_count(typed, 0, argument="seed")
    items = sum(level.item_count for level in question.levels)
    if items > _MOST_PASTED_ITEMS or users > most:
        allowed = (
            f"at most {_MOST_PASTED_ITEMS:,} items and {most:,} people to simulate"
        )
        remedy = "Try a smaller survey."
        raise InputError("(items, users)", (items, users), allowed, remedy)

    def make() -> KnownAnswers:
        rng = np.random.default_rng(seed)
        if isinstance(question, Numeric):
            return made_up_numbers(question, users, missing, rng)
        return made_up_answers(question, users, form, rng)

    key = ("drawn", question, users, form, seed)
    return session().remembered(key, make), f"{form} {seed} {users}"


def read_answers(
    question: Question, name: str, data: bytes, reading: Reading
) -> tuple[KnownAnswers, str]:
    """The answers in a file, and a fingerprint that differs where they do.

    They are remembered for this session only, as they may be sensitive.
    """
    with as_file(name, data) as path:
        column = _marked(_column(path, question, reading))
        # By its content, since a file is often mended and uploaded again under its
        # name.
        content = hashlib.sha256(data).hexdigest()
        key = ("read", content, name, column, reading)
        read = partial(read_known, path, column, reading)
        known = session().remembered(key, read)
    st.caption(known.read_as)
    return known.answers, str(hash(key))


def _reading() -> Reading:
    """What the fields beside the upload say of the file; what they leave open is found out."""
    typed = {}
    slots = iter(st.columns(len(_OPTIONS)))
    for key, label in _OPTIONS.items():
        widget = next(slots).text_input
        name = f"t-{key}"
        typed[key] = kept_item(widget, label, name, "", placeholder="found out")
    rows = typed.pop("skip_rows") or 0
    skipped = read_count(rows, 0, argument="rows above the header")
    unlisted = kept_item(st.toggle, _TAKE_PLACES, "t-place_unlisted", False)
    return Reading(skip_rows=skipped, place_unlisted=unlisted, **typed)


def _column(path: Path, question: Question, reading: Reading) -> AnswerColumn:
    """Where the answers stand: as the survey says, or in the columns that are chosen.

    Of sets these may be several, each ticked by those who gave its answer.
    """
    column = question.answer_column
    name = column.names[0]
    header = open_table(path, reading, column.names).header
    # Nothing is left to choose where the survey's file says it, or where there is one
    # column.
    if column.ticked or column.joined or header == [column.name]:
        return column
    called_so = (heading for heading in header if folded(heading) == folded(name))
    usual = next(called_so, name)
    options = list(dict.fromkeys([usual, *header]))
    key = f"t-column-{hash(tuple(header))}"
    label = CELLS["columns"].label
    if not column.asked.several:
        chosen = [kept_item(st.selectbox, label, key, usual, options=options)]
    else:
        label = f"{label}, or a column for each that is ticked"
        chosen = kept_item(st.multiselect, label, key, [usual], options=options)
    if chosen in ([], [name]):
        return column
    return column._replace(columns=tuple(chosen))


def _marked(column: AnswerColumn) -> AnswerColumn:
    """The column with what is typed of its cells: ticks, what stands for an answer or for none."""
    keys = ["recode", "missing"]
    if column.ticked:
        keys = ["ticks", "unticked", *keys]
    typed: dict[str, str] = {}
    for slot, key in zip(st.columns(len(keys)), keys, strict=True):
        cell = CELLS[key]
        name = f"t-{key}"
        typed[key] = kept_item(
            slot.text_input, cell.label, name, "", placeholder=cell.empty
        )
    pairs = tuple(pairs_of(typed.pop("recode")).items())
    if pairs:
        # Each part of a joint question is read in the same way.
        parts = len(column.columns) if column.joined else 1
        column = column._replace(recoded=(pairs,) * parts)
    stated: dict[str, Any] = {}
    for key, text in typed.items():
        if text.strip():
            stated[key] = tuple(cells_of(text))
    return column._replace(**stated)
