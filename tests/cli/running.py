"""Ways to run the command line: in this process, or as it is installed."""

import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import pytest
from typer.testing import CliRunner

from planner.cli import main
from planner.cli.commands import app

ROOT = Path(__file__).parents[2]
TERMINAL = {"COLUMNS": "80", "NO_COLOR": "1"}


def invoke(*arguments):
    """The result of a command on a terminal 80 columns wide; an error is its ``exception``."""
    return CliRunner().invoke(
        app, [str(argument) for argument in arguments], env=TERMINAL
    )


def shown(*arguments):
    """What a command that succeeds prints; an error is raised."""
    words = [str(argument) for argument in arguments]
    result = CliRunner().invoke(app, words, env=TERMINAL, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def ended(*arguments):
    """How the whole command ends in this process: its exit code, what it prints and complains."""
    out = StringIO()
    err = StringIO()
    words = ["ldp-planner", *map(str, arguments)]
    with (
        patch.object(sys, "argv", words),
        patch.dict(os.environ, TERMINAL),
        patch("signal.signal"),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as end,
    ):
        main()
    return subprocess.CompletedProcess(
        words, end.value.code or 0, out.getvalue(), err.getvalue()
    )


def run(*arguments, **environment):
    """The installed command in a process of its own, which takes a second or two to begin."""
    return subprocess.run(  # noqa: S603 - our own code
        [
            sys.executable,
            "-c",
            "from planner.cli import main; main()",
            *map(str, arguments),
        ],
        env=os.environ | TERMINAL | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
