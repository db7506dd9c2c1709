"""``ldp-planner plan`` and ``compare``: whole surveys in, plans and reports out."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from planner.errors import InputError

__all__ = ["compare", "plan"]

SurveyFile = Annotated[Path, typer.Argument(metavar="SURVEY.toml", help="The survey to plan.")]
Model = Annotated[str, typer.Option(help="opt0 (best), opt1 (a + b = 1) or opt2 (a = 1/2).")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document for machines.")]


def plan(  # noqa: PLR0913, PLR0917 - each is an option of the command
    survey: SurveyFile,
    model: Model = "opt0",
    out: Annotated[
        Path | None, typer.Option(metavar="params.json", help="Write deployable parameters here.")
    ] = None,
    question: Annotated[
        str | None, typer.Option(help="Write the parameters of this question alone.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="report.html", help="Write a report with charts here.")
    ] = None,
    mechanism: Annotated[
        str,
        typer.Option(help="Write another mechanism than the model's: grr, subset, olh, ..."),
    ] = "",
    record: Annotated[
        bool, typer.Option("--record", help="Add what is spent to the survey's ledger.")
    ] = False,
    json: Json = False,
) -> None:
    """Find the probabilities with the smallest error that keep every budget."""
    from planner.cli.text import terminal
    from planner.cli.text_survey import show_whole_plan, whole_document
    from planner.deployment.parameters import write_parameters
    from planner.deployment.survey_plans import SurveyPlan, survey_parameters

    made = _planned(survey, model)
    parameters = None
    if question is not None or out is not None or _one_file(made):
        whole = SurveyPlan(made.survey, made, {})
        chosen = {one.name: mechanism or model for one in made.survey.questions}
        parameters = survey_parameters(whole, chosen, question)
    if out is not None and parameters is not None:
        write_parameters(out, parameters)
    if report is not None:
        _write_report(report, made)
    if record:
        _record(made)
    if json:
        _print_json(whole_document(made, parameters))
        return
    console = terminal()
    show_whole_plan(console, made)
    for path, what in ((out, "Parameters"), (report, "Report")):
        if path is not None:
            proof = " and verified" if path is out else ""
            console.print(f"{what} written to {path}{proof}.", soft_wrap=True)
    if record:
        console.print(f"Recorded in {made.survey.ledger}.", soft_wrap=True)


def compare(
    first: Annotated[Path, typer.Argument(metavar="A.toml", help="One scenario.")],
    second: Annotated[Path, typer.Argument(metavar="B.toml", help="The other one.")],
    model: Model = "opt0",
    json: Json = False,
) -> None:
    """Put two scenarios side by side: budgets, errors, and what they would cost people."""
    from planner.cli.text import terminal
    from planner.cli.text_compare import comparison_document, show_comparison
    from planner.planning.whole_survey.compare import compare_plans

    plans = [_planned(path, model) for path in (first, second)]
    found = compare_plans(*plans)
    if json:
        _print_json(comparison_document(found))
    else:
        show_comparison(terminal(), found, (first.name, second.name))


def _planned(path: Path, model: str) -> Any:
    from planner.planning.ledger import read_ledger
    from planner.planning.whole_survey.plan import plan_whole_survey
    from planner.survey.file import load_survey

    survey = load_survey(path)
    ledger = None
    if survey.ledger is not None and Path(survey.ledger).exists():
        ledger = read_ledger(survey.ledger)
    return plan_whole_survey(survey, model, ledger)


def _one_file(made: Any) -> bool:
    return not made.several or made.survey.design == "split"


def _write_report(path: Path, made: Any) -> None:
    from planner.files import replace_file
    from planner.report import report_html

    replace_file(path, report_html(made))


def _record(made: Any) -> None:
    from planner.planning.ledger import Ledger, read_ledger, write_ledger

    path = made.survey.ledger
    if path is None:
        remedy = 'Name one in the survey: ledger = "ledger.json" under [survey].'
        raise InputError("ledger", None, "given to record what is spent", remedy)
    ledger = read_ledger(path) if Path(path).exists() else Ledger()
    write_ledger(path, ledger.after(made.collection(datetime.datetime.now(datetime.UTC).date())))


def _print_json(document: object) -> None:
    from json import dumps

    typer.echo(dumps(document, indent=2, allow_nan=False))
