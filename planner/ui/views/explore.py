"""Explore: move the budgets of a question, and see at once what that buys."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import streamlit as st

from planner.arrays import Array
from planner.laws.schema import Document
from planner.limits import MAX_PADDING_LENGTH
from planner.planning.answer_rates import AnswerRateModel
from planner.planning.comparison import compare_plans
from planner.planning.mean import (
    AnswerRatePlan,
    answer_rate_of,
    channel_curve,
)
from planner.planning.option import AnyPart
from planner.planning.plan import QuestionPlans, SurveyPlan, part_of
from planner.planning.question import QuestionPlan, budget_curve, plan_question
from planner.planning.sampled import SamplingPlan
from planner.planning.sets import Padded
from planner.policy.budget_text import rounded_up
from planner.show import figures
from planner.show.blocks import said
from planner.show.kinds import answers, words
from planner.show.others import answer_rate_blocks, changed_sentence, comparison_blocks
from planner.show.promises import budget_in_words, promises_of
from planner.show.targets import target_sentence
from planner.survey.ordinal import NumberCells
from planner.survey.questions import Question
from planner.survey.survey import settle
from planner.ui import render
from planner.ui.document import ANCHOR, KIND_WORDS, cleaned, names_of
from planner.ui.fields import kept_item
from planner.ui.state import session
from planner.ui.working import looked_at, remembered

_CURVE = "the curve that would be seen"
# Factors of all budgets, evenly spaced on a logarithmic axis; the one in the middle is
# 1.
_SCALES = np.geomspace(0.4, 2.5, 9)
_FIRST_SCALES = _SCALES[::2]
"""Drawn at once, while the points between them are solved."""
_TRIED_BUDGETS = np.geomspace(0.2, 8, 8)  # nats, at which channels are solved
_WHILE_MOVING = 1e-3  # to which designs are solved while a hand moves
_MOST_SLIDERS = 6
# Ends of a slider: below them reports are nearly noise, and above them nearly the
# answers.
_NATS = 0.05, 10.0
_SHARE_ENDS = 0.005, 0.995
_SHARE_STEP = 0.005
# An anchor has the budgets of its question.
_MOVABLE = [kind for kind in KIND_WORDS if kind != ANCHOR]
_NO_ERRORS = "decoys", "budgets: who answers", _CURVE
"""Charts of something else."""


Drawings = list[Callable[[], figures.Chart]]
"""Ever finer drawings of one chart, the first of which comes fast."""


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
    result, number, plan = looked_at("explore", _MOVABLE)
    if result.mistakes or number is None or plan is None or result.plan is None:
        return
    survey = result.plan
    with render.complaint(), st.container(key="explore"):
        left, right = st.columns([1, 2])
        with left:
            part, changes = _sliders(survey, plan)
        with st.container(horizontal=True):
            use = partial(_use, changes)
            st.button("Use these budgets", on_click=use, disabled=not changes)
            st.button("Back to the survey", on_click=_back, disabled=part is plan.part)
            pin = st.button("Pin this")
        if survey.allocation is not None:
            st.caption(
                "Shares follow importance: with new budgets they are planned anew."
            )
        below = st.container()
        with right, render.complaint():
            explored = _explored(plan, part)
            with below:
                _scenarios(survey, plan, explored, pin=pin)


def _explored(plan: QuestionPlan, part: AnyPart) -> QuestionPlan:
    """The plan at the sliders' budgets, with its chart, its error and what it promises.

    The chart that was drawn last stays in sight until the new one is solved.
    """
    against, errors = st.columns([3, 2])
    with against:
        label = _chosen("Against", list(_charts(plan)), plan)
    units = figures.error_units(plan)
    with errors:
        unit = _chosen("Errors, in", list(units), plan)
    here = session()
    last = f"x-drawn-{plan.name}-{label}"
    solved = ("chart", label, part)
    chart = st.empty()
    sentences = st.container(key="explored")

    def draw(drawn: figures.Chart, number: int) -> None:
        if label not in _NO_ERRORS:
            drawn = figures.in_unit(drawn, unit, units[unit])
        alt = f"{drawn.titles[1]}, against {drawn.titles[0]}"
        with chart.container():
            # A run draws at most three charts, which need different keys.
            render.chart(drawn, f"explored-{number % 3}", alt)

    before, number = here.typed.get(last, (None, 0))
    # The last one keeps its own key, so that the browser leaves it as it is.
    if before is not None and solved not in here.memory:
        draw(before, number)
        number += 1
    explored = plan
    if part is not plan.part:
        explored = remembered(("explored", part), lambda: plan_question(part))
    units = figures.error_units(explored)
    with sentences:
        _sentences(plan, explored, unit)
    drawings = _charts(explored)[label]
    if solved in here.memory:
        drawings = drawings[-1:]
    for k, drawing in enumerate(drawings, 1):
        key: tuple[object, ...] = (*solved, k)
        if k == len(drawings):  # the finest, by which it is found again
            key = solved
        drawn = remembered(key, drawing)
        draw(drawn, number)
        here.typed[last] = drawn, number
        number += 1
    return explored


def _sentences(plan: QuestionPlan, explored: QuestionPlan, unit: str) -> None:
    """What changed, whether targets are met, what is promised, and what is assumed."""
    sentences = said([changed_sentence(plan, explored, unit)])
    for answer in explored.targets:
        sentence = target_sentence(explored, answer)
        if answer.met:
            sentences += said([sentence], "met")
        else:
            sentences += said([sentence], "missed")
    if explored.question.locally_private:
        sentences += said(promises_of(explored))
    whose = answers(explored)
    assumed = words(explored).assumed(explored)
    sentences += said([f"{whose[:1].upper()}{whose[1:]}. {assumed}"], "note")
    render.render(sentences)


def _scenarios(
    survey: SurveyPlan, plan: QuestionPlan, explored: QuestionPlan, *, pin: bool
) -> None:
    """What was pinned beside what is explored, and which budget to offer."""
    alone = QuestionPlans([explored])
    now = SurveyPlan(survey.survey, alone, None, survey.ledger)
    pins = session().typed.setdefault("x-pins", {})
    if pin:
        pins[plan.name] = now
    pinned = pins.get(plan.name)
    if pinned is not None:
        rows = compare_plans(pinned, now)
        render.render(comparison_blocks(rows, ("as pinned", "as it is now")))
    if getattr(plan.question, "preferences", None) is not None:
        render.drawer("Which budget to offer", "offers", partial(_offers, plan))


class _Sliders:
    """Sliders for what a question has, and what those that were moved change in the document.

    What none of them moves stays as it is, to the last digit.
    """

    def __init__(self) -> None:
        self.changes = list[_Change]()

    def moved(
        self,
        label: str,
        change: _Change,
        now: float,
        ends: tuple[float, float],
        step: float,
    ) -> float:
        """A slider's value, ``now`` until it is moved; a share is shown in per cent."""
        start = now
        # A slider shows ln 4 as 1.386, while the plan has all of its digits until
        # somebody moves it.
        if step != 1:
            start = round(now, 3)
        least, most = ends
        start = min(max(start, least), most)
        key = f"x-{change.question}-{change.row}-{label}-{session().revision}"
        form = None
        if step == _SHARE_STEP:
            form = "percent"
        shown = render.plain(label)
        value = st.slider(shown, least, most, start, step, form, key=key)
        if value == start:
            return now
        if change.key:
            # Steps add up in binary: ten digits drop what comes behind 0.15 by that.
            self.changes.append(change._replace(text=f"{value:.10g}"))
        return float(value)

    def share_moved(self, label: str, change: _Change, now: float) -> float:
        """A slider's share; of a whole there is none."""
        if now == 1:
            return now
        return self.moved(label, change, now, _SHARE_ENDS, _SHARE_STEP)


