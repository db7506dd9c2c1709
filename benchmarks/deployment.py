"""Deployment beside its peer and the machine's limits: client, randomising, collecting.

Run by hand: ``python benchmarks/deployment.py``. It writes 1.3 GB of reports to a temporary
directory and removes them. The figures behind docs/how-to/collect.md.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import partial, update_wrapper
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from measure import Figure, peak_megabytes, rows, seconds, show

from planner import Level, Survey
from planner.deployment import Client, read_parameters, write_parameters
from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.engines import Engine, dask_engine, local_engine
from planner.deployment.collecting.parquet import ReportWriter
from planner.deployment.parameters import Parameters, survey_parameters
from planner.mechanisms.words import seeded_words, system_words
from planner.planning.plan import plan_survey
from planner.survey.choices import Categorical

REPORTS = 10**7
ITEMS = 1024
FILES = 10
KEY = ("q", None)


def figures() -> list[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parameters = planned(ITEMS)
        write_parameters(folder / "params.json", parameters)
        write_reports(parameters, folder)
        return rows(
            client_report,
            named(randomising, parameters),
            named(on_this_machine, parameters, folder),
            named(on_a_cluster, parameters, folder),
            named(memory, folder),
            named(designs, parameters),
        )


def named(part: Callable[..., Any], *about: Any) -> Callable[[], Any]:
    """The part with its arguments, under its own name."""
    return update_wrapper(partial(part, *about), part)


def planned(items: int, mechanism: str = "opt0") -> Parameters:
    """Three levels e (1, 1.2, 2), 5/5/90 % of the items."""
    few = items // 20
    counts = zip((1.0, 1.2, 2.0), (few, few, items - 2 * few), strict=True)
    levels = tuple(Level(f"l{e}", e, item_count=count) for e, count in counts)
    question = Categorical("q", levels, mechanism=mechanism)
    return survey_parameters(plan_survey(Survey("s", REPORTS, (question,))))


def write_reports(parameters: Parameters, folder: Path) -> None:
    law = parameters.questions[0]
    rng = np.random.default_rng(1)
    part = 10**5
    for number in range(FILES):
        path = folder / f"{number}.parquet"
        with ReportWriter(path, parameters.hash, KEY, law.size) as writer:
            for _ in range(REPORTS // FILES // part):
                codes = rng.integers(ITEMS, size=part)
                writer.write(law.draw_many(codes, seeded_words(rng))[0])


def client_report() -> Figure:
    client = Client(planned(1000).document)
    time_taken = seconds(lambda: [client.report("q", 7) for _ in range(100)]) / 100
    entropy = seconds(lambda: [os.urandom(4000) for _ in range(100)]) / 100
    return Figure(
        "client: one report over 1,000 items",
        f"{time_taken * 1e3:.2f} ms",
        "under 5 ms",
        time_taken < 5e-3,
        "",
        f"4,000 bytes of entropy take {entropy * 1e3:.3f} ms ({entropy / time_taken:.0%})",
    )


def randomising(parameters: Parameters) -> Figure:
    law = parameters.questions[0]
    true = np.zeros(100_000, dtype=np.int64)
    time_taken = seconds(lambda: law.draw_many(true, system_words()))
    entropy = seconds(
        lambda: [os.urandom(2**20) for _ in range(122)]
    )  # ten digits a bit
    rate = true.size / time_taken
    return Figure(
        f"perturb: reports of {ITEMS:,} items from the system's entropy",
        f"{rate:,.0f} a second",
        "",
        None,
        "",
        f"one core's entropy alone: {true.size / entropy:,.0f} a second",
    )


def on_this_machine(parameters: Parameters, folder: Path) -> Figure:
    return _collected("this machine", parameters, folder, local_engine)


def on_a_cluster(parameters: Parameters, folder: Path) -> Figure:
    from distributed import LocalCluster

    with LocalCluster(threads_per_worker=1, dashboard_address=None) as cluster:
        engine = dask_engine(cluster.scheduler_address)
        return _collected("Dask cluster", parameters, folder, engine)


def _collected(
    name: str, parameters: Parameters, folder: Path, engine: Engine
) -> Figure:
    size = sum(path.stat().st_size for path in folder.glob("*.parquet"))
    reading = seconds(lambda: read_all(folder))
    time_taken = seconds(lambda: collect(parameters, [folder], engine=engine))
    done = collect(parameters, [folder], engine=engine)
    assert done.sums[KEY].users == REPORTS
    share = reading / time_taken
    required = name == "this machine"
    return Figure(
        f"aggregate {REPORTS:,} reports x {ITEMS:,} items, {size / 1e9:.2f} GB, {name}",
        f"{time_taken:.2f} s, {REPORTS / time_taken:,.0f} reports/s",
        "half the speed of reading alone" if required else "",
        share >= 0.5 if required else None,
        f"pyarrow reads in {reading:.2f} s: {share:.2f} of its speed",
    )


def read_all(folder: Path) -> None:
    for path in folder.glob("*.parquet"):
        pq.read_table(path, columns=["report"])


def memory(folder: Path) -> Figure:
    small = peak_megabytes(partial(collect_some, folder, 1))
    large = peak_megabytes(partial(collect_some, folder, FILES))
    return Figure(
        f"peak memory, {REPORTS // FILES:,} and {REPORTS:,} reports",
        f"{small:.0f} and {large:.0f} MB",
        "under 1,000 MB",
        max(small, large) < 1000,
    )


def designs(tables: Parameters) -> Figure:
    """A tenth of the reports, of a table and of a subset design, counted in turns."""
    design = planned(ITEMS, "best")
    users = REPORTS // 10
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as name:
        folders = {"opt0": tables, "design": design}
        for kind, parameters in folders.items():
            path = Path(name) / f"{kind}.parquet"
            law = parameters.questions[0]
            with ReportWriter(path, parameters.hash, KEY, law.size) as writer:
                for _ in range(users // 10**5):
                    codes = rng.integers(ITEMS, size=10**5)
                    writer.write(law.draw_many(codes, system_words())[0])
        times = [
            [
                seconds(
                    partial(collect, parameters, [Path(name) / f"{kind}.parquet"]),
                    repeat=1,
                )
                for kind, parameters in folders.items()
            ]
            for _ in range(5)
        ]
    theirs, ours = np.min(times, axis=0)
    return Figure(
        f"aggregate {users:,} reports of a subset design x {ITEMS:,} items",
        f"{ours:.2f} s",
        "1.5 times opt0",
        bool(ours < 1.5 * theirs),
        f"opt0 in turns {theirs:.2f} s: {ours / theirs:.2f}x",
    )


def collect_some(folder: Path, files: int) -> None:
    collect(
        read_parameters(folder / "params.json"),
        sorted(folder.glob("*.parquet"))[:files],
    )


if __name__ == "__main__":
    show(figures())
