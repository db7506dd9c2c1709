"""Page 1: budgets in a table, and at once what they cost."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from planner.planning.whole_survey.question_plan import QuestionPlan
from planner.survey.kinds import ORDINAL
from planner.survey.ordered_answers import COUNTS, MAX_ORDERED_ANSWERS, MEAN_OF_SCORES, SHARES_UP_TO
from planner.ui.draft.categorical import MOST_PAIR_LEVELS, CategoricalDraft, PairChoice
from planner.ui.parts import show
from planner.ui.parts.accuracy import show_accuracy
from planner.ui.parts.budget_results import show_results, whole_people
from planner.ui.parts.fields import edit_frame, edit_rows, kept
from planner.ui.parts.opening import show_opening
from planner.ui.parts.questions import place_of, question_of
from planner.ui.parts.results import planned_question
from planner.ui.state import session

_RULES = {
    "min": "the smaller of the two budgets (usual)",
    "avg": "the average of the two budgets",
    "pairs": "what I tick for each pair (policy graph)",
}
_OBJECTIVES = {
    "worst-case": "the total error for the least favourable answers",
    "expected": "the total error I expect from the shares in the table",
    "minimax": "the error of the worst single item",
}
_WANTED = {
    SHARES_UP_TO: "the total error of the shares up to each answer",
    COUNTS: "the total error of the counts of each answer",
    MEAN_OF_SCORES: "the error of the mean of scores, and nothing else",
}
_POPULARITY = {
    "zipf": "few popular, many rare",
    "uniform": "all equally popular",
    "given": "as in the file",
}


def page() -> None:
    """Show the levels for editing, and the plan of all that is right."""
    refused = bool(session().complaints)
    show.header(
        "Budgets",
        "State how much each kind of answer may reveal; see at once how exact the survey will "
        "be. A budget (epsilon) of 0 reveals nothing; with a budget of ln 3, a report shifts "
        "the odds between two answers by a factor of 3 at most.",
    )
    show_opening()
    draft = question_of(CategoricalDraft, "budgets")
    if draft is None:
        st.info("This survey has no categorical question. Add one on the page Survey.")
        return
    _survey_fields(draft)
    _kind_fields(draft)
    accuracy = st.container()
    _level_table(draft)
    sentences = st.container()
    if draft.rule == "pairs":
        _pair_table(draft)
    question, found = draft.build()
    users, missing = session().draft.build_users()
    with sentences:
        show.problems(
            [*missing, *found],
            "Everything else is planned below. Export waits until this is mended.",
        )
    if refused:
        st.info("Nothing was opened. The survey above is as it was before.")
        st.button("Show its results")
    elif question is not None and users is not None:
        with show.complaint():
            plan = planned_question(draft, question)
            _before(plan)
            show_results(plan)
            with accuracy:
                show_accuracy(draft, plan)


def _before(plan: QuestionPlan) -> None:
    """Say what the last change did to the error."""
    typed = session().typed
    about, shown = (plan.name, plan.objective_name), (plan.total_error, plan.total_error)
    name, before, now = typed.get("plan seen", (about, *shown))
    if name != about:
        before = now = plan.total_error
    if now != plan.total_error:
        before, now = now, plan.total_error
    typed["plan seen"] = (about, before, now)
    if before != now:
        st.caption(
            f"Before the last change the {show.plain(plan.objective_name)} was "
            f"{whole_people(plan, before)}, now it is {whole_people(plan, now)} "
            f"({now / before - 1:+.1%})."
        )


def _survey_fields(draft: CategoricalDraft) -> None:
    survey, place = session().draft, place_of(draft)
    name, users, asked = st.columns([2, 1, 2], vertical_alignment="bottom")
    kept(name.text_input, "Survey", "survey-name", survey, "name")
    kept(
        users.text_input,
        "Number of people asked",
        "users",
        survey,
        "users",
        help="The more people, the smaller the error relative to their number.",
    )
    kept(asked.text_input, "Question", f"question-name-{place}", draft, "name")
    rule, objective = st.columns(2)
    kept(
        rule.selectbox,
        "A pair of answers is protected by",
        f"rule-{place}",
        draft,
        "rule",
        options=_RULES,
        help="Nobody who sees a report may tell two answers apart by more than the budget "
        "of the pair.",
    )
    ordered = draft.kind == ORDINAL
    kept(
        objective.selectbox,
        "Make as small as possible",
        f"{'wanted' if ordered else 'objective'}-{place}",
        draft,
        "wanted" if ordered else "objective",
        options=_WANTED if ordered else _OBJECTIVES,
    )


def _kind_fields(draft: CategoricalDraft) -> None:
    """One answer, one of answers in order, or several answers; how well it may be guessed."""
    place = place_of(draft)
    columns = iter(st.columns([5, 3], vertical_alignment="bottom"))
    if draft.kind != ORDINAL:
        kept(
            next(columns).toggle,
            "A person may have several of these answers, or none",
            f"several-{place}",
            draft,
            "several",
            help="Then everybody's set is padded or cut to one length, and one item of it is "
            "reported.",
        )
    if not draft.several:
        kept(
            next(columns).toggle,
            "These answers have an order",
            f"in-order-{place}",
            draft,
            "in_order",
            help="Such as brackets, ages or agreement. Then the shares of people up to each answer "
            "are made exact, with the best of all mechanisms: from them come quartiles and a mean. "
            f"2 to {MAX_ORDERED_ANSWERS} answers.",
        )
    if draft.several:
        _set_fields(draft)
    elif draft.in_order:
        _order_fields(draft)


def _order_fields(draft: CategoricalDraft) -> None:
    place, (order, scores) = place_of(draft), st.columns(2)
    kept(
        order.text_input,
        "Answers from the lowest to the highest",
        f"order-{place}",
        draft,
        "order",
        placeholder="as in the table",
        help="Needed only if the table does not have them in this order, level after level.",
    )
    kept(
        scores.text_input,
        "What each counts for in a mean",
        f"scores-{place}",
        draft,
        "scores",
        placeholder="no mean is wanted",
        help="A number for each answer, in this order, such as 0, 1.5, 4, 7.5, 12.",
    )


def _set_fields(draft: CategoricalDraft) -> None:
    place = place_of(draft)
    sizes, popularity, padding = st.columns([3, 2, 1], vertical_alignment="bottom")
    kept(
        sizes.text_input,
        "Share or number of people with 0, 1, 2, ... answers",
        f"sizes-{place}",
        draft.sets,
        "sizes",
        help="Empty: only the padding length is known.",
    )
    kept(
        popularity.selectbox,
        "Answers are",
        f"popularity-{place}",
        draft.sets,
        "popularity",
        options={
            key: words for key, words in _POPULARITY.items() if key != "given" or draft.sets.weights
        },
    )
    kept(
        padding.text_input,
        "Padding length",
        f"padding-{place}",
        draft.sets,
        "padding",
        help="Empty: the best one is found.",
    )


def _level_table(draft: CategoricalDraft) -> None:
    hidden: tuple[str, ...] = () if draft.objective == "expected" else ("share",)
    if draft.kind == ORDINAL:
        mean = draft.wanted == MEAN_OF_SCORES
        hidden = ("count", "importance", "share") if mean else ("count", "share")
    edit_rows(f"levels-{place_of(draft)}", draft.rows, _level_columns(), draft.take_rows, hidden)
    st.caption(
        "Double-click or press Enter to edit; the empty last row adds a level; select a row and "
        "press Delete to remove it. Larger epsilon: less private, more exact."
    )


def _level_columns() -> dict[str, Any]:
    text = st.column_config.TextColumn
    return {
        "level": text("Level", default="", help="A name for answers of equal sensitivity."),
        "epsilon": text(
            "Budget (epsilon)",
            default="",
            help="A number such as 1.5, or ln 4: the odds may then change fourfold. Above 0, "
            "at most 50. Smaller is more private.",
        ),
        "items": text(
            "Items",
            default="",
            width="large",
            help="The answers in this level, separated by commas or semicolons; quote an item "
            "that contains one. May stay empty if you give their number.",
        ),
        "count": text(
            "Number of items", default="", help="Needed only while the items are not listed."
        ),
        "importance": text(
            "Importance", default="", help="How much this level's error matters; 1 if empty."
        ),
        "share": text(
            "Expected share",
            default="",
            help="Share of people whose answer is in this level, such as 0.2 or 20 %.",
        ),
    }


def _pair_table(draft: CategoricalDraft) -> None:
    rows = draft.pair_rows()
    levels = {name for row in rows for name in row[:2]}
    if len(levels) > MOST_PAIR_LEVELS:
        st.info(
            f"Pairs of more than {MOST_PAIR_LEVELS} levels are better written in a file: give the "
            "question rule = [[...], ...] in TOML and open it here."
        )
        return
    st.markdown("**Which pairs must not be told apart?** Untick a pair that needs no protection.")
    edited = edit_frame(
        f"pairs-{place_of(draft)}-{'|'.join(sorted(levels))}-{len(rows)}",
        lambda: pd.DataFrame(rows, columns=["first", "second", "protected", "budget"]),
        disabled=["first", "second"],
        column_config={
            "first": "Level",
            "second": "Against",
            "protected": st.column_config.CheckboxColumn("Protected"),
            "budget": st.column_config.TextColumn(
                "Own budget", default="", help="Empty: the smaller budget of the two levels."
            ),
        },
    )
    for row in edited.fillna("").itertuples():
        choice = PairChoice(bool(row.protected), str(row.budget).strip())
        pair = frozenset((str(row.first), str(row.second)))
        if choice == PairChoice(True, ""):
            draft.pairs.pop(pair, None)
        else:
            draft.pairs[pair] = choice
