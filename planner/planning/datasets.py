"""Readers of answers to simulate with: transactions, a CSV column, or a CSV of counts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import inf, isinf, isnan, nan
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from planner.errors import FileError, InputError
from planner.files import read_csv, read_text
from planner.limits import MAX_COUNT
from planner.mechanisms.itemsets import ItemSets


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
    repeats:
        How often an item stood in one set again; it counts once.
    """

    labels: tuple[str, ...]
    counts: NDArray[np.int64]
    sets: ItemSets | None = None
    repeats: int = 0

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


def read_answers(path: str | Path, column: str, known: Collection[str] | None = None) -> Answers:
    """Read a file by its name and header; one that ends in ``.gz`` is unpacked.

    ``.csv``: counts if the header is ``item,count``, else the column named ``column``.
    Anything else (``.dat``, ``.data``, ``.txt``): transactions.

    Parameters
    ----------
    path, column:
        The file, and the question that it answers.
    known:
        The question's items, if a person may have several of them: then a cell of the column
        is a set, as :func:`read_set_column` reads it.

    Raises
    ------
    FileError
        The file cannot be read or used; the message names the line.
    """
    if not str(path).lower().removesuffix(".gz").endswith(".csv"):
        return read_transactions(path)
    header, _ = read_csv(path)
    if [name.strip().lower() for name in header] == ["item", "count"]:
        return read_counts(path)
    return read_column(path, column) if known is None else read_set_column(path, column, known)


def read_transactions(path: str | Path) -> Answers:
    """A user a line, no header: item numbers separated by blanks, or items by semicolons.

    This is the form of the FIMI repository's data (Kosarak, retail). An empty line is a user
    without items. Numbers are ordered by their value, names alphabetically. An item that stands
    in a line again counts once.

    Raises
    ------
    FileError
        Not readable, no transactions, no items at all, or, without any semicolon, something
        other than item numbers of at least 0.
    """
    text = read_text(path)
    lines = text.splitlines()
    if not any(line.strip() for line in lines):
        raise FileError(path, "there are no transactions", "Put one user's items on each line.")
    named = ";" in text
    words = [_parts(line) if named else line.split() for line in lines]
    flat = [word for line in words for word in line]
    lengths = np.array(list(map(len, words)))
    try:
        numbers = np.array(flat, dtype=np.int64)
    except (ValueError, OverflowError):
        numbers = np.array([-1])
    if numbers.size and numbers.min() >= 0:
        return _sets_of(numbers, lengths)
    if not named:
        raise _no_number(path, words)
    if not flat:
        raise FileError(path, "there is no item", "Put one user's items on each line.")
    return _sets_of(np.array(flat), lengths)


def read_set_column(path: str | Path, column: str, known: Collection[str] = ()) -> Answers:
    """One column of a CSV file with a header: a user a row, a set of items in each cell.

    Items are separated by semicolons. Without any semicolon in the column, they are separated by
    blanks if that splits every cell into items that are ``known``, or into numbers. An empty cell
    is an empty set.

    Raises
    ------
    FileError
        Not readable, no such column, no rows, or no item in any row.
    """
    cells = [cell for _, cell in _column(path, column)]
    split = [_parts(cell) for cell in cells]
    if not any(";" in cell for cell in cells):
        apart = [cell.split() for cell in cells]
        names = set(known)
        if all(word in names or word.isdecimal() for words in apart for word in words):
            split = apart
    flat = [word for words in split for word in words]
    if not flat:
        raise FileError(path, f"no row of column {column!r} has an item", "Give at least one.")
    return _sets_of(np.array(flat), np.array(list(map(len, split))))


def _parts(text: str) -> list[str]:
    return [part for part in map(str.strip, text.split(";")) if part]


def _sets_of(flat: NDArray[np.int64] | NDArray[np.str_], lengths: NDArray[np.int64]) -> Answers:
    """Sets of these lengths, one after the other in ``flat``."""
    labels, members = np.unique(flat, return_inverse=True)
    user = np.repeat(np.arange(lengths.size), lengths)
    pairs = user * labels.size + members
    _, first = np.unique(pairs, return_index=True)
    kept = np.sort(first)  # the order within a set stays: its first item may be all that is used
    sizes = np.bincount(user[kept], minlength=lengths.size)
    sets = ItemSets(labels.size, members[kept], np.concatenate([[0], np.cumsum(sizes)]))
    repeats = int(flat.size - kept.size)
    return Answers(tuple(map(str, labels.tolist())), sets.counts(), sets, repeats)


def read_column(path: str | Path, column: str) -> Answers:
    """One column of a CSV file with a header: a user a row, an answer in each.

    Answers are ordered alphabetically.

    Raises
    ------
    FileError
        Not readable, no such column, no rows, or an empty answer.
    """
    answers = []
    for number, answer in _column(path, column):
        if not answer:
            remedy = "Leave the row out, or give missing answers a name of their own."
            raise FileError(path, f"line {number} has no answer in column {column!r}", remedy)
        answers.append(answer)
    labels, counts = np.unique(answers, return_counts=True)
    return Answers(tuple(labels.tolist()), counts.astype(np.int64))


def _column(path: str | Path, column: str) -> list[tuple[int, str]]:
    """The cells of one column, with the numbers of their lines."""
    header, rows = read_csv(path)
    if header.count(column) != 1:
        remedy = "Name the question like the column that holds its answers."
        listed = ", ".join(header)
        raise FileError(path, f"one column {column!r} is needed; there are {listed}", remedy)
    if not rows:
        raise FileError(path, "there are no rows below the header", "Give at least one answer.")
    place = header.index(column)
    return [(number, row[place] if len(row) > place else "") for number, row in rows]


def read_numbers(path: str | Path, column: str) -> NDArray[np.float64]:
    """One column of a CSV file with a header: a person a row, a number or nothing in each.

    Returns
    -------
    numpy.ndarray
        Shape ``(people,)``; NaN for an empty cell, which is no answer.

    Raises
    ------
    FileError
        Not readable, no such column, no rows, or a cell that is no finite number.
    """
    values = []
    for number, cell in _column(path, column):
        try:
            value = float(cell) if cell else nan
        except ValueError:
            value = inf
        if isinf(value) or (cell and isnan(value)):
            remedy = "Leave the cell empty if there is no answer."
            raise FileError(path, f"line {number}: {cell!r} is not a finite number", remedy)
        values.append(value)
    return np.array(values)


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
    return FileError(path, reason, "Separate item numbers by blanks, or named items by semicolons.")
