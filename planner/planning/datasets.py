"""Readers of answers to simulate with: transactions, a CSV column, or a CSV of counts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from planner.errors import FileError, InputError
from planner.files import read_csv, read_text
from planner.limits import MAX_COUNT
from planner.mechanisms.itemsets import ItemSets

__all__ = ["Answers", "read_answers", "read_column", "read_counts", "read_transactions"]


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """True answers of all users.

    Attributes
    ----------
    labels:
        Name of each item, by item number.
    counts:
        Number of users who have each item, int64, shape ``(items,)``.
    sets:
        Every user's set, where users may have several items; ``None`` where each
        has exactly one, so that the counts say everything.
    """

    labels: tuple[str, ...]
    counts: NDArray[np.int64]
    sets: ItemSets | None = None

    @property
    def users(self) -> int:
        """Number of users."""
        return self.sets.users if self.sets else int(self.counts.sum())

    def first_items(self) -> Answers:
        """Single-item use: the first item of every set that is not empty.

        Raises
        ------
        InputError
            Every set is empty.
        """
        if self.sets is None:
            return self
        firsts = self.sets.firsts()
        if firsts.size == 0:
            remedy = "Give sets of which at least one holds an item."
            raise InputError.because("sets", "all sets are empty", remedy)
        return Answers(self.labels, np.bincount(firsts, minlength=len(self.labels)))


def read_answers(path: str | Path, column: str) -> Answers:
    """Read a file by its name and header.

    ``.csv``: counts if the header is ``item,count``, else the column named ``column``.
    Anything else: transactions.

    Raises
    ------
    FileError
        The file cannot be read or used; the message names the line.
    """
    if Path(path).suffix.lower() != ".csv":
        return read_transactions(path)
    header, _ = read_csv(path)
    if [name.strip().lower() for name in header] == ["item", "count"]:
        return read_counts(path)
    return read_column(path, column)


def read_transactions(path: str | Path) -> Answers:
    """FIMI transactions: a user a line, item numbers separated by blanks, no header.

    An empty line is a user without items. Items are ordered by their numbers.

    Raises
    ------
    FileError
        Not readable, no transactions, no items at all, something other than item
        numbers of at least 0, or an item twice in one line.
    """
    lines = read_text(path).splitlines()
    if not any(line.strip() for line in lines):
        raise FileError(path, "there are no transactions", "Put one user's items on each line.")
    words = [line.split() for line in lines]
    flat = [word for line in words for word in line]
    try:
        numbers = np.array(flat, dtype=np.int64)
    except (ValueError, OverflowError):
        numbers = np.array([-1])
    if numbers.min() < 0:
        raise _no_number(path, words)
    labels, members = np.unique(numbers, return_inverse=True)
    starts = np.cumsum([0, *map(len, words)])
    try:
        sets = ItemSets(labels.size, members, starts)
    except InputError as error:
        repeats = (len({int(word) for word in line}) < len(line) for line in words)
        reason = f"line {list(repeats).index(True) + 1} has an item twice"
        raise FileError(path, reason, "Give every item of a transaction once.") from error
    return Answers(tuple(map(str, labels.tolist())), sets.counts(), sets)


def read_column(path: str | Path, column: str) -> Answers:
    """One column of a CSV file with a header: a user a row, an answer in each.

    Answers are ordered alphabetically.

    Raises
    ------
    FileError
        Not readable, no such column, no rows, or an empty answer.
    """
    header, rows = read_csv(path)
    if header.count(column) != 1:
        remedy = "Name the question like the column that holds its answers."
        listed = ", ".join(header)
        raise FileError(path, f"one column {column!r} is needed; there are {listed}", remedy)
    place = header.index(column)
    answers = []
    for number, row in rows:
        answer = row[place] if len(row) > place else ""
        if not answer:
            remedy = "Leave the row out, or give missing answers a name of their own."
            raise FileError(path, f"line {number} has no answer in column {column!r}", remedy)
        answers.append(answer)
    if not answers:
        raise FileError(path, "there are no rows below the header", "Give at least one answer.")
    labels, counts = np.unique(answers, return_counts=True)
    return Answers(tuple(labels.tolist()), counts.astype(np.int64))


def read_counts(path: str | Path) -> Answers:
    """A CSV file with the header ``item,count``: how many users have each item.

    Raises
    ------
    FileError
        Not readable, a wrong header, no rows, a repeated or empty item, a count that is
        not a whole number from 0 to 10^12, or all counts 0.
    """
    header, rows = read_csv(path)
    if [name.strip().lower() for name in header] != ["item", "count"]:
        remedy = "Begin the file with the line item,count."
        raise FileError(path, f"the header is {','.join(header)!r}, not 'item,count'", remedy)
    counts: dict[str, int] = {}
    for number, row in rows:
        item, text = (*row, "", "")[:2]
        if not item or item in counts:
            remedy = "Give each item a name and one line."
            raise FileError(path, f"line {number}: item {item!r} is empty or repeated", remedy)
        if not (text.isascii() and text.isdecimal() and int(text) <= MAX_COUNT):
            reason = f"line {number}: count {text!r} is not a whole number from 0 to {MAX_COUNT}"
            raise FileError(path, reason, "Count users; do not give shares.")
        counts[item] = int(text)
    if not any(counts.values()):
        raise FileError(path, "there is no user", "Give at least one item a count above 0.")
    return Answers(tuple(counts), np.array(list(counts.values()), dtype=np.int64))


def _no_number(path: str | Path, words: list[list[str]]) -> FileError:
    """The error for the first word that is no item number."""
    number, word = next(
        (number, word)
        for number, line in enumerate(words, start=1)
        for word in line
        if not (word.isascii() and word.isdecimal() and int(word) < 2**63)
    )
    reason = f"line {number}: {word!r} is not an item number"
    return FileError(path, reason, "Separate item numbers by blanks.")
