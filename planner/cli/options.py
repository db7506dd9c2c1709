"""What several commands have: arguments and options, JSON for machines, a bar of progress."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.models import ArgumentInfo, OptionInfo

from planner.cli.streams import silent, spooled

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

    from planner.laws.schema import Document
    from planner.show.blocks import Block
    from planner.survey.tables import Reading


def option(
    metavar: str,
    explanation: str,
    *names: str,
    callback: Callable[[Any], Any] | None = None,
) -> OptionInfo:
    """An option with a value; without names it is called like its parameter."""
    info: OptionInfo = typer.Option(
        *names, metavar=metavar, help=explanation, callback=callback
    )
    return info


def argument(
    metavar: str, explanation: str, callback: Callable[[Any], Any] | None = None
) -> ArgumentInfo:
    """An argument, which stands in its place and has no name."""
    info: ArgumentInfo = typer.Argument(
        metavar=metavar, help=explanation, callback=callback
    )
    return info


SurveyFile = Annotated[Path, argument("SURVEY.toml", "The survey; - reads it.")]
ParameterFile = Annotated[
    Path, argument("PARAMS.json", "The parameters; - reads them.", spooled)
]
DataFile = Annotated[
    Path,
    option(
        "ANSWERS.csv",
        "Answers, a person a row, with a column named like each question: text with any "
        "delimiter, a spreadsheet, SPSS, Stata, Parquet or JSON lines; or transactions (.dat). "
        "- reads text.",
        callback=spooled,
    ),
]
Mechanism = Annotated[
    str | None,
    option(
        "NAME",
        "Plan this mechanism for every choice and set: best, opt0, opt1, opt2, rappor, oue, "
        "and for choices subset-design, grr, subset, olh [each question's own].",
        "--mechanism",
        "--model",
    ),
]
Delimiter = Annotated[
    str, option("MARK", "Between the cells of text: , ; | or tab [found out].")
]
Encoding = Annotated[
    str, option("NAME", "Of text: utf-8, utf-16, cp1252, latin-1 [found out].")
]
Confidence = Annotated[float, option("SHARE", "Of the intervals, above 0 and below 1.")]
ModelLink = Annotated[
    str, option("logit|linear", "Of the model: for shares logit, or linear.")
]
Decimal = Annotated[str, option("MARK", "Of decimals: . or , [found out].")]
SkipRows = Annotated[int, option("N", "Rows above the header.")]
FirstItem = Annotated[
    bool, typer.Option("--first-item", help="Keep each transaction's first item only.")
]
PlaceUnlisted = Annotated[
    bool,
    typer.Option(
        "--place-unlisted",
        help="Give answers that no level lists the places, in order, of levels without a list.",
    ),
]
AnswerFileSurvey = Annotated[
    Path | None,
    option(
        "SURVEY.toml",
        "Which says in which columns answers stand, and which cells are none.",
        "--survey",
        callback=spooled,
    ),
]
Details = Annotated[
    bool, typer.Option("--details", help="Print tables and proofs, too.")
]
JsonOption = Annotated[
    bool,
    typer.Option(
        "--json", help="Print one JSON document for machines, of an error, too."
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Replace files that exist already.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


def reading_of(
    delimiter: str,
    encoding: str,
    decimal: str,
    skip_rows: int,
    unlisted: bool,
    first: bool = False,
) -> Reading:
    """What the options say of a file of answers; the rest is found out."""
    from planner.survey.tables import Reading

    # A shell hands on a real tab or blank where somebody quotes one; the survey's file
    # has words for both.
    spelt = {"\t": "tab", " ": "blank"}.get(delimiter, delimiter)
    text: Document = {"delimiter": spelt, "encoding": encoding, "decimal": decimal}
    return Reading(
        **text, skip_rows=skip_rows, place_unlisted=unlisted, first_item=first
    )


def show(
    blocks: Iterable[Block],
    document: object = None,
    *,
    details: bool = False,
    json: bool = False,
) -> None:
    """Print blocks, those for everybody or all; or what they say for machines."""
    if silent():
        return
    if json:
        from planner.show.json import to_json

        print_json(to_json(document))
    else:
        from planner.show.terminal import print_blocks, terminal

        print_blocks(terminal(), blocks, details=details)


def say(sentence: str) -> None:
    """Print a sentence; control characters of names in it are spelt out."""
    from planner.show.terminal import terminal

    if silent():
        return
    terminal().print(sentence, soft_wrap=True)  # a path or a command is copied whole


def print_json(document: object) -> None:
    """Print a document; NaN and infinities are errors, as they are not JSON."""
    if not silent():
        typer.echo(json.dumps(document, indent=2, allow_nan=False))


def progress(*columns: str | ProgressColumn) -> Progress:
    """A bar on standard error while it is a terminal; nothing where it is a file or a pipe."""
    from rich.progress import Progress

    from planner.show.terminal import terminal

    console = terminal(stderr=True)
    return Progress(
        *columns,
        console=console,
        transient=True,
        disable=silent() or not console.is_terminal,
    )
