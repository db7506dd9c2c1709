"""The app as a process of its own on a free loopback port, and the Chromium that looks at it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
OF_THE_CHECKOUT = (
    *(sys.executable, "-c", "from planner.cli import main; main()"),
    *("app", "--no-browser", "--port"),
)
PORTS = count(
    20_000 + os.getpid() % 10_000
)  # below those that systems give to connections
QUIET = {"STREAMLIT_SERVER_FILE_WATCHER_TYPE": "none"}
SILENT = (
    *(
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-sync",
    ),
    *("--disable-background-networking", "--disable-component-update"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


def launch_arguments() -> dict[str, Any]:
    """The system's Chromium; without ``executable_path`` there is none, only Playwright's own."""
    system = shutil.which("chromium") or shutil.which("chromium-browser")
    return {"args": list(SILENT)} | ({"executable_path": system} if system else {})


@contextmanager
def running_app(
    log: Path, command: Sequence[str] = OF_THE_CHECKOUT, folder: Path = ROOT
) -> Iterator[str]:
    """Start the app, wait until it is healthy, give its address, and end it.

    The port is added to the command as its last word.
    """
    address = f"http://127.0.0.1:{next(PORTS)}"
    words = [*command, address.rpartition(":")[2]]
    environment = os.environ | QUIET
    with (
        log.open("wb") as output,
        subprocess.Popen(  # noqa: S603 - our own program
            words, cwd=folder, stdout=output, stderr=subprocess.STDOUT, env=environment
        ) as process,
    ):
        try:
            _wait_until_healthy(f"{address}/_stcore/health", process, log)
            yield address
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait_until_healthy(
    address: str, process: subprocess.Popen[bytes], log: Path
) -> None:
    for _ in range(600):
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(address, timeout=1):  # noqa: S310 - loopback
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"The app did not become healthy:\n{log.read_text()}")
