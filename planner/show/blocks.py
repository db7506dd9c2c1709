"""What is shown, as a list of blocks: made once, laid out by the terminal, the report and the app.

A block's texts are final: digits are rounded here, budgets upwards, and no face computes, scales
or rephrases. Names of people's surveys stand in them as they are; each renderer escapes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

if TYPE_CHECKING:
    from planner.show.figures import Chart

T = TypeVar("T")
Rank = Literal["everybody", "page", "details"]
"""For everybody; on a page at once, in a terminal among the details; or among them everywhere."""
Written = Callable[[Any], str] | str
"""How a number is written: a function, or a format."""
Tone = Literal["said", "note", "met", "missed", "proof", "item"]


@dataclass(frozen=True, slots=True)
class Heading:
    """A title; level 1 is a survey's, 2 a question's, 3 a part's."""

    text: str
    rank: Rank = "everybody"
    level: int = 2


@dataclass(frozen=True, slots=True)
class Sentence:
    """One or more sentences; an ``"item"`` is one of a list."""

    text: str
    rank: Rank = "everybody"
    tone: Tone = "said"


@dataclass(frozen=True, slots=True)
class Fact:
    """A figure with its name, for which answers it holds, and what it means."""

    name: str
    value: str
    why: str = ""
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """The figures that decide, side by side."""

    facts: tuple[Fact, ...]
    rank: Rank = "everybody"


