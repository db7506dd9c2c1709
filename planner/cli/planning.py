"""``ldp-planner plan`` and ``compare``: whole surveys in, plans and reports out."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli.options import Json, Model, SurveyFile
from planner.cli.output import print_json, terminal
from planner.errors import InputError

if TYPE_CHECKING:
    from planner.planning.ledger import Ledger
    from planner.planning.whole_survey.plan import WholePlan
    from planner.survey import Survey

__all__ = ["compare", "plan"]


def plan(  # noqa: PLR0913, PLR0917 - each is an option of the command
    survey: SurveyFile,
    model: Model = "opt0",
    out: Annotated[
        Path | None, typer.Option(metavar="params.json", help="Write deployable parameters here.")
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Write the parameters of this question alone."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="report.html", help="Write a report with charts here.")
    ] = None,
    mechanism: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Write another mechanism than the model's: grr, subset, olh, ..."
        ),
    ] = "",
    record: Annotated[
        bool, typer.Option("--record", help="Add what is spent to the survey's ledger.")
    ] = False,
    json_output: Json = False,
) -> None:
    """Find the smallest errors that keep every budget."""
    from planner.cli.show.survey import show_whole_plan, whole_document
    from planner.deployment.parameter_file.parameters import write_parameters
    from planner.deployment.parameter_file.survey_plans import SurveyPlan, survey_parameters
    from planner.files import replace_file
    from planner.show.report import report_html

    made = _planned(survey, model)
    parameters = None
    if question is not None or out is not None or _one_file(made):
        whole = SurveyPlan(made.survey, made, {})
        chosen = {one.name: mechanism or model for one in made.survey.questions}
        parameters = survey_parameters(whole, chosen, question)
    if out is not None and parameters is not None:
        write_parameters(out, parameters)
    if report is not None:
        replace_file(report, report_html(made))
    if record:
        _record(made)
    if json_output:
        print_json(whole_document(made, parameters))
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
    json_output: Json = False,
) -> None:
    """Put two scenarios side by side: budgets and errors."""
    from planner.cli.show.comparison import comparison_document, show_comparison
    from planner.planning.whole_survey.compare import compare_plans

    found = compare_plans(_planned(first, model), _planned(second, model))
    if json_output:
        print_json(comparison_document(found))
    else:
        show_comparison(terminal(), found, (first.name, second.name))


def _planned(path: Path, model: str) -> WholePlan:
    from planner.planning.whole_survey.plan import plan_whole_survey
    from planner.survey.file import load_survey

    survey = load_survey(path)
    return plan_whole_survey(survey, model, _ledger(survey))


def _one_file(made: WholePlan) -> bool:
    return not made.several or made.survey.design == "split"


def _record(made: WholePlan) -> None:
    from planner.planning.ledger import write_ledger

    path = made.survey.ledger
    if path is None:
        remedy = 'Name one in the survey: ledger = "ledger.json" under [survey].'
        raise InputError("ledger", None, "given to record what is spent", remedy)
    today = datetime.datetime.now(datetime.UTC).date()
    write_ledger(path, _ledger(made.survey).after(made.collection(today)))


def _ledger(survey: Survey) -> Ledger:
    from planner.planning.ledger import Ledger, read_ledger

    path = survey.ledger
    return read_ledger(path) if path is not None and Path(path).exists() else Ledger()
