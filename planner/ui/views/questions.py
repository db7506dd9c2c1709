"""Step 1: what is asked, of how many people, and how much each answer may reveal."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from planner.errors import PlannerError
from planner.laws.die import ACKNOWLEDGEMENTS
from planner.mechanisms.catalogue import CATALOGUE
from planner.planning.choice import mechanism_choices
from planner.planning.ledger import Ledger, read_ledger
from planner.show.blocks import Facts, numbers, texts
from planner.show.plan import question_blocks
from planner.survey.preferences import read_preferences
from planner.survey.values import text_of
from planner.ui import render
from planner.ui.document import (
    KINDS,
    Document,
    kind_of,
    new_question,
    set_kind,
    set_target,
    take_rows,
    target_text,
    texts_of,
    vouched,
)
from planner.ui.fields import MOST_PASTED, edit_frame, edit_rows, field, kept, kept_item
from planner.ui.opening import as_file
from planner.ui.results import chosen_place, planned_question, question_at, result, shown
from planner.ui.state import session

_MOST_PAIR_LEVELS = 30
_RULES = {"min": "the smaller of the two", "avg": "the average of the two", "pairs": "pair by pair"}
_CRITERIA = {"total": "the total error", "minimax": "the error of the worst single answer"}
_WANTED = {
    "shares up to": "errors of the shares up to each answer",
    "counts": "errors of the counts",
    "mean of scores": "the error of the mean of scores",
}
_DESIGNS = {
    "split": "everybody answers everything (budgets are split)",
    "one-each": "everybody answers one question (drawn at random)",
    "some-each": "everybody answers some questions (drawn at random)",
}
_POPULARITY = {"zipf": "few popular, many rare", "uniform": "all equally popular"}
_RELIES_ON = {
    "aggregates-only": "a trusted aggregator that releases the estimates alone",
    "round-two": "nobody seeing both rounds of a person",
}
_MODELS = {  # of preferences: what is typed, and a start
    "": ("everybody answers", {}),
    "normal": ("bell-shaped (normal)", {"mean": ("Typical", "5"), "sd": ("Spread", "1.5")}),
    "histogram": (
        "in bins (histogram)",
        {
            "edges": ("Ends of the bins, rising", "0; 1; 2; 4; 8"),
            "shares": ("Share in each bin", "0.1; 0.2; 0.4; 0.3"),
        },
    ),
    "sample": ("an uploaded sample", {}),
}


def page() -> None:
    """Show what is asked for editing, and at once what it costs."""
    render.header(
        "Questions", "What you ask, of how many people, and how much each answer may reveal."
    )
    here = session()
    name, users = st.columns([3, 2])
    survey = here.document["survey"]
    kept(name.text_input, "Survey", "survey-name", survey, "name")
    kept(users.text_input, "People asked", "users", survey, "users")
    figures = st.container()
    place = _choose()
    question = question_at(place)
    _about(question, place)
    if kind_of(question) == "numeric":
        _number(question, place)
    else:
        _levels(question, place)
        _of_kind(question, place)
    wrong = st.container()
    _options(question, place)
    _whole_survey(survey)
    found = result()
    with wrong:
        render.problems(found.mistakes, "What is shown is from before; nothing is exported.")
    with figures, shown(found, "figures"):
        plan = planned_question(found.plan, place)
        if plan is not None:
            render.render(block for block in question_blocks(plan) if isinstance(block, Facts))


def _choose() -> int:
    """The question to look at; add one, or remove it."""
    here = session()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        place = chosen_place(tuple(KINDS), "questions") or 0
        st.button("Add a question", on_click=_add)
        if len(here.document["question"]) > 1:
            st.button("Remove it", on_click=_remove, args=(place,))
    return place


def _add() -> None:
    here = session()
    names = [text_of(one.get("name")) for one in here.document["question"]]
    here.document["question"].append(new_question(names))
    here.typed["question"] = len(names)
    here.revision += 1


def _remove(place: int) -> None:
    here = session()
    del here.document["question"][place]
    here.typed["question"] = 0
    here.revision += 1


def _about(question: Document, place: int) -> None:
    name, kind, target = st.columns([3, 3, 2])
    kept(name.text_input, "Question", f"name-{place}", question, "name")
    field(
        kind.selectbox,
        "A person gives",
        f"kind-{place}",
        kind_of(question),
        partial(_take_kind, question),
        options=KINDS,
    )
    if kind_of(question) != "sampled-choice":
        field(
            target.text_input,
            "Exact enough at",
            f"target-{place}",
            target_text(question),
            partial(set_target, question),
            placeholder="such as 2 %",
            help="A total error, as a share of the people; of a mean, of half its range. Then you "
            "see how many people it takes.",
        )


def _take_kind(question: Document, kind: str) -> None:
    set_kind(question, kind)
    session().revision += 1


def _levels(question: Document, place: int) -> None:
    """The table of levels: the answers that share a budget."""
    kind, text = kind_of(question), st.column_config.TextColumn
    rows = question.get("level", [])
    columns: dict[str, Any] = {
        "name": text("Level", default="", help="A name for answers of equal sensitivity."),
        "epsilon": text(
            "Budget (epsilon)",
            default="",
            help="1.5, or ln 4: the odds may then change fourfold. Smaller is more private.",
        ),
        "items": text(
            "Answers",
            default="",
            width="large",
            help="Separated by semicolons or commas; quote an answer that holds one.",
        ),
    }
    if kind == "sampled-choice":
        columns["yes_counts"] = text(
            "Expected people", default="", help="With each of the answers, at the least: 30; 12."
        )
    elif kind != "ordinal":
        columns["item_count"] = text(
            "Or how many", default="", help="If the answers are not listed."
        )
    if kind != "sampled-choice" and _more_columns(rows, place):
        columns["importance"] = text("Importance", default="", help="1 if empty.")
        if kind != "ordinal":
            columns["prior"] = text(
                "Expected share", default="", help="Of the people: 0.2 or 20 %. Sum 1."
            )
    edit_rows(f"levels-{place}", texts_of(rows), columns, partial(take_rows, question))
    st.caption(
        f"Double-click to edit; the last row adds a level. At most 1,000 levels, {MOST_PASTED} "
        "rows pasted at once: open more as a file."
    )


def _more_columns(rows: list[Document], place: int) -> bool:
    used = any({"importance", "prior"} & set(row) for row in rows)
    return used or bool(session().typed.get(f"more-{place}", False))


def _of_kind(question: Document, place: int) -> None:
    """What one kind of question alone has."""
    kind = kind_of(question)
    if kind == "item-set":
        sets = question.setdefault("sets", {})
        sizes, popular, length = st.columns([3, 2, 1])
        kept(
            sizes.text_input,
            "People with 0, 1, 2, ... answers",
            f"sizes-{place}",
            sets,
            "sizes",
            placeholder="their shares, such as 10; 40; 30; 20",
        )
        kept(
            popular.selectbox,
            "Answers are",
            f"popularity-{place}",
            sets,
            "popularity",
            options=_POPULARITY,
        )
        kept(
            length.text_input,
            "Cut or pad to",
            f"padding-{place}",
            question,
            "padding_length",
            placeholder="the best length",
            help="Every set is padded or cut to this many answers, and one of them is reported.",
        )
    elif kind == "ordinal":
        order, scores = st.columns(2)
        kept(
            order.text_input,
            "From the lowest to the highest",
            f"order-{place}",
            question,
            "order",
            placeholder="as in the table",
        )
        kept(
            scores.text_input,
            "What each counts for in a mean",
            f"scores-{place}",
            question,
            "scores",
            placeholder="no mean is wanted",
        )
    elif kind == "sampled-choice":
        _sampling(question, place)


def _sampling(question: Document, place: int) -> None:
    about = question.setdefault("sampling", {"relies_on": "aggregates-only"})
    relies, everyone = st.columns([3, 1], vertical_alignment="bottom")
    field(
        relies.radio,
        "It relies on",
        f"relies-{place}",
        about.get("relies_on"),
        partial(_rely, about),
        options=_RELIES_ON,
    )
    kept(
        everyone.toggle, "Everyone has an answer", f"everyone-{place}", about, "everyone_has_value"
    )
    sentence = ACKNOWLEDGEMENTS.get(str(about.get("relies_on")), "")
    field(
        st.checkbox,
        f"I vouch for this: {sentence}",
        f"vouched-{about.get('relies_on')}-{place}",
        vouched(question),
        partial(_vouch, about, sentence),
    )


def _rely(about: Document, value: str) -> None:
    about["relies_on"] = value
    about.pop("acknowledged", None)


def _vouch(about: Document, sentence: str, agreed: bool) -> None:
    if agreed:
        about["acknowledged"] = sentence
    else:
        about.pop("acknowledged", None)


def _number(question: Document, place: int) -> None:
    lower, upper, epsilon, mean, sd = st.columns(5)
    kept(lower.text_input, "Smallest answer", f"lower-{place}", question, "lower")
    kept(upper.text_input, "Largest answer", f"upper-{place}", question, "upper")
    kept(epsilon.text_input, "Budget (epsilon)", f"epsilon-{place}", question, "epsilon")
    kept(
        mean.text_input,
        "Expected mean",
        f"mean-{place}",
        question,
        "mean",
        placeholder="the middle",
    )
    kept(
        sd.text_input,
        "Expected spread",
        f"sd-{place}",
        question,
        "sd",
        placeholder="the largest",
        help="A standard deviation.",
    )
    about = question.get("preferences", {})
    chosen = about.get("model", "")
    chosen = chosen if isinstance(chosen, str) and chosen in _MODELS else ""
    model, *columns = st.columns(3)
    field(
        model.selectbox,
        "The largest budget that people accept",
        f"model-{place}",
        chosen,
        partial(_take_model, question, place),
        options={name: words for name, (words, _) in _MODELS.items()},
        help="People who find a budget too large do not answer.",
    )
    for column, (key, (label, _)) in zip(columns, _MODELS[chosen][1].items(), strict=False):
        kept(column.text_input, label, f"{chosen}-{key}-{place}", about, key)
    if chosen == "sample":
        with columns[0]:
            _sample(about, place)
    kept(
        st.toggle,
        "The only answers are the smallest (no) and the largest (yes)",
        f"yes-no-{place}",
        question,
        "yes_no",
    )


def _take_model(question: Document, place: int, model: str) -> None:
    """Another model, with what was typed for it before."""
    typed = session().typed
    before = question.pop("preferences", {})
    typed[f"model-{place}-{before.get('model', '')}"] = before
    starts = {key: start for key, (_, start) in _MODELS[model][1].items()}
    if model:
        question["preferences"] = typed.get(f"model-{place}-{model}", {"model": model, **starts})
    session().revision += 1


def _sample(about: Document, place: int) -> None:
    file = st.file_uploader(
        "Sample (CSV, one column)",
        type=["csv"],
        key=f"sample-{place}-{session().revision}",
        help="A header line, then one accepted epsilon per person asked in a pilot.",
    )
    if file is not None:
        about["values"] = []  # one that is refused must not leave the results of the one before
        with render.complaint(), as_file(file.name, file.getvalue()) as path:
            about["values"] = read_preferences(path).sample.tolist()
    if about.get("values"):
        st.caption(f"{len(about['values']):,} people asked.")


def _options(question: Document, place: int) -> None:
    """What most surveys leave as it is."""
    kind = kind_of(question)
    if kind == "sampled-choice":
        return
    box = render.drawer("More about this question", f"options-{kind}")
    if not box.open:
        return
    with box:
        left, right = st.columns(2)
        if kind != "numeric":
            rule = question.get("rule", "min")
            field(
                left.selectbox,
                "A pair of answers gets, of their two budgets,",
                f"rule-{place}",
                rule if isinstance(rule, str) else "pairs",
                partial(_take_rule, question),
                options=_RULES,
            )
        if kind == "ordinal":
            kept(
                right.selectbox,
                "Make small",
                f"wanted-{place}",
                question,
                "wanted",
                options=_WANTED,
            )
        elif kind != "numeric":
            kept(
                right.selectbox,
                "Make small",
                f"criterion-{place}",
                question,
                "criterion",
                options=_CRITERIA,
            )
        if kind != "ordinal":
            _mechanism(question, place)
        _again(question, place)
        if len(session().document["question"]) > 1:
            kept(st.text_input, "Weight", f"weight-{place}", question, "weight", placeholder="1")
        if kind != "numeric":
            kept_item(
                st.toggle, "Columns for importance and expected shares", f"more-{place}", False
            )
            if isinstance(question.get("rule"), list):
                _pairs(question, place)


def _again(question: Document, place: int) -> None:
    """How often it is asked, and what may happen between the rounds."""
    about = question.get("rounds", {})

    def take(count: str) -> None:
        if count.strip() in ("", "1"):
            question.pop("rounds", None)
        else:
            question["rounds"] = about | {"count": count}

    count, changes = st.columns(2)
    said = text_of(about.get("count", "1"))
    field(count.text_input, "Times that it is asked", f"rounds-{place}", said, take)
    if about:
        label = "Changes of one person's answer"
        kept(changes.text_input, label, f"changes-{place}", about, "changes", placeholder="any")
        label = "An observer may see when an answer changes"
        kept(st.toggle, label, f"times-open-{place}", about, "times_open")


def _take_rule(question: Document, rule: str) -> None:
    size = len(question.get("level", ()))
    question["rule"] = [[""] * size for _ in range(size)] if rule == "pairs" else rule


def _mechanism(question: Document, place: int) -> None:
    """What it can be deployed with; the first is the usual one."""
    plan = planned_question(session().planned, place)
    if plan is None or plan.question.kind != kind_of(question):
        return
    names = mechanism_choices(plan.question)
    kept(
        st.selectbox,
        "Mechanism",
        f"mechanism-{place}",
        question,
        "mechanism",
        options={name: CATALOGUE[name].label for name in names},
        help="Plain ones protect every answer like the most sensitive one.",
    )


def _pairs(question: Document, place: int) -> None:
    """Which pairs are protected, and with which budget of their own."""
    names = [row["name"].strip() for row in texts_of(question["level"])]
    if len(names) > _MOST_PAIR_LEVELS:
        st.info(f"Pairs are shown for at most {_MOST_PAIR_LEVELS} levels; open more as a file.")
        return
    pairs = [(i, j) for i in range(len(names)) for j in range(i, len(names))]
    matrix = question["rule"]

    def make() -> pd.DataFrame:
        cells = [text_of(matrix[i][j]) for i, j in pairs]
        return pd.DataFrame(
            {
                "first": [names[i] for i, _ in pairs],
                "second": [names[j] for _, j in pairs],
                "protected": [cell != "inf" for cell in cells],
                "budget": ["" if cell == "inf" else cell for cell in cells],
            }
        )

    edited = edit_frame(
        f"pairs-{place}-{hash(tuple(names))}",
        make,
        disabled=["first", "second"],
        column_config={
            "first": "Level",
            "second": "Against",
            "protected": st.column_config.CheckboxColumn("Protected"),
            "budget": st.column_config.TextColumn("Own budget", default=""),
        },
    )
    for (i, j), row in zip(pairs, edited.fillna("").itertuples(), strict=True):
        cell = str(row.budget).strip() if row.protected else "inf"
        if cell != text_of(matrix[i][j]):
            matrix[i][j] = matrix[j][i] = cell


def _whole_survey(survey: Document) -> None:
    """Who answers what, and what the same people have spent before."""
    box = render.drawer("More about the survey", "sharing")
    if not box.open:
        return
    with box:
        if len(session().document["question"]) > 1:
            _sharing(survey)
        _ledger()


def _sharing(survey: Document) -> None:
    kept(st.radio, "Who answers what", "design", survey, "design", options=_DESIGNS)
    if survey.get("design") == "some-each":
        kept(
            st.text_input,
            "Questions a person answers",
            "asked",
            survey,
            "asked",
            placeholder="the best number",
        )


def _ledger() -> None:
    here = session()
    st.file_uploader(
        "Ledger of earlier collections from the same people",
        type=["json"],
        key=f"ledger-{here.revision}",
        on_change=_take_ledger,
        help="Downloaded here after an earlier survey. What was spent is taken off every level.",
    )
    if here.ledger is None:
        return
    ledger = Ledger.model_validate_json(here.ledger)
    levels = {level: ledger.spent(level) for one in ledger.collections for level in one.spent}
    render.table((texts("level", levels), numbers("spent so far", levels.values(), ".4f")))
    st.button("Forget the ledger", on_click=_forget_ledger)


def _take_ledger() -> None:
    here = session()
    file = st.session_state[f"ledger-{here.revision}"]
    if file is None:
        return
    try:
        with as_file(file.name, file.getvalue()) as path:
            here.ledger = read_ledger(path).model_dump_json()
    except PlannerError as error:
        still = "" if here.ledger is None else " The ledger that was here before is still used."
        here.complaints.append(f"{error}{still}")


def _forget_ledger() -> None:
    here = session()
    here.ledger = None
    here.revision += 1  # the upload goes with it
