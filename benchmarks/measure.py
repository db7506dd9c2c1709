"""Measuring: one way to time, to weigh and to print, shared by all benchmarks.

A benchmark module has a function ``figures() -> list[Figure]`` and ends with
``if __name__ == "__main__": show(figures())``; what takes minutes stands under ``if LONG``.
"""

from __future__ import annotations

import importlib.metadata
import multiprocessing
import os
import platform
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from planner.planning.solve import forget

LONG = os.environ.get("LONG") == "1"  # also what takes minutes


@dataclass(frozen=True)
class Figure:
    """One measured figure: ``value`` as text, ``met`` if the target is kept (None: no target).

    ``peer`` says what it was compared with in the same run and the ratio seen;
    ``limit`` the physical limit and the share of it reached.
    """

    what: str
    value: str
    target: str = ""
    met: bool | None = None
    peer: str = ""
    limit: str = ""


def rows(
    *parts: Callable[[], Figure | list[Figure]], ours: bool = True
) -> list[Figure]:
    """All figures; a part that fails is a row that says so, a target missed if ``ours``."""
    found: list[Figure] = []
    for part in parts:
        try:
            made = part()
            found += made if isinstance(made, list) else [made]
        except Exception as error:  # noqa: BLE001 - whatever fails, the others are measured
            what = getattr(part, "__name__", "part").strip("_").replace("_", " ")
            why = f"{type(error).__name__}: {str(error)[:200]}"
            found.append(
                Figure(what, "failed", "runs", False if ours else None, limit=why)
            )
    return found


def seconds(
    function: Callable[[], object], repeat: int = 3, warm_up: bool = True
) -> float:
    """Shortest wall time of ``repeat`` calls, after one that does not count; each solves anew."""
    if warm_up:
        function()
    times = []
    for _ in range(repeat):
        forget()
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def peak_megabytes(function: Callable[[], object]) -> float:
    """Peak resident memory, in MB, of a fresh process that runs ``function`` (module level)."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(_weigh, (function,))


def read_bandwidth() -> float:
    """Bytes a second at which one core reads a large array."""
    data = np.ones(2**25, dtype=np.uint64)
    return data.nbytes / seconds(lambda: int(np.bitwise_or.reduce(data)))


def show(figures: list[Figure], title: str = "") -> None:
    """Print the figures with the machine and the versions they were measured on."""
    console = Console(width=max(110, Console().width), highlight=False)
    view = Table(
        "figure", "measured", "target", "peer in the same run", "limit", title=title
    )
    for figure in figures:
        mark = {True: " met", False: " MISSED", None: ""}[figure.met]
        view.add_row(
            figure.what, figure.value, figure.target + mark, figure.peer, figure.limit
        )
    console.print(view)
    console.print(machine())


def machine(packages: tuple[str, ...] = ("numpy", "scipy", "cvxpy", "clarabel")) -> str:
    """The machine and the versions, in one line."""
    versions = ", ".join(map(_version, packages))
    return (
        f"{_processor()}, {os.cpu_count()} cores, {platform.system()}, "
        f"Python {platform.python_version()}, {versions}"
    )


def _version(package: str) -> str:
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return f"no {package}"


def _weigh(function: Callable[[], object]) -> float:
    function()
    status = Path("/proc/self/status")
    if (
        status.exists()
    ):  # unlike ru_maxrss, its peak does not start at the parent's size
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return float(line.split()[1]) / 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
