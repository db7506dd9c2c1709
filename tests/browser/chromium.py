"""Which Chromium the tests and the speed figures start, and how."""

from __future__ import annotations

import shutil
from typing import Any

__all__ = ["launch_arguments"]

_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def launch_arguments() -> dict[str, Any]:
    """The system's Chromium; without ``executable_path`` there is none, only Playwright's own."""
    system = shutil.which("chromium") or shutil.which("chromium-browser")
    return {"args": _ARGUMENTS} | ({"executable_path": system} if system else {})
