"""Text or numbers in, values out, and back: what cells of the app and keys of a file both hold.

Nothing is guessed: ``1,5`` is not 15, and a boolean is no number. What cannot be read for certain
is an :class:`~planner.errors.InputError` that says what to write instead.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated, TypeVar, cast

import numpy as np
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    Strict,
    ValidationInfo,
)

from planner import arguments
from planner.errors import InputError
from planner.laws.schema import Json
from planner.limits import MAX_COUNT, MOST_GROUPS, MOST_PATTERNS
from planner.policy.budget_text import parse_epsilon
from planner.policy.pair_rule import PairRule
from planner.policy.rules import ALLOWED_RULES, DEFAULT_RULE
from planner.survey.description import at

# Thousands are marked alike throughout or not at all: 1,000 000 may be a slip, and is
# not guessed at.
_GROUPED = re.compile(
    r"\d{1,3}(?:(?P<mark>[,_' ])\d{3})(?:(?P=mark)\d{3})*|\d{1,30}", re.ASCII
)
_NUMBER_OR_PERCENT = re.compile(
    r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(%?)", re.ASCII
)
_MOST_LOGARITHM = math.log(100_000)
_COLUMN = re.compile("[A-Za-z_][A-Za-z0-9_]{0,63}")
_LONGEST = 100  # letters of a number
_WRITE_A_POINT = "Write the decimal point as a point: 1.5, not 1,5."


def read_text(value: object) -> str:
    """Text that is not blank; blanks around it stay."""
    match value:
        case str() if value.strip():
            return value
    raise InputError("text", value, "text that is not blank", "Fill it in, in quotes.")


def read_number(value: object) -> float:
    """A finite number, or text with a point for decimals, in per cent or not.

    Examples
    --------
    >>> read_number("5 %"), read_number("-1.5"), read_number(2)
    (0.05, -1.5, 2.0)
    """
    match value:
        case str():
            text = value.strip()
        case _:
            return arguments.finite("number", value)
    match = None
    if len(text) <= _LONGEST:
        match = _NUMBER_OR_PERCENT.fullmatch(text)
    # 1e999 is written like a number, but no float holds it.
    if match and math.isfinite(float(match[1])):
        number = float(match[1])
        if match[2]:  # per cent
            number = number / 100
        return number
    remedy = "Use digits alone."
    if "," in text:
        remedy = _WRITE_A_POINT
    raise InputError("number", value, "a number such as 2 or 0.5", remedy)


def read_share(value: object, argument: str = "share") -> float:
    """A share from 0 to 1, or text in percent."""
    try:
        share = read_number(value)
    except InputError:
        share = math.nan
    if 0 <= share <= 1:
        return share
    allowed = "a share from 0 to 1, or from 0 % to 100 %"
    remedy = "Write a quarter as 0.25 or 25 %."
    raise InputError(argument, value, allowed, remedy)


def read_count(
    value: object,
    least: int = 1,
    most: int = MAX_COUNT,
    remedy: str = "Write it in digits.",
    argument: str = "number",
) -> int:
    """A whole number, or text with thousands marked or not: ``"100,000"``, ``"100 000"``."""
    match value:
        case str() if _GROUPED.fullmatch(value.strip()):
            number: object = int(re.sub(r"\D", "", value))
        case _:
            number = value
    try:
        return arguments.whole_number("number", number, least, most)
    except InputError:
        allowed = f"a whole number from {least:,} to {most:,}"
        raise InputError(argument, value, allowed, remedy) from None


def count(least: int, most: int, remedy: str) -> PlainValidator:
    """Reads a whole number in this range."""
    read = partial(read_count, least=least, most=most, remedy=remedy)
    return PlainValidator(read)


def split(value: object) -> object:
    """The cells of one text, separated by semicolons, else commas; what is no text stays.

    Examples
    --------
    >>> split("anemia, headache"), split('"40-49, male"; "50; older"')
    (['anemia', 'headache'], ['40-49, male', '50; older'])
    """
    match value:
        case str():
            cells = _cells(value, ";")
            # Semicolons come first: "40-49, male; 50, female" has two answers with
            # commas of their own.
            if len(cells) == 1:
                cells = _cells(value, ",")
            return list(filter(None, cells))
        case np.ndarray():
            return value.tolist()
    # A list stays, and what is none is refused where its type is checked.
    return value


def read_rule(value: Json) -> str | PairRule | tuple[tuple[float | None, ...], ...]:
    """A rule's name, one of one's own, or a matrix of budgets, where ``""`` is None, the usual."""
    match value:
        case str() | PairRule():
            return value
        case np.ndarray():
            return read_rule(value.tolist())
        case [*rows] if _all_are(rows, list, tuple):
            matrix = []
            for i, row in enumerate(rows):
                budgets = []
                for j, cell in enumerate(row):
                    budgets.append(_pair_budget(cell, i, j))
                matrix.append(tuple(budgets))
            return tuple(matrix)
    remedy = f'Write rule = "{DEFAULT_RULE}" if you are not sure: it is the usual one.'
    raise InputError("rule", value, ALLOWED_RULES, remedy)


def read_path(value: object, info: ValidationInfo) -> str:
    """The file that a survey's file names beside it; no other document may name one."""
    path = read_text(value)
    context = info.context
    if context is None:  # in Python
        return path
    # A document of the app, or of a stranger, may not make this machine read a file.
    if context["folder"] is None:
        remedy = "Give what is in it, or use the command line."
        raise InputError("file", path, "left out: files are not read here", remedy)
    return str(context["folder"] / path)


