"""All tables and figures of the three papers, and the new results, on one page.

Usage: python examples/reproduce.py [--data DIR] [--quick] [--out DIR]

Writes reproduction.html (self-contained) and reproduction.json into the folder ``--out``.
"""

from __future__ import annotations

import importlib
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context

from plotly.offline import get_plotlyjs
from reproduction.page import as_json, page
from reproduction.result import Result, Setting
from reproduction.run import arguments
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table as RichTable
from rich.text import Text

SCRIPTS = (
    *(
        "idldp_table_1",
        "idldp_table_2",
        "idldp_table_3",
        "idldp_figure_3",
        "idldp_figure_4",
    ),
    *("idldp_figure_5", "idldp_figure_6", "idldp_figure_7", "idldp_figures_8_9"),
    *(
        "bisample_table_2",
        "bisample_figure_3",
        "bisample_figure_4",
        "bisample_figure_5",
    ),
    *("bisample_figure_6", "sampling_figure_3", "sampling_figures_4_to_7"),
    *(
        "new_best_mechanism",
        "new_convexity",
        "new_certificate",
        "new_reduction",
        "new_saturation",
    ),
    *("new_padding_length", "new_joint_allocation", "new_consistent_counts"),
    *("new_best_mean", "new_ordered"),
)
LONGEST = (
    "bisample_figure_4",
    "idldp_figure_7",
    "bisample_figure_6",
    "new_certificate",
)
HEADING = "The papers, reproduced"
ABOUT = (
    "Input-discriminative protection (ID-LDP: Gu, Li, Xiong and Cao, ICDE 2020), means with "
    "missing answers (BiSample: Sun and others, 2020), Differential Privacy By Sampling (Joy and "
    "Gerla, 2017), and what is new here. Data sets that are not in the folder are skipped, and "
    "said to be."
)


def main() -> int:
    """Run every script on two cores, show progress, write the page."""
    chosen = arguments(__doc__ or "").parse_args()
    console = Console(highlight=False)
    results, failed = run_all(Setting(chosen.data, chosen.quick), console)
    chosen.out.mkdir(parents=True, exist_ok=True)
    written = chosen.out / "reproduction.html"
    written.write_text(page(results, HEADING, ABOUT, get_plotlyjs()), encoding="utf-8")
    (chosen.out / "reproduction.json").write_text(as_json(results), encoding="utf-8")
    console.print(summary(results))
    for name, error in failed.items():
        console.print(Text(f"FAILED: {name}: {error!r}", "red"))
    console.print(f"written: {written}")
    return 1 if failed else 0


def run_all(
    setting: Setting, console: Console
) -> tuple[dict[str, Result], dict[str, Exception]]:
    """All results in order, and what went wrong instead; the longest start first."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # two processes, two cores
    done: dict[str, Result] = {}
    failed: dict[str, Exception] = {}
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    order = sorted(
        SCRIPTS, key=lambda name: LONGEST.index(name) if name in LONGEST else 99
    )
    with (
        Progress(*columns, console=console) as progress,
        ProcessPoolExecutor(2, get_context("spawn")) as workers,
    ):
        task = progress.add_task("starting", total=len(order))
        futures = {
            workers.submit(partial(reproduce, name, setting)): name for name in order
        }
        for future in as_completed(futures):
            name = futures[future]
            try:
                done[name] = future.result()
            except Exception as error:  # noqa: BLE001 - the others go on; this one is reported
                failed[name] = error
            progress.update(task, advance=1, description=f"{name} is done")
    return {name: done[name] for name in SCRIPTS if name in done}, failed


def reproduce(name: str, setting: Setting) -> Result:
    """One script's result."""
    return importlib.import_module(name).reproduce(setting)


def summary(results: dict[str, Result]) -> RichTable:
    """How many claims of each result hold."""
    view = RichTable(title="Claims", title_justify="left")
    for i, column in enumerate(
        ("result", "holds", "only ...", "does not", "not checked")
    ):
        view.add_column(column, justify="right" if i else "left")
    for result in results.values():
        verdicts = [claim.verdict for claim in result.claims]
        counts = [sum(verdict == "holds" for verdict in verdicts)]
        counts.append(sum(verdict.startswith("holds only") for verdict in verdicts))
        counts += [
            verdicts.count(verdict) for verdict in ("does not hold", "not checked")
        ]
        view.add_row(result.title, *(str(count or "") for count in counts))
    return view


if __name__ == "__main__":
    sys.exit(main())
