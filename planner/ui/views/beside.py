"""Pages beside the three steps: results of a collection, what a report says, words."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib import resources
from pathlib import Path

import streamlit as st

from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.estimating import estimates_table
from planner.deployment.collecting.places import REPORT_SUFFIXES
from planner.deployment.parameters import Parameters, read_parameters, survey_parameters
from planner.limits import CONFIDENCE
from planner.planning.beliefs import beliefs_after
from planner.planning.by_level import ByLevel
from planner.planning.plan import SurveyPlan
from planner.planning.question import QuestionPlan
from planner.show.blocks import Block, Sentence
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
from planner.show.results import files_blocks, result_blocks
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
    given = st.file_uploader("Parameter file", "json", key="c-parameters")
    label = "Report files"
    kinds = [suffix.removeprefix(".") for suffix in REPORT_SUFFIXES]
    reports = st.file_uploader(
        label, kinds, accept_multiple_files=True, key="c-reports"
    )
    if given is None or not reports:
        return
    uploads = [(file.name, file.getvalue()) for file in (given, *reports)]
    with render.complaint(), as_files(uploads) as (params, *paths):
        parameters = read_parameters(params)
        blocks = [
            _without_folders(block, paths) for block in _counted(parameters, paths)
        ]
        render.render(blocks)
        made = page_of(f"{parameters.survey}: result", blocks)
        st.download_button("Download as a page", made, "result.html", on_click="ignore")


def _without_folders(block: Block, paths: list[Path]) -> Block:
    """A block that calls files as they were uploaded, not by where they are on this machine."""
    if not isinstance(block, Sentence):
        return block
    text = block.text
    for path in paths:
        text = text.replace(str(path), path.name)
    return replace(block, text=text)


def _counted(parameters: Parameters, paths: list[Path]) -> list[Block]:
    """What the reports say, of everybody or by a group."""
    collection = collect(parameters, paths)
    if not collection.sums:
        return files_blocks(collection)
    group = _NO_GROUP
    if parameters.groups:
        choices = [_NO_GROUP, *parameters.groups]
        group = st.selectbox("By", choices, key="c-by")
    parts = None
    if group != _NO_GROUP:
        parts = (group, collection.by(parameters.groups, group))
    table = estimates_table(parameters, collection.sums, CONFIDENCE, by=parts)
    return result_blocks(parameters, collection, table, CONFIDENCE)


def meaning() -> None:
    """Explain the plan of a question for those whose answers it protects."""
    purpose = "What somebody who sees one report can conclude about its sender."
    render.header("What a report says", purpose)
    found, _, plan = looked_at("meaning")
    if plan is None or found.plan is None:
        return
    with shown(found), render.complaint():
        if not plan.question.apart:
            _odds(plan)
            _beliefs(plan)
        st.markdown("\n".join(f"- {render.plain(one)}" for one in promises_of(plan)))
        fill = partial(_details, found.plan, plan)
        render.drawer("Details: what outsiders learn", "meaning-details", fill)


def _odds(plan: QuestionPlan) -> None:
    """Two hundred people in words and drawn: with an answer, and with another."""
    levels = plan.fact(ByLevel)
    names = list(drawn_by(plan) if levels is None else levels.names[:_MOST_PAIRS])
    if not names:
        return
    slots = st.columns(2)
    key = f"m-answer-{hash(tuple(names))}"
    first, last = (
        kept_item(slot.selectbox, label, f"{key}-{label}", start, options=names)
        if len(names) > 1 and (label == "Answer" or levels is None)
        else start
        for slot, label, start in zip(
            slots, ("Answer", "Against"), (names[0], names[-1]), strict=True
        )
    )
    if levels is None:
        (text, own, others) = apart_sentence(plan, first, last)
        other = "the other"
    else:
        place = names.index(first)
        text = odds_sentence(plan, place)
        own = levels.if_had[place]
        others = levels.b[place]
        other = "another"
    st.markdown(render.plain(text))
    told = ("such an answer", own), (other, others)
    for slot, (whose, share) in zip(st.columns(2), told, strict=True):
        with slot:
            st.caption(f"Of 100 people with {whose}")
            render.dots(float(share))


def _beliefs(plan: QuestionPlan) -> None:
    render.section("What an observer may come to believe")
    label = "Belief before the report, in percent"
    told = (
        "How likely somebody thought it, before seeing the report, that the person has one "
        "particular answer."
    )
    prior = st.slider(label, 1, 99, 10, key="prior", bind="query-params", help=told)
    names = plan.deployed.policy.names[:_MOST_PAIRS]
    low, high = beliefs_after(plan.leakage[:, :_MOST_PAIRS], prior / 100)
    drawn = beliefs_figure(
        names, prior / 100, low, high, len(plan.deployed.policy.names)
    )
    render.chart(
        drawn, "beliefs", "Beliefs before a report, and at least and at most after it."
    )
    render.table(beliefs_columns(names, low, high))


def _details(survey: SurveyPlan, plan: QuestionPlan) -> None:
    """Every pair of levels, and what an outsider learns who cannot tell reports apart."""
    pairs: list[Block] = []
    if plan.fact(ByLevel) is not None and plan.deployed.policy.size <= _MOST_PAIRS:
        pairs = [
            pairs_table(law) for law in survey_parameters(survey, plan.name).questions
        ]
    render.render(
        pairs + outsider_blocks(remembered(("outsiders", survey), survey.outsiders))
    )


def glossary() -> None:
    """Show the glossary."""
    render.header("Words", "One meaning each, on all pages, in files and in messages.")
    text = resources.files("planner.ui") / "glossary.md"
    st.markdown(text.read_text(encoding="utf-8"))
