"""Pages beside the three steps: results of a collection, what a report says, words."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import streamlit as st
from pyarrow import Table as Columns
from pyarrow import concat_tables

from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.estimate_tables import write_table
from planner.deployment.collecting.estimating import estimates_table
from planner.deployment.collecting.formulas import read_model
from planner.deployment.collecting.modelling import model_table
from planner.deployment.collecting.places import REPORT_SUFFIXES
from planner.deployment.parameters import Parameters, read_parameters, survey_parameters
from planner.limits import CONFIDENCE
from planner.planning.beliefs import beliefs_after
from planner.planning.by_level import ByLevel
from planner.planning.plan import SurveyPlan
from planner.planning.question import QuestionPlan
from planner.show.blocks import Block, Sentence
from planner.show.counted import files_blocks
from planner.show.figures import beliefs_figure
from planner.show.html import page_of
from planner.show.promises import (
    apart_sentence,
    beliefs_columns,
    drawn_by,
    odds_sentence,
    outsider_blocks,
    pairs_table,
    promises_of,
)
from planner.show.results import result_blocks
from planner.ui import render
from planner.ui.fields import kept_item
from planner.ui.opening import as_files
from planner.ui.working import looked_at, remembered, shown

_MOST_PAIRS = 40
_NO_GROUP = "everybody together"


def results() -> None:
    """Take the files, count them, and show what they say."""
    purpose = (
        "What a collection says: its parameter file and its reports in, the result out."
    )
    render.header(
        "Results", f"{purpose} Files are counted on this machine and not kept."
    )
    # Keys of their own: what was uploaded stays while the survey on the other pages changes.
    given = st.file_uploader("Parameter file", "json", key="c-parameters")
    reports = st.file_uploader(
        "Report files", REPORT_SUFFIXES, accept_multiple_files=True, key="c-reports"
    )
    if given is None or not reports:
        return
    uploads = [(file.name, file.getvalue()) for file in (given, *reports)]
    # Counted anew in every run: nothing of a collection is remembered in the visit.
    with render.complaint(), as_files(uploads) as (params, *paths):
        parameters = read_parameters(params)
        table, said = _counted(parameters, paths)
        blocks = [_without_folders(block, paths) for block in said]
        render.render(blocks)
        with st.container(horizontal=True):
            page = page_of(f"{parameters.survey}: result", blocks)
            _download("Download as a page", page, "result.html")
            if table is not None:
                _download("Table of all estimates (CSV)", _csv(table), "result.csv")


def _download(label: str, data: str | bytes, name: str) -> None:
    st.download_button(label, data, name, on_click="ignore")


def _csv(table: Columns) -> bytes:
    """A table as Excel opens it: with a byte order mark, and without formulas."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "result.csv")
        write_table(path, table, excel=True)
        return path.read_bytes()


def _without_folders(block: Block, paths: list[Path]) -> Block:
    """A block that calls files as they were uploaded, not by where they are on this machine."""
    if not isinstance(block, Sentence):
        return block
    text = block.text
    for path in paths:
        text = text.replace(str(path), path.name)
    return replace(block, text=text)


def _counted(
    parameters: Parameters, paths: list[Path]
) -> tuple[Columns | None, list[Block]]:
    """What the reports say, of everybody or by a group: all estimates, if there are, and blocks."""
    collection = collect(parameters, paths)
    if not collection.sums:
        return None, files_blocks(collection)
    group = _NO_GROUP
    model = ""
    if parameters.groups:
        choices = [_NO_GROUP, *parameters.groups]
        left, right = st.columns(2)
        group = left.selectbox("By", choices, key="c-by")
        model = right.text_input(
            "Model",
            key="c-model",
            placeholder=f"answer ~ {' + '.join(parameters.groups)}",
            help="A regression on known groups: an answer, a question, or answer for all of "
            "them, then ~ and groups.",
        )
    parts = None
    if group != _NO_GROUP:
        parts = (group, collection.by(parameters.groups, group))
    table = estimates_table(parameters, collection.sums, CONFIDENCE, grouped=parts)
    if model.strip():
        formula = read_model(model, "logit", parameters)
        modelled = model_table(parameters, collection.by_group, formula, CONFIDENCE)
        table = concat_tables([table, modelled])
    return table, result_blocks(parameters, collection, table, CONFIDENCE)


