"""Step 1: what is asked, of how many people, and how much each answer may reveal."""

from __future__ import annotations

from functools import partial
from importlib import resources

import streamlit as st

from planner.laws.schema import Document
from planner.mechanisms.catalogue import CATALOGUE
from planner.planning.plan import SurveyPlan
from planner.planning.question import QuestionPlan
from planner.planning.sampled import SamplingPlan
from planner.show.blocks import Facts
from planner.show.kinds import COST
from planner.show.plan import design_sentence, headline, question_blocks, tiles
from planner.show.promises import unused_sentence
from planner.show.two_rounds import views_in_words
from planner.survey.values import text_of
from planner.ui import render
from planner.ui.document import (
    ANCHOR,
    EXAMPLES,
    JOINT,
    KIND_WORDS,
    MOST_TOGETHER,
    ask_apart,
    ask_together,
    described_by,
    example_document,
    form_of,
    joinable,
    joint_of,
    kind_of,
    name_of,
    names_of,
    new_question,
    remove_question,
    rename_question,
    set_kind,
)
from planner.ui.fields import field, kept, kept_item, kept_row
from planner.ui.state import session
from planner.ui.views.about_survey import whole_survey, wording
from planner.ui.views.kinds import (
    anchor_fields,
    choose_anchor,
    number_fields,
    sampling_fields,
    target_field,
    target_fields,
)
from planner.ui.views.levels import budget_meaning, level_table, listed_numbers
from planner.ui.working import (
    Result,
    chosen_question,
    design_step,
    planned_alone,
    planned_question,
    question_at,
    result,
    shown,
    take_step,
)

_INTRODUCTION = """
**What it does**: finds the most exact way to ask within the privacy budgets that you set.\\
**For whom**: who asks sensitive questions, and who speaks for the people asked.\\
**First**: change a budget in the table, and watch the figures. Or take an example:
"""
_PICTURE = (resources.files("planner.ui") / "introduction.svg").read_text("utf-8")
_PROTECT = {"min": "every answer", "one-sided": "only from being suspected"}
_MATRIX = {"matrix": "pair by pair, as in its file"}
"""A choice while there is one: the app keeps a matrix of pair budgets, and makes none."""
_PART_KINDS = {"categorical": "in no order", "ordinal": "steps of a scale"}
_PAIRS = {"min": "the smaller of the two", "avg": "the average of the two"}


def page() -> None:
    """Show what is asked for editing, and at once what it costs."""
    here = session()
    # Slots of the run before are gone from the page: what is written into them is lost.
    here.message_slots = {}
    purpose = "What you ask, of how many people, and how much each answer may reveal."
    if not here.introduced:
        purpose = ""  # the introduction says more
    render.header("Questions", purpose)
    if not here.introduced:
        _introduction()
    # Places stand in the order of reading, and are filled in the order in which things
    # are known: figures stand above the fields that they depend on.
    survey_row = st.container()
    figures = st.container(key="figures")
    number = chosen_question("questions") or 0
    question = question_at(number)
    is_part = number in joint_of(here.document)
    with survey_row:
        _survey(question, number, is_part=is_part)
    _asked(question, number, is_part=is_part)
    _answers(question, number, is_part=is_part)
    messages = st.container(key="messages")
    with st.container(horizontal=True):
        st.button("Add a question", on_click=_add)
        if len(here.document["question"]) > 1:
            st.button("Remove this question", on_click=_remove, args=(number,))
    sharing = st.container(key="sharing-costs")
    _drawers(question, number, is_part=is_part)
    # After all fields, as some of them may have changed the document in this run.
    planned = result()
    plan = planned_question(planned.plan, number)
    with messages:
        _messages(planned, question)
        if plan is not None and not planned.mistakes:
            _remarks(plan)
    with figures, shown(planned, "figures"):
        if plan is not None and planned.plan is not None:
            _figures(planned.plan, plan.name)
    with sharing:
        if planned.plan is not None and not planned.mistakes:
            _sharing(planned.plan)


def _answers(question: Document, number: int, *, is_part: bool) -> None:
    """What may be answered, and what that may reveal: levels, or the cells of its kind."""
    form = form_of(question)
    if form.columns:
        _protected(question, number)
        level_table(question, number)
    cells = list(form.cells)
    if is_part and "scores" in cells:  # of pairs of answers there is no mean
        cells.remove("scores")
    columns = kept_row(question, number, cells)
    match kind_of(question):
        case "numeric":
            with columns["epsilon"]:
                budget_meaning(text_of(question.get("epsilon"), "epsilon"))
            number_fields(question, number)
        case "sampled-choice":
            sampling_fields(question, number)
        case "anchor":
            anchor_fields(question, number)


