"""Explore: move the budgets of a question, and see at once what that buys."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from planner.laws.schema import Document
from planner.limits import MAX_PADDING_LENGTH
from planner.planning.mean import (
    AnswerRateModel,
    AnswerRatePlan,
    answer_rate_of,
    channel_curve,
)
from planner.planning.option import AnyPart
from planner.planning.plan import SurveyPlan, compare_plans, part_of
from planner.planning.question import QuestionPlan, budget_curve, plan_question
from planner.planning.sampled import SamplingPlan
from planner.planning.sets import Padded
from planner.policy.budget_text import rounded_up
from planner.show import figures
from planner.show.blocks import said
from planner.show.kinds import answers, words
from planner.show.others import answer_rate_blocks, changed_sentence, comparison_blocks
from planner.survey.survey import settle
from planner.survey.values import text_of
from planner.ui import render
from planner.ui.document import cleaned
from planner.ui.fields import kept_item
from planner.ui.state import session
from planner.ui.working import looked_at, remembered

_SCALES = np.geomspace(0.4, 2.5, 9)
_TRIED_BUDGETS = np.geomspace(0.2, 8, 8)  # nats, at which channels are solved
_WHILE_MOVING = 1e-3  # to which designs are solved while a hand moves
_MOST_SLIDERS = 6
_NATS = 0.05, 10.0
_NO_ERRORS = "decoys", "budgets: who answers"
"""Charts of something else."""


class _Change(NamedTuple):
    """What a slider writes: to a question by its name, or to the survey; in which row, and what."""

    question: str
    row: int | None
    key: str
    text: str


def page() -> None:
    """Sliders, the chart that follows them, what changed, and what to do with it."""
    render.header(
        "Explore", "Move a slider: the chart follows. The survey stays as it is."
    )
    found, place, plan = looked_at("explore")
    if found.mistakes or place is None or plan is None or found.plan is None:
        return
    with render.complaint(), st.container(key="explore"):
        left, right = st.columns([1, 2])
        with left:
            part, changes = _sliders(found.plan, plan)
        with st.container(horizontal=True):
            use = "Use these budgets"
            st.button(use, on_click=_use, args=(changes,), disabled=not changes)
            st.button("Back to the survey", on_click=_back, disabled=part is plan.part)
            pin = st.button("Pin this")
        if found.plan.allocation is not None:
            st.caption(
                "Shares follow importance: with new budgets they are planned anew."
            )
        now = None
        with right, render.complaint():
            explored = plan
            if part is not plan.part:
                explored = remembered(("explored", part), lambda: plan_question(part))
            unit = _chart(explored)
            render.render(said([changed_sentence(plan, explored, unit)]))
            whose = answers(explored)
            assumed = words(explored).assumed(explored)
            render.render(said([f"{whose[:1].upper()}{whose[1:]}. {assumed}"], "note"))
            now = SurveyPlan(found.plan.survey, (explored,), None, found.plan.ledger)
        pins = session().typed.setdefault("x-pins", {})
        if now is not None and pin:
            pins[plan.name] = now
        if now is not None and plan.name in pins:
            pair = compare_plans(pins[plan.name], now)
            render.render(comparison_blocks(pair, ("as pinned", "as it is now")))
        if getattr(plan.question, "preferences", None) is not None:
            render.drawer("Which budget to offer", "offers", partial(_offers, plan))


def _sliders(survey: SurveyPlan, plan: QuestionPlan) -> tuple[AnyPart, list[_Change]]:
    """The question's part as the sliders say, and what that changes in the document.

    What none of them moves stays as it is, to the last digit.
    """
    changes = list[_Change]()
    before = plan.part
    new = session().revision

    def moved(
        label: str, at: _Change, now: float, ends: tuple[float, float], step: float
    ) -> float:
        """A slider's value, ``now`` until it is moved; a share is shown in per cent."""
        shown = min(max(now if step == 1 else round(now, 3), ends[0]), ends[1])
        key = f"x-{at.question}-{at.row}-{label}-{new}"
        written = "percent" if step < _NATS[0] else None
        found = st.slider(render.plain(label), *ends, shown, step, written, key=key)
        if found != shown and at.key:
            changes.append(at._replace(text=f"{found:.10g}"))
        return now if found == shown else found

    budgets = list(_budgets(plan))
    for label, budget, at in budgets[:_MOST_SLIDERS]:
        moved(label, at, budget, _NATS, 0.05)
    if len(budgets) > _MOST_SLIDERS:
        st.caption(f"The first {_MOST_SLIDERS} levels; others stay.")
    sizes = sorted(
        {before.everybody, *(10**k * m for k in range(2, 7) for m in (1, 2, 5))}
    )
    key = f"x-users-{new}"
    written = "{:,}".format
    users = st.select_slider(
        "People", sizes, before.everybody, format_func=written, key=key
    )
    if users != before.everybody:
        changes.append(_Change("", None, "users", f"{users:,}"))
    for label, key, now, most in _settings(plan):
        ends, step = ((1, most), 1) if most > 1 else ((0.0, most), 0.005)
        moved(label, _Change(plan.name, None, key, ""), now, ends, step)
    shares = {
        "Share of its budgets": before.share,
        "Asked of the people": before.fraction,
    }
    nowhere = _Change(plan.name, None, "", "")
    share, fraction = (
        moved(label, nowhere, now, (0.005, 0.995), 0.005) if now < 1 else now
        for label, now in shares.items()
    )
    if not changes and (share, fraction) == (before.share, before.fraction):
        return before, changes
    changed, mistakes = settle(cleaned(_changed(changes)))
    if changed is None:
        raise mistakes[0].error
    asked = next(one for one in changed.questions if one.name == plan.name)
    return part_of(asked, users, survey.ledger, share, fraction), changes


