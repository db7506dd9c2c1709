"""A survey as it is being typed: the document that its file has, in which a cell may be wrong.

A document is a dictionary with a table ``survey`` and a list ``question`` of tables, as in TOML;
a value may be text, as it was typed. ``settle`` makes a survey of it, or says what is wrong. As one
short word it stands in the address; nothing in such a word is believed: it may come from anybody.
"""

from __future__ import annotations

import base64
import copy
import json
import re
import tomllib
import zlib
from collections.abc import Mapping, Sequence
from importlib import resources
from itertools import product
from sys import float_info
from typing import Any, NamedTuple

from planner.errors import InputError
from planner.laws.die import ACKNOWLEDGEMENTS
from planner.laws.schema import Document
from planner.survey.description import Mistake
from planner.survey.questions import QUESTIONS
from planner.survey.survey import Survey
from planner.survey.values import text_of

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

_DERIVED = (
    "level",
    "rule",
    "label",
    "parts",
)  # of a joint question: its parts have them
_OF_PARTS = (
    "weight",
    "target",
    "rounds",
    "mechanism",
    "criterion",
)  # a joint question has them


class TableCell(NamedTuple):
    """What a page says of a cell: its label, what empty means, what it is for, what may be chosen.

    The first option is the usual one. A ``widget`` is one of Streamlit's, where it is no usual one.
    """

    label: str
    empty: str = ""
    help: str = ""
    options: Mapping[str, str] | None = None
    widget: str = ""


def _bundled(name: str) -> Document:
    return tomllib.loads(
        (resources.files("planner.ui") / name).read_text(encoding="utf-8")
    )


CELLS = {key: TableCell(**cell) for key, cell in _bundled("cells.toml").items()}
"""By the key in a survey's file, with the table that it is in."""
_LABELS = {
    path.split(".")[-1]: cell.label.split(" (")[0] for path, cell in CELLS.items()
} | {
    **dict.fromkeys(
        ("sets", "[question.sets]"), CELLS["sets.sizes"].label.split(" (")[0]
    ),
    "[question.preferences]": "The largest budget that people accept",
}


class Form(NamedTuple):
    """What the page shows of a kind of question; what was typed for another one is kept.

    ``columns`` are those of its table of levels, ``cells`` its own, and ``small`` says which error
    is made small. It ``starts`` with what it cannot do without. ``more`` says whether there is more
    to choose, ``alone`` whether it is asked by itself.
    """

    label: str
    columns: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    small: str = ""
    starts: Mapping[str, Any] = {}
    more: bool = True
    alone: bool = True


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
        cells=("lower", "upper", "epsilon", "mean", "sd"),
        starts={"lower": "0", "upper": "100", "epsilon": "1"},
    ),
    "sampled-choice": Form(
        "a rare answer (Sampling Privacy)",
        (*_LEVEL_FIELDS, "yes_counts"),
        starts={"sampling": {"relies_on": "aggregates-only"}},
        more=False,
    ),
    "joint": Form("answers to questions asked together", alone=False),
}
TABLE_COLUMNS = (*_SIDED, *_OPTIONAL_FIELDS, "yes_counts")


def new_document() -> Document:
    """A survey with one question, which can be planned at once."""
    return {
        "survey": {"name": "my survey", "users": "10,000"},
        "question": [new_question(())],
    }


def new_question(taken: Sequence[str]) -> Document:
    """A question of another name than those that are ``taken``."""
    name = next(
        f"question {k}" for k in range(1, 10_000) if f"question {k}" not in taken
    )
    return {
        "name": name,
        "level": [{"name": "usual", "epsilon": "1", "items": "A; B; C"}],
    }


def example_document(name: str) -> Document:
    """A bundled example by its short name."""
    return _bundled(f"surveys/{name}.toml")


def kind_of(question: Document) -> str:
    """The kind of a question; of one that is unknown the usual one."""
    kind = str(question.get("kind"))
    return kind if kind in KIND_WORDS else "categorical"


def form_of(question: Document) -> Form:
    """What the page shows of its kind."""
    return KIND_WORDS[kind_of(question)]


