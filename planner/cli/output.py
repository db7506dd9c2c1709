"""How commands write: text, JSON, numbers, and progress that leaves nothing behind."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import Progress, ProgressColumn
from rich.segment import Segment
from rich.table import Table

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


class _Console(Console):
    """Whatever is printed passes here, before styles become a terminal's commands."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))


def terminal(*, stderr: bool = False) -> Console:
    """A console that prints names as they are: nothing in them is a command, whoever reads."""
    return _Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def visible(text: str) -> str:
    r"""Text whose control characters are spelt out, as a terminal would obey them.

    Tabs and ends of lines stay. Marks that turn the direction of writing, and parts of
    characters that no file can hold, are spelt out, too.

    Examples
    --------
    >>> visible("a\x1b[2Jb\n")
    'a\\x1b[2Jb\n'
    """
    return _INVISIBLE.sub(lambda match: ascii(match[0])[1:-1], text)


def progress(*columns: str | ProgressColumn) -> Progress:
    """A bar on standard error while it is a terminal; nothing where it is a file or a pipe."""
    console = terminal(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def table(title: str, texts: Sequence[str], numbers: Sequence[str]) -> Table:
    """An empty table with columns of text, then columns of numbers."""
    view = Table(title=title, title_justify="left")
    for heading in texts:
        view.add_column(heading)
    for heading in numbers:
        view.add_column(heading, justify="right")
    return view


def print_json(document: object) -> None:
    """Print a document; NaN and infinities are errors, as they are not JSON."""
    typer.echo(json.dumps(document, indent=2, allow_nan=False))


def more(console: Console, size: int, most: int, what: str) -> None:
    """Say how many lines were left out after the first ``most``, if any."""
    if size > most:
        console.print(f"... and {size - most:,} more {what}.")


def number(value: float | None, digits: int = 4) -> str:
    """A number with so many significant digits, whole ones all shown below 10^9.

    Examples
    --------
    >>> number(0.0123456), number(12345.6), number(float("nan")), number(None)
    ('0.01235', '12,346', 'undefined', '')
    """
    if value is None:
        return ""
    if not math.isfinite(value):
        return "undefined"
    if 10**digits <= abs(value) < 1e9:
        return f"{value:,.0f}"
    return f"{value:,.{digits}g}"


def lowered(value: float, digits: int) -> str:
    """A number rounded down to so many decimals.

    Examples
    --------
    >>> lowered(1.2349, 3)
    '1.234'
    """
    return f"{math.floor(value * 10**digits) / 10**digits:.{digits}f}"
