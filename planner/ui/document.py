"""A survey as it is being typed: the document that its file has, in which a cell may be wrong.

A document is a dictionary with a table ``survey`` and a list ``question`` of tables, as in TOML;
a value may be text, as it was typed. ``settle`` makes a survey of it, or says what is wrong.
"""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Container, Mapping, Sequence
from importlib import resources
from typing import Any, NamedTuple

from planner.errors import InputError
from planner.laws.die import ACKNOWLEDGEMENTS
from planner.laws.schema import Document
from planner.survey.description import Mistake, Where
from planner.survey.numeric import DISTRIBUTION, OF_A_MEAN
from planner.survey.question import BaseQuestion
from planner.survey.questions import QUESTIONS
from planner.survey.rows import counted
from planner.survey.survey import Survey
from planner.survey.values import split, text_of
from planner.ui.typed import read_known

FieldRow = dict[str, str]

EXAMPLES = {
    "clinic": "treatments, some more private than others",
    "health": "diagnoses, one of which is severe",
    "browsing": "visited pages, several of each person",
    "hours": "unpaid help, in hours from none to many",
    "answer-rate": "hospital bills, which many do not tell",
    "sampled-ages": "a rare illness, asked in two rounds",
}
FIRST_EXAMPLE = "clinic"
"""What a visitor meets: the levels matter, and the answers have names."""

JOINT = "joint"
ANCHOR = "anchor"
"""In the app a kind of its own; in a file a choice that says whose anchor it is."""
MOST_TOGETHER = 3
"""Questions that one report can answer."""
# A joint question has no levels of its own: its parts have them.
_DERIVED = ("level", "rule", "label", "parts")
# What is planned is the joint question, so that these are said of it and not of its parts.
_OF_THE_WHOLE = (
    *("weight", "target", "rounds", "mechanism", "criterion"),
    *("wanted", "scores"),
)


class TableCell(NamedTuple):
    """What a page says of a cell: its label, what empty means, what it is for, what may be chosen.

    The first option is the usual one. A ``widget`` is one of Streamlit's, where it is no usual one.
    A ``remedy`` stands in place of one that says what to write in a file.
    """

    label: str
    empty: str = ""
    help: str = ""
    options: Mapping[str, str] | None = None
    widget: str = ""
    remedy: str = ""

    @property
    def short_label(self) -> str:
        """The label in a sentence, without what stands in parentheses."""
        return self.label.split(" (")[0]


def _bundled(name: str) -> Document:
    text = (resources.files("planner.ui") / name).read_text(encoding="utf-8")
    return tomllib.loads(text)


CELLS = {path: TableCell(**cell) for path, cell in _bundled("cells.toml").items()}
"""By the key in a survey's file, with the table that it is in."""


def _labels() -> dict[str, str]:
    """What the pages call the keys that errors name, by the key alone."""
    labels = {}
    for path, cell in CELLS.items():
        # Errors name a key without its table, as Python calls it.
        labels[path.split(".")[-1]] = cell.short_label
    sizes = CELLS["sets.sizes"].short_label
    labels["sets"] = sizes
    # A table that is missing as a whole is asked for at its first field: no page shows
    # a table by its name in the file.
    labels["[question.sets]"] = sizes
    labels["[question.preferences]"] = "The largest budget that people accept"
    return labels


_LABELS = _labels()
# What shows that a remedy is about the text of a file: a key with its value, or a table.
_FILE_SYNTAX = re.compile(r"\w = |\[\[")


class Form(NamedTuple):
    """What the page shows of a kind of question; what was typed for another one is kept.

    ``columns`` are those of its table of levels, ``cells`` its own, and ``small`` says which error
    is made small. It ``starts`` with what it cannot do without; ``has_drawer`` if there is more to
    choose.
    """

    label: str
    columns: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    small: str = ""
    starts: Mapping[str, Any] = {}
    has_drawer: bool = True


