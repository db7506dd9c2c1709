"""``ldp-planner questionnaire``: the page that people answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planner.cli.options import Json, SurveyFile, print_json, say


def questionnaire(
    survey: SurveyFile,
    parameters: Annotated[
        Path, typer.Option(metavar="params.json", help="What was planned for this survey.")
    ],
    out: Annotated[Path, typer.Option(metavar="FILE.html", help="Write the page here.")],
    send_to: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="Where reports go: https, http on this machine, or a path on the page's own host "
            "[people save them as a file].",
        ),
    ] = "",
    round_number: Annotated[
        int | None,
        typer.Option("--round", metavar="N", help="The round it is for, where there are rounds."),
    ] = None,
    json_output: Json = False,
) -> None:
    """Write the page that people answer, in one file.

    It asks, randomises on their device, says what is sent, and sends reports alone.
    """
    from planner.deployment.parameters import read_parameters
    from planner.deployment.questionnaire import questionnaire as page_of
    from planner.files import replace_file
    from planner.survey.file import load_survey

    found = read_parameters(parameters)
    page = page_of(load_survey(survey), parameters.read_bytes(), send_to, round_number)
    replace_file(out, page)
    size, rounds = len(page.encode()), max(law.rounds[-1] or 0 for law in found.questions)
    number = round_number or 1 if rounds else None
    if json_output:
        written = {"written": str(out), "bytes": size, "parameters": found.hash, "round": number}
        print_json(written)
        return
    which = f" for round {number} of {rounds}" if rounds else ""
    what = f"{size / 1000:.0f} kB, parameters {found.hash[:16]}"
    say(f"Questionnaire written to {out}{which}: {what}.")
