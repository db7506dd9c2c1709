"""Blocks in a terminal, and whatever else is printed there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from textwrap import fill

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table as Grid
from rich.text import Text

from planner.show.blocks import Block, Facts, Figure, Heading, Sentence, Table

_MOST_ROWS = 40  # of a table
_HEADING_WIDTH = 14  # letters of a number's heading on a line
_STYLES = {"note": "yellow", "missed": "bold red", "proof": "green", "met": "green"}
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


class _Console(Console):
    """Whatever is printed passes here, before styles become a terminal's commands."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            # The console's own commands pass; whatever looks like one in a text is spelt out.
            if segment.control:
                yield segment
            else:
                yield segment._replace(text=visible(segment.text))


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


def print_blocks(console: Console, blocks: Iterable[Block], *, details: bool) -> None:
    """Print the blocks that everybody needs, or all of them; charts need the report or the app."""
    for block in blocks:
        if not details and block.rank != "everybody":
            continue
        match block:
            case Heading(text, _, level):
                line = visible(text)
                if level > 1:
                    line = f"\n{line}"
                console.print(Text(line, "bold"))
            case Sentence(text, _, tone):
                lead = {"note": "Note. ", "item": "- "}.get(tone, "")
                console.print(Text(lead + visible(text), _STYLES.get(tone, "")))
            case Facts(facts):
                parts = []
                for fact in facts:
                    parts.append(f"{fact.name}: {fact.value} {fact.why}".rstrip())
                said = visible("; ".join(parts))
                console.print(Text(f"{said[:1].upper()}{said[1:]}."))
            case Table():
                _print_table(console, block)
            case Figure():
                pass


def _print_table(console: Console, table: Table) -> None:
    title = f"\n{visible(table.title)}"
    grid = Grid(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    grid.show_edge = False
    for column in table.columns:
        heading = visible(column.heading)
        if column.text:
            grid.add_column(heading, overflow="fold")
        else:  # a number is never cut in two, but its heading may be
            grid.add_column(
                fill(heading, _HEADING_WIDTH), justify="right", no_wrap=True
            )
    rows = list(zip(*(column.cells for column in table.columns), strict=True))
    for i, row in enumerate(rows[:_MOST_ROWS]):
        first = row[0]
        style = ""
        if i == table.accent:  # a star, too: not every terminal has bold letters
            first = f"{first} *"
            style = "bold"
        grid.add_row(*map(visible, (first, *row[1:])), style=style)
    console.print(grid)
    if len(rows) > _MOST_ROWS:
        console.print(f"... and {len(rows) - _MOST_ROWS:,} more rows (see --json).")