def _sliders(survey: SurveyPlan, plan: QuestionPlan) -> tuple[AnyPart, list[_Change]]:
    """The question's part as the sliders say, and what that changes in the document."""
    sliders = _Sliders()
    before = plan.part
    budgets = list(_budgets(plan))
    for label, budget, change in budgets[:_MOST_SLIDERS]:
        epsilon = sliders.moved(label, change, budget, _NATS, 0.05)
        st.caption(budget_in_words(epsilon))  # known before anything is solved
    if len(budgets) > _MOST_SLIDERS:
        st.caption(f"The first {_MOST_SLIDERS} levels; others stay.")
    users = _people(before.everybody)
    if users != before.everybody:
        sliders.changes.append(_Change("", None, "users", f"{users:,}"))
    for label, key, now, most in _settings(plan):
        change = _Change(plan.name, None, key, "")
        if most > 1:  # a padding length; else a share
            sliders.moved(label, change, now, (1, most), 1)
        else:
            sliders.moved(label, change, now, (0.0, most), _SHARE_STEP)
    nowhere = _Change(plan.name, None, "", "")
    share = sliders.share_moved("Share of its budgets", nowhere, before.share)
    fraction = sliders.share_moved("Asked of the people", nowhere, before.fraction)
    shares_stay = share == before.share and fraction == before.fraction
    if not sliders.changes and shares_stay:
        return before, sliders.changes
    question = _question_with(sliders.changes, plan.name)
    part = part_of(question, users, survey.ledger, share, fraction, before.groups)
    return part, sliders.changes