@dataclass(frozen=True, slots=True)
class Column:
    """Cells under a heading; ``lengths`` are bars that a face may draw behind them."""

    heading: str
    cells: tuple[str, ...]
    text: bool = False
    lengths: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of equal length; ``accent`` is the row that is the plan's own."""

    title: str
    columns: tuple[Column, ...]
    rank: Rank = "details"
    accent: int | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart, drawn only when it is shown; ``alt`` says what can be seen in it.

    The ``key`` tells charts of one page apart.
    """

    title: str
    draw: Callable[[], Chart]
    alt: str
    key: str
    rank: Rank = "details"


Block = Heading | Sentence | Facts | Table | Figure


def said(
    sentences: Iterable[str | None], tone: Tone = "said", rank: Rank = "everybody"
) -> list[Sentence]:
    """Each sentence as a block; what is empty is left out."""
    blocks = []
    for text in sentences:
        if text:
            blocks.append(Sentence(text, rank, tone))
    return blocks


def column(
    heading: str,
    cells: Iterable[Any],
    written: Written | None = None,
    *,
    bars: bool = False,
) -> Column:
    """A column of words; or of numbers, each as it is ``written``.

    With ``bars`` a face may draw one behind each number: shorter is better.
    """
    if written is None:
        return Column(heading, tuple(map(str, cells)), text=True)
    values = list(cells)
    if callable(written):
        texts = tuple(map(written, values))
    else:
        texts = tuple(format(value, written) for value in values)
    lengths: tuple[float, ...] = ()
    if bars:
        lengths = tuple(map(float, values))
    return Column(heading, texts, lengths=lengths)


def rows_table(
    title: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    words: int = 2,
    rank: Rank = "everybody",
) -> Table:
    """A table of rows of text, of which the first columns are words."""
    cells: list[list[str]] = [[] for _ in headings]
    for row in rows:
        for column_cells, cell in zip(cells, row, strict=True):
            column_cells.append(cell)
    columns = []
    for i, (heading, column_cells) in enumerate(zip(headings, cells, strict=True)):
        columns.append(Column(heading, tuple(column_cells), i < words))
    return Table(title, tuple(columns), rank)


def listed(levels: Sequence[str], most: int) -> str:
    """The first levels, and how many more there are.

    Examples
    --------
    >>> listed(["'a'", "'b'", "'c'", "'d'"], 2), listed(["'a'"], 2)
    ("'a', 'b' and 2 more levels", "'a'")
    """
    first = ", ".join(levels[:most])
    if len(levels) <= most:
        return first
    return f"{first} and {len(levels) - most} more levels"


def people(number: float | None) -> str:
    """A number of people, also of an error: whole, but for two digits of less than ten.

    Examples
    --------
    >>> people(4896.24), people(61.14), people(9.96), people(0.0123456), people(None)
    ('4,896', '61', '10', '0.012', '')
    >>> people(math.inf)
    'undefined'
    """
    if number is None or math.isnan(number):
        return ""
    if math.isinf(number):
        return "undefined"
    if abs(number) >= 9.95:  # from here on two digits are a whole number
        return f"{number:,.0f}"
    return f"{number:.2g}"


def quantity(number: float | None) -> str:
    """A mean, or its error, in its own unit: four digits, and more of whole hundreds.

    Examples
    --------
    >>> quantity(4896.24), quantity(61.142), quantity(0.0123456), quantity(math.inf)
    ('4,896', '61.14', '0.01235', 'undefined')
    """
    if number is None or math.isnan(number):
        return ""
    if math.isinf(number):
        return "undefined"
    if abs(number) >= 100:
        return f"{number:,.0f}"
    return f"{number:,.4g}"


def as_exact_as(value: float, spread: float) -> str:
    """A number with the digits that mean something: rounded where its spread has two.

    The ``spread`` is half the width of an interval, or a standard error.

    Examples
    --------
    >>> as_exact_as(48.3612, 9.8), as_exact_as(152_192, 37_094), as_exact_as(-0.049, 0.142)
    ('48.4', '152,000', '-0.05')
    >>> as_exact_as(-0.2, 50)
    '0'
    """
    # Negative where the second digit of the spread stands left of the point.
    decimals = 1 - math.floor(math.log10(spread))
    # Adding 0 turns a zero with a sign into one without.
    return f"{round(value, decimals) + 0.0:,.{max(decimals, 0)}f}"


def number(value: float) -> str:
    """A number in full, with six digits at least.

    Examples
    --------
    >>> number(1_000_000), number(12_345_678.0), number(0.5)
    ('1,000,000', '12,345,678', '0.5')
    """
    if abs(value) >= 1e6:  # where six digits would turn into a power of ten
        return f"{value:,.0f}"
    return f"{value:,.6g}"


def probability(chance: float) -> str:
    """A probability with four decimals, or with two digits where it is smaller than these tell.

    Examples
    --------
    >>> probability(0.25), probability(0.0000123), probability(0.0)
    ('0.2500', '1.2e-05', '0')
    """
    if chance == 0:  # exactly: what never happens is told apart from what is rare
        return "0"
    if 0 < chance < 1e-3:
        return f"{chance:.2g}"
    return f"{chance:.4f}"


def percent(share: float) -> str:
    """A share in per cent.

    Examples
    --------
    >>> percent(0.0489624), percent(math.inf)
    ('4.896 %', 'no share')
    """
    if not math.isfinite(share):
        return "no share"
    return f"{100 * share:.4g} %"


def percent_with(decimals: int, share: float) -> str:
    """A share in per cent with so many decimals; what rounds to 0 has no sign.

    Examples
    --------
    >>> percent_with(1, 0.17549), percent_with(1, -0.0002)
    ('17.5 %', '0.0 %')
    """
    digits = f"{100 * share:.{decimals}f}"
    if float(digits) == 0:
        digits = digits.removeprefix("-")
    return f"{digits} %"


def percent_up(share: float) -> str:
    """A share in per cent, rounded up to one decimal.

    Examples
    --------
    >>> percent_up(0.45085)
    '45.1 %'
    """
    return f"{math.ceil(1e3 * share) / 10:g} %"


def change(share: float) -> str:
    """A difference in per cent, with its sign unless there is none to be seen.

    Examples
    --------
    >>> change(0.0123), change(-0.0123), change(-1e-9)
    ('+1.2 %', '-1.2 %', '0.0 %')
    """
    digits = f"{100 * share:+.1f}"
    if float(digits) == 0:
        digits = "0.0"
    return f"{digits} %"


def lowered(value: float, digits: int) -> str:
    """A number rounded down to so many decimals.

    Examples
    --------
    >>> lowered(1.2349, 3)
    '1.234'
    """
    return f"{math.floor(value * 10**digits) / 10**digits:.{digits}f}"
