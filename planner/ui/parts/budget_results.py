"""What budgets cost: errors, probabilities, proof, prices."""

from __future__ import annotations

import numpy as np
import streamlit as st

from planner.planning.frequency import QuestionPlan
from planner.planning.padding import PaddingPlan
from planner.policy.budget_text import rounded_up
from planner.show.charts.levels import budget_figure, level_error_figure
from planner.show.charts.plans import frontier_figure, padding_figure
from planner.show.charts.style import BLUE, GREY, SKY
from planner.survey import Question
from planner.ui.parts import show
from planner.ui.parts.inverse import show_inverse
from planner.ui.parts.results import Answer, answer, error_curve, root
from planner.ui.parts.tables import Bars, show_table

__all__ = ["show_results"]

_MOST_ROWS = 10_000
_MOST_LENGTHS = 12


def show_results(question: Question, users: int) -> None:
    """The plan of ``question`` for ``users`` people, from the headline to the fine print.

    Raises
    ------
    PlannerError
        The question cannot be planned.
    """
    found = answer(question, users)
    _headline(found, users)
    _mechanisms(found, users)
    if found.padding is not None:
        _padding(found.padding, found.padding_length or 1, users)
    _levels(found.plan, users)
    _prices(found.plan)
    if question.kind == "categorical":
        _scale(question, users)
        show_inverse(question, users)


def _headline(found: Answer, users: int) -> None:
    table = found.plan.table
    saturation = table.saturation_epsilon
    gap = table.certificate.relative_gap if table.certificate else float("nan")
    show.figures(
        {
            "Total error": (
                f"{root(found.choice.error(table.model), users):,.0f} people",
                "Root of the summed squared errors of all estimated counts with IDUE opt0: for the "
                "least favourable answers, or for the expected ones if you state them. Not an "
                "interval.",
            ),
            "LDP epsilon": (
                rounded_up(table.policy.ldp_epsilon),
                "Plain local differential privacy that follows from the levels: no report "
                "tells any two answers apart by more than this, rounded up.",
            ),
            "Saturation": (
                "none" if saturation is None else f"{saturation:.3f}",
                "Budget of a level above this point buys no accuracy while the others stay as "
                "they are. Known for the usual rule only.",
            ),
            "Gap to the best": (
                f"{max(gap, 1e-9):.0e}",
                "No other choice of probabilities of this form has an error smaller by more "
                "than this share: proven by linear programming, not taken on trust.",
            ),
        }
    )


def _mechanisms(found: Answer, users: int) -> None:
    st.subheader("Total error of each mechanism")
    ranked = found.choice.candidates
    errors = np.array([root(one.error, users) for one in ranked])
    ours = [one.name for one in ranked].index(found.plan.table.model)
    show_table(
        {
            "mechanism": [one.label for one in ranked],
            "shorter is better": Bars(errors, _one_blue(len(ranked), ours)),
            "RMSE, people": errors.round(1),
            "against opt0": [f"{error / errors[ours] - 1:+.1%}" for error in errors],
        },
        accent=ours,
    )
    st.markdown(f"**{show.plain(found.choice.best.label)}.** {show.plain(found.choice.reason)}")


def _padding(plan: PaddingPlan, length: int, users: int) -> None:
    st.subheader("To how many items sets are padded or cut")
    shown = slice(0, _MOST_LENGTHS)
    errors = np.sqrt(users * plan.mse[shown])
    used = length - int(plan.lengths[0])
    show_table(
        {
            "length": plan.lengths[shown],
            "shorter is better": Bars(errors, _one_blue(errors.size, used)),
            "error, people": errors.round(1),
            "of which bias": np.sqrt(users * plan.bias2[shown]).round(1),
        },
        accent=used,
    )
    st.markdown(
        f"Best length **{plan.length}**; any from {plan.flat_lower} to {plan.flat_upper} is within "
        f"5 % of it. In use: {length}."
    )
    box = show.drawer("Draw the error against the length", "padding-drawn")
    if box.open:
        with box:
            show.chart(
                padding_figure(plan), "padding", "Expected error against the padding length."
            )


def _levels(plan: QuestionPlan, users: int) -> None:
    st.subheader("What a report does, level by level")
    table = plan.table
    policy, saturation = table.policy, table.saturation_epsilon
    unused = np.zeros(policy.size, dtype=bool)
    if saturation is not None:
        unused = policy.epsilons > saturation * (1 + 1e-9)
    errors = table.standard_errors(users)
    shown = slice(0, _MOST_ROWS)
    budgets = "budget" if saturation is None else "budget; dashed: saturation"
    show_table(
        {
            "level": policy.names[shown],
            "items": policy.item_counts[shown],
            "epsilon": policy.epsilons[shown].round(6),
            budgets: Bars(policy.epsilons[shown], SKY, saturation),
            "more budget": np.where(unused, "buys nothing", "helps")[shown],
        }
    )
    show_table(
        {
            "level": policy.names[shown],
            "a: 1 if true": table.a[shown].round(6),
            "b: 1 if not": table.b[shown].round(6),
            "shorter is better": Bars(errors[shown]),
            "std. error, people": errors[shown].round(1),
            "% of all": (100 * errors / users)[shown].round(3),
        }
    )
    st.caption(
        "A report has one bit per item: 1 with probability a if the item is the person's answer, "
        "else with probability b. The standard error is that of one rare item's estimated "
        "count: about two thirds of estimates fall within it."
    )
    box = show.drawer("Draw the levels", "levels-drawn")
    if box.open:
        picture, bars = box.columns(2)
        with picture:
            show.chart(
                level_error_figure(table, users),
                "level-errors",
                "Standard error of a rare item's count, one bar per level.",
            )
        with bars:
            show.chart(budget_figure(table), "budgets", "Budget per level and saturation point.")


def _prices(plan: QuestionPlan) -> None:
    st.subheader("What a little more budget would buy")
    if not plan.relaxations:
        st.markdown("No single level's budget would lower the error by itself.")
    for relaxation in plan.relaxations:
        st.markdown(
            f"- Raising the budget of **{show.plain(relaxation.level)}** by "
            f"{relaxation.amount:g} lowers the error measure by **{relaxation.saving:.1%}**."
        )
    certificate = plan.table.certificate
    if certificate is not None:
        st.success(
            f"Proven: no table of this form that keeps these budgets has an error measure below "
            f"{certificate.lower_bound:,.6f} per person; this one has "
            f"{plan.table.objective_value:,.6f}. Every pair of levels was checked again."
        )


def _scale(question: Question, users: int) -> None:
    st.subheader("If all budgets were larger or smaller")
    curve, policy = error_curve(question, users), question.policy
    errors = users * curve.total_error
    now = curve.scale.tolist().index(1.0)
    show_table(
        {
            "all budgets times": curve.scale,
            "largest epsilon": (curve.scale * policy.epsilons.max()).round(3),
            "shorter is better": Bars(errors, _one_blue(errors.size, now)),
            "total error, people": errors.round(1),
        },
        accent=now,
    )
    box = show.drawer("Draw the error against the budgets", "scale-drawn")
    if box.open:
        with box:
            show.chart(
                frontier_figure(curve),
                "frontier",
                "Error falls as all budgets are scaled up; today's budgets are at factor 1.",
            )


def _one_blue(size: int, place: int) -> list[str]:
    return [BLUE if row == place else GREY for row in range(size)]
