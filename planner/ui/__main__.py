"""The app's server: ``python -m planner.ui PORT browser|headless ADDRESS``."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib import import_module, resources
from ipaddress import ip_address

from planner.solvers.threads import one_thread

# The same as in .streamlit/config.toml, which only a checkout has; a test compares them.
SETTINGS: dict[str, str | int | bool | list[str]] = {
    "server.address": "127.0.0.1",
    "server.allowedHosts": ["localhost", "127.0.0.1", "::1"],
    # In megabytes, which the server holds in memory for every visitor.
    "server.maxUploadSize": 20,
    "server.enableXsrfProtection": True,
    "server.enableCORS": True,
    # Streamlit would report visits to its makers.
    "browser.gatherUsageStats": False,
    # A traceback may hold what was typed or uploaded, and tells strangers of this
    # machine.
    "client.showErrorDetails": "none",
    "client.toolbarMode": "minimal",
    "global.developmentMode": False,
    # Else all sessions wait for a collection of garbage after every run, that is, every
    # change of a field.
    "runner.postScriptGC": False,
    "theme.light.primaryColor": "#0072B2",
    "theme.dark.primaryColor": "#2079B8",
}


def main(port: str, mode: str, address: str = "127.0.0.1") -> None:
    """Serve the app on ``port``, with a browser window unless ``mode`` is ``"headless"``.

    ``address`` is the one to listen on: by default this machine alone can reach the app, and no
    page that calls it by another name, which might be anybody's (DNS rebinding).
    """
    one_thread.from_the_start()  # as in the command line (planner/cli/__init__.py)
    from streamlit.web import cli

    here = {"server.port": port, "server.address": address}
    names: dict[str, list[str]] = {}
    # Other machines call it by names of their own.
    if not ip_address(address).is_loopback:
        names["server.allowedHosts"] = ["*"]
    entry = resources.files("planner.ui") / "entry.py"
    flags = _flags(SETTINGS | here | names)
    sys.argv = ["streamlit", "run", str(entry), *flags]
    if mode == "headless":
        sys.argv += ["--server.headless", "true"]
    _prepare()
    try:
        cli.main()
    finally:
        sys.stdout.flush()
        # Threads that still plan for visitors who are gone must not hold it up.
        os._exit(0)


def _prepare() -> None:
    """Load the first page and plan what it shows, so that the first visitor need not wait for it.

    The plan itself is dropped: what stays are the modules that solvers load when they are first
    needed, SciPy's linear algebra foremost.
    """
    import_module("planner.ui.views.questions")
    from planner.planning.plan import plan_survey
    from planner.survey.survey import settle
    from planner.ui.document import FIRST_EXAMPLE, cleaned, example_document

    survey, _ = settle(cleaned(example_document(FIRST_EXAMPLE)))
    if survey is not None:
        plan_survey(survey)


def _flags(settings: Mapping[str, str | int | bool | list[str]]) -> list[str]:
    """The settings as arguments of the command line; a list as one argument for each of it."""
    words = []
    for name, setting in settings.items():
        values = setting if isinstance(setting, list) else [setting]
        for value in values:
            text = str(value)
            if isinstance(value, bool):
                text = text.lower()
            words += [f"--{name}", text]
    return words


if __name__ == "__main__":
    main(*sys.argv[1:])
