"""The command ``ldp-planner``: asks and shows; everything else happens elsewhere."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command line; on an expected error print one sentence and exit with its code.

    Exit codes: 1 for input that cannot be used, 2 for a wrong command or option, 130 if stopped
    from the keyboard, 143 if ended by another program.
    """
    signal.signal(signal.SIGTERM, _end)
    # Before NumPy is loaded, so that its threads never start: solvers hold themselves to one, but
    # estimates are small systems of equations as well, and idle threads wait for work busily.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):  # what their encoding has not is spelt out
        getattr(stream, "reconfigure", dict)(errors="backslashreplace")
    try:
        from planner.cli.commands import run  # long enough to be stopped meanwhile

        run()
    except KeyboardInterrupt:
        sys.stderr.write("ldp-planner: stopped.\n")
        sys.exit(130)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """As any exit: what is open is closed, and workers end."""
    del frame
    sys.exit(128 + number)
