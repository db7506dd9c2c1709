"""What budgets cost: errors, probabilities, proof, prices."""

from __future__ import annotations

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from planner.estimates.ordered import OrderedEstimates
from planner.planning.candidates import MechanismChoice
from planner.planning.padding import PaddingPlan
from planner.planning.whole_survey.budget_curve import has_budget_curve
from planner.planning.whole_survey.cautions import cautions
from planner.planning.whole_survey.levels import Levels
from planner.planning.whole_survey.question_plan import QuestionPlan
from planner.planning.whole_survey.said import Said, said_of
from planner.planning.whole_survey.sentences import people
from planner.policy.budget_text import rounded_up
from planner.show.charts.levels import budget_figure, design_figure, level_error_figure
from planner.show.charts.ordered import ordered_figure
from planner.show.charts.plans import frontier_figure, padding_figure
from planner.show.charts.style import BLUE, GREY, SKY
from planner.ui.parts import show
from planner.ui.parts.results import error_curve
from planner.ui.parts.tables import Bars, show_table

_MOST_ROWS = 10_000
_MOST_LENGTHS = 12


def show_results(plan: QuestionPlan) -> None:
    """A planned question, from the headline to the fine print."""
    if plan.choice is None:
        return
    _headline(plan)
    show.warnings(cautions(plan))
    said = said_of(plan)
    _say(*said.answer, *said.targets)
    _mechanisms(plan.choice)
    if plan.padding is not None and plan.padding_errors is not None:
        _padding(plan, plan.padding, plan.padding_errors)
    if plan.levels is not None:
        _levels(plan, plan.levels, said)
    else:
        _say(*said.report)
    if plan.expected is not None:
        _expected(plan.expected)
    _prices(plan, said)
    _scale(plan)


def _headline(plan: QuestionPlan) -> None:
    saturation, gap = plan.saturation_epsilon, plan.proven_gap
    squares = "summed squared errors of all estimated numbers of people"
    if plan.question.of_mean:
        squares = "mean squared error, in the unit of the scores"
    any_kind = plan.design is not None or plan.channel is not None
    of_what = "mechanism of any kind" if any_kind else "other choice of probabilities"
    figures = {
        plan.objective_name.capitalize(): (
            whole_people(plan, plan.total_error),
            f"{plan.measure}: the root of the {squares}. Not an interval.",
        ),
        "LDP epsilon": (
            rounded_up(plan.deployed.policy.ldp_epsilon),
            "Plain local differential privacy that follows from the levels: no report "
            "tells any two answers apart by more than this, rounded up.",
        ),
        "Saturation": (
            "none" if saturation is None else f"{saturation:.3f}",
            "Budget of a level above this point buys no accuracy while the others stay as "
            "they are. Known for the usual rule only.",
        ),
        "Gap to the best": (
            "not proven" if gap is None else f"{gap:.0e}",
            f"No {of_what} has an error smaller by more than this share: proven by convex "
            "programming, not taken on trust.",
        ),
    }
    if plan.channel is not None:
        del figures["Saturation"]  # which is about probabilities a and b
    show.figures(figures)


def whole_people(plan: QuestionPlan, error: float) -> str:
    """An error of a plan, short: in whole people, or in the unit of a mean."""
    return people(error) if plan.question.of_mean else f"{error:,.0f} people"


def _mechanisms(choice: MechanismChoice) -> None:
    st.subheader(choice.measure)
    ranked = choice.candidates
    planned = [one.name for one in ranked].index(choice.planned)
    proven = choice.least_error is not None
    heading = "shorter is better; dashed: the least of all" if proven else "shorter is better"
    show_table(
        {
            "mechanism": [one.title for one in ranked],
            heading: Bars(
                [one.error for one in ranked], _one_blue(len(ranked), planned), choice.least_error
            ),
            f"error, {choice.unit}": [people(one.error) for one in ranked],
            "against the plan": [
                "the plan" if one.name == choice.planned else f"{one.against:+.1%}"
                for one in ranked
            ],
        },
        accent=planned,
    )
    _say(choice.reason, *choice.left_out)


