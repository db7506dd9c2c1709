"""Running one script: its arguments, its print-out, its figures on disk."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from reproduction.result import DATA, Claim, Result, Setting, Table

__all__ = ["arguments", "main", "show", "write_figures"]

STYLES = {"holds": "green", "does not hold": "red", "not checked": "dim"}


def main(reproduce: Callable[[Setting], Result]) -> None:
    """Run a script's ``reproduce`` by the command line: print, and write its figures."""
    chosen = arguments(reproduce.__doc__ or "").parse_args()
    console = Console(highlight=False)
    result = reproduce(Setting(chosen.data, chosen.quick))
    show(console, result)
    for path in write_figures(result, Path(sys.argv[0]).stem, chosen.out):
        console.print(f"written: {path}")


def arguments(description: str) -> argparse.ArgumentParser:
    """The options that every script has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--data", type=Path, default=DATA, help="folder of the data sets"
    )
    parser.add_argument("--quick", action="store_true", help="a small version")
    parser.add_argument(
        "--out", type=Path, default=Path("build/reproduction"), help="folder"
    )
    return parser


def show(console: Console, result: Result) -> None:
    """Print the numbers, then the claims with their verdicts."""
    console.rule(f"[bold]{result.title}", align="left")
    console.print(Text(result.about))
    for table in result.tables:
        console.print()
        console.print(_rich(table))
    for claim in result.claims:
        console.print()
        console.print(_sentence(claim))
    for note in result.notes:
        console.print()
        console.print(Text(f"Note: {note}"))
    console.print()


def write_figures(result: Result, name: str, folder: Path) -> list[Path]:
    """Write each figure as HTML (one plotly.js beside them), and as PNG if kaleido is there."""
    written = []
    folder.mkdir(parents=True, exist_ok=True)
    for i, figure in enumerate(result.figures):
        stem = name if len(result.figures) == 1 else f"{name}_{'abcdefgh'[i]}"
        path = folder / f"{stem}.html"
        figure.write_html(
            path, include_plotlyjs="directory", config={"displaylogo": False}
        )
        written.append(path)
        if importlib.util.find_spec("kaleido"):  # the extra "report"
            written.append(path.with_suffix(".png"))
            figure.write_image(written[-1], width=900, height=500, scale=2)
    return written


def _rich(table: Table) -> RichTable:
    view = RichTable(title=table.title, title_justify="left", title_style="italic")
    for i, name in enumerate(table.columns):
        view.add_column(name, justify="right" if i else "left")
    for row in table.cells():
        view.add_row(*map(Text, row))
    return view


def _sentence(claim: Claim) -> Text:
    style = STYLES.get(claim.verdict, "yellow")
    text = Text.assemble((claim.verdict.upper(), f"bold {style}"), f": {claim.text} ")
    text.append(f"({claim.source}) ", "dim")
    return text.append(claim.numbers)
