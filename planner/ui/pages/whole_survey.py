"""Page 6: several questions asked of the same people, and the budget they share."""

from __future__ import annotations

import copy

import streamlit as st

from planner.errors import PlannerError
from planner.planning.ledger import Ledger, read_ledger
from planner.planning.whole_survey.cautions import survey_cautions
from planner.planning.whole_survey.plan import SurveyPlan
from planner.planning.whole_survey.sentences import (
    ALLOCATION_ERRORS,
    design_sentence,
    objective_sentence,
    percent,
    recommended_sentence,
    shares_sentence,
    spending_sentence,
    target_sentence,
)
from planner.show.charts.style import BLUE, ORANGE
from planner.survey.kinds import ORDINAL
from planner.ui.draft.categorical import CategoricalDraft
from planner.ui.draft.numeric import NumericDraft
from planner.ui.draft.parts import QuestionDraft
from planner.ui.draft.sampled import SampledDraft
from planner.ui.parts import show, uploads
from planner.ui.parts.fields import kept
from planner.ui.parts.questions import choose
from planner.ui.parts.results import survey_plan
from planner.ui.parts.tables import Bars, show_table
from planner.ui.state import replace_draft, session, undo

_DESIGNS = {
    "split": "everybody answers everything (budgets are split)",
    "one-each": "everybody answers one question (drawn at random)",
    "some-each": "everybody answers some questions (drawn at random)",
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
_CHOICES = {"item-set": "several choices", ORDINAL: "a scale"}
_PAGES: dict[type[QuestionDraft], str] = {
    CategoricalDraft: "budgets",
    NumericDraft: "answer_rates",
    SampledDraft: "sampling",
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
            _results(survey_plan(built.survey, session().ledger))


def _questions() -> None:
    here = session().draft
    widths = [3, 2, 1.6, 1.4, 1.8, 1.8]
    titles = ("Question", "Asks for", "In the survey", "Weight", "Exact enough at", "")
    with st.container(key="question-heads"):
        for column, title in zip(st.columns(widths), titles, strict=True):
            column.caption(title)
    for place, draft in enumerate(here.questions):
        columns = st.columns(widths, vertical_alignment="center")
        kept(columns[0].text_input, "Question", f"v-name-{place}", draft, "name", **_HIDDEN)
        kind = _KINDS[type(draft)]
        if isinstance(draft, CategoricalDraft):
            kind = _CHOICES.get(draft.kind, kind)
        if columns[1].button(f"Edit {kind}", key=f"v-edit-{place}-{session().revision}"):
            _edit(draft)
        kept(
            columns[2].toggle,
            "Part of the survey",
            f"v-included-{place}",
            draft,
            "included",
            **_HIDDEN,
        )
        kept(columns[3].text_input, "Weight", f"v-weight-{place}", draft.aim, "weight", **_HIDDEN)
        kept(
            columns[4].text_input,
            "Exact enough at a total error of",
            f"v-error-{place}",
            draft.aim,
            "error",
            placeholder="1 %",
            **_HIDDEN,
        )
        columns[5].button(
            "Remove", key=f"v-remove-{place}-{session().revision}", on_click=_remove, args=(place,)
        )


def _edit(draft: QuestionDraft) -> None:
    """Go to the question, on the page of its kind."""
    choose(draft)
    st.switch_page(st.session_state["pages"][_PAGES[type(draft)]])


def _add() -> None:
    columns = st.columns(4)
    for column, (kind, label) in zip(columns, _KINDS.items(), strict=False):
        column.button(f"Add {label}", on_click=_add_question, args=(kind,), width="stretch")
    if session().undo:
        columns[3].button(
            show.plain(f"Undo: {session().undo[-1][0]}"), on_click=undo, width="stretch"
        )


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
    kept(left.radio, "Who answers what", "v-design", here, "design", options=_DESIGNS)
    if here.design == "some-each":
        kept(
            left.text_input,
            "Questions a person answers",
            "v-asked",
            here,
            "asked",
            placeholder="the best number",
            help="Each gets an even part of its budgets. Left blank, the number with the smallest "
            "predicted error is planned.",
        )
    kept(
        right.radio,
        "Make as small as possible",
        "v-objective",
        here,
        "objective",
        options=_OBJECTIVES,
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
        still = "" if here.ledger is None else " The ledger that was here before is still used."
        here.complaints.append(f"{error}{still}")


def _forget_ledger() -> None:
    here = session()
    here.ledger = None
    here.revision += 1  # the upload goes with it


def _results(plan: SurveyPlan) -> None:
    show.warnings(survey_cautions(plan))
    if plan.several:
        _sharing(plan)
    _targets(plan)
    if plan.spending:
        _spending(plan)
    for one in plan.questions:
        if one.sampling is not None:
            st.info(
                f"{show.plain(one.name)} is asked in two rounds. Its guarantee is of another "
                "nature and takes no part in sharing: whoever can link both rounds learns the "
                "answer. See the page Sampling Privacy."
            )


def _sharing(plan: SurveyPlan) -> None:
    st.subheader("Split the budget, or ask some questions each?")
    found = plan.allocation
    each = "some" if found is None else found.some_each.in_words
    st.markdown(f"**{recommended_sentence(plan)}** {show.plain(design_sentence(plan))}")
    rows = [
        row
        for one in plan.sharing
        for row in (
            (one.question, "split", f"{one.share:.1%} of the budget", ORANGE, one.error),
            (
                one.question,
                f"{each} each",
                f"{one.fraction:.1%} of the people",
                BLUE,
                one.error_of_some,
            ),
        )
    ]
    names, which, parts, colours, errors = map(list, zip(*rows, strict=True))
    show_table(
        {
            "question": names,
            "design": which,
            "gets": parts,
            "shorter is better": Bars(errors, colours),
            "error": [percent(error) for error in errors],
        }
    )
    for sentence in (ALLOCATION_ERRORS, objective_sentence(plan), shares_sentence(plan)):
        st.caption(show.plain(sentence))


def _targets(plan: SurveyPlan) -> None:
    rows = [(one.name, answer) for one in plan.questions for answer in one.targets]
    if not rows:
        return
    st.subheader("Exact enough?")
    show_table(
        {
            "question": [name for name, _ in rows],
            "wanted": [one.wanted for _, one in rows],
            "reached": [percent(one.reached) for _, one in rows],
            "enough": ["yes" if one.met else "no" for _, one in rows],
            "people needed": [
                "no number is enough" if one.users is None else f"{one.users:,}" for _, one in rows
            ],
        }
    )
    st.markdown(
        "\n".join(f"- {show.plain(f'{name}. {target_sentence(one)}')}" for name, one in rows)
    )


def _spending(plan: SurveyPlan) -> None:
    st.subheader("What a person spends")
    rows = plan.spending
    show_table(
        {
            "question": [row.question for row in rows],
            "level": [row.level for row in rows],
            "tolerated in all": [round(row.tolerated, 6) for row in rows],
            "left": [round(row.left, 6) for row in rows],
            "spent here": [round(row.spent, 6) for row in rows],
        }
    )
    st.markdown(show.plain(spending_sentence(plan)))