def set_kind(question: Document, kind: str) -> None:
    """Make it a question of this kind, with what that cannot do without."""
    question["kind"] = kind
    question.pop("mechanism", None)  # which another kind may not have
    form = KIND_WORDS[kind]
    for key, start in form.starts.items():
        question.setdefault(key, copy.deepcopy(start))
    if form.columns and not question.get("level"):
        question["level"] = new_question(())["level"]


def ask_together(document: Document, places: Sequence[int]) -> None:
    """One joint question of these, at the end; what is planned of it is said of it alone."""
    parts = [document["question"][place] for place in places]
    for part, key in product(parts, _OF_PARTS):
        part.pop(key, None)
    names = [text_of(part.get("name")) for part in parts]
    joint = {"name": " and ".join(names), "kind": "joint", "of": names}
    document["question"].append(joint)


def joint_of(document: Document) -> dict[int, int]:
    """The places of the questions that are parts, each with that of its joint question."""
    places = {text_of(one.get("name")): k for k, one in enumerate(document["question"])}
    return {
        places[name]: k
        for k, one in enumerate(document["question"])
        if not form_of(one).alone and isinstance(one.get("of"), list)
        for name in map(text_of, one["of"])
        if name in places
    }


def cleaned(document: Document) -> Document:
    """What is planned: without what belongs to another kind of question."""
    found = []
    for question in document["question"]:
        form = form_of(question)
        known = QUESTIONS[kind_of(question)].file_keys()
        derived = () if form.alone else _DERIVED
        kept = {
            k: cell for k, cell in question.items() if k in known and k not in derived
        }
        if "level" in kept:
            kept["level"] = [
                {key: cell for key, cell in row.items() if key in form.columns}
                for row in kept["level"]
            ]
        found.append(kept)
    return document | {"question": found}


def is_empty(mistake: Mistake) -> bool:
    """Whether something is still to be filled in, and nothing that was typed is wrong."""
    value = mistake.error.value
    empty = value is None or (isinstance(value, str | tuple | list) and not value)
    return empty and not mistake.error.problem


def sentence_of(mistake: Mistake) -> str:
    """What is wrong, in the words of the page: cells have its labels, not the file's keys."""
    error = mistake.error
    names = [part for part in mistake.where if isinstance(part, str)]
    argument = error.argument
    key = names[-1] if names else ""
    if is_empty(mistake):
        row = not isinstance(next(reversed(mistake.where), 0), str)
        what = ", ".join(
            (*error.place, _LABELS.get(argument if row else key, argument))
        )
        remedy = error.remedy if error.allowed else ""
        return InputError.because(key, f"{what} is still empty", remedy).worded(
            label_of
        )
    cell = CELLS.get(".".join(names).removeprefix("question."))
    label = key if cell is None else cell.label.split(" (")[0]
    if key and argument.startswith(key):  # a cell of a matrix says which
        argument = label + argument.removeprefix(key)
    return error.at(*error.place, argument=argument).worded(label_of)


def label_of(key: str) -> str:
    """What the page calls a key of the file."""
    return f'"{_LABELS[key]}"' if key in _LABELS else key


def texts_of(rows: Sequence[Document]) -> list[FieldRow]:
    """The rows of a table of levels as they are shown, blank cells included."""
    return [{key: text_of(row.get(key), key) for key in TABLE_COLUMNS} for row in rows]


def take_rows(question: Document, rows: Sequence[FieldRow]) -> None:
    """Put these rows in place, without those that are blank."""
    typed = [{key: text for key, text in row.items() if text.strip()} for row in rows]
    question["level"] = [row for row in typed if row]


def stem_of(survey: Survey) -> str:
    """What its files' names begin with."""
    return re.sub(r"[^A-Za-z0-9]+", "-", survey.name).strip("-") or "survey"


def target_text(question: Document) -> str:
    """The total error that is exact enough, as typed; "" for none."""
    found = [
        one
        for one in question.get("target", ())
        if "error" in one and "level" not in one
    ]
    return text_of(found[0]["error"]) if found else ""


def set_target(question: Document, text: str) -> None:
    """State which total error is exact enough; other targets stay."""
    targets = question.get("target", ())
    others = [one for one in targets if "error" not in one or "level" in one]
    question["target"] = [*([{"error": text}] if text.strip() else []), *others]
    if not question["target"]:
        del question["target"]


