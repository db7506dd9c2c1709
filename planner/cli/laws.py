"""Commands about a parameter file: what it is made of, what it promises, and its clients."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli.options import (
    AnswerFileSurvey,
    DataFile,
    Decimal,
    Delimiter,
    Encoding,
    FirstItem,
    Force,
    JsonOption,
    ParameterFile,
    PlaceUnlisted,
    Quiet,
    SkipRows,
    argument,
    option,
    print_json,
    progress,
    reading_of,
    say,
    show,
)
from planner.cli.streams import (
    DASH,
    destination,
    parameters_of,
    require_apart,
    settle_outputs,
)
from planner.files import replace_file

if TYPE_CHECKING:
    from planner.laws.answers import Answer


_FAULTY = 4  # exit code when a fault was found


def schema() -> None:
    """Print the parameter file's JSON Schema (draft 2020-12)."""
    from planner.deployment.parameters import json_schema

    # The text ends its own last line; another newline would differ from the schema that
    # clients are given.
    typer.echo(json_schema(), nl=False)


def vectors(
    params: ParameterFile,
    out: Annotated[
        Path | None, option("VECTORS.json", "Write here, not to the screen.")
    ] = None,
    force: Force = False,
) -> None:
    """Test vectors for clients in other languages.

    Each has the entropy that goes in, and the report that has to come out.
    """
    from planner.deployment.parameters import make_vectors

    settle_outputs(out, force=force)
    text = json.dumps(make_vectors(parameters_of(params)), indent=1) + "\n"
    if out is None:
        out = DASH
    replace_file(out, text)


def verify(params: ParameterFile, json_output: JsonOption = False) -> None:
    """Prove again, exactly, that parameters keep their budgets."""
    from planner.show.promises import pair_rows, verification_blocks

    # Reading is what verifies: a file that does not keep its budgets is refused here.
    parameters = parameters_of(params)
    pairs = []
    for question in parameters.questions:
        pairs.append({"name": question.name, "pairs": pair_rows(question)})
    show(
        verification_blocks(parameters),
        {"verified": True, "questions": pairs},
        json=json_output,
    )


def perturb(  # noqa: PLR0913, PLR0917 - each is an option of the command
    params: ParameterFile,
    data: DataFile,
    out: Annotated[
        Path,
        option("PATH", "A folder; of one question also a .parquet or .jsonl."),
    ],
    question: Annotated[
        list[str] | None,
        option("NAME", "Only this question; may be given several times."),
    ] = None,
    survey: AnswerFileSurvey = None,
    delimiter: Delimiter = "",
    encoding: Encoding = "",
    decimal: Decimal = "",
    skip_rows: SkipRows = 0,
    place_unlisted: PlaceUnlisted = False,
    first_item: FirstItem = False,
    force: Force = False,
    quiet: Quiet = False,
    json_output: JsonOption = False,
) -> None:
    """Randomise a file of true answers, for pilots and tests.

    In a collection people's devices do it, so that nobody else has the true answers.

    The answers are text with any delimiter, JSON lines, Parquet, Excel or transactions, a person a
    row: see "Try it on your data". Reports are written as .parquet (for many) or .jsonl.
    """
    from planner.deployment.bulk import perturb_file
    from planner.survey.survey import load_survey

    require_apart(out, [params, data])
    settle_outputs(out, force=force, quiet=quiet, json=json_output)
    parameters = parameters_of(params)
    # The survey says in which columns the answers are; parameters, which are public, do not.
    described = None
    if survey is not None:
        described = load_survey(survey)
    reading = reading_of(
        delimiter, encoding, decimal, skip_rows, place_unlisted, first_item
    )
    with progress() as bar:
        task = bar.add_task("randomising", total=None)

        def tell(done: int) -> None:
            bar.update(task, completed=done)

        with destination(out, ".jsonl") as path:
            perturbed = perturb_file(
                parameters, data, path, question or (), tell, described, reading
            )
    if json_output:
        written = {}
        for path, reports in perturbed.written.items():
            written[str(path)] = reports
        print_json({"written": written, "read": perturbed.read_as})
        return
    say(perturbed.read_as)
    for path, reports in perturbed.written.items():
        say(f"{reports:,} reports written to {path}")


def audit(  # noqa: PLR0913, PLR0917 - each is an option of the command
    params: ParameterFile,
    command: Annotated[
        list[str],
        argument("COMMAND", "The client and its options, after --; see below."),
    ],
    question: Annotated[
        str | None, option("NAME", "Needed if the file has several.")
    ] = None,
    answer: Annotated[
        list[str] | None, option("ANSWER", "Ask these, as JSON or text; two or more.")
    ] = None,
    data: Annotated[
        Path | None, option("FILE", "Ask the answers that are in this file.")
    ] = None,
    survey: AnswerFileSurvey = None,
    reports: Annotated[int, option("N", "Reports of each answer.")] = 100_000,
    confidence: Annotated[
        float, option("SHARE", "That an honest client passes.")
    ] = 0.999999,
    seconds: Annotated[float, option("SECONDS", "Time limit of each start.")] = 600.0,
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

    from planner.show.blocks import Sentence, said
    from planner.survey.survey import load_survey
    from planner.trial.audit import answers_in, audit_client
    from planner.trial.black_box import CommandBox

    parameters = parameters_of(params)
    asked = [_parsed(text) for text in answer or ()]
    read = ""
    if data is not None:
        reading = reading_of(delimiter, encoding, decimal, skip_rows, place_unlisted)
        described = None
        if survey is not None:
            described = load_survey(survey)
        law = parameters.question(question)
        listed, read = answers_in(data, law, described, reading)
        asked += listed
    box = CommandBox(command, seconds)
    # The order of questions is not seeded: a client that knew it could behave for the
    # audit alone.
    audit_result = audit_client(
        parameters, box, default_rng(), question, asked, reports, confidence
    )
    blocks = []
    if read:  # how the file was understood, before what follows from it
        blocks.append(Sentence(read))
    blocks += [Sentence(audit_result.summary), *said(audit_result.faults, "missed")]
    document = asdict(audit_result) | {
        "passed": audit_result.passed,
        "summary": audit_result.summary,
        "read": read,
    }
    show(blocks, document, json=json_output)
    if not audit_result.passed:
        raise typer.Exit(_FAULTY)


def _parsed(text: str) -> Answer:
    try:
        return json.loads(text)
    # In a shell a name such as tea would else need quotes within quotes.
    except ValueError:
        return text