def _question_with(changes: list[_Change], name: str) -> Question:
    """The question of a name as it is with these changes."""
    survey, mistakes = settle(cleaned(_changed(changes)))
    if survey is None:
        # Each slider stays within its range, but two of them may not go together.
        raise mistakes[0].error
    questions = {question.name: question for question in survey.questions}
    return questions[name]


def _people(everybody: int) -> int:
    """A slider for how many are asked: round numbers, and as many as there are."""
    sizes = {everybody}
    for power in range(2, 7):
        sizes |= {10**power, 2 * 10**power, 5 * 10**power}
    key = f"x-users-{session().revision}"
    users: int = st.select_slider(
        "People", sorted(sizes), everybody, format_func="{:,}".format, key=key
    )
    return users


def _budgets(plan: QuestionPlan) -> Iterator[tuple[str, float, _Change]]:
    """The budgets there are to move, a level each: with its label, and where it is written."""
    together = plan.part.asked.together
    for question in together:
        whole = question
        if not question.levels:
            whole = plan.part.tolerated
        change = _Change(question.name, None, "epsilon", "")
        levels = question.levels or (question,)
        for row, budget in enumerate(whole.policy.epsilons.tolist()):
            name = levels[row].name
            label = f"Budget of {name}"
            if len(together) > 1:
                label = f"{question.name}: {name}"
            if question.levels:
                change = change._replace(row=row)
            yield label, budget, change


def _settings(plan: QuestionPlan) -> Iterator[tuple[str, str, float, float]]:
    """What else there is to move: its label, where it is written, what it is, and at most."""
    padded = plan.fact(Padded)
    if padded is not None:
        length = padded.length
        most = min(4 * length + 4, MAX_PADDING_LENGTH)
        yield "Padding length", "padding_length", length, most
    model = plan.fact(AnswerRateModel)
    if model is not None:
        label = "Without an answer at any budget"
        yield label, "refusals", model.missing, 0.9
    sampling = plan.fact(SamplingPlan)
    if sampling is not None:
        cap = sampling.question.sampling.cap
        yield "Sampled at most", "sampling.cap", cap, 0.95


def _chosen(label: str, options: list[str], plan: QuestionPlan) -> str:
    """The option that is chosen, kept for each question."""
    name = f"x-{label}-{plan.question.kind}-{plan.name}"
    first = options[0]
    if session().typed.get(name) not in options:
        session().typed[name] = first
    chosen: str = kept_item(st.selectbox, label, name, first, options=options)
    return chosen


