"""``ldp-planner app``: the app from the installed package, on this machine only unless told."""

from __future__ import annotations

import ipaddress
import os
import sys
from typing import Annotated

import typer

from planner.errors import InputError


def app(
    port: Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)] = 8501,
    browser: Annotated[bool, typer.Option(help="Open a browser window.")] = True,
    address: Annotated[
        str,
        typer.Option(
            metavar="IP",
            help="Address to listen on. Any other lets others on the network use the app, which "
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
    mode = "browser" if browser else "headless"
    words = [sys.executable, "-m", "planner.ui", str(port), mode, address]
    sys.stdout.flush()
    os.execv(sys.executable, words)  # noqa: S606 - this very Python, and words of our own
