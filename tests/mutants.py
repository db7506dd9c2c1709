"""What became of every mutant, by module, or of a random sample of them: ``make mutate``.

A mutant whose tests never end counts as noticed: the tests do not pass. As a plugin of ``make
mutate``, it runs quick tests first, so that a mutant meets the slow ones only if all others missed
it: mutmut names the tests that reach a mutant in no order, and the first that fails ends the run.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

NOTICED = ("killed", "timeout", "caught by type check")
UNTRIED = "not checked"
# Trying one makes them all, and notes which tests reach each of them and how long these take.
FIRST = "planner.policy.logodds.x_noise__mutmut_1"
WIDTH = 100
DURATIONS = Path("mutmut-stats.json")  # beside the changed sources, where mutmut runs the tests
SIMULATED = "runs"  # a class's fixture in the mechanisms' suite, slower than the tests it serves


def mutmut(*words: str, told: bool = False) -> str:
    """Run it; what it said, where that is asked for."""
    command = [str(Path(sys.executable).with_name("mutmut")), *words]
    return subprocess.run(command, capture_output=told, text=True, check=True).stdout  # noqa: S603


def statuses() -> list[tuple[str, str]]:
    """Name and status of each mutant, as ``mutmut results`` tells them."""
    told = mutmut("results", "--all", "true", told=True)
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
    from scipy.stats import binomtest  # later than conftest.py forbids LAPACK its threads

    low, high = binomtest(total["noticed"], tried).proportion_ci(method="exact")
    table.caption = f"95 % interval of a random sample's score: {low:.1%} to {high:.1%}"
    Console(width=WIDTH).print(table)


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Sort by the seconds measured before, simulations last; leave the order if none were."""
    if not DURATIONS.exists():
        return
    seconds = json.loads(DURATIONS.read_text())["duration_by_test"]

    def cost(item: Any) -> tuple[str, float]:
        """A class that shares a simulation stays together, after all that do not."""
        shared = SIMULATED in getattr(item, "fixturenames", ())
        return item.nodeid.rpartition("::")[0] if shared else "", seconds.get(item.nodeid, 0.0)

    items.sort(key=cost)


def main(size: str = "", seed: str = "1") -> None:
    """Try all, going on where the last run stopped, or ``size`` of them drawn with ``seed``."""
    if not size:
        mutmut("run")
        return show(statuses())
    mutmut("run", FIRST)
    drawn = random.Random(seed).sample(sorted(name for name, _ in statuses()), int(size))
    mutmut("run", *drawn)
    return show([(name, status) for name, status in statuses() if name in drawn])


if __name__ == "__main__":
    main(*sys.argv[1:])