def _charts(plan: QuestionPlan) -> dict[str, Drawings]:
    """What there is to see of a question, by what it is drawn against."""
    seen = partial(figures.seen_figure, plan.part)
    if plan.fact(AnswerRateModel) is not None:
        rates = _rates(plan)
        curves: dict[str, Drawings] = {
            "budgets: the error": [partial(figures.error_figure, rates)],
            "budgets: the error's parts": [partial(figures.parts_figure, rates)],
            "budgets: who answers": [partial(figures.answering_figure, rates)],
        }
        if not rates.model.domain.yes_no:
            curves[_CURVE] = [seen]
        return curves
    charts: dict[str, Drawings] = {}
    sampling = plan.fact(SamplingPlan)
    if sampling is not None:
        charts["decoys"] = [partial(figures.decoys_figure, sampling)]
    charts["all budgets"] = _against(plan)
    names = plan.deployed.policy.names
    if 1 < len(names) <= _MOST_SLIDERS:
        for name in names:
            charts[f"the budget of {name}"] = _against(plan, name)
    if isinstance(plan.deployed, NumberCells):
        charts[_CURVE] = [seen]
    padded = plan.fact(Padded)
    if padded is not None and padded.plan is not None:
        of_lengths = partial(figures.padding_figure, padded.plan, padded.length)
        charts["the padding length"] = [of_lengths]
    return charts


def _against(plan: QuestionPlan, level: str = "") -> Drawings:
    """The error against all budgets, or that of one ``level``."""

    def drawn_at(scales: Array) -> figures.Chart:
        curve = budget_curve(plan, scales, level or None, _WHILE_MOVING)
        return figures.explored_figure(plan, curve, level)

    return [partial(drawn_at, _FIRST_SCALES), partial(drawn_at, _SCALES)]


def _rates(plan: QuestionPlan) -> AnswerRatePlan:
    """Who answers at other budgets, and errors there; channels are solved once for all moves."""
    part = plan.part
    rates = answer_rate_of(part)
    # What was solved at the tried budgets holds wherever the question's own budget
    # stands: it is left out of the key.
    alike = part.question.replacing(epsilon=1.0, mechanism="best")
    key = "channels", alike, part.share
    curve = remembered(key, lambda: channel_curve(rates.model, _TRIED_BUDGETS))
    return rates.with_channels(curve.of_people(part.people))


def _offers(plan: QuestionPlan) -> None:
    """The best budget for the survey as it is; a button where that protects people more."""
    key = "rates", plan.part
    rates = remembered(key, lambda: answer_rate_of(plan.part).with_channels())
    _, *blocks, _ = answer_rate_blocks(plan.name, rates)  # its chart is above
    render.render(blocks)
    smallest = rounded_up(rates.best_planned.flat_lower, 3)
    # Never one that protects people less.
    if float(smallest) < plan.part.question.epsilon:
        change = _Change(plan.name, None, "epsilon", smallest)
        use = partial(_use, [change])
        st.button(f"Offer {smallest}", on_click=use, type="primary")


def _back() -> None:
    session().revision += 1


def _use(changes: list[_Change]) -> None:
    """Write what was moved to the survey; what was not stays as it was typed."""
    here = session()
    # So that Undo takes these budgets back without what was typed before them.
    here.note()
    here.document = _changed(changes)
    here.revision += 1


def _changed(changes: list[_Change]) -> Document:
    """The document with these changes."""
    document = copy.deepcopy(session().document)
    questions = dict(zip(names_of(document), document["question"], strict=True))
    for change in changes:
        holder = document["survey"]
        if change.question:
            holder = questions[change.question]
        if change.row is not None:
            holder = holder["level"][change.row]
        *table, key = change.key.split(".")
        if table:
            holder = holder.setdefault(table[0], {})
        holder[key] = change.text
    return document
