"""Answers that are known: drawn at random, or read from a file."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import zlib
from dataclasses import replace
from functools import lru_cache

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from planner.errors import FileError, InputError
from planner.planning.datasets import Answers, read_answers, read_numbers
from planner.survey import Numeric, Question
from planner.survey.kinds import ORDINAL
from planner.ui.parts import cells, uploads
from planner.ui.parts.fields import kept_item
from planner.ui.parts.questions import answer_names
from planner.ui.state import session

_MOST_ITEMS = 200_000
_LONGEST_HEADER = 1_000_000
_MOST_USERS = 10_000_000
_MOST_PEOPLE = 1_000_000  # each with a number of their own
_STEPS = 200  # over the range: people alike are drawn at once
_SPREAD = 0.3  # of half the range, where none is expected
_SOURCES = {"generate": "generate answers", "upload": "use a file"}
_SHAPES = {"power": "few frequent, many rare (power law)", "even": "all equally frequent"}


def known_answers(question: Question) -> tuple[Question, Answers | None, str]:
    """Generate or read answers.

    Returns
    -------
    tuple
        The question, with its items spread anew if that was asked for; the answers, ``None``
        until there are some; and a fingerprint that differs where the answers do.

    Raises
    ------
    PlannerError
        They are too many to simulate, or the file is not right.
    """
    if _to_generate():
        return (question, *_generated(question))
    file = st.file_uploader(
        "Answers",
        type=["csv", "dat", "data", "txt", "gz"],
        key="t-file",
        help="A CSV with the header item,count; a CSV with a column of answers, or of sets such as "
        "tea;rice; or transactions (.dat, .data, .txt): one person's item numbers on each line, "
        "separated by blanks, or items separated by semicolons. An empty line or cell is an empty "
        "set. Each may be packed (.gz).",
    )
    if file is None:
        st.info("Upload answers to begin.")
        return question, None, ""
    name, data = file.name, file.getvalue()
    column = _column(name, data, question)
    ordered = question.kind == ORDINAL
    several = bool(column) and not ordered and _several(question)
    known = tuple(answer_names(question)) if several else None
    answers, fingerprint = _read(name, data, column or question.name, known)
    if answers.repeats:
        st.info(f"{answers.repeats:,} times an item stood in one set again; it counts once.")
    if answers.sets is not None and kept_item(
        st.toggle, "One item a person: keep only the first of each", "t-first", False
    ):
        answers, fingerprint = answers.first_items(), f"{fingerprint} first"
    if not ordered and kept_item(
        st.toggle,
        "Spread the items over the levels at random",
        "t-spread",
        False,
        help="In proportion to the levels' numbers of items, for data whose items the survey "
        "does not list.",
    ):
        levels = tuple(replace(level, items=()) for level in question.levels)
        question = replace(question, levels=levels)
    return question, answers, fingerprint


def known_numbers(question: Question, about: Numeric) -> tuple[NDArray[np.float64] | None, str]:
    """The same for a numeric question, ``about`` this: a number a person, NaN without an answer.

    Raises
    ------
    PlannerError
        They are too many to simulate, or the file is not right.
    """
    if _to_generate():
        return _generated_numbers(about)
    file = st.file_uploader(
        "Answers",
        type=["csv", "gz"],
        key="t-numbers",
        help="A CSV with a column of numbers, one person a row; an empty cell is no answer. It "
        "may be packed (.gz).",
    )
    if file is None:
        st.info("Upload answers to begin.")
        return None, ""
    name, data = file.name, file.getvalue()
    column = _column(name, data, question) or question.name
    with uploads.as_file(name, data) as path:
        values = about.domain.answers(read_numbers(path, column))
    return values, f"{hashlib.sha256(data).hexdigest()} {column}"


def _to_generate() -> bool:
    source = kept_item(
        st.segmented_control, "Answers", "t-source", "generate", options=_SOURCES, required=True
    )
    return bool(source == "generate")


def _generated_numbers(about: Numeric) -> tuple[NDArray[np.float64], str]:
    """Normal around the expected mean, in steps, at the ends where they are beyond."""
    missing, seed = st.columns(2)
    refuse = kept_item(missing.text_input, "Share without an answer", "t-missing", "20 %")
    typed = kept_item(seed.text_input, "Seed of the answers", "t-data-seed", "1")
    share = cells.probability(refuse, "share without an answer")
    number, users = cells.whole_number(typed, "seed", least=0), session().draft.read_users()
    if users > _MOST_PEOPLE:
        allowed = f"at most {_MOST_PEOPLE:,} people to simulate"
        raise InputError("users", users, allowed, "Try a smaller survey.")
    domain, rng = about.domain, np.random.default_rng(number)
    mean = domain.center if about.mean is None else about.mean
    spread = _SPREAD * domain.radius if about.sd is None else about.sd
    step = (domain.upper - domain.lower) / _STEPS
    whole = np.rint((rng.normal(mean, spread, users) - domain.lower) / step)
    values = domain.lower + step * np.clip(whole, 0, _STEPS)
    values = np.minimum(values, domain.upper)  # whatever rounding did
    if domain.yes_no:
        chance = (mean - domain.lower) / (domain.upper - domain.lower)
        values = np.where(rng.random(users) < chance, domain.upper, domain.lower)
    values[rng.random(users) < share] = np.nan
    return values, f"{refuse} {number} {users}"


def _several(question: Question) -> bool:
    found: bool = kept_item(
        st.toggle,
        "A cell may hold several answers",
        f"t-several-{question.kind}",
        question.kind == "item-set",
        help="Then a cell such as tea;rice is a set of two answers, and an empty one an empty set.",
    )
    return found


def _generated(question: Question) -> tuple[Answers, str]:
    shape, seed = st.columns(2)
    form = kept_item(shape.selectbox, "Answers are", "t-shape", "power", options=_SHAPES)
    typed = kept_item(seed.text_input, "Seed of the answers", "t-data-seed", "1")
    number = cells.whole_number(typed, "seed", least=0)
    users = session().draft.read_users()
    items = sum(level.item_count for level in question.levels)
    if items > _MOST_ITEMS or users > _MOST_USERS:
        allowed = f"at most {_MOST_ITEMS:,} items and {_MOST_USERS:,} people to simulate"
        raise InputError("(items, users)", (items, users), allowed, "Try a smaller survey.")
    return _drawn(question, users, form, number), f"{form} {number} {users}"


@lru_cache(maxsize=8)
def _drawn(question: Question, users: int, form: str, seed: int) -> Answers:
    labels = answer_names(question)
    rng = np.random.default_rng(seed)
    shares = 1.0 / np.arange(1, len(labels) + 1) if form == "power" else np.ones(len(labels))
    shares = rng.permutation(shares / shares.sum())
    return Answers(tuple(labels), rng.multinomial(users, shares))


def _column(name: str, data: bytes, question: Question) -> str | None:
    """The column with the answers; ``None`` where the file has no columns to choose from."""
    if not name.lower().removesuffix(".gz").endswith(".csv"):
        return None
    header = next(csv.reader([uploads.text_of(name, _first_line(name, data))]), [])
    titles = [title.strip() for title in header]
    if [title.lower() for title in titles] == ["item", "count"]:
        return None
    answers = set(answer_names(question)) - {question.name}
    if question.name not in titles and not answers.isdisjoint(titles):
        reason = f"the first line, {', '.join(titles)!r}, holds an answer and is no header"
        raise FileError(name, reason, "Name the columns in a line of their own.")
    usual = question.name if question.name in titles else next(iter(titles), question.name)
    column: str = kept_item(
        st.selectbox,
        "Column with the answers",
        f"t-column-{hash(tuple(titles))}",
        usual,
        options=titles or [usual],
    )
    return column


def _first_line(name: str, data: bytes) -> bytes:
    """Without reading the rest, at every run of the page."""
    if not name.lower().endswith(".gz"):
        return data[: data.find(b"\n") + 1] or data
    try:
        with gzip.open(io.BytesIO(data)) as file:
            return file.readline(_LONGEST_HEADER)
    except (OSError, EOFError, zlib.error):
        return b""  # whoever reads it all says what is wrong


def _read(
    name: str, data: bytes, column: str, items: tuple[str, ...] | None
) -> tuple[Answers, str]:
    """The answers in a file; remembered for this session only, as they may be sensitive."""
    fingerprint = f"{hashlib.sha256(data).hexdigest()} {name} {column} {hash(items)}"
    known = st.session_state.get("t-read")
    if known is None or known[1] != fingerprint:
        with uploads.as_file(name, data) as path:
            known = read_answers(path, column, items), fingerprint
        st.session_state["t-read"] = known
    found: tuple[Answers, str] = known
    return found
