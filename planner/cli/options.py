"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Json", "Model", "ParameterFile", "SurveyFile"]

SurveyFile = Annotated[Path, typer.Argument(metavar="SURVEY.toml", help="The survey.")]
ParameterFile = Annotated[Path, typer.Argument(metavar="params.json", help="The parameters.")]
Model = Annotated[
    str,
    typer.Option(metavar="opt0|opt1|opt2", help="opt0: the best; opt1: a + b = 1; opt2: a = 1/2."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document for machines.")]
