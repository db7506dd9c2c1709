"""The command ``ldp-planner``: asks and shows; everything else happens elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from planner.answer_rate_cli import answer_rate
from planner.deployment_cli import aggregate, perturb, schema, vectors
from planner.errors import PlannerError
from planner.sampling_cli import sampling
from planner.simulate_cli import simulate

__all__ = ["app", "main"]

app = typer.Typer(
    name="ldp-planner",
    help="Plan a locally private survey: budgets in, certified probabilities out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

app.command()(answer_rate)
app.command()(sampling)
app.command()(simulate)
app.command()(schema)
app.command()(vectors)
app.command()(perturb)
app.command()(aggregate)

SurveyFile = Annotated[Path, typer.Argument(metavar="SURVEY.toml", help="The survey to plan.")]
ParameterFile = Annotated[Path, typer.Argument(metavar="params.json", help="The file to check.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document for machines.")]


@app.command()
def plan(
    survey: SurveyFile,
    model: Annotated[
        str, typer.Option(help="opt0 (best), opt1 (a + b = 1) or opt2 (a = 1/2).")
    ] = "opt0",
    out: Annotated[
        Path | None, typer.Option(metavar="params.json", help="Write deployable parameters here.")
    ] = None,
    json: Json = False,
) -> None:
    """Find the probabilities with the smallest error that keep every budget."""
    from planner.deployment.building import parameters_from_plan
    from planner.deployment.parameters import write_parameters
    from planner.planning.frequency import plan_survey
    from planner.survey_file import load_survey
    from planner.text import plan_document, show_plan, terminal

    made = plan_survey(load_survey(survey), model)
    parameters = parameters_from_plan(made)
    if out is not None:
        write_parameters(out, parameters)
    if json:
        _print_json(plan_document(made, parameters))
    else:
        console = terminal()
        show_plan(console, made)
        if out is not None:
            console.print(f"Parameters written to {out} and verified.", soft_wrap=True)


@app.command()
def verify(params: ParameterFile, json: Json = False) -> None:
    """Prove again, in exact arithmetic, that a parameter file keeps its budgets."""
    from planner.deployment.parameters import read_parameters
    from planner.text import show_verification, terminal, verification_document

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