def _padding(plan: QuestionPlan, curve: PaddingPlan, errors: NDArray[np.float64]) -> None:
    st.subheader("To how many items sets are padded or cut")
    shown = slice(0, _MOST_LENGTHS)
    used = (plan.padding_length or 1) - int(curve.lengths[0])
    show_table(
        {
            "length": curve.lengths[shown],
            "shorter is better": Bars(errors[shown], _one_blue(errors[shown].size, used)),
            "error, people": errors[shown].round(1),
        },
        accent=used,
    )
    box = show.drawer("Draw the error against the length", "padding-drawn")
    if box.open:
        with box:
            show.chart(
                padding_figure(curve), "padding", "Expected error against the padding length."
            )


def _levels(plan: QuestionPlan, levels: Levels, said: Said) -> None:
    st.subheader("What a report does, level by level")
    saturation, shown = plan.saturation_epsilon, slice(0, _MOST_ROWS)
    budgets = "budget" if saturation is None else "budget; dashed: saturation"
    show_table(
        {
            "level": levels.names[shown],
            "items": levels.items[shown],
            "epsilon": levels.epsilons[shown].round(6),
            budgets: Bars(levels.epsilons[shown], SKY, saturation),
            "more budget": np.where(levels.saturated, "buys nothing", "helps")[shown],
        }
    )
    show_table(
        {
            "level": levels.names[shown],
            "a: with the answer": levels.a[shown].round(6),
            "b: without": levels.b[shown].round(6),
            "shorter is better": Bars(levels.standard_errors[shown]),
            "std. error, people": levels.standard_errors[shown].round(1),
            "% of those who answer": levels.percent[shown].round(4),
        }
    )
    st.caption(show.plain(said.report[0]))
    _say(*said.report[1:])
    if plan.design is not None:
        box = show.drawer("Draw the types of reports", "design-drawn")
        if box.open:
            with box:
                show.chart(
                    design_figure(plan.design),
                    "design",
                    "How often each type of report is sent, and how many answers of every level "
                    "it puts on the high side.",
                )
    box = show.drawer("Draw the levels", "levels-drawn")
    if box.open:
        picture, bars = box.columns(2)
        with picture:
            show.chart(
                level_error_figure(levels),
                "level-errors",
                "Standard error of a rare item's count, one bar per level.",
            )
        if plan.certified is not None:
            with bars:
                chart = budget_figure(plan.certified)
                show.chart(chart, "budgets", "Budget per level and saturation point.")


def _expected(expected: OrderedEstimates) -> None:
    box = show.drawer("Draw the shares up to each answer", "expected-drawn")
    if box.open:
        with box:
            show.chart(
                ordered_figure(expected),
                "expected",
                "Shares of the people up to each answer if all answers were alike, with the band "
                "that covers them all, and the answers between which the median lies.",
            )


def _prices(plan: QuestionPlan, said: Said) -> None:
    for sentence in said.proof[:1]:
        st.success(show.plain(sentence))
    _say(*said.proof[1:])
    if plan.levels is not None:
        st.subheader("What a little more budget would buy")
        if not plan.relaxations:
            st.markdown("No single level's budget would lower the error by itself.")
    if said.prices:
        st.markdown("\n".join(f"- {show.plain(sentence)}" for sentence in said.prices))


def _scale(plan: QuestionPlan) -> None:
    """Drawn on demand: every point of a design's curve is another design."""
    if not has_budget_curve(plan):
        return
    box = show.drawer("If all budgets were larger or smaller", "scale-drawn")
    curve = error_curve(plan) if box.open else None
    if curve is None:
        return
    now = curve.scale.tolist().index(1.0)
    errors = plan.users * curve.total_error
    with box:
        show_table(
            {
                "all budgets times": curve.scale,
                "largest epsilon": (curve.scale * plan.deployed.policy.epsilons.max()).round(3),
                "shorter is better": Bars(errors, _one_blue(errors.size, now)),
                "error, people": errors.round(1),
            },
            accent=now,
        )
        show.chart(
            frontier_figure(curve),
            "frontier",
            "Error falls as all budgets are scaled up; today's budgets are at factor 1.",
        )


def _say(*sentences: str) -> None:
    for sentence in sentences:
        st.markdown(show.plain(sentence))


def _one_blue(size: int, place: int) -> list[str]:
    return [BLUE if row == place else GREY for row in range(size)]
