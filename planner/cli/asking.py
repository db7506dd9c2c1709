"""Commands that ask people: the page that they answer, and the server that takes their reports."""

from __future__ import annotations

import signal
import sys
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli.options import (
    Force,
    JsonOption,
    ParameterFile,
    Quiet,
    SurveyFile,
    option,
    print_json,
    say,
)
from planner.cli.streams import (
    parameters_of,
    settle_outputs,
    survey_of,
)
from planner.errors import InputError
from planner.files import replace_file

if TYPE_CHECKING:
    from planner.deployment.collecting.reports import Key
    from planner.mechanisms.counting import Aggregate


def questionnaire(  # noqa: PLR0913, PLR0917 - each is an option of the command
    survey: SurveyFile,
    parameters: Annotated[
        Path, option("PARAMS.json", "What was planned for this survey.")
    ],
    out: Annotated[Path, option("FILE.html", "Write the page here.")],
    send_to: Annotated[
        str,
        option(
            "URL",
            "Where reports go: https, http on this machine, or a path on the page's own host "
            "[people save them as a file].",
        ),
    ] = "",
    round_number: Annotated[
        int | None,
        option("N", "The round it is for, where there are rounds.", "--round"),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    json_output: JsonOption = False,
) -> None:
    """Write the page that people answer, in one file.

    It asks, randomises on their device, says what is sent, and sends reports alone.
    """
    from planner.deployment.questionnaire import questionnaire as page_of

    settle_outputs(out, force=force, quiet=quiet, json=json_output)
    verified = parameters_of(parameters)
    page = page_of(survey_of(survey), parameters.read_bytes(), send_to, round_number)
    replace_file(out, page)
    size = len(page.encode())
    rounds = max(law.rounds[-1] or 0 for law in verified.questions)
    number = None
    which = ""
    if rounds:  # a page asks of one round, the first unless stated
        number = round_number or 1
        which = f" for round {number} of {rounds}"
    if json_output:
        print_json(
            {
                "written": str(out),
                "bytes": size,
                "parameters": verified.hash,
                "round": number,
            }
        )
        return
    what = f"{size / 1000:.0f} kB, parameters {verified.hash[:16]}"
    say(f"Questionnaire written to {out}{which}: {what}.")


def receive(  # noqa: PLR0913, PLR0917 - each is an option of the command
    params: ParameterFile,
    into: Annotated[
        Path, option("FOLDER", "For files of reports, as aggregate takes them.")
    ],
    port: Annotated[
        int, typer.Option(metavar="PORT", help="To listen on.", min=1, max=65534)
    ] = 8780,
    address: Annotated[
        str, option("IP", "To listen on; any but this needs TLS before it.")
    ] = "127.0.0.1",
    page: Annotated[
        Path | None, option("FILE.html", "The questionnaire, served at /.")
    ] = None,
    origin: Annotated[
        list[str] | None,
        option(
            "URL",
            "Of a page elsewhere that may send reports: https://clinic.example, or null for "
            "one in a folder. Again for others.",
        ),
    ] = None,
    share: Annotated[
        str, option("URL", "Address of the page, shown as a QR code.")
    ] = "",
    estimates_from: Annotated[
        int,
        typer.Option(
            metavar="REPORTS", help="Show no estimates before so many.", min=1
        ),
    ] = 100,
) -> None:
    """Receive reports over HTTP, into files.

    POST /reports takes one line or several; they are acknowledged when they are on disk. The next
    port, on this machine alone, has the organiser's page: reports and estimates so far. Ends on
    SIGTERM or Control-C, with every report in a file.
    """
    ending = list[int]()  # signals that come before the receiver listens for them
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: ending.append(received))

    # Loading takes a moment in which no signal may be lost: it comes after the
    # handlers.
    import segno

    from planner.deployment.collecting.inbox import Inbox
    from planner.deployment.collecting.receiving import Receiver, listening
    from planner.show.html import page_of
    from planner.show.results import receiving_blocks

    parameters = parameters_of(params)
    html = b""
    if page is not None:
        html = page.read_bytes()
        # A page carries its parameter file in base64. Reports of a page of other
        # parameters would all be refused here.
        if b64encode(params.read_bytes()) not in html:
            remedy = "Make the page anew: ldp-planner questionnaire."
            allowed = "a questionnaire of these parameters"
            raise InputError("page", str(page), allowed, remedy)
    code = ""
    if share:  # level M: readable with 15 % of it in a glare, say
        code = segno.make(share, error="m").svg_inline(scale=5)

    def organiser(sums: Mapping[Key, Aggregate]) -> str:
        blocks = receiving_blocks(parameters, sums, estimates_from, share)
        return page_of("Reports so far", blocks, code)

    with (
        listening(address, port) as public,
        # Estimates are for the organiser: this port stays on the machine, whatever the
        # address of the other.
        listening("127.0.0.1", port + 1) as private,
    ):
        # After both ports are taken: a second receiver by mistake ends before it
        # touches the folder.
        inbox = Inbox(into, parameters)
        say(
            f"Reports: http://{address}:{port}/reports. Organiser: http://127.0.0.1:{port + 1}/"
        )
        # A program that started this one waits for that line, and through a pipe it
        # would stay in the buffer.
        sys.stdout.flush()
        receiver = Receiver(inbox, html, origin or (), organiser)
        receiver.serve(public, private, ending)
    say(f"All reports are in {into}.")
