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
    import numpy as np
    from numpy.typing import NDArray

    from planner.planning.datasets import Answers
    from planner.survey import Question, Survey


_KINDS = ("categorical", "item-set", "ordinal", "numeric")


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
    """Try the plan, and what else could be deployed, on answers you have.

    Measured errors stand beside predicted ones.
    """
    import numpy as np

    from planner.cli.show.simulation import show_simulation, simulation_document
    from planner.planning.whole_survey.plan import plan_survey
    from planner.survey.file import load_survey
    from planner.trial.simulate import Trial

    if seed < 0:
        remedy = "Leave --seed out, or write one such as 1."
        raise InputError("seed", seed, "a whole number of at least 0", remedy)
    asked = load_survey(survey)
    chosen = _pick(asked, question)
    if top is not None and chosen.kind in ("ordinal", "numeric"):
        remedy = "All that is wanted of numbers and ordered answers is judged."
        raise InputError("top", top, f"left out for {chosen.kind!r}", remedy)
    answers = _read(chosen, data, first_item)
    planned = plan_survey(asked, what_if=False).question(chosen.name)
    place_rng, run_rng = np.random.default_rng(seed).spawn(2)
    trial = Trial.of(planned, answers, place_rng)
    with progress("simulating", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()) as bar:
        task = bar.add_task("runs", total=repeats * len(trial.names))
        results = trial.run(repeats, run_rng, top, lambda: bar.advance(task))
    if json_output:
        print_json(simulation_document(trial, results))
    else:
        show_simulation(terminal(), trial, results)


def _read(question: Question, data: Path, first_item: bool) -> Answers | NDArray[np.float64]:
    """The true answers; of the first item of each set alone where that is asked for."""
    from planner.planning.datasets import read_answers, read_numbers

    if question.kind == "numeric":
        return read_numbers(data, question.name)
    listed = [item for level in question.levels for item in level.items]
    answers = read_answers(data, question.name, listed if question.kind == "item-set" else None)
    return answers.first_items() if first_item else answers


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
