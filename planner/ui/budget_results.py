"""What budgets cost: errors, probabilities, proof, prices, and the way back from a target."""

from __future__ import annotations

import numpy as np
import streamlit as st

from planner.charts.levels import budget_figure, level_error_figure
from planner.charts.plans import frontier_figure, mechanism_figure, padding_figure
from planner.errors import PlannerError
from planner.planning.frequency import QuestionPlan
from planner.planning.padding import PaddingPlan
from planner.survey import Question
from planner.target import Target
from planner.ui import cells, show
from planner.ui.results import Answer, answer, error_curve, root, target_answer
from planner.ui.state import kept, replace_draft, session

__all__ = ["show_results"]

_MOST_ROWS = 10_000


def show_results(question: Question, users: int) -> None:
    """The plan of ``question`` for ``users`` people, from the headline to the fine print."""
    found = answer(question, users)
    _headline(found, users)
    _mechanisms(found, users)
    if found.padding is not None:
        _padding(found.padding, found.padding_length or 1, users)
    _levels(found.plan, users)
    _prices(found.plan)
    if question.kind == "categorical":
        _scale(question, users)
        _inverse(question, users)


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
                show.rounded_up(table.policy.ldp_epsilon),
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
    ours = next(one for one in ranked if one.name == found.plan.table.model)
    errors = {one.label: root(one.error, users) for one in ranked}
    picture, numbers = st.columns([5, 4])
    with picture:
        show.chart(
            mechanism_figure(found.choice, users, ours.name),
            "mechanisms",
            f"Total error per mechanism; the smallest is {ranked[0].label}.",
        )
    with numbers:
        show.table(
            {
                "mechanism": list(errors),
                "error, people": [round(error, 1) for error in errors.values()],
                "against opt0": [f"{e / errors[ours.label] - 1:+.1%}" for e in errors.values()],
            }
        )
    st.markdown(f"**{show.plain(found.choice.best.label)}.** {show.plain(found.choice.reason)}")


def _padding(plan: PaddingPlan, length: int, users: int) -> None:
    st.subheader("To how many items sets are padded or cut")
    picture, numbers = st.columns([5, 4])
    with picture:
        show.chart(
            padding_figure(plan),
            "padding",
            "Expected error against the padding length.",
        )
    with numbers:
        shown = slice(0, 12)
        show.table(
            {
                "length": plan.lengths[shown],
                "error, people": np.sqrt(users * plan.mse[shown]).round(1),
                "of which bias": np.sqrt(users * plan.bias2[shown]).round(1),
            }
        )
    st.markdown(
        f"Best length **{plan.length}**; any from {plan.flat_lower} to {plan.flat_upper} is within "
        f"5 % of it. In use: {length}."
    )


def _levels(plan: QuestionPlan, users: int) -> None:
    st.subheader("What a report does, level by level")
    table = plan.table
    picture, budgets = st.columns(2)
    with picture:
        show.chart(
            level_error_figure(table, users),
            "level-errors",
            "Standard error of a rare item's count, one bar per level.",
        )
    with budgets:
        show.chart(budget_figure(table), "budgets", "Budget per level and the saturation point.")
    policy = table.policy
    saturation = table.saturation_epsilon
    unused = np.zeros(policy.size, dtype=bool)
    if saturation is not None:
        unused = policy.epsilons > saturation * (1 + 1e-9)
    errors = table.standard_errors(users)
    show.table(
        {
            "level": policy.names[:_MOST_ROWS],
            "items": policy.item_counts[:_MOST_ROWS],
            "epsilon": policy.epsilons[:_MOST_ROWS].round(6),
            "a: 1 if true": table.a[:_MOST_ROWS].round(6),
            "b: 1 if not": table.b[:_MOST_ROWS].round(6),
            "std. error, people": errors[:_MOST_ROWS].round(1),
            "std. error, %": (100 * errors / users)[:_MOST_ROWS].round(3),
            "more budget": np.where(unused, "buys nothing", "helps")[:_MOST_ROWS],
        }
    )
    st.caption(
        "A report has one bit per item: 1 with probability a if the item is the person's answer, "
        "else with probability b. The standard error is that of one rare item's estimated "
        "count: about two thirds of estimates fall within it."
    )


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
    curve = error_curve(question, users)
    policy = question.policy
    picture, numbers = st.columns([5, 4])
    with picture:
        show.chart(
            frontier_figure(curve),
            "frontier",
            "Error falls as all budgets are scaled up; today's budgets are at factor 1.",
        )
    with numbers:
        show.table(
            {
                "factor": curve.scale,
                "largest epsilon": (curve.scale * policy.epsilons.max()).round(3),
                "total error, people": (users * curve.total_error).round(1),
            }
        )


