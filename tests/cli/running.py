"""Ways to run the command line: in this process, or as it is installed."""

import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

from rich.console import Console
from typer.testing import CliRunner

from planner.cli.commands import app

ROOT = Path(__file__).parents[2]
TERMINAL = {"COLUMNS": "80", "NO_COLOR": "1"}


def invoke(*arguments):
    """The result of a command on a terminal 80 columns wide; an error is its ``exception``."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env=TERMINAL)


def shown(*arguments):
    """What a command that succeeds prints; an error is raised."""
    words = [str(argument) for argument in arguments]
    result = CliRunner().invoke(app, words, env=TERMINAL, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def run(*arguments, **environment):
    """The installed command in a process of its own."""
    return subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", "from planner.cli import main; main()", *map(str, arguments)],
        env=os.environ | TERMINAL | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def printed(show, *arguments):
    """What a function of ``planner.cli.show`` prints on a terminal 80 columns wide."""
    console = Console(width=80, file=StringIO(), highlight=False, markup=False, emoji=False)
    show(console, *arguments)
    return console.file.getvalue()
