"""``ldp-planner app``: the app from the installed package, on this machine only."""

from __future__ import annotations

import sys
from importlib import resources
from typing import Annotated

import typer

__all__ = ["SETTINGS", "app"]

# The same as in .streamlit/config.toml, which only a checkout has; a test compares them.
SETTINGS: dict[str, str | int | bool] = {
    "server.address": "127.0.0.1",
    "server.maxUploadSize": 20,
    "server.enableXsrfProtection": True,
    "server.enableCORS": True,
    "browser.gatherUsageStats": False,
    "client.showErrorDetails": "none",
    "client.toolbarMode": "minimal",
    "global.developmentMode": False,
    "runner.postScriptGC": False,
    "theme.light.primaryColor": "#0072B2",
    "theme.dark.primaryColor": "#56B4E9",
}


def app(
    port: Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)] = 8501,
    browser: Annotated[bool, typer.Option(help="Open a browser window.")] = True,
) -> None:
    """Open the app: budgets, errors, guarantees and export, in the browser."""
    from streamlit.web.cli import main

    from planner.ui import warming

    entry = resources.files("planner.ui") / "entry.py"
    sys.argv = ["streamlit", "run", str(entry), *_flags({"server.port": port, **SETTINGS})]
    if not browser:
        sys.argv += ["--server.headless", "true"]
    warming.start()
    main()


def _flags(settings: dict[str, str | int | bool]) -> list[str]:
    words = []
    for name, value in settings.items():
        words += [f"--{name}", str(value).lower() if isinstance(value, bool) else str(value)]
    return words
