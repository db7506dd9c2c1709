"""The command ``ldp-planner``: asks and shows; everything else happens elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from planner.cli.answer_rate import answer_rate
from planner.cli.deployment import aggregate, perturb, schema, vectors
from planner.cli.planning import compare, plan
from planner.cli.sampling import sampling
from planner.cli.simulate import simulate
from planner.errors import PlannerError
from planner.ui.command import app as open_app

__all__ = ["app", "main"]

app = typer.Typer(
    name="ldp-planner",
    help="Plan a locally private survey: budgets in, certified probabilities out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

app.command()(plan)
app.command()(compare)
app.command()(answer_rate)
app.command()(sampling)
app.command()(simulate)
app.command("app")(open_app)
app.command()(schema)
app.command()(vectors)
app.command()(perturb)
app.command()(aggregate)

ParameterFile = Annotated[Path, typer.Argument(metavar="params.json", help="The file to check.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document for machines.")]


@app.command()
def verify(params: ParameterFile, json: Json = False) -> None:
    """Prove again, in exact arithmetic, that a parameter file keeps its budgets."""
    from planner.cli.text import show_verification, terminal, verification_document
    from planner.deployment.parameters import read_parameters

    parameters = read_parameters(params)  # verifies; a file that does not verify is refused
    if json:
        _print_json(verification_document(parameters))
    else:
        show_verification(terminal(), parameters)


def main() -> None:
    """Run the command line; on an expected error print one sentence and exit with code 1."""
    try:
        app()
    except PlannerError as error:
        typer.echo(f"ldp-planner: {error}", err=True)
        sys.exit(1)


def _print_json(document: object) -> None:
    from json import dumps

    typer.echo(dumps(document, indent=2, allow_nan=False))
