"""``ldp-planner audit``: a client as a black box, judged by its reports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.cli.options import Json, ParameterFile
from planner.cli.output import lowered, number, print_json, table, terminal

if TYPE_CHECKING:
    from planner.outsiders.auditing.audit import ReportAudit
    from planner.trial.audit.client import ClientAudit


_FAULTY = 4
"""Exit code when a fault was found."""


def audit(  # noqa: PLR0913, PLR0917 - each is an option of the command
    params: ParameterFile,
    command: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND ...", help="The client, see below.")
    ],
    question: Annotated[
        str | None, typer.Option(metavar="NAME", help="Needed if the file has several.")
    ] = None,
    answer: Annotated[
        list[str] | None,
        typer.Option(metavar="ANSWER", help="Compare these, as JSON or text; two or more."),
    ] = None,
    reports: Annotated[int, typer.Option(help="Reports of each answer.")] = 100_000,
    confidence: Annotated[
        float, typer.Option(metavar="SHARE", help="That an honest client passes.")
    ] = 0.999999,
    seconds: Annotated[float, typer.Option(help="Time limit of each start.")] = 600.0,
    json_output: Json = False,
) -> None:
    """Prove what a client gives away, from its reports.

    COMMAND reads one answer a line from its standard input, as JSON, and writes one report a line
    to its standard output; it is started twice. Exit code 0: no violation found; 4: a fault.
    """
    from numpy.random import default_rng

    from planner.deployment.parameter_file.parameters import read_parameters
    from planner.outsiders.auditing.boxes import CommandBox
    from planner.trial.audit.client import plan_audit

    parameters = read_parameters(params)
    asked = [_parsed(text) for text in answer or ()]
    plan = plan_audit(parameters, question, asked, reports, confidence)
    found = plan.run(CommandBox(command, seconds), default_rng())
    if json_output:
        print_json(_document(plan, found))
    else:
        _show(plan, found)
    if not found.passed:
        raise typer.Exit(_FAULTY)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _show(plan: ClientAudit, found: ReportAudit) -> None:
    console = terminal()
    view = table(
        f"{plan.question}: {found.reports:,} reports of each answer",
        ("answer", "other"),
        ("budget", "honest client", "lost, proven", "findable from"),
    )
    for pair, findable in zip(found.pairs, plan.findable, strict=True):
        promise = pair.promise
        view.add_row(
            str(promise.first),
            str(promise.second),
            number(promise.demanded, 6),
            number(promise.epsilon, 6),
            lowered(pair.lower_bound, 4),
            number(promise.epsilon + findable, 6),
        )
    console.print(view)
    for fault in found.faults:
        console.print(fault, soft_wrap=True)
    summary = found.summary
    console.print(f"{summary[0].upper()}{summary[1:]}.", soft_wrap=True)


def _document(plan: ClientAudit, found: ReportAudit) -> dict[str, Any]:
    return {
        "question": plan.question,
        "reports_per_answer": found.reports,
        "tests": found.tests,
        "confidence": found.confidence,
        "passed": found.passed,
        "faults": found.faults,
        "pairs": [
            {
                "first": pair.promise.first,
                "second": pair.promise.second,
                "budget": pair.promise.demanded,
                "honest_client": pair.promise.epsilon,
                "proven_loss": pair.lower_bound,
                "view": pair.view,
                "findable_from": pair.promise.epsilon + findable,
            }
            for pair, findable in zip(found.pairs, plan.findable, strict=True)
        ],
    }
