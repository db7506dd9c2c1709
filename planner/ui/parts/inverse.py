"""The other way round: from an error that is wanted to the budgets that it takes."""

from __future__ import annotations

import copy

import streamlit as st

from planner.planning.whole_survey.question_plan import QuestionPlan
from planner.solvers import MODELS
from planner.survey import Question
from planner.survey.target import Target
from planner.ui.draft.categorical import CategoricalDraft
from planner.ui.parts import cells, show
from planner.ui.parts.fields import kept_item
from planner.ui.parts.results import target_answer
from planner.ui.parts.tables import show_table
from planner.ui.state import replace_draft, session

__all__ = ["show_inverse"]

_GOALS = {
    "total": "a total error of at most",
    "level": "a standard error of a level's rare item of at most",
    "detect": "to detect items that have at least",
}
_MOST_LEVELS = 1000


def show_inverse(plan: QuestionPlan) -> None:
    """Ask for a target, and offer the smallest budgets that reach it.

    Nothing is asked for sets, whose padding length changes with the budgets, and for mechanisms
    that have one budget for all levels.
    """
    if plan.padding_length is not None or plan.question.mechanism not in MODELS:
        return
    st.subheader("The other way round: from an error to budgets")
    if kept_item(st.toggle, "Set a target error, get the budgets", "inverse", False):
        with show.complaint():
            _answer(plan, *_asked(plan.question))


def _asked(question: Question) -> tuple[Target, tuple[str, ...] | None]:
    """The target, and the levels whose budgets may change (``None``: all)."""
    names = question.policy.names
    kind, value, level = st.columns(3, vertical_alignment="bottom")
    goal = kept_item(kind.selectbox, "I need", "goal", "total", options=_GOALS)
    typed = kept_item(
        value.text_input,
        "this share of all people",
        "goal-value",
        "1 %",
        help="Such as 1 % or 0.01. Detecting: told apart from an item that nobody has, by a "
        "test at 95 % with a chance of 80 %.",
    )
    options = [*([] if goal == "level" else [None]), *names[:_MOST_LEVELS]]
    chosen = kept_item(
        level.selectbox,
        "for the level",
        f"goal-level-{goal}-{hash(names)}",
        options[0],
        options=options,
        format_func=lambda name: "all levels" if name is None else name,
        disabled=goal == "total",
    )
    graph = not question.policy.rule.by_level
    some = st.toggle(
        "Only some budgets may change",
        key="goal-some",
        help="The other levels keep the budget in the table.",
        disabled=graph,
    )
    adjustable = None
    if some and not graph:
        adjustable = tuple(st.multiselect("Budgets that may change", names, default=names[-1:]))
    share = cells.probability(typed, "share of all people")
    target = Target(
        error=None if goal == "detect" else share,
        detect=share if goal == "detect" else None,
        level=None if goal == "total" else chosen,
    )
    return target, adjustable


def _answer(plan: QuestionPlan, target: Target, adjustable: tuple[str, ...] | None) -> None:
    found = target_answer(plan, target, adjustable)
    if not found.possible:
        st.warning(show.plain(found.reason))
        return
    st.markdown(show.plain(found.reason))
    policy = plan.deployed.policy
    now, then = policy.epsilons, found.table.policy.epsilons
    show_table(
        {
            "level": policy.names,
            "epsilon spent now": now.round(6),
            "epsilon needed": then.round(6),
            "change": [f"{b / a - 1:+.1%}" for a, b in zip(now, then, strict=True)],
        }
    )
    if not policy.rule.by_level:
        return
    # The table has what is tolerated in all: what is needed at this share of what is left of it.
    tolerated = [
        row.tolerated - row.left + epsilon / plan.share
        for row, epsilon in zip(plan.spending, then.tolist(), strict=True)
    ]
    if plan.share < 1:
        st.caption(
            f"At {plan.share:.1%} of its budgets, which is this question's part of the survey now."
        )
    st.button(
        "Put these budgets into the table",
        on_click=_use_budgets,
        args=(plan.question, tolerated),
    )


def _use_budgets(question: Question, epsilons: list[float]) -> None:
    changed = copy.deepcopy(session().draft)
    needed = dict(zip(question.policy.names, epsilons, strict=True))
    for draft in changed.questions:
        if isinstance(draft, CategoricalDraft) and draft.name == question.name:
            for row in draft.rows:
                if row["level"].strip() in needed:
                    row["epsilon"] = cells.budget_text(needed[row["level"].strip()])
    replace_draft(changed, "taking the budgets for a target")
