"""``ldp-planner app``: the app from the installed package, on this machine only."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

__all__ = ["app"]


def app(
    port: Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)] = 8501,
    browser: Annotated[bool, typer.Option(help="Open a browser window.")] = True,
) -> None:
    """Open the app: budgets, errors, guarantees and export, in the browser."""
    words = [sys.executable, "-m", "planner.ui", str(port), "browser" if browser else "headless"]
    sys.stdout.flush()
    os.execv(sys.executable, words)  # noqa: S606 - this very Python, and words of our own
