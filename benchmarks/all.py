"""Every speed figure in one run and one table, also as Markdown.

Run: python benchmarks/all.py [MODULE ...]. The table replaces what stands between
``<!-- benchmark: begin -->`` and ``<!-- benchmark: end -->`` in README.md; without these
marks it goes to docs/benchmark.md. Peers come with the extra ``bench``. A module here
takes part if it has a function ``figures``.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from measure import Figure, machine, read_bandwidth, show
from rich.console import Console

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- benchmark: begin -->", "<!-- benchmark: end -->"
PACKAGES = ("numpy", "scipy", "cvxpy", "clarabel", "pyarrow", "multi-freq-ldpy", "pure-ldp")
NOT_BENCHMARKS = ("all", "collisions", "measure")


def main(chosen: Sequence[str]) -> int:
    """Measure, print, write; 1 if a target was missed."""
    console = Console(width=max(110, Console().width), highlight=False)
    tables: dict[str, list[Figure]] = {}
    bandwidth = read_bandwidth()
    for name in chosen or modules():
        with console.status(f"measuring {name}"):
            tables[name] = importlib.import_module(name).figures()
        show(tables[name], name)
        page = write(markdown(tables, machine(PACKAGES), bandwidth), ROOT)  # so far, at least
    console.print(f"written: {page.relative_to(ROOT)}")
    missed = [one.what for figures in tables.values() for one in figures if one.met is False]
    for what in missed:
        console.print(f"MISSED: {what}")
    return 1 if missed else 0


def modules() -> list[str]:
    """The benchmark modules beside this one, in alphabetical order."""
    found = sorted(path.stem for path in Path(__file__).parent.glob("*.py"))
    return [name for name in found if name not in NOT_BENCHMARKS]


def markdown(tables: dict[str, list[Figure]], versions: str, bandwidth: float) -> str:
    """One Markdown table of all figures, with the machine below it."""
    lines = [
        "| | figure | measured | target | peer, same run | limit |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, figures in tables.items():
        for i, one in enumerate(figures):
            mark = {True: f"{one.target}: met", False: f"{one.target}: **missed**", None: ""}
            cells = (
                name if i == 0 else "",
                one.what,
                one.value,
                mark[one.met],
                one.peer,
                one.limit,
            )
            lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return "\n".join(
        [
            *lines,
            "",
            f"One run on: {versions}; one core reads {bandwidth / 1e9:.1f} GB/s. "
            f"Written by `make bench`.{_missing(tables)}",
        ]
    )


def _missing(tables: Mapping[str, object]) -> str:
    """Which modules the run has not measured: it was for some, or was stopped."""
    rest = [name for name in modules() if name not in tables]
    return f" Not measured in it: {', '.join(rest)}." if rest else ""


def write(text: str, root: Path) -> Path:
    """Put the table between the marks of README.md, or into docs/benchmark.md."""
    readme = root / "README.md"
    old = readme.read_text(encoding="utf-8") if readme.exists() else ""
    before, begin, rest = old.partition(BEGIN)
    _, end, after = rest.partition(END)
    if begin and end:
        readme.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")
        return readme
    page = root / "docs" / "benchmark.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text(f"# Speed\n\n{text}\n", encoding="utf-8")
    return page


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
