"""A document as one short word for an address, and back, whatever was typed.

Nothing in such a word is believed: it may come from anybody, and may be cut short.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from planner.errors import InputError
from planner.ui.document import Document

MOST_IN_ADDRESS = 6000
"""Characters; beside the rest of an address, what servers and chat programs let pass."""
_MOST_BYTES = 1_000_000
_MOST_QUESTIONS, _MOST_ROWS = 200, 10_000
_FILES = ("pilot", "file", "ledger", "values")  # a path would be read; values are what people said
_LISTS = ("items", "yes_counts", "order", "scores", "sizes", "popularity", "edges", "shares")
_TABLES = ("sets", "sampling", "preferences")


def word_of(document: Document) -> str:
    """Everything typed, in letters, digits, ``-`` and ``_``; without uploaded samples.

    Examples
    --------
    >>> typed = {"survey": {"name": "wards", "users": "1,000"}, "question": [{"name": "age"}]}
    >>> document_of_word(word_of(typed)) == typed
    True
    """
    plain: Document = {"survey": _plain(document["survey"])}
    plain["question"] = [_plain(question) for question in document["question"]]
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    packed = zlib.compress(text.encode("utf-8", "surrogatepass"), 9)
    return base64.urlsafe_b64encode(packed).rstrip(b"=").decode()


def document_of_word(word: str) -> Document:
    """The document again.

    Raises
    ------
    InputError
        The word is none of :func:`word_of`'s, or unpacks to more than a megabyte.

    Examples
    --------
    >>> document_of_word("cut")
    Traceback (most recent call last):
    ...
    planner.errors.InputError: the survey in the address cannot be read. Copy the whole ...
    """
    try:
        return _checked(_unpacked(word))
    except (ValueError, TypeError, KeyError, RecursionError, zlib.error) as error:
        remedy = "Copy the whole address, or open the survey's file."
        reason = "the survey in the address cannot be read"
        raise InputError.because("address", reason, remedy) from error


def _unpacked(word: str) -> Any:
    packed = base64.b64decode(word + "=" * (-len(word) % 4), altchars=b"-_", validate=True)
    unpacking = zlib.decompressobj()
    text = unpacking.decompress(packed, _MOST_BYTES)
    if not unpacking.eof:
        raise ValueError("too long, or cut short")
    return json.loads(text.decode("utf-8", "surrogatepass"), parse_constant=_no_number)


def _no_number(name: str) -> float:
    raise ValueError(name)


def _plain(table: Document) -> Document:
    """A table without what an address must not hold."""
    return {
        key: _plain(value) if isinstance(value, dict) else value
        for key, value in table.items()
        if key not in _FILES
    }


def _checked(found: Any) -> Document:
    """A document in which every cell is text, a number or a switch, where the app looks for one."""
    document = {"survey": _table(found["survey"]), "question": list(found["question"])}
    questions = document["question"]
    if not 1 <= len(questions) <= _MOST_QUESTIONS:
        raise ValueError("questions")
    document["question"] = [_question(one) for one in questions]
    return document


def _question(found: Any) -> Document:
    if not isinstance(found, dict):
        raise TypeError("no question")
    inner = {"level", "target", "rule", *_TABLES}
    question = _table({key: value for key, value in found.items() if key not in inner})
    for key in ("level", "target"):
        if key in found:
            question[key] = [_table(row) for row in _list(found[key])]
    for key in _TABLES:
        if key in found:
            question[key] = _table(found[key])
    rule = found.get("rule")
    if isinstance(rule, list):
        size = len(question.get("level", ()))
        if len(rule) != size or any(len(_list(row)) != size for row in rule):
            raise ValueError("rule")
        question["rule"] = [[_cell(one) for one in row] for row in rule]
    elif rule is not None:
        question["rule"] = _cell(rule)
    return question


def _table(found: Any) -> Document:
    if not isinstance(found, dict):
        raise TypeError("no table")
    return {
        str(key): _cells(value) if key in _LISTS else _cell(value)
        for key, value in found.items()
        if key not in _FILES
    }


def _cells(value: Any) -> Any:
    return [_cell(one) for one in value] if isinstance(value, list) else _cell(value)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list) or len(value) > _MOST_ROWS:
        raise TypeError("no list")
    return value


def _cell(value: Any) -> str | float | bool:
    if isinstance(value, str | bool | float):
        return value
    if not isinstance(value, int) or abs(value) >= 2**63:
        raise TypeError("no cell")
    return value
