"""Fields that one kind of question has on the page Questions, and the targets of a question."""

from __future__ import annotations

from functools import partial

import streamlit as st

from planner.laws.die import ACKNOWLEDGEMENTS
from planner.laws.schema import Document
from planner.survey.assumed import read_preferences
from planner.survey.values import text_of
from planner.ui import render
from planner.ui.document import (
    CELLS,
    JOINT,
    anchored,
    answers_of,
    kind_of,
    name_of,
    of_distribution,
    vouched,
)
from planner.ui.fields import field, kept, message_below
from planner.ui.opening import as_file
from planner.ui.state import session
from planner.ui.targets import TARGET_KEYS, set_target, target_row, target_text
from planner.ui.typed import read_known

_RELIES_ON = {
    "aggregates-only": "a trusted aggregator that releases the estimates alone",
    "round-two": "nobody seeing both rounds of a person",
}
# What may be known of the largest budgets that people accept, with what it starts from.
_MODELS: dict[str, tuple[str, dict[str, str]]] = {
    "": ("any", {}),
    "normal": ("bell-shaped (normal)", {"mean": "5", "sd": "1.5"}),
    "histogram": (
        "in bins (histogram)",
        # Edges of the bins, in nats, are one more than their shares.
        {"edges": "0; 1; 2; 4; 8", "shares": "0.1; 0.2; 0.4; 0.3"},
    ),
    "sample": ("an uploaded sample", {}),
}


# Whose errors are those of counts: a share, or a difference of shares, is seen or not.
_COUNTED = ("categorical", "item-set", JOINT)
_CHOOSE = "choose a group"


def target_field(
    slot: st.delta_generator.DeltaGenerator,
    question: Document,
    number: int,
    kind: str,
    key: str,
) -> None:
    """A field for a key of a target, with a place for what is wrong with it."""
    cell = CELLS[f"target.{key}"]
    field(
        slot.text_input,
        cell.label,
        f"target-{key}-{number}",
        target_text(question, kind, key),
        partial(set_target, question, kind, key),
        placeholder=cell.empty,
        help=cell.help or None,
    )
    _message_below(slot, question, number, kind, key)


def _message_below(
    slot: st.delta_generator.DeltaGenerator,
    question: Document,
    number: int,
    kind: str,
    key: str,
) -> None:
    row = target_row(question, kind)
    message_below(slot, ("question", number, "target", row, key))
    if kind == "error":  # and of all targets whose fields are not in sight
        message_below(slot, ("question", number, "target"))


def target_fields(question: Document, number: int) -> None:
    """Targets beside the total error: a share, and a difference between known groups."""
    typed = target_text(question, "detect", "detect")
    # A target that another kind had before is shown, so that it can be taken out.
    if kind_of(question) not in _COUNTED and not (typed or _differing(question)):
        return
    detect, difference, between, start = st.columns(4)
    target_field(detect, question, number, "detect", "detect")
    target_field(difference, question, number, "difference", "difference")
    groups = _named_groups()
    before = target_text(question, "difference", "between")
    only_group = ""
    if len(groups) == 1:
        only_group = groups[0]
    # Which group is meant goes without saying, as long as a difference is stated.
    if only_group and before in ("", only_group):
        before = ""
        if target_text(question, "difference", "difference"):
            before = only_group
        set_target(question, "difference", "between", before)
    options = {"": _CHOOSE, before: before or _CHOOSE}
    for name in groups:
        options[name] = name
    # A group that was set here, not chosen, needs a field that starts from it.
    set_here = before if only_group else ""
    field(
        between.selectbox,
        CELLS["target.between"].label,
        f"target-between-{number}-{set_here}",
        before,
        partial(set_target, question, "difference", "between"),
        options=options,
    )
    _message_below(between, question, number, "difference", "between")
    target_field(start, question, number, "difference", "from")
    if not groups:
        st.caption('Groups to tell apart are named under "More about the survey".')


def _differing(question: Document) -> bool:
    """Whether something is typed of a difference."""
    keys = TARGET_KEYS["difference"]
    return any(target_text(question, "difference", key) for key in keys)


def _named_groups() -> list[str]:
    """The known groups that have names as values, and no numbers."""
    survey = read_known(session().document["survey"])
    names = []
    for name, values in survey.get("groups", {}).items():
        if isinstance(values, list):
            names.append(name)
    return names


# An anchor


def choose_anchor(document: Document, question: Document) -> None:
    """Let a question be the anchor of the first that may have one, with its first answer."""
    question.pop("level", None)  # an anchor has the answers of its question
    question["anchor"] = ""
    question["known"] = ""
    for other in anchored(document, question):
        question["anchor"] = name_of(other)
        # Some answer has to stand there; which one is true of everybody the author
        # alone knows.
        question["known"] = "".join(answers_of(other)[:1])
        return


