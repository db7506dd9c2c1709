"""Our own clients through the audit, a million reports of each answer.

Run: ``python benchmarks/audits.py``; minutes, and Node.js for the client in JavaScript. The tests
do the same with fewer reports, and show that faults are caught.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from measure import LONG, Figure, show

from planner import Level, Survey, best_design, solve
from planner.deployment import Client
from planner.deployment.parameter_file.building import parameters_from_mechanisms
from planner.deployment.parameter_file.parameters import Parameters, write_parameters
from planner.mechanisms.plain import GeneralizedRandomizedResponse
from planner.survey.questions import Categorical
from planner.trial.audit import audit_client
from planner.trial.black_box import BlackBox, CommandBox, FunctionBox

REPORTS, CONFIDENCE = 1_000_000, 0.999999
ANSWERS = ("HIV", "flu")
LEVELS = (Level("severe", 1.0, ("HIV",)), Level("common", 2.0, ("flu", "cold", "x", "y")))
QUESTION = Categorical("q", LEVELS)
JAVASCRIPT = Path(__file__).resolve().parents[1] / "examples" / "client.mjs"


def figures() -> list[Figure]:
    if not LONG:
        return []
    mechanisms = {
        "table": solve(QUESTION.policy),
        "subset design": best_design(QUESTION.policy),
        "randomised response": GeneralizedRandomizedResponse(1.0, 5),
    }
    rows = []
    for name, mechanism in mechanisms.items():
        parameters = parameters_from_mechanisms(
            Survey("s", 1000, (QUESTION,)), {QUESTION.name: mechanism}
        )
        client = Client(parameters.document)
        box = FunctionBox(lambda answer, ask=client.report: ask("q", answer).to_json())
        rows.append(audited(f"Python client, {name}", parameters, box))
        if node := shutil.which("node"):
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "params.json"
                write_parameters(file, parameters)
                lines = CommandBox([node, str(JAVASCRIPT), str(file), "q", "--lines"])
                rows.append(audited(f"JavaScript client, {name}", parameters, lines))
    return rows


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
