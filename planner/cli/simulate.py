"""The command ``ldp-planner simulate``: ask, run, show."""

from __future__ import annotations

from dataclasses import asdict
from math import isnan, sqrt
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TimeRemainingColumn
from rich.text import Text

from planner.cli.options import Json, SurveyFile
from planner.cli.output import print_json, progress, table, terminal
from planner.errors import InputError
from planner.planning.datasets import Answers, read_answers
from planner.planning.whole_survey.sentences import people
from planner.survey import Question, Survey
from planner.survey.file import load_survey
from planner.trial.simulate import (
    Assignment,
    Simulated,
    assign_levels,
    build_mechanisms,
    mechanism_label,
)
from planner.trial.simulate import simulate as run_simulation

__all__ = ["simulate"]

_KINDS = ("categorical", "item-set")
_TOP = 10


def simulate(  # noqa: PLR0913, PLR0917 - each is an option of the command
    survey: SurveyFile,
    data: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="True answers: a .csv with the header item,count; a .csv with a column named "
            "like the question (for sets: tea;rice); or transactions (.dat, .data, .txt), one "
            "user's item numbers a line. Each may end in .gz.",
        ),
    ],
    repeats: Annotated[int, typer.Option(metavar="N", help="Runs per mechanism.")] = 10,
    seed: Annotated[
        int, typer.Option(metavar="N", help="The same seed gives the same figures.")
    ] = 1,
    first_item: Annotated[
        bool, typer.Option("--first-item", help="Keep each transaction's first item only.")
    ] = False,
    top: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Judge by this many most frequent items [10, or all that occur]."
        ),
    ] = None,
    question: Annotated[
        str, typer.Option(metavar="NAME", help="The question, if the survey has several.")
    ] = "",
    json_output: Json = False,
) -> None:
    """Try every mechanism on answers you have.

    Measured errors stand beside predicted ones.
    """
    if seed < 0:
        remedy = "Leave --seed out, or write one such as 1."
        raise InputError("seed", seed, "a whole number of at least 0", remedy)
    asked = _pick(load_survey(survey), question)
    several = asked.kind == "item-set"
    listed = [item for level in asked.levels for item in level.items]
    answers = read_answers(data, asked.name, listed if several else None)
    if first_item:
        answers = answers.first_items()
    place_rng, run_rng = np.random.default_rng(seed).spawn(2)
    assignment = assign_levels(asked, answers.labels, place_rng)
    length = _padding_length(asked, answers)
    if top is None:
        top = min(_TOP, int(np.count_nonzero(answers.counts)))
    mechanisms = build_mechanisms(assignment, length)
    with progress("simulating", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()) as bar:
        task = bar.add_task("runs", total=repeats * len(mechanisms))
        results = run_simulation(
            mechanisms, answers, repeats, run_rng, top, lambda: bar.advance(task)
        )
    run = _Run(asked, answers, assignment, length, top, results)
    if json_output:
        print_json(_document(run))
    else:
        _show(terminal(), run)


class _Run(NamedTuple):
    question: Question
    answers: Answers
    assignment: Assignment
    padding_length: int | None
    top: int
    results: list[Simulated]


def _pick(survey: Survey, name: str) -> Question:
    fitting = [one for one in survey.questions if one.kind in _KINDS]
    if name:
        fitting = [one for one in fitting if one.name == name]
    if len(fitting) == 1:
        return fitting[0]
    names = [one.name for one in survey.questions if one.kind in _KINDS]
    if name and names:
        raise InputError.unknown("question", name, names, "Choose a question about items.")
    known = ", ".join(names) or "none"
    remedy = f"Choose with --question; the survey's questions about items: {known}."
    raise InputError(
        "question", name or "not given", "one categorical or item-set question", remedy
    )


def _padding_length(question: Question, answers: Answers) -> int | None:
    """As the survey says, else the mean set size; nothing for single items."""
    if answers.sets is None:
        return None
    stated = question.padding_length
    return stated or max(1, round(float(answers.sets.sizes.mean())))


def _document(run: _Run) -> dict[str, Any]:
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


def _show(console: Console, run: _Run) -> None:
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