def anchor_fields(question: Document, number: int) -> None:
    """Ask whose anchor a question is, and which answer to it is true of everybody."""
    st.caption(
        "It is asked like another question, but of something of which you know what is true: its "
        "result shows how many people attend. It spends no budget. Give it words of its own under "
        '"As people read it".'
    )
    answers = {}
    for other in anchored(session().document, question):
        answers[name_of(other)] = answers_of(other)
    asked_as, true_answer = st.columns(2)
    name = _choice(asked_as, question, number, "anchor", list(answers))
    _choice(true_answer, question, number, "known", answers.get(name, []))


def _choice(
    slot: st.delta_generator.DeltaGenerator,
    question: Document,
    number: int,
    key: str,
    there_are: list[str],
) -> str:
    """A choice among what there is, and what is chosen; that may be there no more."""
    chosen = text_of(question.get(key))
    options = {chosen: render.plain(chosen) or "choose one"}
    for option in there_are:
        options[option] = render.plain(option)
    take = partial(question.__setitem__, key)
    label = CELLS[key].label
    field(slot.selectbox, label, f"{key}-{number}", chosen, take, options=options)
    message_below(slot, ("question", number, key))
    return text_of(question[key])


# A number


def number_fields(question: Document, number: int) -> None:
    """What is wanted of a number, and what is known of the people's answers."""
    purpose, *columns = st.columns(3)
    kept(purpose, question, "of", number)
    if of_distribution(question):
        keys = ("cells", "refusals")
    else:
        keys = ("mean", "sd")
    for slot, key in zip(columns, keys, strict=True):
        kept(slot, question, key, number)
    if not of_distribution(question):
        _preferences(question, number)


# A rare answer, in two rounds


def sampling_fields(question: Document, number: int) -> None:
    """What the two rounds rely on, and that somebody vouches for it."""
    sampling = question.setdefault("sampling", {"relies_on": "aggregates-only"})
    relies, everyone = st.columns([3, 1], vertical_alignment="bottom")
    view = sampling.get("relies_on")
    take = partial(_rely, sampling)
    field(
        relies.radio, "It relies on", f"relies-{number}", view, take, options=_RELIES_ON
    )
    kept(everyone, question, "sampling.everyone_has_value", number)
    view = sampling.get("relies_on")
    sentence = ACKNOWLEDGEMENTS.get(str(view), "")
    label = f"I vouch for this: {sentence}"
    take = partial(_vouch, sampling, sentence)
    # The view is in the key: a tick at one sentence must not appear at the other.
    field(st.checkbox, label, f"vouched-{view}-{number}", vouched(question), take)


def _rely(sampling: Document, value: str) -> None:
    sampling["relies_on"] = value
    # Whoever vouched for one view has not vouched for the other.
    sampling.pop("acknowledged", None)


def _vouch(sampling: Document, sentence: str, agreed: bool) -> None:
    sampling.pop("acknowledged", None)
    if agreed:
        sampling["acknowledged"] = sentence


def _preferences(question: Document, number: int) -> None:
    """The largest budget that people accept."""
    preferences = question.get("preferences", {})
    chosen = preferences.get("model", "")
    if not isinstance(chosen, str) or chosen not in _MODELS:
        chosen = ""  # of an address, which may say anything
    model, *columns = st.columns(3)
    label = "The largest budget that people accept"
    take = partial(_take_model, question, number)
    meaning = "People who find a budget too large do not answer."
    options = {name: words for name, (words, _) in _MODELS.items()}
    field(
        model.selectbox,
        label,
        f"model-{number}",
        chosen,
        take,
        options=options,
        help=meaning,
    )
    keys = ["refusals"]
    if chosen:
        keys = [f"preferences.{key}" for key in _MODELS[chosen][1]]
    for slot, key in zip(columns, keys, strict=False):
        kept(slot, question, key, number)
    if chosen == "sample":
        with columns[0]:
            _sample(preferences, number)
    kept(st, question, "yes_no", number)


def _take_model(question: Document, number: int, model: str) -> None:
    """Take another model of preferences, with what was typed for it before."""
    typed = session().typed
    before = question.pop("preferences", {})
    typed[f"model-{number}-{before.get('model', '')}"] = before
    if model:
        question.pop("refusals", None)
        start = {"model": model, **_MODELS[model][1]}
        question["preferences"] = typed.get(f"model-{number}-{model}", start)
    session().revision += 1


def _sample(preferences: Document, number: int) -> None:
    content = "A header line, then one accepted epsilon per person asked in a pilot."
    key = f"sample-{number}-{session().revision}"
    file = st.file_uploader("Sample (CSV, one column)", ["csv"], key=key, help=content)
    if file is not None:
        # One that is refused must not leave the results of the one before.
        preferences["values"] = []
        with render.complaint(), as_file(file.name, file.getvalue()) as path:
            preferences["values"] = read_preferences(path).sample.tolist()
    if preferences.get("values"):
        st.caption(f"{len(preferences['values']):,} people asked.")
