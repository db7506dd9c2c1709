"""Page 6: several questions asked of the same people, and the budget they share."""

from __future__ import annotations

import copy

import numpy as np
import streamlit as st

from planner.deployment.parameter_file.survey_plans import SurveyPlan, plan_survey_with
from planner.errors import PlannerError
from planner.planning.ledger import Ledger, read_ledger
from planner.planning.whole_survey.plan import WholePlan
from planner.policy.budget_text import rounded_up
from planner.show.charts.style import BLUE, ORANGE
from planner.ui.draft.categorical import CategoricalDraft
from planner.ui.draft.numeric import NumericDraft
from planner.ui.draft.parts import QuestionDraft
from planner.ui.draft.sampled import SampledDraft
from planner.ui.parts import show, uploads
from planner.ui.parts.fields import kept, kept_choice
from planner.ui.parts.tables import Bars, show_table
from planner.ui.state import replace_draft, session, undo

__all__ = ["page"]
_DESIGNS = {
    "split": "everybody answers everything (budgets are split)",
    "one-each": "everybody answers one question (drawn at random)",
}
_OBJECTIVES = {
    "sum": "the errors, added up by weight",
    "minimax": "the largest error relative to its target",
}
_KINDS: dict[type[QuestionDraft], str] = {
    CategoricalDraft: "a choice",
    NumericDraft: "a number",
    SampledDraft: "a rare answer",
}
_HIDDEN = {"label_visibility": "collapsed"}


def page() -> None:
    """List the questions, plan what they share, and keep the ledger."""
    show.header(
        "Survey",
        "Whoever answers several questions reveals something with each of them. The levels state "
        "what a person tolerates for the whole survey; here the questions share it.",
    )
    with st.container(key="questions"):
        _questions()
    _add()
    _aims()
    _ledger()
    built = session().build()
    show.problems(built.problems, "The rest is planned below; mend it on the question's page.")
    if built.survey is not None:
        with show.complaint():
            _results(plan_survey_with(built.survey, session().ledger))


def _questions() -> None:
    here = session().draft
    widths = [3, 2, 1.6, 1.4, 1.8, 1.8]
    titles = ("Question", "Asks for", "In the survey", "Weight", "Exact enough at", "")
    for column, title in zip(st.columns(widths), titles, strict=True):
        column.caption(title)
    for place, draft in enumerate(here.questions):
        columns = st.columns(widths, vertical_alignment="center")
        columns[0].markdown(f"**{show.plain(draft.name)}**")
        several = isinstance(draft, CategoricalDraft) and draft.several
        columns[1].markdown("several choices" if several else _KINDS[type(draft)])
        draft.included = kept(
            columns[2].toggle,
            "Part of the survey",
            f"v-included-{place}",
            draft.included,
            **_HIDDEN,
        )
        draft.aim.weight = kept(
            columns[3].text_input, "Weight", f"v-weight-{place}", draft.aim.weight, **_HIDDEN
        )
        draft.aim.error = kept(
            columns[4].text_input,
            "Exact enough at a total error of",
            f"v-error-{place}",
            draft.aim.error,
            placeholder="1 %",
            **_HIDDEN,
        )
        columns[5].button(
            "Remove", key=f"v-remove-{place}-{session().revision}", on_click=_remove, args=(place,)
        )


def _add() -> None:
    columns = st.columns(4)
    for column, (kind, label) in zip(columns, _KINDS.items(), strict=False):
        column.button(f"Add {label}", on_click=_add_question, args=(kind,), width="stretch")
    if session().undo:
        columns[3].button(f"Undo: {session().undo[-1][0]}", on_click=undo, width="stretch")


def _add_question(kind: type[QuestionDraft]) -> None:
    changed = copy.deepcopy(session().draft)
    taken = {draft.name for draft in changed.questions}
    name = next(f"question {k}" for k in range(1, 10_000) if f"question {k}" not in taken)
    changed.questions.append(_new(kind, name))
    replace_draft(changed, "adding a question")


def _new(kind: type[QuestionDraft], name: str) -> QuestionDraft:
    if kind is NumericDraft:
        return NumericDraft(name, epsilon="2")
    blank = {"level": "usual", "epsilon": "1", "items": "", "count": "10"}
    if kind is CategoricalDraft:
        return CategoricalDraft(name, [blank])
    rare = {"level": "rare", "epsilon": "1", "value": "the rare answer", "expected": "100"}
    return SampledDraft(name, [rare])


def _remove(place: int) -> None:
    changed = copy.deepcopy(session().draft)
    removed = changed.questions.pop(place)
    replace_draft(changed, f"removing {removed.name!r}")