def _budgets(plan: QuestionPlan) -> Iterator[tuple[str, float, _Change]]:
    """The budgets there are to move, a level each: with its label, and where it is written."""
    together = plan.part.asked.together
    for one in together:
        budgets = (one if one.levels else plan.part.tolerated).policy.epsilons.tolist()
        for row, (level, budget) in enumerate(
            zip(one.levels or (one,), budgets, strict=True)
        ):
            label = (
                f"{one.name}: {level.name}"
                if len(together) > 1
                else f"Budget of {level.name}"
            )
            yield (
                label,
                budget,
                _Change(one.name, row if one.levels else None, "epsilon", ""),
            )


def _settings(plan: QuestionPlan) -> Iterator[tuple[str, str, float, float]]:
    """What else there is to move: its label, where it is written, what it is, and at most."""
    padded = plan.fact(Padded)
    model = plan.fact(AnswerRateModel)
    sampling = plan.fact(SamplingPlan)
    if padded is not None:
        most = min(4 * padded.length + 4, MAX_PADDING_LENGTH)
        yield "Padding length", "padding_length", padded.length, most
    if model is not None:
        yield "Without an answer at any budget", "refusals", model.missing, 0.9
    if sampling is not None:
        yield "Sampled at most", "sampling.cap", sampling.question.sampling.cap, 0.95


def _chart(plan: QuestionPlan) -> str:
    """One chart, of what is chosen; the unit of errors."""
    charts = _charts(plan)
    units = figures.error_units(plan)
    above = st.columns([3, 2])
    label = _chosen(above[0], "Against", list(charts), plan)
    unit = _chosen(above[1], "Errors, in", list(units), plan)
    drawn = remembered(("chart", label, plan.part), charts[label])
    if label not in _NO_ERRORS:
        drawn = figures.in_unit(drawn, unit, units[unit])
    render.chart(drawn, "explored", f"{drawn.titles[1]}, against {drawn.titles[0]}")
    return unit


def _chosen(slot: Any, label: str, options: list[str], plan: QuestionPlan) -> str:
    """One of a few, kept for each question."""
    name = f"x-{label}-{plan.question.kind}-{plan.name}"
    if session().typed.get(name) not in options:
        session().typed.pop(name, None)
    return str(kept_item(slot.selectbox, label, name, options[0], options=options))


def _charts(plan: QuestionPlan) -> dict[str, Callable[[], figures.Chart]]:
    """What there is to see of a question, by what it is drawn against."""
    sampling = plan.fact(SamplingPlan)
    padded = plan.fact(Padded)
    if plan.fact(AnswerRateModel) is not None:
        rates = _rates(plan)
        return {
            "budgets: the error": partial(figures.error_figure, rates),
            "budgets: the error's parts": partial(figures.parts_figure, rates),
            "budgets: who answers": partial(figures.answering_figure, rates),
        }

    def against(level: str = "") -> figures.Chart:
        curve = budget_curve(plan, _SCALES, level or None, _WHILE_MOVING)
        return figures.explored_figure(plan, curve, level)

    found: dict[str, Callable[[], figures.Chart]] = {"all budgets": against}
    names = plan.deployed.policy.names
    if 1 < len(names) <= _MOST_SLIDERS:
        found |= {f"the budget of {name}": partial(against, name) for name in names}
    if padded is not None and padded.plan is not None:
        found["the padding length"] = partial(
            figures.padding_figure, padded.plan, padded.length
        )
    if sampling is not None:
        found = {"decoys": partial(figures.decoys_figure, sampling)} | found
    return found


def _rates(plan: QuestionPlan) -> AnswerRatePlan:
    """Who answers at other budgets, and errors there; channels are solved once for all moves."""
    part = plan.part
    rates = answer_rate_of(part)
    alike = part.question.replacing(epsilon=1.0, mechanism="best")
    key = "channels", alike, part.share
    found = remembered(key, lambda: channel_curve(rates.model, _TRIED_BUDGETS))
    return rates.with_channels(found.of_people(part.people))


def _offers(plan: QuestionPlan) -> None:
    """The best budget for the survey as it is; a button where that protects people more."""
    key = "rates", plan.part
    rates = remembered(key, lambda: answer_rate_of(plan.part).with_channels())
    render.render(answer_rate_blocks(plan.name, rates)[1:-1])  # its chart is above
    smallest = rounded_up(rates.best_planned.flat_lower, 3)
    if (
        float(smallest) < plan.part.question.epsilon
    ):  # never one that protects people less
        offer = ([_Change(plan.name, None, "epsilon", smallest)],)
        st.button(f"Offer {smallest}", on_click=_use, args=offer, type="primary")


def _back() -> None:
    session().revision += 1


def _use(changes: list[_Change]) -> None:
    """Write what was moved to the survey; what was not stays as it was typed."""
    here = session()
    here.note()
    here.document = _changed(changes)
    here.revision += 1


def _changed(changes: list[_Change]) -> Document:
    """The document with these changes."""
    document = copy.deepcopy(session().document)
    questions = {text_of(one.get("name")): one for one in document["question"]}
    for change in changes:
        holder = questions[change.question] if change.question else document["survey"]
        if change.row is not None:
            holder = holder["level"][change.row]
        *table, key = change.key.split(".")
        (holder.setdefault(table[0], {}) if table else holder)[key] = change.text
    return document
