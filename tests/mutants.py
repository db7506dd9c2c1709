"""What became of every mutant, by module: ``python -m tests.mutants`` after ``mutmut run``.

A mutant whose tests never end counts as noticed: the tests do not pass.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table

NOTICED = ("killed", "timeout", "caught by type check")
UNTRIED = "not checked"
WIDTH = 100


def statuses() -> list[tuple[str, str]]:
    """Name and status of each mutant, as ``mutmut results`` tells them."""
    command = [str(Path(sys.executable).with_name("mutmut")), "results", "--all", "true"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
    pairs = (line.strip().rsplit(": ", 1) for line in told.splitlines() if ": " in line)
    return [(name, status) for name, status in pairs]


def module_of(mutant: str) -> str:
    """``planner.solvers.search.x__snap__mutmut_1`` is of the module ``solvers/search``."""
    return "/".join(mutant.split(".")[1:-1])


def show(found: list[tuple[str, str]]) -> None:
    """A row a module, and the sum; the score is the share of those tried that were noticed."""
    table = Table("module")
    for heading in ("mutants", "tried", "noticed", "score"):
        table.add_column(heading, justify="right")
    rows: dict[str, Counter[str]] = {}
    for mutant, status in found:
        what = "noticed" if status in NOTICED else "untried" if status == UNTRIED else "survived"
        rows.setdefault(module_of(mutant), Counter())[what] += 1
    total = sum(rows.values(), Counter())
    for name, row in [*sorted(rows.items()), ("all", total)]:
        tried = row.total() - row["untried"]
        score = f"{row['noticed'] / tried:.1%}" if tried else ""
        table.add_row(name, f"{row.total():,}", f"{tried:,}", f"{row['noticed']:,}", score)
    Console(width=WIDTH).print(table)


if __name__ == "__main__":
    show(statuses())
