"""What a simulation measured, beside what was predicted."""

from __future__ import annotations

from dataclasses import asdict
from math import isnan, sqrt
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

from planner.cli.output import table
from planner.planning.datasets import Answers
from planner.planning.whole_survey.sentences import people
from planner.survey import Question
from planner.trial.simulate import Assignment, Simulated, mechanism_label

__all__ = ["Run", "show_simulation", "simulation_document"]


class Run(NamedTuple):
    """A finished simulation: what was asked, of whom, and what every mechanism did."""

    question: Question
    answers: Answers
    assignment: Assignment
    padding_length: int | None
    top: int
    results: list[Simulated]


def simulation_document(run: Run) -> dict[str, Any]:
    """The same for programs."""
    policy = run.assignment.policy
    rows = [asdict(one) for one in run.results]
    for row in rows:
        if isnan(row["mse_error"]):  # which is not JSON
            row["mse_error"] = None
    return {
        "question": run.question.name,
        "users": run.answers.users,
        "items": len(run.answers.labels),
        "items_per_level": dict(zip(policy.names, policy.item_counts.tolist(), strict=True)),
        "padding_length": run.padding_length,
        "top": run.top,
        "mechanisms": rows,
    }


def show_simulation(console: Console, run: Run) -> None:
    """Print measured errors beside predicted ones."""
    policy, top = run.assignment.policy, run.top
    levels = ", ".join(
        f"{name}: {count:,}" for name, count in zip(policy.names, policy.item_counts, strict=True)
    )
    users, items = run.answers.users, len(run.answers.labels)
    padded = "" if run.padding_length is None else f", padding length {run.padding_length}"
    about = f": {users:,} users, {items:,} items ({levels}){padded}"
    console.print(Text.assemble((run.question.name, "bold"), about))
    figures = ("people", "±", "predicted", f"RE@{top}", "predicted", f"P@{top}")
    view = table("Total error, measured and predicted", ("mechanism",), figures)
    for one in run.results:
        error = sqrt(users * one.mse)
        view.add_row(
            mechanism_label(one.name),
            people(error),
            # Of the root: half the relative standard error of the mean square.
            ""
            if isnan(one.mse_error)
            else people(error * one.mse_error / max(2 * one.mse, 1e-300)),
            people(sqrt(users * one.predicted_mse)),
            f"{one.relative_error:.1%}",
            f"{one.predicted_relative_error:.1%}",
            f"{one.precision:.0%}",
        )
    console.print(view)
    best = min(run.results, key=lambda one: one.predicted_mse)
    console.print(
        f"People: the root of the summed squared errors of all counts, ± its standard error over "
        f"the runs. "
        f"RE@{top}, P@{top}: relative error and precision of the {top} most frequent items. "
        f"Smallest predicted error on these answers: {mechanism_label(best.name)}."
    )
