"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SurveyFile = Annotated[Path, typer.Argument(metavar="SURVEY.toml", help="The survey.")]
ParameterFile = Annotated[Path, typer.Argument(metavar="params.json", help="The parameters.")]
Mechanism = Annotated[
    str | None,
    typer.Option(
        "--mechanism",
        "--model",
        metavar="NAME",
        help="Plan this mechanism for every choice and set: best, opt0, opt1, opt2, rappor, oue, "
        "and for choices subset-design, grr, subset, olh [each question's own].",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document for machines.")]
