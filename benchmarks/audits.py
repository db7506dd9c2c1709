"""Our own clients through the audit, a million reports of each answer.

Run: ``python benchmarks/audits.py``; minutes, and Node.js for the client in JavaScript. The tests
do the same with fewer reports, and show that faults are caught.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from measure import Figure, rows, show

from planner import Level, Survey, best_design, solve
from planner.deployment import Client, client
from planner.deployment.parameters import (
    Parameters,
    parameters_from_mechanisms,
    write_parameters,
)
from planner.mechanisms.making import randomized_response
from planner.survey.choices import Categorical
from planner.trial.audit import audit_client
from planner.trial.black_box import BlackBox, CommandBox

REPORTS = 1_000_000
CONFIDENCE = 0.999999
ANSWERS = ("HIV", "flu")
LEVELS = (
    Level("severe", 1.0, ("HIV",)),
    Level("common", 2.0, ("flu", "cold", "x", "y")),
)
QUESTION = Categorical("q", LEVELS)
JAVASCRIPT = Path(client.__file__).parent / "js" / "node.mjs"


def figures() -> list[Figure]:
    return rows(table, subset_design, randomised_response)


def table() -> list[Figure]:
    return _clients("table", solve(QUESTION.policy))


def subset_design() -> list[Figure]:
    return _clients("subset design", best_design(QUESTION.policy))


def randomised_response() -> list[Figure]:
    return _clients("randomised response", randomized_response(1.0, 5))


def _clients(name: str, mechanism: Any) -> list[Figure]:
    """Both clients; that in JavaScript where Node.js is."""
    survey = Survey("s", 1000, (QUESTION,))
    parameters = parameters_from_mechanisms(survey, {QUESTION.name: mechanism})
    client = Client(parameters.document)

    def box(answers: Sequence[Any], _: int) -> list[bytes]:
        return [client.report("q", answer).to_json().encode() for answer in answers]

    found = [audited(f"Python client, {name}", parameters, box)]
    if node := shutil.which("node"):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "params.json"
            write_parameters(file, parameters)
            lines = CommandBox([node, str(JAVASCRIPT), str(file), "q", "--lines"])
            found.append(audited(f"JavaScript client, {name}", parameters, lines))
    return found


def audited(name: str, parameters: Parameters, box: BlackBox) -> Figure:
    start = time.perf_counter()
    rng = np.random.default_rng(1)
    audit = audit_client(parameters, box, rng, "q", ANSWERS, REPORTS, CONFIDENCE)
    return Figure(
        f"{name}: off by, found of {REPORTS:,} reports an answer",
        f"{audit.visible:.4f}",
        "no fault",
        audit.passed,
        limit=f"{'; '.join(audit.faults) or 'no fault found'}, {time.perf_counter() - start:.0f} s",
    )


if __name__ == "__main__":
    show(figures(), "Our clients through the audit")