def read_language(value: object, info: ValidationInfo) -> str:
    """``en`` or ``de``, or the file that has the page's own words in another language."""
    if value in ("en", "de"):
        return str(value)
    return read_path(value, info)


def read_labels(value: object) -> tuple[tuple[str, str], ...]:
    """A table of texts, as its rows."""
    remedy = 'Write label = { HIV = "An HIV infection" }.'
    rows = _table(value, "label", "a table of texts by answer", remedy)
    return tuple((answer, read_text(label)) for answer, label in rows)


def _all_are(values: Iterable[object], *types: type) -> bool:
    """Whether each value is of one of these types: not of a derived one, as a bool is of int."""
    return all(type(value) in types for value in values)


def _table(
    value: object, key: str, allowed: str, remedy: str
) -> Iterable[tuple[str, Json]]:
    """The rows of a table, as a file has it or as they were read."""
    with suppress(TypeError, ValueError):  # rows that are no pairs
        match value:
            case dict() | tuple() if _all_are(dict(value), str):
                return dict(value).items()
    raise InputError(key, value, allowed, remedy)


@dataclass(frozen=True, slots=True)
class NumberGroup:
    """What is known of people is a whole number: from ``lower`` to ``upper`` by steps.

    Examples
    --------
    >>> NumberGroup(18, 30, step=5).values
    ('18', '23', '28')
    """

    lower: int
    upper: int
    step: int = 1

    @property
    def values(self) -> tuple[str, ...]:
        """The group's numbers as text, as reports carry them."""
        numbers = range(self.lower, self.upper + 1, self.step)
        return tuple(map(str, numbers))

    def table(self) -> dict[str, object]:
        """The group as a survey file has it."""
        table: dict[str, object] = {"kind": "number"}
        table |= {"lower": self.lower, "upper": self.upper}
        if self.step != 1:
            table["step"] = self.step
        return table


GroupValues = tuple[str, ...] | NumberGroup
_NUMBER_KEYS = ("kind", "lower", "upper", "step")
_GROUP_FIX = (
    'Write groups = { region = ["north", "south"] }, '
    'or age = { kind = "number", lower = 18, upper = 99 }.'
)


def read_groups(value: object) -> tuple[tuple[str, GroupValues], ...]:
    """A table of variables with their values; names serve as columns, and both as folders."""
    groups: list[tuple[str, GroupValues]] = []
    # Combinations: of names, which reports are counted by; of all, by which a regression counts.
    named = 1
    patterns = 1
    for name, values in _table(value, "groups", "a table of lists", _GROUP_FIX):
        # A group is a column beside these in tables of reports.
        if not _COLUMN.fullmatch(name) or name in ("report", "parameters", "group"):
            allowed = "of letters, digits and _, and not report, parameters or group"
            raise InputError("name of a group", name, allowed, _GROUP_FIX)
        if isinstance(values, dict | NumberGroup):
            numbers = _number_group(name, values)
            groups.append((name, numbers))
            patterns *= len(numbers.values)
            continue
        listed = _group_names(name, values)
        groups.append((name, listed))
        named *= len(listed)
        patterns *= len(listed)
    for number, most in ((named, MOST_GROUPS), (patterns, MOST_PATTERNS)):
        if number > most:
            names = [name for name, _ in groups]
            allowed = f"at most {most} combinations"
            remedy = "Leave a variable out, or give numbers a larger step."
            raise InputError("groups", names, allowed, remedy)
    return tuple(groups)


def _group_names(name: str, values: object) -> tuple[str, ...]:
    """The values of a known variable, different texts."""
    argument = f"groups.{name}"
    listed: tuple[str, ...] = ()
    if isinstance(values, list | tuple):
        listed = tuple(map(read_text, values))
    different = len(set(listed)) == len(listed)
    if not different or not 1 < len(listed) <= MOST_GROUPS:
        allowed = f"a list of 2 to {MOST_GROUPS} different texts"
        raise InputError(argument, values, allowed, _GROUP_FIX)
    for text in listed:
        # Values are parts of the names of folders, which such a text would break or
        # lead out of.
        if text in (".", "..") or not set(text).isdisjoint("/=\\"):
            allowed = "text without /, \\ and ="
            raise InputError(argument, text, allowed, _GROUP_FIX)
    return listed


