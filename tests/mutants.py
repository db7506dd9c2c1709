"""What became of every mutant, or of a random sample of them: ``make mutate``.

A mutant whose tests never end counts as noticed: the tests do not pass. As a plugin of ``make
mutate``, it runs quick tests first, so that a mutant meets the slow ones only if all others missed
it: mutmut names the tests that reach a mutant in no order, and the first that fails ends the run.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

NOTICED = ("killed", "timeout", "caught by type check")
UNTRIED = "not checked"
# Trying one makes them all, and notes which tests reach each of them and how long these take.
FIRST = "planner.policy.logodds.x_noise__mutmut_1"
DURATIONS = Path(
    "mutmut-stats.json"
)  # beside the changed sources, where mutmut runs the tests


def mutmut(*words: str, captured: bool = False) -> str:
    """Run it; what it said, where that is asked for."""
    command = [str(Path(sys.executable).with_name("mutmut")), *words]
    done = subprocess.run(command, capture_output=captured, text=True, check=True)  # noqa: S603
    return done.stdout


def statuses() -> list[tuple[str, str]]:
    """Name and status of each mutant, as ``mutmut results`` tells them."""
    printed = mutmut("results", "--all", "true", captured=True)
    pairs = (
        line.strip().rsplit(": ", 1) for line in printed.splitlines() if ": " in line
    )
    return [(name, status) for name, status in pairs]


def loosens(name: str) -> bool:
    """Whether a mutant differs from the code in a ``strict`` alone."""
    difference = mutmut("show", name, captured=True).splitlines()
    changed = [line[1:] for line in difference if re.match(r"[+-](?![+-]{2} )", line)]
    return len({re.sub(r",\s*(strict=\w+)?\s*\)", ")", line) for line in changed}) == 1


def show(outcomes: list[tuple[str, str]]) -> None:
    """Those that lived on, and the share of those tried that did not, as of a random sample."""
    from scipy.stats import (
        binomtest,
    )  # later than conftest.py forbids LAPACK its threads

    tried = {name: status for name, status in outcomes if status != UNTRIED}
    lived = [name for name, status in tried.items() if status not in NOTICED]
    left = [name for name in lived if not loosens(name)]
    noticed = len(tried) - len(lived)
    count = len(tried) - len(lived) + len(left)
    low, high = binomtest(noticed, count).proportion_ci(method="exact")
    sys.stdout.writelines(f"{tried[name]}: {name}\n" for name in left)
    score = f"{noticed / count:.1%} (95 %: {low:.1%} to {high:.1%})"
    sys.stdout.write(f"{noticed:,} of {count:,} were noticed: {score}.\n")


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Sort by the seconds measured before, if any were; a mutant's own examples are none."""
    items[:] = [item for item in items if "__mutmut_" not in item.name]
    if DURATIONS.exists():
        seconds = json.loads(DURATIONS.read_text())["duration_by_test"]
        items.sort(key=lambda item: seconds.get(item.nodeid, 0.0))


def main(size: str = "", seed: str = "1") -> None:
    """Try all, going on where the last run stopped, or ``size`` of them drawn with ``seed``."""
    if not size:
        mutmut("run")
        return show(statuses())
    mutmut("run", FIRST)
    drawn = random.Random(seed).sample(
        sorted(name for name, _ in statuses()), int(size)
    )
    mutmut("run", *drawn)
    return show([(name, status) for name, status in statuses() if name in drawn])


if __name__ == "__main__":
    main(*sys.argv[1:])