def _aims() -> None:
    here = session().draft
    left, right = st.columns(2)
    here.design = kept_choice(left.radio, "Who answers what", "v-design", here.design, _DESIGNS)
    here.objective = kept_choice(
        right.radio, "Make as small as possible", "v-objective", here.objective, _OBJECTIVES
    )


def _ledger() -> None:
    """What earlier collections from the same people have spent."""
    here = session()
    with st.expander("Were the same people asked before?"):
        st.file_uploader(
            "Ledger of earlier collections",
            type=["json"],
            key=f"ledger-{here.revision}",
            on_change=_take_ledger,
            help="A file that was downloaded here after an earlier survey. What was spent is "
            "taken off every level's budget, level by level, by name.",
        )
        if here.ledger is None:
            return
        ledger = Ledger.model_validate_json(here.ledger)
        levels = {level: None for one in ledger.collections for level in one.spent}
        show_table(
            {"level": list(levels), "spent so far": [ledger.spent(level) for level in levels]}
        )
        st.button("Forget the ledger", on_click=_forget_ledger)


def _take_ledger() -> None:
    here = session()
    file = st.session_state[f"ledger-{here.revision}"]
    if file is None:
        return
    try:
        with uploads.as_file(file.name, file.getvalue()) as path:
            here.ledger = read_ledger(path).model_dump_json()
    except PlannerError as error:
        here.complaints.append(str(error))


def _forget_ledger() -> None:
    here = session()
    here.ledger = None
    here.revision += 1  # the upload goes with it


def _results(plan: SurveyPlan) -> None:
    if plan.whole is not None:
        if plan.whole.several:
            _sharing(plan.whole)
        _targets(plan.whole)
        _spending(plan.whole)
    for name in plan.sampled:
        st.info(
            f"{show.plain(name)} is asked in two rounds. Its guarantee is of another nature and "
            "takes no part in sharing: whoever can link both rounds learns the answer. See the "
            "page Sampling Privacy."
        )


def _sharing(whole: WholePlan) -> None:
    found = whole.allocation
    st.subheader("Split the budget, or ask one question each?")
    recommended = "one question each" if found.better == "one-each" else "everything of everybody"
    st.markdown(f"**Recommended: {recommended}.** {show.plain(found.reason)}")
    if found.better != whole.survey.design:
        st.warning("The survey uses the other design; change it above, or keep it knowingly.")
    designs = {
        "split": (ORANGE, "of the budget", found.shares, found.errors),
        "one each": (BLUE, "of the people", found.one_each.fractions, found.one_each.errors),
    }
    rows = [
        (name, design, f"{shares[i]:.1%} {what}", colour, errors[i])
        for i, name in enumerate(found.names)
        for design, (colour, what, shares, errors) in designs.items()
    ]
    names, which, parts, colours, squared = map(list, zip(*rows, strict=True))
    percent = 100 * np.sqrt(np.maximum(squared, 0.0) / whole.survey.users)
    show_table(
        {
            "question": names,
            "design": which,
            "gets": parts,
            "shorter is better": Bars(percent, colours),
            "error, % of people": [f"{error:.3f}" for error in percent],
        }
    )
    st.caption(
        f"Errors are roots of total squared errors; of a number, shares of half its range. Proven: "
        f"no other split has a smaller objective by more than {max(found.relative_gap, 1e-9):.0e}."
    )


def _targets(whole: WholePlan) -> None:
    rows = [(q.question.name, one) for q in whole.questions for one in q.targets]
    if not rows:
        return
    st.subheader("Exact enough?")
    show_table(
        {
            "question": [name for name, _ in rows],
            "wanted": [one.target.text for _, one in rows],
            "reached": [f"{one.reached:.3%}" for _, one in rows],
            "enough": ["yes" if one.met else "no" for _, one in rows],
            "people needed": [f"{one.users:,}" for _, one in rows],
        }
    )
    for name, one in rows:
        st.markdown(f"- {show.plain(name)}: {show.plain(one.budgets)}")


def _spending(whole: WholePlan) -> None:
    st.subheader("What a person spends")
    rows = whole.spending
    show_table(
        {
            "question": [row.question for row in rows],
            "level": [row.level for row in rows],
            "tolerated in all": [round(row.tolerated, 6) for row in rows],
            "left": [round(row.left, 6) for row in rows],
            "spent here": [round(row.spent, 6) for row in rows],
        }
    )
    st.markdown(
        f"A person spends at most epsilon **{rounded_up(whole.most_spent)}** in this survey: "
        "what the answered questions spend adds up."
    )
