"""Page 1: budgets in a table, and at once what they cost."""

from __future__ import annotations

import copy
from pathlib import PurePath
from typing import Any

import pandas as pd
import streamlit as st

from planner.errors import PlannerError
from planner.ui import show, uploads
from planner.ui.budget_results import show_results
from planner.ui.draft.categorical import (
    MOST_PAIR_LEVELS,
    CategoricalDraft,
    PairChoice,
    follow_renames,
    names_of,
)
from planner.ui.draft.parts import SetsDraft
from planner.ui.draft.survey import SurveyDraft
from planner.ui.rows import edit_rows
from planner.ui.state import (
    EXAMPLES,
    chosen_place,
    example_survey,
    kept,
    question_of,
    replace_draft,
    session,
    undo,
)

__all__ = ["page"]

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
_REST = "Everything else is planned below. Export waits until this is mended."


def page() -> None:
    """Show the levels for editing, and the plan of all that is right."""
    show.header(
        "Budgets",
        "State how much each kind of answer may reveal; see at once how exact the survey will "
        "be. A budget (epsilon) of 0 reveals nothing; with a budget of ln 3, a report shifts "
        "the odds between two answers by a factor of 3 at most.",
    )
    _open()
    draft = question_of(CategoricalDraft, "budgets")
    if draft is None:
        st.info("This survey has no categorical question. Add one on the page Survey.")
        return
    _survey_fields(draft)
    _set_fields(draft)
    _level_table(draft)
    sentences = st.container()
    if draft.rule == "pairs":
        _pair_table(draft)
    question, found = draft.build()
    built = session().build()
    with sentences:
        others = [sentence for sentence in built.problems if sentence not in found]
        users = [sentence for sentence in others if sentence.startswith("users")]
        show.problems([*users, *found], _REST)
    if question is None or built.survey is None:
        return
    try:
        show_results(question, built.survey.users)
    except PlannerError as error:
        st.error(show.plain(error))


def _open() -> None:
    here = session()
    with st.expander("Open a survey, a list of items, or an example"):
        left, right = st.columns(2)
        left.selectbox(
            "Example",
            [None, *EXAMPLES],
            format_func=lambda name: EXAMPLES[name] if name else "choose one",
            key=f"example-{here.revision}",
            on_change=_take_example,
        )
        right.file_uploader(
            "File",
            type=["toml", "csv", "json"],
            key=f"upload-{here.revision}",
            on_change=_take_upload,
            help="A survey (TOML), a list of items with level or epsilon (CSV, first line "
            "item,level,epsilon), or an exported parameter file (JSON). It stays on this machine.",
        )
        if here.undo:
            st.button(f"Undo: {here.undo[-1][0]}", on_click=undo)
    for problem in st.session_state.pop("upload-problems", []):
        st.error(show.plain(problem))


def _take_example() -> None:
    name = st.session_state[f"example-{session().revision}"]
    if name:
        st.query_params["example"] = name
        replace_draft(example_survey(name), f"opening the example {EXAMPLES[name]!r}")


def _take_upload() -> None:
    here = session()
    file = st.session_state[f"upload-{here.revision}"]
    if file is None:
        return
    name = PurePath(file.name).name
    try:
        if name.lower().endswith(".csv"):
            _take_items(here.draft, name, file.getvalue())
        else:
            replace_draft(uploads.survey_from_upload(name, file.getvalue()), f"opening {name}")
    except PlannerError as error:
        st.session_state["upload-problems"] = [str(error)]


def _take_items(draft: SurveyDraft, name: str, data: bytes) -> None:
    """Put the items of a CSV file in place of the current question's rows."""
    changed = copy.deepcopy(draft)
    found = [one for one in changed.questions if isinstance(one, CategoricalDraft)]
    if not found:
        found = [CategoricalDraft("question")]
        changed.questions += found
    chosen = found[min(chosen_place(CategoricalDraft), len(found) - 1)]
    chosen.rows = uploads.rows_from_items(name, data, chosen.rows)
    replace_draft(changed, f"opening {name}")


def _survey_fields(draft: CategoricalDraft) -> None:
    survey = session().draft
    place = survey.questions.index(draft)
    name, users, asked = st.columns([2, 1, 2], vertical_alignment="bottom")
    with name:
        survey.name = kept(st.text_input, "Survey", "survey-name", survey.name)
    with users:
        survey.users = kept(
            st.text_input,
            "Number of people asked",
            "users",
            survey.users,
            help="The more people, the smaller the error relative to their number.",
        )
    with asked:
        draft.name = kept(st.text_input, "Question", f"question-name-{place}", draft.name)
    rule, objective = st.columns(2)
    with rule:
        draft.rule = kept(
            st.selectbox,
            "A pair of answers is protected by",
            f"rule-{place}",
            draft.rule,
            options=list(_RULES),
            format_func=_RULES.__getitem__,
            help="Nobody who sees a report may tell two answers apart by more than the budget "
            "of the pair.",
        )
    with objective:
        draft.objective = kept(
            st.selectbox,
            "Make as small as possible",
            f"objective-{place}",
            draft.objective,
            options=list(_OBJECTIVES),
            format_func=_OBJECTIVES.__getitem__,
        )


def _set_fields(draft: CategoricalDraft) -> None:
    place = session().draft.questions.index(draft)
    several = kept(
        st.toggle,
        "A person may have several of these answers, or none",
        f"several-{place}",
        draft.sets is not None,
        help="Then everybody's set is padded or cut to one length, and one item of it is reported.",
    )
    if several and draft.sets is None:
        draft.sets = st.session_state.pop(f"sets-{place}", None) or SetsDraft()
    elif not several and draft.sets is not None:
        st.session_state[f"sets-{place}"], draft.sets = draft.sets, None
    if draft.sets is None:
        return
    sizes, popularity, padding = st.columns([3, 2, 1], vertical_alignment="bottom")
    with sizes:
        draft.sets.sizes = kept(
            st.text_input,
            "Share or number of people with 0, 1, 2, ... answers",
            f"sizes-{place}",
            draft.sets.sizes,
            help="Empty: only the padding length is known.",
        )
    with popularity:
        options = {
            "zipf": "few popular, many rare",
            "uniform": "all equally popular",
            "given": "as in the file",
        }
        if not draft.sets.weights:
            del options["given"]
        draft.sets.popularity = kept(
            st.selectbox,
            "Answers are",
            f"popularity-{place}",
            draft.sets.popularity,
            options=list(options),
            format_func=options.__getitem__,
        )
    with padding:
        draft.sets.padding = kept(
            st.text_input,
            "Padding length",
            f"padding-{place}",
            draft.sets.padding,
            help="Empty: the best one is found.",
        )


def _level_table(draft: CategoricalDraft) -> None:
    place = session().draft.questions.index(draft)
    hidden = () if draft.objective == "expected" else ("share",)
    typed = edit_rows(f"levels-{place}", draft.rows, _level_columns(), hidden)
    before = names_of(draft.rows)
    draft.rows = typed
    draft.pairs = follow_renames(draft.pairs, before, names_of(draft.rows))
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
    here = session()
    place = here.draft.questions.index(draft)
    key = f"pairs-{here.revision}-{place}-{'|'.join(sorted(levels))}-{len(rows)}"
    if key not in st.session_state:
        st.session_state[f"{key}-seed"] = pd.DataFrame(
            rows, columns=["first", "second", "protected", "budget"]
        )
    st.markdown("**Which pairs must not be told apart?** Untick a pair that needs no protection.")
    edited = st.data_editor(
        st.session_state[f"{key}-seed"],
        key=key,
        hide_index=True,
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
