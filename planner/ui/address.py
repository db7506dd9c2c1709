"""A document as one short word in the address, so that a link is the survey.

Nothing in such a word is believed: it may come from anybody.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from sys import float_info
from typing import Any, NamedTuple, TypeAlias

from planner.errors import InputError
from planner.laws.schema import Document

MOST_IN_ADDRESS = 6000
"""Characters; beside the rest of an address, what servers and chat programs let pass."""
_MOST_BYTES = 1_000_000
_MOST_DOCUMENTS = 50
# Paths, and what people said, do not travel.
_FILES = {"pilot", "file", "ledger", "values"}
# Under these keys stand names that people chose: a group called "file" is no path.
_BY_NAMES = ("label", "groups", "population", "weights", "recode", "columns")


class _Lists(NamedTuple):
    """A cell, or a list of cells, or lists of such lists: ``depth`` of them at most."""

    depth: int


class _Keyed(NamedTuple):
    """A table: what its keys hold, and what all the others do."""

    keys: Mapping[str, _Shape] = {}
    others: _Shape = _Lists(1)


class _Rows(NamedTuple):
    """A list of tables, ``most`` of them at most."""

    row: _Keyed
    most: int


class _Either(NamedTuple):
    """What has one of two shapes."""

    first: _Shape
    second: _Shape


_Shape: TypeAlias = _Lists | _Keyed | _Rows | _Either
_CELLS = _Keyed()
_BY_CELL = dict.fromkeys(("label", "weights", "recode"), _CELLS)
_QUESTION = _Keyed(
    {
        **_BY_CELL,
        **dict.fromkeys(("sets", "sampling", "preferences", "rounds"), _CELLS),
        "columns": _Either(_Lists(1), _CELLS),
        "rule": _Lists(2),
        "level": _Rows(_CELLS, 10_000),
        "target": _Rows(_CELLS, 10_000),
    }
)
_SURVEY = _Keyed(
    {
        **_BY_CELL,
        # A group has its values, or the range of a number.
        "groups": _Keyed({}, _Either(_Lists(1), _CELLS)),
        "population": _Either(_Lists(0), _CELLS),  # text as it is typed, or a table
    }
)
_DOCUMENT = _Keyed({"survey": _SURVEY, "question": _Rows(_QUESTION, 200)})


def _fits(value: object, shape: _Shape) -> bool:
    """Whether it has the shape that pages look for."""
    match shape:
        case _Either(first, second):
            return _fits(value, first) or _fits(value, second)
        case _Keyed(keys, others):
            return isinstance(value, dict) and all(
                _fits(cell, keys.get(key, others)) for key, cell in value.items()
            )
        case _Rows(row, most):
            return isinstance(value, list) and _all_fit(value, row, most)
        case _Lists(depth) if isinstance(value, list):
            return depth > 0 and _all_fit(value, _Lists(depth - 1), len(value))
    # JSON knows numbers that no float holds, and NaN.
    if isinstance(value, int | float):
        return abs(value) <= float_info.max
    return isinstance(value, str)


def _all_fit(values: list[object], shape: _Shape, most: int) -> bool:
    return len(values) <= most and all(_fits(value, shape) for value in values)


def _is_whole(document: Document) -> bool:
    """Whether it has both tables, and a question."""
    tables = _DOCUMENT.keys.keys()
    return document.keys() == tables and bool(document["question"])


def word_of(*documents: Document) -> str:
    """The documents as one word of letters, digits, ``-`` and ``_``; without uploaded samples.

    Examples
    --------
    >>> typed = {"survey": {"name": "wards", "users": "1,000"}, "question": [{"name": "age"}]}
    >>> documents_of_word(word_of(typed)) == [typed]
    True
    """
    whole = _without_files([*documents])
    # As short as it can be: letters of other scripts as they are, and no blanks.
    text = json.dumps(whole, ensure_ascii=False, separators=(",", ":"))
    # Half of a pair of surrogates, as of an emoji that was cut in two, must not end the
    # page.
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
        # Also on the way in: a word that was made elsewhere may name a file of this
        # machine.
        documents: list[Document] = _without_files(_unpacked(word))
        # Pages look into tables without asking: a list in the place of one would end
        # them half drawn.
        if not documents or not _fits(documents, _Rows(_DOCUMENT, _MOST_DOCUMENTS)):
            raise ValueError("another shape")
        if not all(map(_is_whole, documents)):
            raise ValueError("a table is missing")
    except (ValueError, RecursionError, zlib.error) as error:
        # Errors of base64, UTF-8 and JSON are all ValueErrors; tables nested too deep
        # end the recursion.
        remedy = "Copy the whole address, or open the survey's file."
        reason = "the survey in the address cannot be read"
        raise InputError.because("address", reason, remedy) from error
    return documents


def _unpacked(word: str) -> Any:
    # Left out of the address, where "=" would be escaped.
    padding = "=" * (-len(word) % 4)
    packed = base64.b64decode(word + padding, altchars=b"-_", validate=True)
    unpacking = zlib.decompressobj()
    # A small word may unpack to gigabytes.
    text = unpacking.decompress(packed, _MOST_BYTES)
    if not unpacking.eof:
        raise ValueError("too long, or cut short")
    return json.loads(text.decode("utf-8", "surrogatepass"))


def _without_files(value: Any) -> Any:
    """A value without what an address must not hold; labels and groups have people's own names."""
    match value:
        case dict():
            kept = {}
            for key, cell in value.items():
                if key in _BY_NAMES:
                    kept[key] = cell
                elif key not in _FILES:
                    kept[key] = _without_files(cell)
            return kept
        case list():
            return [_without_files(cell) for cell in value]
    return value
