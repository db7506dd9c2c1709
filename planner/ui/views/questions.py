"""Step 1: what is asked, of how many people, and how much each answer may reveal."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from importlib import resources

import streamlit as st

from planner.errors import PlannerError
from planner.laws.die import ACKNOWLEDGEMENTS
from planner.laws.schema import Document
from planner.mechanisms.catalogue import CATALOGUE
from planner.planning.ledger import Ledger, read_ledger
from planner.planning.sampled import SamplingPlan
from planner.show.blocks import Facts, column
from planner.show.kinds import COST
from planner.show.plan import headline, question_blocks
from planner.show.promises import unused_sentence
from planner.survey.assumed import read_preferences
from planner.survey.questions import QUESTIONS
from planner.survey.values import text_of
from planner.ui import render
from planner.ui.document import (
    CELLS,
    EXAMPLES,
    KIND_WORDS,
    ask_together,
    example_document,
    form_of,
    joint_of,
    kind_of,
    new_question,
    set_kind,
    set_target,
    take_rows,
    target_text,
    texts_of,
    vouched,
)
from planner.ui.fields import edit_rows, field, kept, kept_item, kept_row
from planner.ui.opening import as_file
from planner.ui.state import session
from planner.ui.working import (
    chosen_place,
    planned_question,
    question_at,
    result,
    shown,
)

_INTRODUCTION = """
**What it does**: finds the most exact way to ask within the privacy budgets that you set.\\
**For whom**: who asks sensitive questions, and who speaks for the people asked.\\
**First**: change a budget in the table, and watch the figures. Or take an example:
"""
_PICTURE = (resources.files("planner.ui") / "introduction.svg").read_text("utf-8")
_RULES = {
    "min": "the smaller of the two",
    "avg": "the average of the two",
    "one-sided": "that of the answer a report speaks for",
}
_MATRIX = {"matrix": "what the matrix in its file says"}
"""A choice while there is one: the app keeps a matrix of pair budgets, and makes none."""
_RELIES_ON = {
    "aggregates-only": "a trusted aggregator that releases the estimates alone",
    "round-two": "nobody seeing both rounds of a person",
}
_MODELS: dict[
    str, tuple[str, dict[str, str]]
] = {  # of preferences, with what they start from
    "": ("any", {}),
    "normal": ("bell-shaped (normal)", {"mean": "5", "sd": "1.5"}),
    "histogram": (
        "in bins (histogram)",
        {"edges": "0; 1; 2; 4; 8", "shares": "0.1; 0.2; 0.4; 0.3"},
    ),
    "sample": ("an uploaded sample", {}),
}


def page() -> None:
    """Show what is asked for editing, and at once what it costs."""
    here = session()
    purpose = "What you ask, of how many people, and how much each answer may reveal."
    render.header("Questions", purpose if here.introduced else "")
    if not here.introduced:
        _introduction()
    kept_row(here.document, "", "survey.name", "survey.users")
    figures = st.container(key="figures")
    place = chosen_place("questions") or 0
    question = question_at(place)
    _about(question, place)
    form = form_of(question)
    if form.columns:
        _levels(question, place)
    kept_row(question, place, *form.cells)
    also = _ALSO.get(kind_of(question))
    if also is not None:
        also(question, place)
    messages = st.container(key="messages")
    with st.container(horizontal=True):
        st.button("Add a question", on_click=_add)
        if len(here.document["question"]) > 1:
            st.button("Remove this question", on_click=_remove, args=(place,))
    if form.more:
        fill = partial(_options, question, place)
        render.drawer("More about this question", f"options-{kind_of(question)}", fill)
    render.drawer("As people read it", "wording", partial(_wording, here.document))
    render.drawer(
        "More about the survey", "sharing", partial(_whole_survey, here.document)
    )
    found = result()
    plan = planned_question(found.plan, place)
    with messages:
        rest = "Until then figures are from before, and nothing is exported."
        render.problems(found.mistakes, rest, asks=found.asks)
        if plan is not None and not found.mistakes:
            st.caption(render.plain(unused_sentence(plan)))
    with figures, shown(found, "figures"):
        if plan is not None:
            blocks = (
                question_blocks(plan) if plan.fact(SamplingPlan) else [headline(plan)]
            )
            render.render(block for block in blocks if isinstance(block, Facts))


def _introduction() -> None:
    """What this is, for whoever has not been here; dismissed for good."""
    here = session()
    with st.container(key="introduction", border=True):
        told, drawn = st.columns([7, 3], vertical_alignment="center")
        with drawn:
            st.components.v2.component("ldp_planner_picture", html=_PICTURE)()
        told.markdown(_INTRODUCTION)
        with told.container(horizontal=True, vertical_alignment="center"):
            for name, label in EXAMPLES.items():
                what = label.partition(",")[0]
                document = example_document(name)
                st.button(
                    what, on_click=here.replace, args=(document,), type="tertiary"
                )
            st.button(
                "Got it",
                on_click=setattr,
                args=(here, "introduced", True),
                type="primary",
            )


def _add() -> None:
    here = session()
    names = [text_of(one.get("name")) for one in here.document["question"]]
    here.document["question"].append(new_question(names))
    _look_at(len(names))


def _remove(place: int) -> None:
    del session().document["question"][place]
    _look_at(0)


def _look_at(place: int) -> None:
    session().typed["question"] = place
    session().revision += 1


def _about(question: Document, place: int) -> None:
    name, kind, target = st.columns([3, 3, 2])
    kept(name, question, "name", place)
    take = partial(_take_kind, question)
    own = form_of(question)
    kinds = {
        one: form.label for one, form in KIND_WORDS.items() if form.alone == own.alone
    }
    chosen = kind_of(question)
    field(
        kind.selectbox, "A person gives", f"kind-{place}", chosen, take, options=kinds
    )
    if own.more:
        cell = CELLS["target.error"]
        take = partial(set_target, question)
        said = {"placeholder": cell.empty, "help": cell.help}
        text = target_text(question)
        field(target.text_input, cell.label, f"target-{place}", text, take, **said)


def _take_kind(question: Document, kind: str) -> None:
    set_kind(question, kind)
    session().revision += 1


def _levels(question: Document, place: int) -> None:
    """The table of levels: the answers that share a budget."""
    rows = question.get("level", [])
    used = {key for row in rows for key in row}
    hidden = set() if question.get("rule") == "one-sided" else {"against"} - used
    if not (
        {"importance", "prior"} & used or session().typed.get(f"more-{place}", False)
    ):
        hidden |= {"importance", "prior"}
    columns = {}
    for key in form_of(question).columns:
        if key not in hidden:
            cell = CELLS[f"level.{key}"]
            columns[key] = st.column_config.TextColumn(
                cell.label,
                default="",
                help=cell.help,
                width="large" if key == "items" else None,
            )
    edit_rows(f"levels-{place}", texts_of(rows), columns, partial(take_rows, question))
    st.caption("Double-click to edit; the last row adds a level.")


def _parts(question: Document, _: int) -> None:
    """Which questions are asked together."""
    of = question.get("of")
    names = " and ".join(map(text_of, of)) if isinstance(of, list) else ""
    st.caption(render.plain(f"One report answers {names}. {COST}"))


def _sampling(question: Document, place: int) -> None:
    about = question.setdefault("sampling", {"relies_on": "aggregates-only"})
    relies, everyone = st.columns([3, 1], vertical_alignment="bottom")
    view = about.get("relies_on")
    take = partial(_rely, about)
    field(
        relies.radio, "It relies on", f"relies-{place}", view, take, options=_RELIES_ON
    )
    kept(everyone, question, "sampling.everyone_has_value", place)
    view = about.get("relies_on")
    sentence = ACKNOWLEDGEMENTS.get(str(view), "")
    label = f"I vouch for this: {sentence}"
    take = partial(_vouch, about, sentence)
    field(st.checkbox, label, f"vouched-{view}-{place}", vouched(question), take)


def _rely(about: Document, value: str) -> None:
    about["relies_on"] = value
    about.pop("acknowledged", None)


def _vouch(about: Document, sentence: str, agreed: bool) -> None:
    about.pop("acknowledged", None)
    if agreed:
        about["acknowledged"] = sentence


def _preferences(question: Document, place: int) -> None:
    """The largest budget that people accept."""
    about = question.get("preferences", {})
    chosen = about.get("model", "")
    chosen = chosen if isinstance(chosen, str) and chosen in _MODELS else ""
    model, *columns = st.columns(3)
    label = "The largest budget that people accept"
    take = partial(_take_model, question, place)
    told = "People who find a budget too large do not answer."
    options = {name: words for name, (words, _) in _MODELS.items()}
    field(
        model.selectbox,
        label,
        f"model-{place}",
        chosen,
        take,
        options=options,
        help=told,
    )
    keys = (
        [f"preferences.{key}" for key in _MODELS[chosen][1]] if chosen else ["refusals"]
    )
    for slot, key in zip(columns, keys, strict=False):
        kept(slot, question, key, place)
    if chosen == "sample":
        with columns[0]:
            _sample(about, place)
    kept(st, question, "yes_no", place)


def _take_model(question: Document, place: int, model: str) -> None:
    """Another model, with what was typed for it before."""
    typed = session().typed
    before = question.pop("preferences", {})
    typed[f"model-{place}-{before.get('model', '')}"] = before
    if model:
        question.pop("refusals", None)
        start = {"model": model, **_MODELS[model][1]}
        question["preferences"] = typed.get(f"model-{place}-{model}", start)
    session().revision += 1


def _sample(about: Document, place: int) -> None:
    told = "A header line, then one accepted epsilon per person asked in a pilot."
    key = f"sample-{place}-{session().revision}"
    file = st.file_uploader("Sample (CSV, one column)", ["csv"], key=key, help=told)
    if file is not None:
        about[
            "values"
        ] = []  # one that is refused must not leave the results of the one before
        with render.complaint(), as_file(file.name, file.getvalue()) as path:
            about["values"] = read_preferences(path).sample.tolist()
    if about.get("values"):
        st.caption(f"{len(about['values']):,} people asked.")


def _options(question: Document, place: int) -> None:
    """What most surveys leave as it is."""
    form = form_of(question)
    if form.small:
        left, right = st.columns(2)
        rule = question.get("rule", "min")
        label = "A pair of answers gets, of their two budgets,"
        rules = _RULES
        if isinstance(rule, list):
            rule = "matrix"
            rules = _MATRIX | _RULES
        take = partial(question.__setitem__, "rule")
        field(left.selectbox, label, f"rule-{place}", rule, take, options=rules)
        kept(right, question, form.small, place)
    _mechanism(question, place)
    if "count" not in question.get("rounds", {}):
        question.pop("rounds", None)
    again = ("rounds.changes", "rounds.times_open") if "rounds" in question else ()
    if form.alone:
        kept_row(question, place, "rounds.count", *again)
    if len(session().document["question"]) > 1:
        kept(st, question, "weight", place)
    if form.small:
        kept_item(
            st.toggle,
            "Columns for importance and expected shares",
            f"more-{place}",
            False,
        )


def _mechanism(question: Document, place: int) -> None:
    """What it can be deployed with; the first is the usual one."""
    plan = planned_question(session().planned, place)
    if plan is None or plan.question.kind != kind_of(question):
        return
    names = plan.kind.mechanisms(plan.question)
    if len(names) < 2:
        return
    options = {name: CATALOGUE[name].label for name in names}
    kept(st, question, "mechanism", place, options=options)


def _wording(document: Document) -> None:
    """How the page that people answer puts it."""
    kept_row(document, "", "survey.title", "survey.language")
    kept_row(document, "", "survey.intro", "survey.thanks")
    for place, question in enumerate(document["question"]):
        kept(
            st,
            question,
            "ask",
            place,
            label=f"Question: {text_of(question.get('name'))}",
        )


def _whole_survey(document: Document) -> None:
    """Who answers what, and what the same people have spent before."""
    if len(document["question"]) > 1:
        kept(st, document, "survey.design")
        if document["survey"].get("design") == "some-each":
            kept(st, document, "survey.asked")
        else:
            document["survey"].pop("asked", None)
        _together(document)
    _ledger()


def _together(document: Document) -> None:
    """Choose questions of one answer each whose answers are to be related."""
    taken = joint_of(document)
    questions = enumerate(document["question"])
    alone = [
        k for k, one in questions if QUESTIONS[kind_of(one)].joins and k not in taken
    ]
    if len(alone) < 2:
        return
    names = {
        k: render.plain(text_of(document["question"][k].get("name"))) for k in alone
    }
    told = f"Answers to questions asked apart cannot be related afterwards. {COST}"
    label = "Whose answers are to be related"
    two = alone if len(alone) == 2 else []
    key = f"together-{session().revision}"
    written = defaultdict(str, names).__getitem__  # a choice may be of before
    chosen = st.multiselect(
        label, alone, two, written, max_selections=3, help=told, key=key
    )
    few = len(chosen) < 2
    places = sorted(chosen)
    st.button("Ask these together", on_click=_join, args=(places,), disabled=few)


def _join(places: list[int]) -> None:
    here = session()
    ask_together(here.document, places)
    _look_at(len(here.document["question"]) - 1)


def _ledger() -> None:
    here = session()
    label = "Ledger of earlier collections from the same people"
    told = "Downloaded here after an earlier survey. What was spent is taken off every level."
    key = f"ledger-{here.revision}"
    st.file_uploader(label, ["json"], key=key, on_change=_take_ledger, help=told)
    if here.ledger is None:
        return
    ledger = Ledger.model_validate_json(here.ledger)
    levels = {
        level: ledger.spent(level) for one in ledger.collections for level in one.spent
    }
    render.table(
        (column("level", levels), column("spent so far", levels.values(), ".4f"))
    )
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
        still = (
            ""
            if here.ledger is None
            else " The ledger that was here before is still used."
        )
        here.notices.append((f"{error}{still}", True))


def _forget_ledger() -> None:
    here = session()
    here.ledger = None
    here.revision += 1  # the upload goes with it


_ALSO = {"numeric": _preferences, "sampled-choice": _sampling, "joint": _parts}