_LEVEL_FIELDS = ("name", "epsilon", "items")
_SIDED = ("name", "epsilon", "against", "items")
_OPTIONAL_FIELDS = ("item_count", "importance", "prior")
KIND_WORDS = {
    "categorical": Form("one answer", (*_SIDED, *_OPTIONAL_FIELDS), small="criterion"),
    "item-set": Form(
        "several answers, or none",
        (*_LEVEL_FIELDS, *_OPTIONAL_FIELDS),
        ("sets.sizes", "sets.popularity", "padding_length", "sets.cap"),
        "criterion",
    ),
    "ordinal": Form(
        "one step of a scale",
        (*_SIDED, "importance"),
        ("order", "scores", "no_answer"),
        "wanted",
    ),
    "numeric": Form(
        "a number",
        cells=("lower", "upper", "epsilon"),
        starts={"lower": "0", "upper": "100", "epsilon": "1"},
    ),
    JOINT: Form("two answers that go together"),
    ANCHOR: Form("an answer that is known (attention check)", has_drawer=False),
    "sampled-choice": Form(
        "a rare answer (Sampling Privacy)",
        (*_LEVEL_FIELDS, "yes_counts"),
        starts={"sampling": {"relies_on": "aggregates-only"}},
        has_drawer=False,
    ),
}
TABLE_COLUMNS = (*_SIDED, *_OPTIONAL_FIELDS, "yes_counts")


def new_document() -> Document:
    """A survey with one question, which can be planned at once."""
    return {
        # Numbers are text, as if they had been typed: addresses and Undo give them back
        # letter by letter.
        "survey": {"name": "my survey", "users": "10,000"},
        "question": [new_question(())],
    }


def new_question(taken: Sequence[str]) -> Document:
    """A question of another name than those that are ``taken``."""
    number = 1
    while f"question {number}" in taken:
        number += 1
    return {
        "name": f"question {number}",
        "level": [{"name": "usual", "epsilon": "1", "items": "A; B; C"}],
    }


def example_document(name: str) -> Document:
    """A bundled example by its short name."""
    return _bundled(f"surveys/{name}.toml")


def name_of(question: Document) -> str:
    """A question's name as it is typed, which may be blank."""
    return text_of(question.get("name"))


def names_of(document: Document) -> list[str]:
    """The names of all questions."""
    return [name_of(question) for question in document["question"]]


def kind_of(question: Document) -> str:
    """The kind of a question; of one that is unknown the usual one."""
    kind = str(question.get("kind"))
    # An address may say anything here. The page needs some form to show while the
    # mistake is named.
    if kind not in QUESTIONS:
        kind = "categorical"
    if kind == "categorical" and "anchor" in question:
        return ANCHOR
    return kind


def described_by(question: Document) -> type[BaseQuestion]:
    """The class that describes a question of its kind."""
    kind = kind_of(question)
    if kind == ANCHOR:
        kind = "categorical"
    return QUESTIONS[kind]


def of_distribution(question: Document) -> bool:
    """Whether the distribution of a number is wanted, not its mean."""
    return kind_of(question) == "numeric" and question.get("of") == DISTRIBUTION


def form_of(question: Document) -> Form:
    """The form that the page shows of a question's kind."""
    return KIND_WORDS[kind_of(question)]


def set_kind(question: Document, kind: str) -> None:
    """Make it a question of this kind, with what that cannot do without."""
    question["kind"] = kind
    if kind == ANCHOR:
        question["kind"] = "categorical"
    for key in ("mechanism", "anchor", "known"):  # which another kind may not have
        question.pop(key, None)
    form = KIND_WORDS[kind]
    # Whoever tries another kind and comes back finds what was typed: only what is
    # missing is begun.
    for key, start in form.starts.items():
        question.setdefault(key, copy.deepcopy(start))
    if form.columns and not question.get("level"):
        question["level"] = new_question(())["level"]


# Questions that are asked together


def joint_of(document: Document) -> dict[int, int]:
    """The numbers of the questions that are parts, each with that of its joint question."""
    numbers = {name: number for number, name in enumerate(names_of(document))}
    joints = {}
    for number, question in enumerate(document["question"]):
        parts = question.get("of")
        if kind_of(question) != JOINT or not isinstance(parts, list):
            continue
        for name in map(text_of, parts):
            if name in numbers:
                joints[numbers[name]] = number
    return joints


def joinable(document: Document) -> list[int]:
    """The numbers of the questions of one answer each that are in no joint question."""
    taken = joint_of(document)
    numbers = []
    for number, question in enumerate(document["question"]):
        is_anchor = kind_of(question) == ANCHOR
        if described_by(question).joins and not is_anchor and number not in taken:
            numbers.append(number)
    return numbers


