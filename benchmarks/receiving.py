"""Reports received over HTTP and on disk, by one process, from 200 connections at once."""

from __future__ import annotations

import secrets
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
from measure import Figure, rows, show

from planner.deployment.client.client import Report
from planner.deployment.collecting.collector import collect
from planner.deployment.parameters import survey_parameters, write_parameters
from planner.mechanisms.words import system_words
from planner.planning.plan import plan_survey
from tests.browser.running import ROOT
from tests.deployment.sending import receiving, send

REPORTS = 10_000
CONNECTIONS = 200


def figures() -> list[Figure]:
    return rows(received)


def received() -> list[Figure]:
    parameters = survey_parameters(plan_survey(ROOT / "examples" / "clinic.toml"))
    law = parameters.questions[0]
    (drawn,) = law.draw_many(np.zeros(REPORTS, dtype=np.int64), system_words())
    made = (
        Report(parameters.hash, law.name, one.tobytes(), secrets.token_hex(8))
        for one in drawn
    )
    lines = [one.to_json().encode() + b"\n" for one in made]
    with tempfile.TemporaryDirectory() as name:
        params = Path(name) / "params.json"
        folder = Path(name) / "in"
        write_parameters(params, parameters)
        with receiving(params, folder) as (process, port):
            watched = psutil.Process(process.pid)
            before = sum(watched.cpu_times()[:2])
            started = time.perf_counter()
            _, ids = send(port, iter(lines), CONNECTIONS)
            seconds = time.perf_counter() - started
            worked = (sum(watched.cpu_times()[:2]) - before) / REPORTS
            started = time.perf_counter()
            process.terminate()
            process.wait()
            ended = time.perf_counter() - started
        done = collect(parameters, [folder])
    assert len(ids) == sum(one.users for one in done.sums.values()) == REPORTS
    rate = REPORTS / seconds
    return [
        Figure(
            f"receive: reports acknowledged from disk, {CONNECTIONS} connections",
            f"{rate:,.0f} a second",
            "1,000 a second",
            rate >= 1000,
            "",
            f"one core at {worked * 1e3:.2f} ms each: {1 / worked:,.0f} a second",
        ),
        Figure(
            "receive: ended by SIGTERM, all in files",
            f"{ended:.1f} s",
            "5 s",
            ended < 5,
        ),
    ]


if __name__ == "__main__":
    show(figures())
