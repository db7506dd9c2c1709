"""The command ``ldp-planner simulate``: ask, run, show."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TimeRemainingColumn

from planner.cli.options import Json, SurveyFile
from planner.cli.output import print_json, progress, terminal
from planner.errors import InputError

if TYPE_CHECKING:
    from planner.cli.show.simulation import MeasuredRun
    from planner.planning.datasets import Answers
    from planner.survey import Question, Survey


_KINDS = ("categorical", "item-set", "ordinal", "numeric")
_TOP = 10


def simulate(  # noqa: PLR0913, PLR0917 - each is an option of the command
    survey: SurveyFile,
    data: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="True answers: a .csv with the header item,count; a .csv with a column named "
            "like the question (for sets: tea;rice; for numbers: empty without an answer); or "
            "transactions (.dat, .data, .txt), one user's item numbers a line. Each may end in "
            ".gz.",
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
            metavar="N",
            help="Judge by this many most frequent items [10, or all that occur]; not of numbers "
            "and ordered answers.",
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
    import numpy as np

    from planner.cli.show.simulation import (
        Run,
        measured_document,
        show_measured,
        show_simulation,
        simulation_document,
    )
    from planner.planning.datasets import read_answers
    from planner.survey.file import load_survey
    from planner.trial.simulate import assign_levels, build_mechanisms
    from planner.trial.simulate import simulate as run_simulation

    if seed < 0:
        remedy = "Leave --seed out, or write one such as 1."
        raise InputError("seed", seed, "a whole number of at least 0", remedy)
    asked = _pick(load_survey(survey), question)
    if asked.kind in ("ordinal", "numeric"):
        if top is not None:
            remedy = "All that is wanted of numbers and ordered answers is judged."
            raise InputError("top", top, f"left out for {asked.kind!r}", remedy)
        trial = _measured(asked, data, repeats, seed, first_item)
        if json_output:
            print_json(measured_document(trial))
        else:
            show_measured(terminal(), trial)
        return
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
    run = Run(asked, answers, assignment, length, top, results)
    if json_output:
        print_json(simulation_document(run))
    else:
        show_simulation(terminal(), run)


def _measured(
    asked: Question, data: Path, repeats: int, seed: int, first_item: bool
) -> MeasuredRun:
    """Ordered answers or numbers: every mechanism on the same people."""
    import numpy as np

    from planner.cli.show.simulation import MeasuredRun
    from planner.planning.datasets import read_answers, read_numbers
    from planner.trial import measured

    rng = np.random.default_rng(seed)
    with progress("simulating", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()) as bar:
        task = bar.add_task("runs", total=None)

        def advance() -> None:
            bar.advance(task)

        if asked.kind == "numeric":
            values = read_numbers(data, asked.name)
            numbers = measured.mean_mechanisms(asked, values.size)
            bar.update(task, total=repeats * len(numbers))
            results = measured.measure_mean(numbers, values, repeats, rng, advance)
            return MeasuredRun(asked, values.size, int(np.isnan(values).sum()), results)
        answers = read_answers(data, asked.name)
        counts = measured.answers_in_question(
            asked, answers.first_items() if first_item else answers
        )
        channels = measured.ordered_channels(asked)
        bar.update(task, total=repeats * len(channels))
        results = measured.measure_ordered(channels, counts, repeats, rng, advance)
        return MeasuredRun(asked, int(counts.sum()), 0, results)


def _pick(survey: Survey, name: str) -> Question:
    fitting = [one for one in survey.questions if one.kind in _KINDS]
    if name:
        fitting = [one for one in fitting if one.name == name]
    if len(fitting) == 1:
        return fitting[0]
    names = [one.name for one in survey.questions if one.kind in _KINDS]
    if name and names:
        remedy = "Choose one with a single round."
        raise InputError.unknown("question", name, names, remedy)
    known = ", ".join(names) or "none"
    remedy = f"Choose with --question; the survey's questions with a single round: {known}."
    raise InputError("question", name or "not given", "one question with a single round", remedy)


def _padding_length(question: Question, answers: Answers) -> int | None:
    """As the survey says, else the mean set size; nothing for single items."""
    if answers.sets is None:
        return None
    stated = question.padding_length
    return stated or max(1, round(float(answers.sets.sizes.mean())))