def vouched(question: Document) -> bool:
    """Whether somebody vouches for what the two rounds of a deployment rely on."""
    about = question.get("sampling", {})
    return about.get("acknowledged") == ACKNOWLEDGEMENTS.get(about.get("relies_on"))


MOST_IN_ADDRESS = 6000
"""Characters; beside the rest of an address, what servers and chat programs let pass."""
_MOST_BYTES = 1_000_000
_FILES = {
    "pilot",
    "file",
    "ledger",
    "values",
}  # paths, and what people said, do not travel
_BY_NAMES = ("label", "groups", "population", "weights")
_CELLS: Document = {}
_TABLE_KEYS = ("sets", "sampling", "preferences", "rounds", *_BY_NAMES)
_SOME_ROWS = [_CELLS, 10_000]
_QUESTION = dict.fromkeys(_TABLE_KEYS, _CELLS) | {
    "rule": 2,
    "level": _SOME_ROWS,
    "target": _SOME_ROWS,
}
_DOCUMENT = {"survey": dict.fromkeys(_BY_NAMES, _CELLS), "question": [_QUESTION, 200]}


def _fits(value: Any, shape: Any = 1) -> bool:
    """Whether it is what pages look for: shapes by key, a shape and how many at most, or cells.

    These in so many lists at most; of a key without a shape, a cell or a list of cells.
    """
    match value, shape:
        case dict(), dict():
            return all(_fits(cell, shape.get(key, 1)) for key, cell in value.items())
        case list(), [inner, most]:
            return len(value) <= most and all(_fits(one, inner) for one in value)
        case list(), int():
            return shape > 0 and all(_fits(one, shape - 1) for one in value)
        case ((int() | float()), int()):
            return abs(value) <= float_info.max
    return type(value) is str and type(shape) is int


def _is_whole(document: Document) -> bool:
    """Whether it has both tables, and a question."""
    return document.keys() == _DOCUMENT.keys() and bool(document["question"])


def word_of(*documents: Document) -> str:
    """Everything typed, in letters, digits, ``-`` and ``_``; without uploaded samples.

    Examples
    --------
    >>> typed = {"survey": {"name": "wards", "users": "1,000"}, "question": [{"name": "age"}]}
    >>> documents_of_word(word_of(typed)) == [typed]
    True
    """
    whole = _without_files([*documents])
    text = json.dumps(whole, ensure_ascii=False, separators=(",", ":"))
    packed = zlib.compress(text.encode("utf-8", "surrogatepass"), 9)
    return base64.urlsafe_b64encode(packed).rstrip(b"=").decode()


def documents_of_word(word: str) -> list[Document]:
    """The documents again, of which there is at least one.

    Raises
    ------
    InputError
        The word is none of :func:`word_of`'s, or unpacks to more than a megabyte.

    Examples
    --------
    >>> documents_of_word("cut")
    Traceback (most recent call last):
    ...
    planner.errors.InputError: the survey in the address cannot be read. Copy the whole ...
    """
    try:
        found: list[Document] = _without_files(_unpacked(word))
        if found and _fits(found, [_DOCUMENT, 50]) and all(map(_is_whole, found)):
            return found
        raise ValueError("another shape")
    except (ValueError, RecursionError, zlib.error) as error:
        remedy = "Copy the whole address, or open the survey's file."
        reason = "the survey in the address cannot be read"
        raise InputError.because("address", reason, remedy) from error


def _unpacked(word: str) -> Any:
    packed = base64.b64decode(
        word + "=" * (-len(word) % 4), altchars=b"-_", validate=True
    )
    unpacking = zlib.decompressobj()
    text = unpacking.decompress(packed, _MOST_BYTES)
    if not unpacking.eof:
        raise ValueError("too long, or cut short")
    return json.loads(text.decode("utf-8", "surrogatepass"))


def _without_files(value: Any) -> Any:
    """Without what an address must not hold; labels and groups go by names of people's own."""
    match value:
        case dict():
            kept = {key: one for key, one in value.items() if key not in _FILES}
            return {
                k: one if k in _BY_NAMES else _without_files(one)
                for k, one in kept.items()
            }
        case list():
            return [_without_files(one) for one in value]
    return value
