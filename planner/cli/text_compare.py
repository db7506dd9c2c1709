"""A comparison of two scenarios for the terminal and for machines."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from planner.planning.whole_survey.compare import Comparison

__all__ = ["comparison_document", "show_comparison"]

_MOST_ROWS = 100


def show_comparison(console: Console, found: Comparison, names: tuple[str, str]) -> None:
    """Print both scenarios side by side."""
    view = Table(title=f"A: {names[0]}   B: {names[1]}", title_justify="left")
    for heading in ("question", "level", "figure"):
        view.add_column(heading)
    for heading in ("A", "B", "B against A"):
        view.add_column(heading, justify="right")
    before = ("", "")
    for row in found.rows[:_MOST_ROWS]:
        if row.question != before[0]:
            view.add_section()
        question = "" if row.question == before[0] else row.question
        level = "" if (row.question, row.level) == before else row.level
        change = "" if row.change is None else f"{row.change:+.1%}"
        view.add_row(question, level, row.what, _figure(row.first), _figure(row.second), change)
        before = (row.question, row.level)
    console.print(view)
    if len(found.rows) > _MOST_ROWS:
        console.print(f"... and {len(found.rows) - _MOST_ROWS} more figures (see --json).")
    console.print(
        "Errors are shares of the people (of half the range for a mean): total over all "
        "items, or of one rare item of a level."
    )


def comparison_document(found: Comparison) -> list[dict[str, Any]]:
    """The figures, JSON-ready."""
    return [
        {
            "question": row.question,
            "level": row.level,
            "figure": row.what,
            "first": row.first,
            "second": row.second,
            "change": row.change,
        }
        for row in found.rows
    ]


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.5g}"