def _number_group(name: str, values: dict[str, object] | NumberGroup) -> NumberGroup:
    """A known number: at least two of them, at most as many as a group has names."""
    if isinstance(values, NumberGroup):
        values = values.table()
    argument = f"groups.{name}"
    for key in values:
        if key not in _NUMBER_KEYS:
            raise InputError.unknown(argument, key, _NUMBER_KEYS, _GROUP_FIX)
    if values.get("kind") != "number":
        raise InputError(f"{argument}.kind", values.get("kind"), "number", _GROUP_FIX)
    for key in ("lower", "upper"):
        # In Python True is an int by isinstance, and no age.
        if type(values.get(key)) is not int:
            allowed = "a whole number"
            remedy = "Round it, or count in larger units."
            raise InputError(f"{argument}.{key}", values.get(key), allowed, remedy)
    step = values.get("step", 1)
    if type(step) is not int or step < 1:
        allowed = "a whole number of at least 1"
        raise InputError(f"{argument}.step", step, allowed, "Leave it out for 1.")
    lower = cast("int", values["lower"])
    upper = cast("int", values["upper"])
    numbers = range(lower, upper + 1, step)
    if not 2 <= len(numbers) <= MOST_GROUPS:
        allowed = f"2 to {MOST_GROUPS} numbers from lower to upper"
        remedy = "Widen the range, or give a larger step."
        raise InputError(argument, values, allowed, remedy)
    return NumberGroup(lower, upper, step)


def _written_groups(groups: tuple[tuple[str, GroupValues], ...]) -> dict[str, object]:
    """The known groups as a survey file has them."""
    written: dict[str, object] = {}
    for name, values in groups:
        written[name] = values
        if isinstance(values, NumberGroup):
            written[name] = values.table()
    return written


def read_parts(value: object, info: ValidationInfo) -> tuple[tuple[str, float], ...]:
    """What each group counts for: a table of numbers, none negative and one above 0."""
    name = str(info.field_name)
    remedy = f"Write {name} = {{ north = 1.2, south = 0.9 }}, with every value of one variable."
    rows = _table(value, name, "a table of numbers", remedy)
    parts = tuple((group, read_number(part)) for group, part in rows)
    numbers = [part for _, part in parts]
    right = any(numbers) and min(numbers) >= 0
    if not right or not all(map(math.isfinite, numbers)):
        raise InputError(name, numbers, "not negative, finite, and not all 0", remedy)
    return parts


def read_columns(value: Json) -> tuple[str, ...] | tuple[tuple[str, str], ...]:
    """Names of columns, or a table of the column of each answer, as its rows.

    Examples
    --------
    >>> read_columns("Q7_1; Q7_2"), read_columns({"tea": "drinks/tea"})
    (('Q7_1', 'Q7_2'), (('tea', 'drinks/tea'),))
    """
    match split(value):
        case list() | tuple() as listed if _all_are(listed, str, int):
            return tuple(map(_answer, listed))
    remedy = 'Write columns = ["Q7"], or columns = { tea = "drinks/tea" }.'
    allowed = "a list of names of columns, or a table of the column of each answer"
    rows = _table(value, "columns", allowed, remedy)
    return tuple((answer, _answer(column)) for answer, column in rows)


def read_recoding(value: Json) -> tuple[tuple[str, str], ...]:
    """A table of what cells stand for, as its rows."""
    remedy = 'Write recode = { "f" = "female", "2" = "female" }.'
    rows = _table(value, "recode", "a table of answers by cell", remedy)
    return tuple((cell, _cell(answer)) for cell, answer in rows)


def _written_columns(
    columns: tuple[str, ...] | tuple[tuple[str, str], ...],
) -> list[str] | dict[str, str]:
    """The columns as a survey file has them."""
    names = list[str]()
    table = dict[str, str]()
    for column in columns:
        if isinstance(column, str):
            names.append(column)
        else:
            answer, name = column
            table[answer] = name
    return names or table


def _cell(value: object) -> str:
    """What a cell stands for: an answer, or a number."""
    if type(value) is float:
        return str(value)
    return _answer(value)


def _answer(value: object) -> str:
    """An answer, which may be called by a whole number."""
    if type(value) is int:
        return str(value)
    return read_text(value)


def _code(value: object) -> str:
    """A cell that stands for no answer: blank, a word or a number such as -99."""
    if type(value) in (str, bool):
        return str(value)
    return _answer(value)


def _somewhere(masses: tuple[float, ...]) -> tuple[float, ...]:
    if any(masses):
        return masses
    remedy = "Give a positive share to what does occur."
    raise InputError("masses", masses, "above 0 somewhere", remedy)


