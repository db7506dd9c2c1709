"""The command ``ldp-planner``: asks and shows; everything else happens elsewhere."""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

from planner.solvers.threads import one_thread

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command line; on an expected error print one sentence and exit with its code.

    Exit codes: 1 for input that cannot be used, 2 for a wrong command or option, 130 if stopped
    from the keyboard, 143 if ended by another program.
    """
    signal.signal(signal.SIGTERM, _end)
    # Estimates are small systems of equations as well, and idle threads wait for work busily.
    one_thread.from_the_start()
    # Of all that is installed some might plug into Pydantic: none of it is ours, and the search
    # through 100 packages takes a thirtieth of a plan.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # What a command loads and makes lasts as long as it does: to look through it for circles that
    # nobody holds, each time that 700 more objects are made, takes a thirtieth of a plan.
    gc.set_threshold(50_000)
    for stream in (sys.stdout, sys.stderr):  # what their encoding has not is spelt out
        getattr(stream, "reconfigure", dict)(errors="backslashreplace")
    try:
        from planner.cli.commands import run  # long enough to be stopped meanwhile

        run()
    except KeyboardInterrupt:
        sys.stderr.write("ldp-planner: stopped.\n")
        sys.exit(130)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """End as any exit does: what is open is closed, and workers end."""
    del frame
    sys.exit(128 + number)
