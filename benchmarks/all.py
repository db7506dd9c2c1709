"""Every speed figure in one run and one table: docs/benchmarks.md.

Run: python benchmarks/all.py [MODULE ...]; with LONG=1 in the environment also what takes
minutes. Peers come with the extra ``bench``. A module here takes part if it has a function
``figures``. What fails, or is cut, is said in the table: no row is left from an earlier run.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from measure import LONG, Figure, machine, read_bandwidth, rows, show
from rich.console import Console

ROOT = Path(__file__).parents[1]
PACKAGES = (
    "numpy",
    "scipy",
    "cvxpy",
    "clarabel",
    "pyarrow",
    "multi-freq-ldpy",
    "pure-ldp",
)
NOT_BENCHMARKS = (
    "all",
    "audits",
    "measure",
)  # audits look for faults, for half an hour


def main(chosen: Sequence[str]) -> int:
    """Measure, print, write; 1 if a target was missed or something of ours failed."""
    console = Console(width=max(110, Console().width), highlight=False)
    tables: dict[str, list[Figure]] = {}
    bandwidth = read_bandwidth()
    start = time.perf_counter()
    page = ROOT / "docs" / "benchmarks.md"
    for name in chosen or modules():
        with console.status(f"measuring {name}"):
            tables[name] = rows(lambda one=name: importlib.import_module(one).figures())
        show(tables[name], name)
        minutes = (time.perf_counter() - start) / 60
        text = markdown(tables, machine(PACKAGES), bandwidth, minutes)
        page.write_text(f"# Speed\n\n{text}\n", encoding="utf-8")  # so far, at least
    console.print(f"written: {page.relative_to(ROOT)}")
    missed = [
        one.what
        for figures in tables.values()
        for one in figures
        if one.met not in (None, True)
    ]
    for what in missed:
        console.print(f"MISSED: {what}")
    return 1 if missed else 0


def modules() -> list[str]:
    """The benchmark modules beside this one, in alphabetical order."""
    found = sorted(path.stem for path in Path(__file__).parent.glob("*.py"))
    return [name for name in found if name not in NOT_BENCHMARKS]


def markdown(
    tables: Mapping[str, Sequence[Figure]],
    versions: str,
    bandwidth: float,
    minutes: float,
) -> str:
    """One Markdown table of all figures, with the run and its machine above it."""
    rest = [name for name in modules() if not tables.get(name)]
    lines = [
        f"One run of {minutes:.0f} minutes on: {versions}; one core reads "
        f"{bandwidth / 1e9:.1f} GB/s. Written by `make bench{' LONG=1' if LONG else ''}`."
        + (f" **Cut: not measured in it: {', '.join(rest)}.**" if rest else ""),
        "",
        "| figure | measured, target | peer in the same run, limit |",
        "| --- | --- | --- |",
    ]
    marks = {True: "met", False: "**missed**"}
    for name, figures in tables.items():
        for i, one in enumerate(figures):
            target = "" if one.met is None else f"{one.target}: {marks[one.met]}"
            cells = (
                f"**{name}** {one.what}" if i == 0 else one.what,
                "; ".join(filter(None, (one.value, target))),
                "; ".join(filter(None, (one.peer, one.limit))),
            )
            lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
