"""What people type into cells: text in, a value or one sentence out. Nothing is guessed.

``1,5`` is not 15 and ``-5`` is not 5: what cannot be read for certain is an error that
says what to write instead.
"""

from __future__ import annotations

import csv
import math
import re

from planner.errors import InputError
from planner.limits import MAX_COUNT
from planner.policy.budget_text import parse_epsilon

_GROUPED = re.compile(r"\d{1,3}(?:(?P<mark>[,_' ])\d{3})(?:(?P=mark)\d{3})*|\d+", re.ASCII)
_FLOAT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_MOST_LOGARITHM = 100_000
_MOST_DIGITS = 40


def budget(text: str) -> float:
    """A budget in nats from what was typed: ``1.5``, ``ln 4``, ``1.2 * ln 6``.

    Raises
    ------
    InputError
        It is not a budget above 0 and at most 50.

    Examples
    --------
    >>> budget("ln 1")
    Traceback (most recent call last):
    ...
    planner.errors.InputError: epsilon is 0.0 but must be a budget above 0 and at most 50. ...
    """
    try:
        return parse_epsilon(text)
    except InputError as error:
        if "," in text:
            remedy = "Write the decimal point as a point: 1.5, not 1,5."
            raise InputError(error.argument, text, error.allowed, remedy) from None
        raise


def budget_text(epsilon: float) -> str:
    """A budget as text that :func:`budget` reads back to exactly the same number.

    Examples
    --------
    >>> budget_text(math.log(4)), budget_text(1.5), budget_text(2.0)
    ('ln 4', '1.5', '2')
    """
    if epsilon < math.log(_MOST_LOGARITHM):
        whole = round(math.exp(epsilon))
        if whole > 1 and math.log(whole) == epsilon:
            return f"ln {whole}"
    return number_text(epsilon)


def number_text(value: float) -> str:
    """A number as text that :func:`number` reads back exactly.

    Examples
    --------
    >>> number_text(2.0), number_text(0.1)
    ('2', '0.1')
    """
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def whole_number(text: str, argument: str, least: int = 1, largest: int = MAX_COUNT) -> int:
    """A whole number, thousands marked or not: ``100000``, ``100,000``, ``100 000``.

    Raises
    ------
    InputError
        Anything else (``1,5``, ``1e5``, ``-3``), or out of range.

    Examples
    --------
    >>> whole_number("1,000,000", "users")
    1000000
    """
    stripped = text.strip()
    if len(stripped) <= _MOST_DIGITS and _GROUPED.fullmatch(stripped):
        value = int(re.sub(r"\D", "", stripped))
        if least <= value <= largest:
            return value
    remedy = "Write it in digits, with or without commas: 100,000."
    raise InputError(argument, text, f"a whole number from {least} to {largest:,}", remedy)


def number(text: str, argument: str) -> float:
    """A finite number, with a point for decimals.

    Raises
    ------
    InputError
        Anything else.
    """
    stripped = text.strip()
    if _FLOAT.fullmatch(stripped) and math.isfinite(float(stripped)):
        return float(stripped)
    comma = "," in stripped
    remedy = "Write the decimal point as a point: 1.5, not 1,5." if comma else "Use digits alone."
    raise InputError(argument, text, "a number such as 2 or 0.5", remedy)


def probability(text: str, argument: str) -> float:
    """A share from 0 to 1, or in percent.

    Examples
    --------
    >>> probability("5 %", "share"), probability("0.25", "share")
    (0.05, 0.25)
    """
    stripped = text.strip()
    percent = stripped.endswith("%")
    try:
        value = number(stripped.removesuffix("%"), argument) / (100 if percent else 1)
    except InputError:
        value = math.nan
    if not 0 <= value <= 1:
        remedy = "Write a quarter as 0.25 or 25 %."
        raise InputError(argument, text, "a share from 0 to 1, or from 0 % to 100 %", remedy)
    return value


def item_list(text: str) -> tuple[str, ...]:
    """Items separated by semicolons, or by commas if there is no semicolon.

    An item that contains a separator is put in double quotes.

    Examples
    --------
    >>> item_list("anemia, headache"), item_list('"40-49, male"; "50; older"')
    (('anemia', 'headache'), ('40-49, male', '50; older'))
    """
    fields = _fields(text, ";")
    if len(fields) <= 1:
        fields = _fields(text, ",")
    return tuple(field for field in fields if field)


def items_text(items: tuple[str, ...]) -> str:
    """Items as text that :func:`item_list` reads back to exactly the same items.

    Examples
    --------
    >>> items_text(("anemia", "40-49, male"))
    'anemia; "40-49, male"'
    """
    return "; ".join(_quoted(item) if re.search(r'[,;"\n]', item) else item for item in items)


def _quoted(item: str) -> str:
    doubled = item.replace('"', '""')
    return f'"{doubled}"'


def _fields(text: str, separator: str) -> list[str]:
    line = text.replace("\r", " ")
    rows = csv.reader([line.replace("\n", " ")], delimiter=separator, skipinitialspace=True)
    try:
        return [field.strip() for row in rows for field in row]
    except csv.Error as error:
        remedy = "Open many answers as a file (CSV)."
        raise InputError("items", f"{text[:20]}...", "shorter answers", remedy) from error