def meaning() -> None:
    """Explain the plan of a question for those whose answers it protects."""
    purpose = "What somebody who sees one report can conclude about its sender."
    render.header("What a report says", purpose)
    result, _, plan = looked_at("meaning")
    if plan is None or result.plan is None:
        return
    with shown(result), render.complaint():
        if plan.question.locally_private:
            _odds(plan)
            _beliefs(plan)
        render.bullets(promises_of(plan))
        fill = partial(_details, result.plan, plan)
        render.drawer("Details: what outsiders learn", "meaning-details", fill)


def _odds(plan: QuestionPlan) -> None:
    """Two hundred people in words and drawn: with an answer, and with another."""
    levels = plan.fact(ByLevel)
    if levels is None:
        _odds_apart(plan)
        return
    names = list(levels.names[:_MOST_PAIRS])
    left, _ = st.columns(2)
    chosen = _answer(left, "Answer", names, names[0])
    level = names.index(chosen)
    st.markdown(render.plain(odds_sentence(plan, level)))
    share = levels.if_had[level]
    _two_hundred(share, levels.b[level], "another")


def _odds_apart(plan: QuestionPlan) -> None:
    """Show the odds of a scale or a number: two of its answers beside each other."""
    names = list(drawn_by(plan))
    if not names:
        return
    left, right = st.columns(2)
    first = _answer(left, "Answer", names, names[0])
    second = _answer(right, "Against", names, names[-1])
    sentence, share, other_share = apart_sentence(plan, first, second)
    st.markdown(render.plain(sentence))
    _two_hundred(share, other_share, "the other")


def _answer(slot: Any, label: str, names: list[str], start: str) -> str:
    """The answer or level that is chosen, where there are several."""
    if len(names) == 1:
        return start
    key = f"m-answer-{hash(tuple(names))}-{label}"
    chosen: str = kept_item(slot.selectbox, label, key, start, options=names)
    return chosen


def _two_hundred(share: float, other_share: float, other: str) -> None:
    """A hundred people with the answer, and a hundred with an ``other``."""
    left, right = st.columns(2)
    with left:
        st.caption("Of 100 people with such an answer")
        render.dots(float(share))
    with right:
        st.caption(f"Of 100 people with {other}")
        render.dots(float(other_share))


def _beliefs(plan: QuestionPlan) -> None:
    render.section("What an observer may come to believe")
    label = "Belief before the report, in percent"
    meaning = (
        "How likely somebody thought it, before seeing the report, that the person has one "
        "particular answer."
    )
    # It stands in the address, so that a link shows somebody else the same belief.
    prior = st.slider(label, 1, 99, 10, key="prior", bind="query-params", help=meaning)
    every = plan.deployed.policy.names
    names = every[:_MOST_PAIRS]
    before = prior / 100
    low, high = beliefs_after(plan.leakage[:, :_MOST_PAIRS], before)
    drawn = beliefs_figure(names, before, low, high, len(every))
    alt = "Beliefs before a report, and at least and at most after it."
    render.chart(drawn, "beliefs", alt)
    render.table(beliefs_columns(names, low, high))


def _details(survey: SurveyPlan, plan: QuestionPlan) -> None:
    """Every pair of levels, and what an outsider learns who cannot tell reports apart."""
    pairs: list[Block] = []
    if plan.fact(ByLevel) is not None and plan.deployed.policy.size <= _MOST_PAIRS:
        laws = survey_parameters(survey, plan.name).questions
        pairs = [pairs_table(law) for law in laws]
    outsiders = remembered(("outsiders", survey), survey.outsiders)
    render.render(pairs + outsider_blocks(outsiders))


def glossary() -> None:
    """Show the glossary."""
    render.header("Words", "One meaning each, on all pages, in files and in messages.")
    text = resources.files("planner.ui") / "glossary.md"
    st.markdown(text.read_text(encoding="utf-8"))
