"""``ldp-planner outsiders``: what anybody but the person learns from a survey's reports."""

from __future__ import annotations

from typing import Annotated

import typer

from planner.cli.options import Json, Mechanism, SurveyFile
from planner.cli.output import print_json, terminal
from planner.cli.planning import planned

__all__ = ["outsiders"]


def outsiders(
    survey: SurveyFile,
    mechanism: Mechanism = None,
    delta: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="Of the central guarantee [far below 1/people]."),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(metavar="NATS", help="Say which local budget reaches this, if shuffled."),
    ] = None,
    json_output: Json = False,
) -> None:
    """Say what outsiders learn, beside what is promised.

    One report and the best guess from it; all reports if a shuffler or a secure sum takes their
    senders off; false reports. Never instead of the budgets that the survey promises.
    """
    from planner.cli.show.outsiders import outsiders_document, show_outsiders

    made, _ = planned(survey, mechanism)
    view = made.outsiders(delta)
    if json_output:
        print_json(outsiders_document(view, epsilon))
    else:
        show_outsiders(terminal(), view, epsilon)