def _inverse(question: Question, users: int) -> None:
    st.subheader("The other way round: from an error to budgets")
    chosen = kept(
        st.toggle,
        "Set a target error, get the budgets",
        "inverse",
        st.session_state.get("inverse", False),
    )
    st.session_state["inverse"] = chosen
    if chosen:
        _targets(question, users)


def _targets(question: Question, users: int) -> None:
    names = question.policy.names
    kind, value, level = st.columns(3, vertical_alignment="bottom")
    with kind:
        goal = kept(
            st.selectbox,
            "I need",
            "goal",
            "total",
            options=["total", "level", "detect"],
            format_func={
                "total": "a total error of at most",
                "level": "a standard error of a level's rare item of at most",
                "detect": "to detect items that have at least",
            }.__getitem__,
        )
    with value:
        typed = kept(
            st.text_input,
            "this share of all people",
            "goal-value",
            "1 %",
            help="Such as 1 % or 0.01. Detecting: told apart from an item that nobody has, by a "
            "test at 95 % with a chance of 80 %.",
        )
    with level:
        options = [None, *names[:1000]] if goal != "level" else list(names[:1000])
        chosen = kept(
            st.selectbox,
            "for the level",
            f"goal-level-{goal}-{hash(names)}",
            options[0],
            options=options,
            format_func=lambda name: "all levels" if name is None else name,
            disabled=goal == "total",
        )
    fixed = st.toggle(
        "Only some budgets may change",
        key="goal-some",
        help="The other levels keep the budget in the table.",
        disabled=question.policy.rule_name == "matrix",
    )
    adjustable = None
    if fixed and question.policy.rule_name != "matrix":
        adjustable = tuple(st.multiselect("Budgets that may change", names, default=names[-1:]))
    try:
        share = cells.probability(typed, "share of all people")
        target = Target(
            error=None if goal == "detect" else share,
            detect=share if goal == "detect" else None,
            level=None if goal == "total" else chosen,
        )
        found = target_answer(question, users, target, adjustable)
    except PlannerError as error:
        st.warning(show.plain(error))
        return
    if not found.possible:
        st.warning(show.plain(found.reason))
        return
    st.markdown(show.plain(found.reason))
    now, then = question.policy.epsilons, found.table.policy.epsilons
    show.table(
        {
            "level": names,
            "epsilon now": now.round(6),
            "epsilon needed": then.round(6),
            "change": [f"{b / a - 1:+.1%}" for a, b in zip(now, then, strict=True)],
        }
    )
    if question.policy.rule_name != "matrix":
        st.button(
            "Put these budgets into the table",
            on_click=_use_budgets,
            args=(question, then.tolist()),
        )


def _use_budgets(question: Question, epsilons: list[float]) -> None:
    import copy

    from planner.ui.draft.categorical import CategoricalDraft

    here = session()
    changed = copy.deepcopy(here.draft)
    needed = dict(zip(question.policy.names, epsilons, strict=True))
    for draft in changed.questions:
        if isinstance(draft, CategoricalDraft) and draft.name == question.name:
            for row in draft.rows:
                if row["level"].strip() in needed:
                    row["epsilon"] = cells.budget_text(needed[row["level"].strip()])
    replace_draft(changed, "taking the budgets for a target")
