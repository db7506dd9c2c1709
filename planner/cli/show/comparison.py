"""Two scenarios side by side."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from planner.cli.output import more, number, table
from planner.planning.whole_survey.compare import COMPARED_ERRORS, Comparison

__all__ = ["comparison_document", "show_comparison"]

_MOST_ROWS = 100


def show_comparison(console: Console, found: Comparison, names: tuple[str, str]) -> None:
    """Print both scenarios side by side."""
    title = f"A: {names[0]}   B: {names[1]}"
    view = table(title, ("question", "level", "figure"), ("A", "B", "B against A"))
    before = ("", "")
    for row in found.rows[:_MOST_ROWS]:
        if row.question != before[0]:
            view.add_section()
        question = "" if row.question == before[0] else row.question
        level = "" if (row.question, row.level) == before else row.level
        change = "" if row.change is None else f"{row.change:+.1%}"
        view.add_row(question, level, row.what, number(row.first, 5), number(row.second, 5), change)
        before = (row.question, row.level)
    console.print(view)
    more(console, len(found.rows), _MOST_ROWS, "figures (see --json)")
    console.print(COMPARED_ERRORS)


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
