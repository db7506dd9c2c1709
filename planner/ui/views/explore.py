"""Explore: move the budgets of a question, and see at once what that buys."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from planner.laws.schema import Document
from planner.planning.choice import ByLevel
from planner.planning.curve import Curve
from planner.planning.option import AnyPart
from planner.planning.question import QuestionPlan, budget_curve, has_budget_curve, plan_question
from planner.planning.what_if import Frontier
from planner.policy.budget_text import rounded_up
from planner.show.blocks import people, percent, rows_table
from planner.show.figures import BLUE, RED, Chart, Line, explored_figure
from planner.show.kinds import objective_name, share_of
from planner.ui import render
from planner.ui.document import KIND_WORDS
from planner.ui.fields import kept_item
from planner.ui.results import looked_at, question_at, remembered
from planner.ui.state import session

_TOGETHER = "all budgets together"
_SCALES = np.geomspace(0.4, 2.5, 9)
_WHILE_MOVING = 1e-3  # to which designs are solved while a hand moves
_MOST_SLIDERS = 6
_SMALLEST_BUDGET, _LARGEST_BUDGET = 0.05, 10.0
_MOST_EXPLORED = 10_000_000


def page() -> None:
    """Sliders, the chart that follows them, what changed, and what to do with it."""
    render.header(
        "Explore",
        "Move a budget or the number of people: the chart follows. Nothing is changed until you "
        "use it.",
    )
    found, place, plan = looked_at(tuple(KIND_WORDS), "explore")
    if found.mistakes or place is None or plan is None:
        return
    if not plan.kind.adds_up:
        st.info("Of a question in two rounds the page Sampling Privacy shows what budgets buy.")
        return
    with render.complaint():
        left, right = st.columns([1, 2])
        with left:
            draft = _draft(plan, place)
        explored = remembered(("explored", draft), partial(plan_question, draft))
        with right:
            _chart(explored, place)
        st.markdown(render.plain(_changed(plan, explored)))
        _pinned(explored, place)
        use = (place, plan.part, draft)
        st.button("Use these budgets", on_click=_use, args=use, disabled=draft == plan.part)


def _draft(plan: QuestionPlan, place: int) -> AnyPart:
    """The question's part with the budgets and people of the sliders."""
    part, asked = plan.part, plan.part.question
    names = [one.name for one in asked.levels] or [asked.name]
    budgets = asked.policy.epsilons.tolist()
    moved = [
        _slider(f"Budget of {render.plain(name)}", f"x-{place}-{k}-{session().revision}", budget)
        for k, (name, budget) in enumerate(zip(names[:_MOST_SLIDERS], budgets, strict=False))
    ]
    if len(names) > _MOST_SLIDERS:
        st.caption(f"The first {_MOST_SLIDERS} of {len(names)} levels; others stay.")
    sizes = sorted({part.everybody, *(10**k * m for k in range(2, 7) for m in (1, 2, 5))})
    everybody = st.select_slider(
        "People", sizes, part.everybody, format_func="{:,}".format, key=f"x-{place}-people"
    )
    if asked.levels:
        levels = [
            one.replacing(epsilon=budget) for one, budget in zip(asked.levels, moved, strict=False)
        ]
        question = asked.replacing(levels=(*levels, *asked.levels[len(levels) :]))
    else:
        question = asked.replacing(epsilon=moved[0])
    return (
        part
        if question == asked and everybody == part.everybody
        else replace(
            part, asked=question, tolerated=question, question=question, everybody=everybody
        )
    )


def _slider(label: str, key: str, budget: float) -> float:
    """A budget in nats; as it was while nobody moves it."""
    shown = min(max(round(budget, 2), _SMALLEST_BUDGET), _LARGEST_BUDGET)
    help_ = "Nats. To the left people are protected more."
    moved = st.slider(label, _SMALLEST_BUDGET, _LARGEST_BUDGET, shown, 0.05, key=key, help=help_)
    return budget if moved == shown else moved