def _drawers(question: Document, number: int, *, is_part: bool) -> None:
    """What most surveys leave as it is."""
    document = session().document
    if form_of(question).has_drawer:
        fill = partial(_options, question, number, is_part=is_part)
        render.drawer("More about this question", f"options-{kind_of(question)}", fill)
    render.drawer("As people read it", "wording", partial(wording, document))
    fill = partial(whole_survey, document)
    render.drawer("More about the survey", "sharing", fill)


def _remarks(plan: QuestionPlan) -> None:
    """What is to be known of a plan here: budgets that are not used, whom nothing protects."""
    st.caption(render.plain(unused_sentence(plan)))
    sampling = plan.fact(SamplingPlan)
    if sampling is not None:  # whatever it relies on, this is to be seen at once
        st.warning(render.plain(views_in_words(sampling)[1]))


def _messages(planned: Result, question: Document) -> None:
    """Each mistake below its field, where that is in sight; the others here."""
    slots = session().message_slots
    elsewhere = planned.place_mistakes(slots)
    rest = "Until then figures are from before, and nothing is exported."
    render.problems(elsewhere, rest, asks=planned.asks)
    if planned.mistakes and not elsewhere:
        st.caption(rest)
    for sentence in listed_numbers(question):
        st.caption(render.plain(sentence))


def _figures(survey: SurveyPlan, chosen: str) -> None:
    """The figures that decide: of the only question, or a tile for each with its name."""
    plans = survey.questions
    if len(plans) > 1:
        alone = [planned_alone(survey, plan) for plan in plans]
        render.facts(tiles(survey, alone))
    for plan in plans:
        if plan.name != chosen:
            continue
        blocks = [headline(plan)]
        if plan.fact(SamplingPlan) is not None:
            blocks = [
                block for block in question_blocks(plan) if isinstance(block, Facts)
            ]
        if len(session().document["question"]) > 1:  # also of a joint one its parts
            st.markdown(f"**{render.plain(plan.name)}**")
        render.render(blocks)


def _sharing(survey: SurveyPlan) -> None:
    """What asking several questions costs each, and a better design as an offer."""
    if survey.allocation is None:
        return
    st.caption(render.plain(design_sentence(survey, survey.allocation)))
    step = design_step(survey)
    if step is not None:
        label, *change = step
        st.button(render.plain(label), on_click=take_step, args=change)


def _introduction() -> None:
    """What this is, for whoever has not been here; dismissed for good."""
    here = session()
    with st.container(key="introduction", border=True):
        text, picture = st.columns([7, 3], vertical_alignment="center")
        with picture:
            st.components.v2.component("ldp_planner_picture", html=_PICTURE)()
        text.markdown(_INTRODUCTION)
        with text.container(horizontal=True, vertical_alignment="center"):
            for name, label in EXAMPLES.items():
                what = label.partition(",")[0]
                document = example_document(name)
                st.button(
                    what, on_click=here.replace, args=(document,), type="tertiary"
                )
            read = partial(setattr, here, "introduced", True)
            st.button("Got it", on_click=read, type="primary")


def _survey(question: Document, number: int, *, is_part: bool) -> None:
    """The survey's name, the people, and how often they are asked the question."""
    document = session().document
    name, people, times = st.columns([3, 2, 2])
    kept(name, document, "survey.name")
    kept(people, document, "survey.users")
    if is_part or kind_of(question) in (JOINT, ANCHOR, "sampled-choice"):
        return
    # Once a question is asked a single time, the rest of what was typed of its rounds
    # would be refused as incomplete.
    if "count" not in question.get("rounds", {}):
        question.pop("rounds", None)
    label = "Times asked"
    if len(document["question"]) > 1:
        label = f"Times that {render.plain(name_of(question))} is asked"
    kept(times, question, "rounds.count", number, label=label)
    if "rounds" in question:
        kept_row(question, number, ["rounds.changes", "rounds.times_open"])


def _add() -> None:
    document = session().document
    document["question"].append(new_question(names_of(document)))
    _look_at(len(document["question"]) - 1)


def _remove(number: int) -> None:
    remove_question(session().document, number)
    _look_at(0)


def _look_at(number: int) -> None:
    session().typed["question"] = number
    # Keys of fields hold the number of a question, which may be another one by now.
    session().revision += 1


def _asked(question: Document, number: int, *, is_part: bool) -> None:
    """The question's name, what a person gives, and what is exact enough."""
    name, kind, target = st.columns([3, 3, 2])
    rename = partial(rename_question, session().document, number)
    kept(name, question, "name", number, take=rename)
    chosen = kind_of(question)
    if is_part:
        chosen = JOINT
    kinds = {key: form.label for key, form in KIND_WORDS.items()}
    take = partial(_take_kind, question, number)
    field(
        kind.selectbox,
        "A person gives",
        f"kind-{number}",
        chosen,
        take,
        options=kinds,
    )
    if form_of(question).has_drawer and not is_part:
        target_field(target, question, number, "error", "error")
    if is_part:
        _together(number)
    elif kind_of(question) == JOINT:
        names = " and ".join(map(str, question.get("of", ())))
        st.caption(render.plain(f"One report answers {names}. {COST}"))


