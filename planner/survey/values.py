"""Text or numbers in, values out, and back: what cells of the app and keys of a file both hold.

Nothing is guessed: ``1,5`` is not 15, and a boolean is no number. What cannot be read for certain
is an :class:`~planner.errors.InputError` that says what to write instead.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, PlainValidator, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from planner import arguments
from planner.errors import InputError
from planner.limits import MAX_COUNT
from planner.policy.budget_text import parse_epsilon
from planner.policy.rules import ALLOWED_RULES, DEFAULT_RULE, PairRule

_GROUPED = re.compile(r"\d{1,3}(?:(?P<mark>[,_' ])\d{3})(?:(?P=mark)\d{3})*|\d{1,30}", re.ASCII)
_FLOAT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_MOST_LOGARITHM = 100_000
_LONGEST = 100  # letters of a number
_COMMA = "Write the decimal point as a point: 1.5, not 1,5."


def at(*place: str | int, error: InputError) -> ValidationError:
    """The mistake, at a place within what is validated."""
    kind = PydanticCustomError("mistake", "{reason}", {"reason": error.reason, "error": error})
    detail = InitErrorDetails(type=kind, loc=place, input=error.value)
    return ValidationError.from_exception_data("", [detail])


def read_text(value: object) -> str:
    """Text that is not blank; blanks around it stay."""
    if isinstance(value, str) and value.strip():
        return value
    raise InputError("text", value, "text that is not blank", "Fill it in, in quotes.")


def read_budget(value: object) -> float:
    """A budget in nats: ``1.5``, ``"ln 4"``, ``"1.2 * ln 6"``.

    Examples
    --------
    >>> read_budget("ln 1")
    Traceback (most recent call last):
    ...
    planner.errors.InputError: epsilon is 0.0 but must be a budget above 0 and at most 50. ...
    """
    try:
        return parse_epsilon(value)
    except InputError as error:
        if isinstance(value, str) and "," in value:
            raise InputError("epsilon", value, error.allowed, _COMMA) from None
        raise


def read_number(value: object) -> float:
    """A finite number, or text with a point for decimals."""
    if isinstance(value, str):
        text = value.strip()
        if len(text) <= _LONGEST and _FLOAT.fullmatch(text) and math.isfinite(float(text)):
            return float(text)
        remedy = _COMMA if "," in text else "Use digits alone."
        raise InputError("number", value, "a number such as 2 or 0.5", remedy)
    return arguments.finite("number", value)


def read_not_negative(value: object) -> float:
    """A finite number of at least 0."""
    return _within(read_number, value, 0, math.inf, "a number of at least 0", "Write 0 for none.")


def read_positive(value: object) -> float:
    """A finite number above 0."""
    least, remedy = math.nextafter(0, 1), "Zero and less have no meaning here: give a larger one."
    return _within(read_number, value, least, math.inf, "a number above 0", remedy)


def read_share(value: object, argument: str = "share") -> float:
    """A share from 0 to 1, or text in percent.

    Examples
    --------
    >>> read_share("5 %"), read_share(0.25)
    (0.05, 0.25)
    """
    percent = isinstance(value, str) and value.strip().endswith("%")
    try:
        share = read_number(value.strip().removesuffix("%") if percent else value)  # type: ignore[attr-defined]
    except InputError:
        share = math.nan
    share = share / 100 if percent else share
    if 0 <= share <= 1:
        return share
    remedy = "Write a quarter as 0.25 or 25 %."
    raise InputError(argument, value, "a share from 0 to 1, or from 0 % to 100 %", remedy)


def read_count(
    value: object,
    least: int = 1,
    most: int = MAX_COUNT,
    remedy: str = "Write it in digits.",
    argument: str = "number",
) -> int:
    """A whole number, or text with thousands marked or not: ``"100,000"``, ``"100 000"``.

    Examples
    --------
    >>> read_count("1,000,000")
    1000000
    """
    number = value
    if isinstance(value, str) and _GROUPED.fullmatch(value.strip()):
        number = int(re.sub(r"\D", "", value))
    try:
        return arguments.whole_number("number", number, least, most)
    except InputError as error:
        raise InputError(argument, value, error.allowed, remedy) from None


def read_answers(value: object) -> tuple[str, ...]:
    """A list of texts or whole numbers; or one text, items separated by semicolons, else commas.

    Examples
    --------
    >>> read_answers("anemia, headache"), read_answers('"40-49, male"; "50; older"')
    (('anemia', 'headache'), ('40-49, male', '50; older'))
    """
    if isinstance(value, str):
        fields = _fields(value, ";")
        fields = fields if len(fields) > 1 else _fields(value, ",")
        return tuple(field for field in fields if field)
    return _each(value, _answer, 'Put it in brackets: ["HIV", "cold"].')


def read_numbers(value: object) -> tuple[float, ...]:
    """A list of finite numbers; or one text, separated by semicolons or commas."""
    if isinstance(value, str):
        value = value.replace(";", ",").split(",") if value.strip() else ()
    return _each(value, read_number, "Write numbers in brackets, with commas between: [1, 2.5].")


def read_counts(value: object) -> tuple[int, ...]:
    """A list of whole numbers of at least 0; or one text, separated by semicolons or commas."""
    if isinstance(value, str):
        value = value.replace(";", ",").split(",")
    return _each(value, lambda one: read_count(one, 0), "Write them in brackets: [3, 0, 5].")


def read_rule(value: object) -> str | PairRule | tuple[tuple[float | None, ...], ...]:
    """A rule's name, one of one's own, or a matrix of budgets, where ``""`` is None, the usual."""
    if isinstance(value, str | PairRule):
        return value
    cells = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(cells, list | tuple) or not all(
        isinstance(row, list | tuple) for row in cells
    ):
        remedy = f'Write rule = "{DEFAULT_RULE}" if you are not sure: it is the usual one.'
        raise InputError("rule", value, ALLOWED_RULES, remedy)
    return tuple(
        tuple(_cell(cell, i, j) for j, cell in enumerate(row)) for i, row in enumerate(cells)
    )


def read_prior(value: object) -> float:
    """A number of at least 0; or text, in per cent or not."""
    percent = isinstance(value, str) and "%" in value
    return read_share(value) if percent else read_not_negative(value)


def one_of(names: Iterable[str], remedy: str) -> PlainValidator:
    """Reads one of these names; one that it resembles is suggested for another."""
    known = tuple(names)

    def read(value: object) -> str:
        if isinstance(value, str) and value in known:
            return value
        raise InputError.unknown("name", value, known, remedy)

    return PlainValidator(read)


def told_apart(key: str, names: Iterable[str], remedy: str, usual: str = "") -> BeforeValidator:
    """Checks the key that tells a table apart before the others, which depend on it."""
    known = tuple(names)

    def check(table: Any) -> Any:
        if isinstance(table, dict) and table.get(key, usual) not in known:
            raise at(key, error=InputError.unknown(key, table.get(key), known, remedy))
        return table

    return BeforeValidator(check)


Name = Annotated[str, PlainValidator(read_text)]
Budget = Annotated[float, PlainValidator(read_budget)]
Number = Annotated[float, PlainValidator(read_number)]
NotNegative = Annotated[float, PlainValidator(read_not_negative)]
Positive = Annotated[float, PlainValidator(read_positive)]
Share = Annotated[float, PlainValidator(read_share)]
Answers = Annotated[tuple[str, ...], PlainValidator(read_answers)]
Numbers = Annotated[tuple[float, ...], PlainValidator(read_numbers)]
Counts = Annotated[tuple[int, ...], PlainValidator(read_counts)]


def text_of(value: object, key: str = "") -> str:
    """What reads back as exactly this, in a cell of the ``key``.

    Examples
    --------
    >>> text_of(1.5), text_of(2.0), text_of(("anemia", "40-49, male")), text_of(None)
    ('1.5', '2', 'anemia; "40-49, male"', '')
    >>> text_of(math.log(4), "epsilon"), text_of(100_000, "users")
    ('ln 4', '100,000')
    """
    if value is None or isinstance(value, str):
        return value or ""
    if key == "users" and isinstance(value, int):
        return f"{value:,}"
    if key == "epsilon" and isinstance(value, float) and value < math.log(_MOST_LOGARITHM):
        whole = round(math.exp(value))
        if whole > 1 and math.log(whole) == value:
            return f"ln {whole}"
    if isinstance(value, int | float):
        number = float(value)
        whole = math.isfinite(number) and number == int(number) and abs(number) < 1e15
        return str(int(number)) if whole else repr(number)
    if isinstance(value, Sequence):
        return "; ".join(_quoted(one) if isinstance(one, str) else text_of(one) for one in value)
    raise InputError("value", value, "a number, a text or a list of them", "Write it out.")


def _within(
    read: Callable[[object], float],
    value: object,
    least: float,
    most: float,
    allowed: str,
    remedy: str,
) -> float:
    number = read(value)
    if least <= number <= most:
        return number
    raise InputError("number", value, allowed, remedy)


def _each(value: object, read: Callable[[Any], Any], remedy: str) -> tuple[Any, ...]:
    """Every element as ``read`` has it; a mistake is at its place in the list."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        raise InputError("list", value, "a list", remedy)
    found = []
    for i, one in enumerate(value):
        try:
            found.append(read(one))
        except InputError as error:
            raise at(i, error=error) from None
    return tuple(found)


def _answer(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return read_text(value)


def _cell(value: object, i: int, j: int) -> float | None:
    text = value.strip().lower() if isinstance(value, str) else value
    if text == "":
        return None
    if text == "inf":
        return math.inf
    try:
        return read_budget(text) if isinstance(text, str) else _plain_number(text)
    except InputError as error:
        raise at(i, j, error=error) from None


def _plain_number(value: object) -> float:
    """Of any size: the matrix says where it is out of range."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        remedy = 'Write a budget, "" for the usual one, or inf for a pair that needs no protection.'
        raise InputError("budget", value, "a pair budget", remedy)
    return float(value)


def _quoted(item: str) -> str:
    doubled = item.replace('"', '""')
    return f'"{doubled}"' if re.search(r'[,;"\n]', item) else item


def _fields(text: str, separator: str) -> list[str]:
    line = text.replace("\r", " ").replace("\n", " ")
    try:
        rows = list(csv.reader([line], delimiter=separator, skipinitialspace=True))
    except csv.Error as error:  # a cell of more letters than it takes
        raise InputError("answers", text, "a list of texts", f"Shorten it: {error}.") from None
    return [field.strip() for row in rows for field in row]
