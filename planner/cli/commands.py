"""The commands of ``ldp-planner``, and how each way to end becomes an exit code."""

from __future__ import annotations

import ipaddress
import json
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand

from planner import __version__
from planner.cli import asking, laws, planning, results
from planner.cli.options import option
from planner.cli.streams import speak, without_spool
from planner.errors import InputError, PlannerError

app = typer.Typer(
    name="ldp-planner",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    # A traceback in a frame may show the values of variables, and so what people
    # answered.
    pretty_exceptions_enable=False,
    # Brackets in the help are what is usual, and no markup.
    rich_markup_mode=None,
)


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, help="Print the version and end."),
    ] = False,
) -> None:
    """Plan a locally private survey: budgets in, certified probabilities out."""
    speak()
    if version:
        typer.echo(f"ldp-planner {__version__}")
        raise typer.Exit


def open_app(
    port: Annotated[
        int, typer.Option(metavar="PORT", help="To listen on.", min=1, max=65535)
    ] = 8501,
    browser: Annotated[bool, typer.Option(help="Open a browser window.")] = True,
    address: Annotated[
        str,
        option(
            "IP",
            "Address to listen on. Any other lets others on the network use the app, which "
            "asks nobody for a password.",
        ),
    ] = "127.0.0.1",
) -> None:
    """Open the app: budgets, errors, guarantees and export, in the browser."""
    try:
        ipaddress.ip_address(address)
    except ValueError:
        remedy = "Leave it out for this machine alone, or write 0.0.0.0 for all its addresses."
        raise InputError("address", address, "an IP address", remedy) from None
    mode = "headless"
    if browser:
        mode = "browser"
    words = [sys.executable, "-m", "planner.ui", str(port), mode, address]
    # Replacing the process drops what is still in its buffers.
    sys.stdout.flush()
    # The server takes this process over, so that signals reach it and its end is seen
    # by whoever started it.
    os.execv(sys.executable, words)  # noqa: S606 - this very Python, and words of our own


# Each command with an example, which its --help ends with.
_COMMANDS: dict[Callable[..., None], str] = {
    planning.plan: "plan survey.toml --out params.json --report plan.html",
    planning.compare: "compare strict.toml loose.toml",
    planning.outsiders: "outsiders survey.toml --details",
    planning.answer_rate: "answer-rate survey.toml",
    planning.simulate: "simulate survey.toml --question ward --data visits.csv",
    asking.questionnaire: "questionnaire survey.toml --parameters params.json --out page.html",
    asking.receive: "receive params.json --into reports --page page.html",
    laws.schema: "schema > parameters.schema.json",
    laws.vectors: "vectors params.json --out vectors.json",
    laws.verify: "verify params.json",
    results.rehearse: "rehearse survey.toml --data visits.csv --by region",
    laws.perturb: "perturb params.json --data visits.csv --out reports",
    results.aggregate: "aggregate params.json reports --out estimates.csv",
    results.difference: "difference last.json reports-last this.json reports-this",
    laws.audit: "audit params.json --answer tea --answer rice -- node client.mjs",
}


class _Command(TyperCommand):
    """A command whose help names its arguments as they are typed, without braces and types.

    What contexts and formatters are is click's, or typer's copy of it.
    """

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        pieces = super().collect_usage_pieces(ctx)
        return [piece.replace("{", "").replace("}", "") for piece in pieces]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        records: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                name, explanation = record
                # Newer versions of typer put a type such as <path> behind an argument.
                name = name.partition(" <")[0]
                records[parameter.param_type_name].append((name, explanation))
        for kind, rows in records.items():
            if rows:
                with formatter.section(f"{kind.capitalize()}s"):
                    formatter.write_dl(rows)


for _command, _example in _COMMANDS.items():
    app.command(cls=_Command, epilog=f"Example: ldp-planner {_example}")(_command)
app.command(
    "import",
    cls=_Command,
    epilog="Example: ldp-planner import form.xlsx --out survey.toml",
)(planning.import_form)
app.command(
    "app",
    cls=_Command,
    short_help="Open the app in the browser.",
    epilog="Example: ldp-planner app --port 8600",
)(open_app)

# Click's own, or typer's copy of it; what it has its parameters' errors have, too.
_UsageError: type[typer.BadParameter] = typer.BadParameter.__bases__[0]


def run() -> NoReturn:
    """Run the command line; on an expected error print one sentence and exit with its code.

    With ``--json`` the error is a document on the standard output.
    """
    try:
        # Standing alone, click would print errors in its own words, and choose the exit
        # codes.
        code = app(sys.argv[1:] or ["--help"], "ldp-planner", standalone_mode=False)
        sys.stdout.flush()
    except PlannerError as error:
        _fail(str(error), 1, error)
    except _UsageError as error:
        command = "ldp-planner"
        if error.ctx is not None:
            command = error.ctx.command_path
        _fail(f"{error.format_message().rstrip('.?')}. Try: {command} --help", 2)
    except typer.Abort:  # Control-C, by older versions of typer
        # 128 and the number of SIGINT, as shells have it.
        _fail("stopped.", 130)
    except OSError as error:
        _fail_to_print(error)
    sys.exit(code)


def _fail(sentence: str, code: int, error: PlannerError | None = None) -> NoReturn:
    from planner.show.terminal import visible

    words = without_spool(sentence)
    # Where the options themselves are wrong, none of them has been read: the words are
    # looked at.
    if "--json" in sys.argv[1:]:
        document = {"kind": "UsageError", "message": words, "exit_code": code}
        if error is not None:
            document["kind"] = type(error).__name__
            document["argument"] = getattr(error, "argument", None)
            document["reason"] = without_spool(error.reason)
            document["remedy"] = without_spool(error.remedy)
        typer.echo(json.dumps({"error": document}, indent=2))
    else:
        typer.echo(f"ldp-planner: {visible(words)}", err=True)
    sys.exit(code)


def _fail_to_print(error: OSError) -> NoReturn:
    """End in silence where the output ends early (``| head``); a full disk is an error."""
    os.dup2(
        os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
    )  # what is left goes nowhere
    if isinstance(error, BrokenPipeError):
        sys.exit(1)
    _fail(
        f"the output cannot be written: {error.strerror or error}. Make room, and run again.",
        1,
    )