def _take_kind(question: Document, number: int, kind: str) -> None:
    """Take another kind; a question that was asked with another one is asked apart from then on."""
    document = session().document
    session().revision += 1
    joint = joint_of(document).get(number)
    if kind_of(question) == JOINT:
        ask_apart(document, number)
        session().typed["question"] = 0
        return
    if joint is not None:
        ask_apart(document, joint)
    if kind != JOINT:
        set_kind(question, kind)
        if kind == ANCHOR:
            choose_anchor(document, question)
        return
    if not described_by(question).joins:
        set_kind(question, "categorical")
    others = [other for other in joinable(document) if other != number]
    if not others:  # a pair needs a second question
        document["question"].append(new_question(names_of(document)))
        others = [len(document["question"]) - 1]
    # Sorted, so that the pair is the same whichever of the two was joined to the other.
    ask_together(document, sorted((number, others[0])))


def _together(number: int) -> None:
    """Ask with which other questions one report answers this one."""
    document = session().document
    joint = joint_of(document)[number]
    names = names_of(document)
    partners = []
    for part, whole in joint_of(document).items():
        if whole == joint and part != number:
            partners.append(part)
    options = {}
    for other in (*sorted(partners), *joinable(document)):
        options[other] = render.plain(names[other])

    def take(chosen: list[int]) -> None:
        ask_apart(document, joint)
        # The joint question may have stood before some of these: their numbers are one less then.
        numbers = [other - (other > joint) for other in (number, *chosen)]
        if chosen:
            ask_together(document, sorted(numbers))
        session().typed["question"] = numbers[0]
        session().revision += 1

    partner, order = st.columns([3, 2])
    field(
        partner.multiselect,
        "Goes together with",
        f"together-{number}",
        partners,
        take,
        options=options,
        max_selections=MOST_TOGETHER - 1,
        help=f"Answers to questions asked apart cannot be related afterwards. {COST}",
    )
    question = question_at(number)
    field(
        order.selectbox,
        "Its answers are",
        f"part-{number}",
        kind_of(question),
        partial(_take_order, question),
        options=_PART_KINDS,
    )


def _take_order(question: Document, kind: str) -> None:
    """Let the answers to a part of a joint question have an order, or none."""
    set_kind(question, kind)
    session().revision += 1


def _protected(question: Document, number: int) -> None:
    """What a budget protects: every answer, or an answer from being suspected alone."""
    rule = question.get("rule", "min")
    choices = dict(_PROTECT)
    if isinstance(rule, list):
        rule = "matrix"
        choices |= _MATRIX
    before = "min"  # the average protects every answer, too
    if rule in choices:
        before = rule
    # A kind without one-sided budgets has nothing to choose, unless a file says
    # otherwise: that stays in sight.
    if "against" not in form_of(question).columns and before == "min":
        return
    take = partial(question.__setitem__, "rule")
    field(
        st.radio,
        "Protect",
        f"protect-{number}",
        before,
        take,
        options=choices,
        horizontal=True,
    )


def _options(question: Document, number: int, *, is_part: bool) -> None:
    """What most surveys leave as it is."""
    form = form_of(question)
    if form.small:
        left, right = st.columns(2)
        rule = question.get("rule", "min")
        if isinstance(rule, str) and rule in _PAIRS:
            label = "A pair of answers gets, of their two budgets,"
            take = partial(question.__setitem__, "rule")
            field(left.selectbox, label, f"rule-{number}", rule, take, options=_PAIRS)
        if not is_part:
            kept(right, question, form.small, number)
    if is_part:
        return
    target_fields(question, number)
    _mechanism(question, number)
    if len(session().document["question"]) > 1:
        kept(st, question, "weight", number)
    if form.small:
        label = "Columns for importance and expected shares"
        kept_item(st.toggle, label, f"more-{number}", False)


def _mechanism(question: Document, number: int) -> None:
    """Ask for the mechanism; the first is the usual one."""
    plan = planned_question(session().planned, number)
    # The last plan may be of another kind, whose mechanisms are not this one's.
    if plan is None or plan.question.kind != kind_of(question):
        return
    names = plan.kind.mechanisms(plan.question)
    if len(names) < 2:
        return
    options = {name: CATALOGUE[name].label for name in names}
    kept(st, question, "mechanism", number, options=options)
