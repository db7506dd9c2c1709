"""``ldp-planner simulate`` and ``audit``: mechanisms on known answers, clients by their reports."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli.options import (
    AnswerFileSurvey,
    Decimal,
    Delimiter,
    Encoding,
    FirstItem,
    JsonOption,
    ParameterFile,
    PlaceUnlisted,
    SkipRows,
    SurveyFile,
    argument,
    option,
    progress,
    reading_of,
    show,
)
from planner.errors import InputError

if TYPE_CHECKING:
    from planner.laws.answers import Answer
    from planner.survey.questions import Question
    from planner.survey.survey import Survey


_FAULTY = 4  # exit code when a fault was found


def simulate(  # noqa: PLR0913, PLR0917 - each is an option of the command
    survey: SurveyFile,
    data: Annotated[
        Path,
        option(
            "FILE",
            "True answers: text with any delimiter, JSON lines, Parquet or Excel, with a "
            "column named like the question; or transactions (.dat, .data, .txt).",
        ),
    ],
    repeats: Annotated[int, option("N", "Runs per mechanism.")] = 10,
    seed: Annotated[int, option("N", "The same seed gives the same figures.")] = 1,
    first_item: FirstItem = False,
    question: Annotated[str, option("NAME", "The question, if the survey has several.")] = "",
    delimiter: Delimiter = "",
    encoding: Encoding = "",
    decimal: Decimal = "",
    skip_rows: SkipRows = 0,
    place_unlisted: PlaceUnlisted = False,
    json_output: JsonOption = False,
) -> None:
    """Try the plan on answers that you have.

    What is deployed and what else could be: measured errors stand beside predicted ones.
    """
    import numpy as np
    from rich.progress import BarColumn, MofNCompleteColumn, TimeRemainingColumn

    from planner.planning.datasets import read_known
    from planner.planning.plan import plan_survey
    from planner.show.blocks import Sentence
    from planner.show.others import simulation_blocks, simulation_json
    from planner.survey.survey import load_survey
    from planner.trial.simulate import Trial

    if seed < 0:
        remedy = "Leave --seed out, or write one such as 1."
        raise InputError("seed", seed, "a whole number of at least 0", remedy)
    asked = load_survey(survey)
    chosen = _pick(asked, question)
    reading = reading_of(delimiter, encoding, decimal, skip_rows, place_unlisted, first_item)
    known = read_known(data, chosen.answer_column, reading)
    trial = Trial.of(plan_survey(asked).question(chosen.name), known.answers)
    with progress("simulating", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()) as bar:
        task = bar.add_task("runs", total=repeats * len(trial.names))
        results = trial.run(repeats, np.random.default_rng(seed), lambda: bar.advance(task))
    told = [Sentence(known.said), *simulation_blocks(trial, results)]
    show(told, {"read": known.said} | simulation_json(trial, results), json=json_output)


def _pick(survey: Survey, name: str) -> Question:
    fitting = {one.name: one for one in survey.questions if not one.apart}
    if name in fitting:
        return fitting[name]
    if not name and len(fitting) == 1:
        return next(iter(fitting.values()))
    raise InputError.unknown("question", name, tuple(fitting), "Choose one with --question NAME.")


def audit(  # noqa: PLR0913, PLR0917 - each is an option of the command
    params: ParameterFile,
    command: Annotated[list[str], argument("-- COMMAND ...", "The client, see below.")],
    question: Annotated[str | None, option("NAME", "Needed if the file has several.")] = None,
    answer: Annotated[
        list[str] | None, option("ANSWER", "Ask these, as JSON or text; two or more.")
    ] = None,
    data: Annotated[Path | None, option("FILE", "Ask the answers that are in this file.")] = None,
    survey: AnswerFileSurvey = None,
    reports: Annotated[int, typer.Option(help="Reports of each answer.")] = 100_000,
    confidence: Annotated[float, option("SHARE", "That an honest client passes.")] = 0.999999,
    seconds: Annotated[float, typer.Option(help="Time limit of each start.")] = 600.0,
    delimiter: Delimiter = "",
    encoding: Encoding = "",
    decimal: Decimal = "",
    skip_rows: SkipRows = 0,
    place_unlisted: PlaceUnlisted = False,
    json_output: JsonOption = False,
) -> None:
    """Judge a client by its reports of known answers.

    The file's own integers say what is right.
    COMMAND reads one answer a line from its standard input, as JSON, and writes one report a line
    to its standard output; it is started twice or more. Exit code 0: no fault found; 4: a fault.
    """
    from numpy.random import default_rng

    from planner.deployment.parameters import read_parameters
    from planner.show.blocks import Sentence, said
    from planner.survey.survey import load_survey
    from planner.trial.audit import answers_in, audit_client
    from planner.trial.black_box import CommandBox

    parameters = read_parameters(params)
    asked, read = [_parsed(text) for text in answer or ()], ""
    if data is not None:
        reading = reading_of(delimiter, encoding, decimal, skip_rows, place_unlisted)
        told_by = None if survey is None else load_survey(survey)
        listed, read = answers_in(data, parameters.question(question), told_by, reading)
        asked += listed
    box = CommandBox(command, seconds)
    found = audit_client(parameters, box, default_rng(), question, asked, reports, confidence)
    told = [Sentence(read)] * bool(read)
    told += [Sentence(found.summary), *said(found.faults, "missed")]
    document = asdict(found) | {"passed": found.passed, "summary": found.summary, "read": read}
    show(told, document, json=json_output)
    if not found.passed:
        raise typer.Exit(_FAULTY)


def _parsed(text: str) -> Answer:
    try:
        return json.loads(text)
    except ValueError:
        return text