def _chart(explored: QuestionPlan, place: int) -> None:
    """Errors over the scale of all budgets, or of one level's."""
    if not has_budget_curve(explored):
        curve = explored.curve
        errors = remembered(("line", explored.part), lambda: _line(explored, curve))
        lines = [
            Line("error", _SCALES, errors, BLUE),
            Line(
                "here",
                [1.0, 1.0],
                [float(np.nanmin(errors)), float(np.nanmax(errors))],
                RED,
                "dash",
            ),
        ]
        titles = "budget times (left: more private)", f"error{_unit(explored)}"
        render.chart(Chart(lines, titles, "xy"), f"x-chart-{place}", "Error over the budget.")
        return
    names = [one.name for one in explored.part.question.levels]
    over = _TOGETHER
    if 1 < len(names) <= _MOST_SLIDERS:
        choices = {_TOGETHER: _TOGETHER} | {name: render.plain(name) for name in names}
        over = kept_item(
            st.segmented_control, "Against", f"x-over-{place}", _TOGETHER, options=choices
        )
    level = None if over in (None, _TOGETHER) else over
    about = "curve", explored.part, level
    found = remembered(about, lambda: budget_curve(explored, _SCALES, level, _WHILE_MOVING))
    if found is not None:
        drawn = explored_figure(_in_people(found, explored.users), over or _TOGETHER)
        render.chart(drawn, f"x-chart-{place}", "Errors by level over the scale of budgets.")


def _unit(plan: QuestionPlan) -> str:
    return "" if plan.question.of_mean else " people"


def _in_people(found: Frontier, users: int) -> Frontier:
    errors = found.total_error * users, found.level_errors * users
    return replace(found, total_error=errors[0], level_errors=errors[1])


def _line(explored: QuestionPlan, curve: Curve) -> np.ndarray:
    part = explored.part
    found = [curve.at(float(scale), tolerance=_WHILE_MOVING) for scale in _SCALES]
    return np.array([part.total(one.errors.error(one.value, part.fraction)) for one in found])


def _changed(plan: QuestionPlan, explored: QuestionPlan) -> str:
    """What moved, against the survey as it is."""
    if explored.part == plan.part:
        return f"As in the survey: {objective_name(plan)} {people(plan.total_error)}{_unit(plan)}."
    was, now = plan.total_error, explored.total_error
    said = f"{objective_name(plan).capitalize()} from {people(was)} to {people(now)}{_unit(plan)}."
    before, after = plan.fact(ByLevel), explored.fact(ByLevel)
    if before is None or after is None:
        return said
    pairs = zip(before.names, before.standard_errors, after.standard_errors, strict=True)
    moved = [
        f"{name!r} from {people(old)} to {people(new)}"
        for name, old, new in pairs
        if abs(new / old - 1) > 0.005
    ][:_MOST_SLIDERS]
    return f"{said} A count's error: {', '.join(moved) or 'nothing moved'}."


def _pinned(explored: QuestionPlan, place: int) -> None:
    """Two scenarios side by side."""
    typed, name = session().typed, f"x-pinned-{place}"
    kept: QuestionPlan | None = typed.get(name)
    if st.button("Pin this beside what comes" if kept is None else "Pin this instead"):
        typed[name] = kept = explored
    if kept is None:
        return
    rows = []
    for label, one in (("pinned", kept), ("now", explored)):
        budgets = ", ".join(
            rounded_up(x, 2) for x in one.part.question.policy.epsilons[:_MOST_SLIDERS]
        )
        figures = people(one.total_error), percent(one.error_share)
        rows.append((label, budgets, f"{one.everybody:,}", *figures))
    headings = ("", "budgets", "people", "error", f"share of {share_of(kept)}")
    render.render([rows_table("Side by side", headings, rows)])


def _use(place: int, was: AnyPart, draft: AnyPart) -> None:
    """Write what was moved to the survey; what was not stays as it was typed."""
    here = session()
    here.note()
    question: Document = question_at(place)
    rows = question.get("level") or [question]
    moved = zip(rows, was.question.policy.epsilons, draft.question.policy.epsilons, strict=False)
    for row, before, after in moved:
        if after != before:
            row["epsilon"] = f"{after:.4g}"
    if draft.everybody != was.everybody:
        here.document["survey"]["users"] = f"{draft.everybody:,}"
    here.revision += 1
