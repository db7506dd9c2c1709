"""The app as a process of its own on a free loopback port."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OF_THE_CHECKOUT = (
    *(sys.executable, "-c", "from planner.cli import main; main()"),
    *("app", "--no-browser", "--port"),
)
QUIET = {"STREAMLIT_SERVER_FILE_WATCHER_TYPE": "none"}


@contextmanager
def running_app(
    log: Path, command: Sequence[str] = OF_THE_CHECKOUT, folder: Path = ROOT
) -> Iterator[str]:
    """Start the app, wait until it is healthy, give its address, and end it.

    The port is added to the command as its last word.
    """
    port = _free_port()
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own program
            [*command, str(port)],
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | QUIET,
        )
        try:
            _wait_until_healthy(f"http://127.0.0.1:{port}/_stcore/health", process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_healthy(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise RuntimeError(f"The app ended at once:\n{log.read_text()}")
        try:
            with urllib.request.urlopen(address, timeout=1) as answer:  # noqa: S310 - loopback
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError(f"The app did not become healthy:\n{log.read_text()}")
