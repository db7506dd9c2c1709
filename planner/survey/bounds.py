"""Bounds of a number, as far as the constraint of an XLSForm states them plainly."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

_DECIMAL_NUMBER = r"(-?\d+(?:\.\d+)?)"
_DOT_FIRST = re.compile(rf"\.\s*(<=|>=|<|>)\s*{_DECIMAL_NUMBER}")
_DOT_LAST = re.compile(rf"{_DECIMAL_NUMBER}\s*(<=|>=|<|>)\s*\.")
_CODE = re.compile(rf"\.\s*=\s*'?{_DECIMAL_NUMBER}'?")
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


class Bounds(NamedTuple):
    """The smallest and the largest number as text, blank where nothing plain is said.

    ``codes`` are numbers outside them that stand for no answer.
    """

    lower: str
    upper: str
    codes: tuple[str, ...] = ()

    def hold(self, number: str) -> bool:
        """Whether a number is within the bounds."""
        value = float(number)
        if self.lower and value < float(self.lower):
            return False
        return not self.upper or value <= float(self.upper)


def bounds_of(constraint: str, whole: bool) -> Bounds:
    """The bounds of a constraint: comparisons of the answer with numbers, joined by ``and``.

    Codes beside them, joined by ``or``, stand for no answer. Of a ``whole`` number, ``. > 17`` is
    ``. >= 18``. What is joined by ``and`` and no such comparison says nothing here.

    Examples
    --------
    >>> bounds_of(". >= 18 and . < 100", whole=True)
    Bounds(lower='18', upper='99', codes=())
    >>> bounds_of("(. >= 0 and . <= 120) or . = -99", whole=True)
    Bounds(lower='0', upper='120', codes=('-99',))
    >>> bounds_of("2024 - . >= 18", whole=True)
    Bounds(lower='', upper='', codes=())
    """
    ranges: list[Bounds] = []
    codes: list[str] = []
    for alternative in _split(_without_brackets(constraint), "or"):
        text = _without_brackets(alternative)
        code = _CODE.fullmatch(text)
        if code:
            codes.append(code[1])
            continue
        ranges.append(_range(text, whole))
    # Of two ranges, such as 1 to 5 or 10 to 15, neither is the bounds of all answers.
    if len(ranges) != 1:
        return Bounds("", "")
    (bounds,) = ranges
    outside = tuple(itertools.filterfalse(bounds.hold, codes))
    return bounds._replace(codes=outside)


def _range(text: str, whole: bool) -> Bounds:
    """The bounds of comparisons joined by ``and``, each of which holds."""
    lower: list[float] = []
    upper: list[float] = []
    for part in _split(text, "and"):
        compared = _compared(_without_brackets(part))
        if compared is None:
            continue
        sign, number = compared
        step = 0
        if whole and sign in ("<", ">"):
            # The next whole number is the bound.
            step = 1
        if sign.startswith(">"):
            lower.append(number + step)
        else:
            upper.append(number - step)
    smallest = ""
    if lower:
        smallest = f"{max(lower):.15g}"
    largest = ""
    if upper:
        largest = f"{min(upper):.15g}"
    return Bounds(smallest, largest)


def _compared(text: str) -> tuple[str, float] | None:
    """The sign and the number that the answer is compared with."""
    plain = _DOT_FIRST.fullmatch(text)
    if plain:
        return plain[1], float(plain[2])
    turned = _DOT_LAST.fullmatch(text)
    if turned:
        return _MIRRORED[turned[2]], float(turned[1])
    return None


def _split(text: str, word: str) -> Iterator[str]:
    """The parts between words that stand in no brackets."""
    start = 0
    for match in re.finditer(rf"\b{word}\b", text):
        before = text[: match.start()]
        # Within brackets the word joins what belongs to one part.
        if before.count("(") == before.count(")"):
            yield text[start : match.start()]
            start = match.end()
    yield text[start:]


def _without_brackets(text: str) -> str:
    """The text without brackets around all of it."""
    plain = text.strip()
    while plain.startswith("(") and plain.endswith(")"):
        inside = plain[1:-1]
        depth = 0
        for letter in inside:
            depth += (letter == "(") - (letter == ")")
            if depth < 0:  # the first bracket is closed before the last
                return plain
        plain = inside.strip()
    return plain