def anchored(document: Document, anchor: Document) -> list[Document]:
    """The questions whose ``anchor`` a question may be.

    Choices asked once, in no joint question, and without another anchor.
    """
    parts = joint_of(document)
    taken = set()
    for question in document["question"]:
        if question is not anchor and kind_of(question) == ANCHOR:
            taken.add(question["anchor"])
    questions = []
    for number, question in enumerate(document["question"]):
        is_free = number not in parts and name_of(question) not in taken
        if is_free and question is not anchor and kind_of(question) == "categorical":
            questions.append(question)
    return questions


def answers_of(question: Document) -> list[str]:
    """The answers that its levels list."""
    answers: list[str] = []
    for level in question.get("level", ()):
        listed = split(level.get("items", ""))
        if isinstance(listed, list):
            answers += map(text_of, listed)
    return answers


def ask_together(document: Document, numbers: Sequence[int]) -> None:
    """One joint question of these, at the end; what is planned of it is said of it alone."""
    for number in numbers:
        for key in _OF_THE_WHOLE:
            document["question"][number].pop(key, None)
    every = names_of(document)
    names = [every[number] for number in numbers]
    joint = {"name": " and ".join(names), "kind": JOINT, "of": names}
    # At the end, so that the others keep their numbers, of which the keys of their
    # fields are made.
    document["question"].append(joint)


def ask_apart(document: Document, joint: int) -> None:
    """Ask the parts of a joint question by themselves again."""
    del document["question"][joint]


def rename_question(document: Document, number: int, name: str) -> None:
    """Give a question another name, also where a joint question or an anchor names it."""
    before = name_of(document["question"][number])
    # Looked up under the old name: after the change no joint question would claim this
    # part.
    joint = joint_of(document).get(number)
    document["question"][number]["name"] = name
    for question in document["question"]:
        if question.get("anchor") == before:
            question["anchor"] = name
    if joint is None:
        return
    question = document["question"][joint]
    parts = list(map(text_of, question["of"]))
    named_after = " and ".join(parts)
    parts[parts.index(before)] = name
    question["of"] = parts
    # A name that somebody gave the pair stays; only the one that is made here follows
    # its parts.
    if question.get("name") == named_after:
        question["name"] = " and ".join(question["of"])


def remove_question(document: Document, number: int) -> None:
    """Take a question out; a joint question that it is a part of goes, too."""
    joint = joint_of(document).get(number, number)
    # From the end, so that the first deletion does not shift the other.
    for gone in sorted({number, joint}, reverse=True):
        del document["question"][gone]


# What is planned, and what is wrong with it


def cleaned(document: Document) -> Document:
    """What is planned: without what belongs to another kind of question, in the file's forms."""
    # The document keeps what was typed for other kinds, so that going back loses
    # nothing; a survey would refuse those keys as unknown.
    questions = [_cleaned(question) for question in document["question"]]
    survey = read_known(document["survey"])
    return document | {"survey": survey, "question": questions}


def _cleaned(question: Document) -> Document:
    keys = set(described_by(question).file_keys())
    kept = _only(question, keys - _foreign_keys(question))
    if "level" in kept:
        columns = form_of(question).columns
        kept["level"] = [_only(row, columns) for row in kept["level"]]
    return kept


def _only(table: Document, keys: Container[str]) -> Document:
    """A table without other keys than these."""
    return {key: cell for key, cell in table.items() if key in keys}


def _foreign_keys(question: Document) -> set[str]:
    """The keys that its kind has, but what is typed of it now rules out."""
    match kind_of(question):
        case "joint":
            return set(_DERIVED)
        case "anchor":
            return {"level", "rule", "label", *_OF_THE_WHOLE}
        case "numeric" if of_distribution(question):
            return set(OF_A_MEAN)
        case "numeric":
            return {"cells"}
    return set()


def is_empty(mistake: Mistake) -> bool:
    """Whether something is still to be filled in, and nothing that was typed is wrong."""
    value = mistake.error.value
    # Truth alone does not decide: 0 and false are something typed.
    blank = isinstance(value, str | tuple | list) and not value
    return (blank or value is None) and not mistake.error.problem