T = TypeVar("T")
Several = Annotated[tuple[T, ...], Strict(False)]  # a list is one, too
_Table = Annotated[tuple[tuple[str, T], ...], PlainSerializer(dict)]
_SPLIT = BeforeValidator(split)
Name = Annotated[str, PlainValidator(read_text)]
Budget = Annotated[float, PlainValidator(parse_epsilon)]
NamedFile = Annotated[str, PlainValidator(read_path)]
Language = Annotated[str, PlainValidator(read_language)]
Labels = Annotated[_Table[str], PlainValidator(read_labels)]
Grouping = Annotated[
    tuple[tuple[str, GroupValues], ...],
    PlainValidator(read_groups),
    PlainSerializer(_written_groups),
]
Parts = Annotated[_Table[float], PlainValidator(read_parts)]
Finite = Annotated[float, PlainValidator(read_number)]
NotNegative = Annotated[Finite, Field(ge=0)]
Positive = Annotated[Finite, Field(gt=0)]
Share = Annotated[float, PlainValidator(read_share)]
Answers = Annotated[Several[Annotated[str, PlainValidator(_answer)]], _SPLIT]
ColumnNames = Annotated[
    tuple[str, ...] | tuple[tuple[str, str], ...],
    PlainValidator(read_columns),
    PlainSerializer(_written_columns),
]
Recoding = Annotated[_Table[str], PlainValidator(read_recoding)]
Codes = Annotated[Several[Annotated[str, PlainValidator(_code)]], _SPLIT]
Numbers = Annotated[Several[Finite], _SPLIT]
_Count = Annotated[int, count(0, MAX_COUNT, "Write 0 for none.")]
CountRow = Annotated[Several[_Count], _SPLIT]
Masses = Annotated[Several[NotNegative], _SPLIT, AfterValidator(_somewhere)]


def text_of(value: object, key: str = "") -> str:
    """What reads back as exactly this, in a cell of the ``key``.

    Examples
    --------
    >>> text_of(1.5), text_of(2.0), text_of(("anemia", "40-49, male")), text_of(None)
    ('1.5', '2', 'anemia; "40-49, male"', '')
    >>> text_of(math.log(4), "epsilon"), text_of(100_000, "users")
    ('ln 4', '100,000')
    """
    match value:
        case None:
            return ""
        case str():
            return value
        case int() if key == "users":
            return f"{value:,}"
        case float() if key in ("epsilon", "against") and _logarithm(value) == value:
            # Only where reading it gives the same double.
            return f"ln {round(math.exp(value))}"
        case int() | float():
            return _number_text(float(value))
        case [*cells]:
            return "; ".join(map(_listed_text, cells))
    allowed = "a number, a text or a list of them"
    raise InputError("value", value, allowed, "Write it out.")


def _number_text(number: float) -> str:
    """The number without a point where that is exact: whole numbers below 1e15 read back."""
    if abs(number) < 1e15 and number.is_integer():
        return str(int(number))
    return repr(number)


def _logarithm(epsilon: float) -> float:
    """The logarithm of the whole number above 1 nearest to ``e^epsilon``; 0 if there is none."""
    if epsilon >= _MOST_LOGARITHM:
        return 0.0
    whole = round(math.exp(epsilon))
    if whole <= 1:
        return 0.0
    return math.log(whole)


def _pair_budget(value: object, i: int, j: int) -> float | None:
    """A number: the matrix says where it is out of range."""
    try:
        match value:
            case str():
                text = value.strip().lower()
                if not text:  # the usual budget of the pair
                    return None
                if text == "inf":
                    return math.inf
                return parse_epsilon(text)
            case int() | float() if type(value) is not bool:
                return float(value)
        remedy = 'Write a budget, "" for the usual one, or inf for a pair without protection.'
        raise InputError("budget", value, "a pair budget", remedy)
    except InputError as error:
        raise at(i, j, error=error) from None


def _listed_text(item: object) -> str:
    """An item of a list as :func:`split` reads it: in quotes where it has a separator."""
    if not isinstance(item, str):
        return text_of(item)
    if not re.search(r'[,;"\n]', item):
        return item
    doubled = item.replace('"', '""')
    return f'"{doubled}"'


def _cells(text: str, separator: str) -> list[str]:
    # A pasted line break separates nothing; csv would end the row there.
    line = text.replace("\r", " ").replace("\n", " ")
    reader = csv.reader([line], delimiter=separator, skipinitialspace=True)
    try:
        rows = list(reader)
    except csv.Error as error:  # a cell of more letters than it takes
        remedy = f"Shorten it: {error}."
        raise InputError("answers", text, "a list of texts", remedy) from None
    cells = list[str]()
    for row in rows:
        cells.extend(map(str.strip, row))
    return cells
