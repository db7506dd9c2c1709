"""What a simulation measured, beside what was predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import isnan, sqrt
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

from planner.cli.output import table
from planner.planning.datasets import Answers
from planner.planning.whole_survey.sentences import people
from planner.survey import Question
from planner.trial.measured import Measured, error_scale
from planner.trial.simulate import Assignment, Simulated, mechanism_label


class Run(NamedTuple):
    """A finished simulation: what was asked, of whom, and what every mechanism did."""

    question: Question
    answers: Answers
    assignment: Assignment
    padding_length: int | None
    top: int
    results: list[Simulated]


class MeasuredRun(NamedTuple):
    """The same of ordered answers or numbers; ``missing`` people have no answer."""

    question: Question
    users: int
    missing: int
    results: list[Measured]


def measured_document(run: MeasuredRun) -> dict[str, Any]:
    """It for programs."""
    return {
        "question": run.question.name,
        "users": run.users,
        "missing": run.missing,
        "mechanisms": _rows(run.results),
    }


def show_measured(console: Console, run: MeasuredRun) -> None:
    """Print measured errors beside predicted ones, and how often intervals held."""
    numeric, of_mean = run.question.numeric is not None, run.question.of_mean
    missing = f", {run.missing:,} without an answer" if numeric else ""
    about = f": {run.users:,} users{missing}"
    console.print(Text.assemble((run.question.name, "bold"), about))
    unit = "error" if of_mean else "people"
    scale = error_scale(run.question, run.users)
    view = table("Error, measured and predicted", ("mechanism",), (unit, "±", "predicted", "held"))
    for one in run.results:
        view.add_row(
            mechanism_label(one.name),
            *_root(scale, one),
            people(sqrt(scale * one.predicted_mse)),
            f"{one.covered:.1%}",
        )
    console.print(view)
    what = "the root mean squared error of the mean, in the question's unit"
    held = "95 % intervals"
    if not of_mean:
        what = "the root of the summed squared errors of all that is wanted, in people"
        held = "95 % intervals, all at once,"
    console.print(
        f"{unit.capitalize()}: {what}, ± its standard error over the runs. Held: share of the runs "
        f"whose {held} hold the truth."
    )


def simulation_document(run: Run) -> dict[str, Any]:
    """The same for programs."""
    policy = run.assignment.policy
    return {
        "question": run.question.name,
        "users": run.answers.users,
        "items": len(run.answers.labels),
        "items_per_level": dict(zip(policy.names, policy.item_counts.tolist(), strict=True)),
        "padding_length": run.padding_length,
        "top": run.top,
        "mechanisms": _rows(run.results),
    }


def _rows(results: Sequence[Simulated | Measured]) -> list[dict[str, Any]]:
    rows = [asdict(one) for one in results]
    for row in rows:
        if isnan(row["mse_error"]):  # which is not JSON
            row["mse_error"] = None
    return rows


def _root(scale: float, one: Simulated | Measured) -> tuple[str, str]:
    """The measured error and its standard error: half the relative one of the mean square."""
    error = sqrt(scale * one.mse)
    spread = "" if isnan(one.mse_error) else error * one.mse_error / max(2 * one.mse, 1e-300)
    return people(error), spread if isinstance(spread, str) else people(spread)


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
        view.add_row(
            mechanism_label(one.name),
            *_root(users, one),
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
