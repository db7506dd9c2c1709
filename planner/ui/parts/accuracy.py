"""Accuracy first: from an error that is wanted to the budgets or the people that it takes."""

from __future__ import annotations

import copy

import streamlit as st

from planner.planning.whole_survey.question_plan import QuestionPlan
from planner.planning.whole_survey.sentences import percent
from planner.planning.whole_survey.target_answers import TargetAnswer
from planner.survey import Question
from planner.survey.target import Target
from planner.ui.draft.categorical import CategoricalDraft
from planner.ui.parts import cells, show
from planner.ui.parts.fields import kept_item
from planner.ui.parts.results import needed, target_answer
from planner.ui.parts.tables import show_table
from planner.ui.state import replace_draft, session

ENTRY = "Start from the accuracy that you need: get the budgets, or the people"
_GOALS = {
    "total": "a total error of at most",
    "level": "a standard error of a level's rare item of at most",
    "detect": "to detect items that have at least",
}
_MOST_LEVELS = 1000


def show_accuracy(draft: CategoricalDraft, plan: QuestionPlan) -> None:
    """Ask for a target; say how many people, and which budgets, reach it."""
    box = show.drawer(ENTRY, "accuracy")
    if not box.open:
        return
    with box, show.complaint():
        target = _asked(plan)
        answer = needed(draft, plan.question, target)
        people, budgets = st.columns(2)
        with people:
            _people(answer)
        with budgets:
            _budgets(plan, target, answer)


def offer_people(users: int | None, what: str = "With the budgets as they are") -> None:
    """Say how many people are enough, and put their number into the survey on request."""
    if users is None:
        st.markdown(f"**{what}, no number of people is enough**: part of the error is a bias.")
        return
    st.markdown(f"**{what}, ask {users:,} people.**")
    st.button(f"Ask {users:,} people", on_click=_ask, args=(users,))


def _asked(plan: QuestionPlan) -> Target:
    names = plan.question.policy.names
    total_alone = plan.padding_length is not None or plan.channel is not None
    goals = {"total": _GOALS["total"]} if total_alone else _GOALS
    kind, value, level = st.columns(3, vertical_alignment="bottom")
    goal = kept_item(
        kind.selectbox,
        f"I have {plan.users:,} people and need",
        f"goal-{len(goals)}",
        "total",
        options=goals,
    )
    typed = kept_item(
        value.text_input,
        f"this share of {'half the range' if plan.question.of_mean else 'all people'}",
        "goal-value",
        "1 %",
        help="Such as 1 % or 0.01. Detecting: told apart from an item that nobody has, by a "
        "test at 95 % with a chance of 80 %.",
    )
    options = [*([] if goal == "level" else [""]), *names[:_MOST_LEVELS]]
    chosen = kept_item(
        level.selectbox,
        "for the level",
        f"goal-level-{goal}-{hash(names)}",
        options[0],
        options=options,
        format_func=lambda name: name or "all levels",
        disabled=goal == "total",
    )
    share = cells.probability(typed, "share of all people")
    return Target(
        error=None if goal == "detect" else share,
        detect=share if goal == "detect" else None,
        level=None if goal == "total" else chosen or None,
    )


def _people(answer: TargetAnswer) -> None:
    enough = "enough" if answer.met else "not enough"
    st.markdown(f"Now it is {show.plain(percent(answer.reached))}: {enough}.")
    offer_people(answer.users)


def _budgets(plan: QuestionPlan, target: Target, answer: TargetAnswer) -> None:
    """The smallest budgets for these people, with a button where the table can take them.

    Nothing is searched for channels, and for mechanisms that have one budget for all levels.
    """
    policy = plan.deployed.policy
    if plan.channel or plan.lower_bound is None:
        st.markdown(show.plain(answer.budgets))
        return
    adjustable = _adjustable(plan, target)
    found = target_answer(plan, target, adjustable)
    st.markdown(show.plain(found.reason))
    if not found.possible:
        return
    now, then = policy.epsilons, found.certified.policy.epsilons
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


def _adjustable(plan: QuestionPlan, target: Target) -> tuple[str, ...] | None:
    """The levels whose budgets may change; ``None`` for all."""
    names, graph = plan.question.policy.names, not plan.deployed.policy.rule.by_level
    some = kept_item(
        st.toggle,
        "Only some budgets may change",
        "goal-some",
        False,
        help="The other levels keep the budget in the table.",
        disabled=graph,
    )
    if not some or graph:
        return None
    asked = names[-1] if target.level is None else target.level
    chosen = kept_item(
        st.multiselect,
        "Budgets that may change",
        f"goal-levels-{asked}-{hash(names)}",
        [asked],
        options=names,
    )
    return tuple(chosen)


def _ask(users: int) -> None:
    changed = copy.deepcopy(session().draft)
    changed.users = f"{users:,}"
    replace_draft(changed, "asking as many people as a target needs")


def _use_budgets(question: Question, epsilons: list[float]) -> None:
    changed = copy.deepcopy(session().draft)
    wanted = dict(zip(question.policy.names, epsilons, strict=True))
    for draft in changed.questions:
        if isinstance(draft, CategoricalDraft) and draft.name == question.name:
            for row in draft.rows:
                if row["level"].strip() in wanted:
                    row["epsilon"] = cells.budget_text(wanted[row["level"].strip()])
    replace_draft(changed, "taking the budgets for a target")