def cell_of(mistake: Mistake) -> Where:
    """Where its cell stands in the document, also if the mistake is told of the table around it."""
    where = mistake.where
    argument = mistake.error.argument
    # A check of a whole row can only say which row it is; its argument then names the
    # cell.
    if where and isinstance(where[-1], int):
        table = ""
        if "level" in where:
            table = "level."
        if f"{table}{argument}" in CELLS:
            return (*where, argument)
        if argument in ("sets", "[question.sets]"):
            return (*where, "sets", "sizes")
    return where


def sentence_of(mistake: Mistake, *, at_its_field: bool = False) -> str:
    """What is wrong, in the words of the page: cells have its labels, not the file's keys.

    ``at_its_field``, a sentence need not say in which question and level it is.
    """
    error = mistake.error
    where = cell_of(mistake)
    names = [part for part in where if isinstance(part, str)]
    key = ""
    if names:
        key = names[-1]
    # The survey's cells are listed with their table, those of a question without the
    # word question before them.
    path = ".".join(names)
    cell = CELLS.get(path) or CELLS.get(path.removeprefix("question."))
    where_said = error.place
    if at_its_field:
        where_said = ()
    remedy = error.remedy
    # A remedy such as "Write epsilon = 2" teaches the syntax of a file, which nobody
    # sees on a page.
    if cell is not None and cell.remedy and _FILE_SYNTAX.search(remedy):
        remedy = cell.remedy
    if is_empty(mistake):
        label = _LABELS.get(key, error.argument)
        if cell is not None:
            label = cell.short_label
        reason = f"{', '.join((*where_said, label))} is still empty"
        if not error.allowed:
            remedy = ""
        return InputError.because(key, reason, remedy).worded(label_of)
    argument = error.argument
    if cell is not None and argument.startswith(key):  # a cell of a matrix says which
        argument = cell.short_label + argument.removeprefix(key)
    said = error.at(argument=argument)
    shown = InputError(
        said.argument, said.value, said.allowed, remedy, said.problem, where_said
    )
    return shown.worded(label_of)


def alike(mistakes: Sequence[Mistake]) -> list[list[Mistake]]:
    """Mistakes that are the same in several rows, together.

    A list that is pasted into the wrong column is one mistake of its author.
    """
    groups: dict[object, list[Mistake]] = {}
    for mistake in mistakes:
        columns = tuple(part for part in cell_of(mistake) if isinstance(part, str))
        # Neither the row nor the value is in it: by these one and the same mistake
        # differs from row to row.
        what = (columns, mistake.error.allowed, mistake.error.problem)
        groups.setdefault(what, []).append(mistake)
    return list(groups.values())


def sentences_of(mistakes: Sequence[Mistake]) -> list[str]:
    """A sentence for each mistake, and one alone for all rows that err alike."""
    sentences = []
    for group in alike(mistakes):
        sentence = sentence_of(group[0])
        if len(group) > 1:
            others = counted(len(group) - 1, "other row")
            sentence = f"{sentence.rstrip('.')}. So it is in {others}."
        sentences.append(sentence)
    return sentences


def label_of(key: str) -> str:
    """What the page calls a key of the file, or an entry with this key."""
    label = _LABELS.get(key.partition(" = ")[0])
    if label is None:
        return key
    return f'"{label}"'


# Cells


def texts_of(rows: Sequence[Document]) -> list[FieldRow]:
    """The rows of a table of levels as they are shown, blank cells included."""
    shown = []
    for row in rows:
        texts = {key: text_of(row.get(key), key) for key in TABLE_COLUMNS}
        shown.append(texts)
    return shown


def stem_of(survey: Survey) -> str:
    """What its files' names begin with."""
    # Anybody types that name, and slashes, colons or blanks in it are no part of a
    # file's name everywhere.
    stem = re.sub(r"[^A-Za-z0-9]+", "-", survey.name)
    return stem.strip("-") or "survey"


def vouched(question: Document) -> bool:
    """Whether somebody vouches for what the two rounds of a deployment rely on."""
    sampling = question.get("sampling", {})
    # The sentence itself is stored and not a tick: vouching for one view must not carry
    # over to the other.
    needed = ACKNOWLEDGEMENTS.get(sampling.get("relies_on"))
    return sampling.get("acknowledged") == needed
