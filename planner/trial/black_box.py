"""Black boxes: something that turns answers into lines of reports, a function or a command."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any, Protocol

from planner.arguments import positive
from planner.errors import InputError

_CHUNK = 2**16
_LONGEST_COMPLAINT = 500  # bytes
_PATIENCE = 2.0  # seconds from "please end" to "end", and for what should not come


class BlackBox(Protocol):
    """Started anew by each call."""

    def ask(self, answers: Sequence[Any], longest: int) -> list[bytes]:
        """One line per answer, in order, none of more than ``longest`` bytes on average."""


@dataclass(frozen=True, slots=True)
class FunctionBox:
    """A Python callable: ``report(answer)`` makes the line of a report, as text."""

    report: Callable[[Any], str]

    def ask(self, answers: Sequence[Any], longest: int) -> list[bytes]:  # noqa: ARG002
        """One line per answer, in order."""
        return [self.report(answer).encode() for answer in answers]


@dataclass(frozen=True, slots=True)
class CommandBox:
    """A command that reads one answer a line, as JSON, and writes one report a line.

    It is started anew for each call, in a process group of its own; its standard input is closed
    after the last answer. It must write as many lines as it reads, in order, and may write them
    late. The group is ended when all reports are there, when it fails, when it writes more than it
    may, or when time is up. Of its standard error the last line is kept.

    Parameters
    ----------
    command:
        Program and arguments; no shell is involved.
    seconds:
        Time limit of one call.

    Examples
    --------
    >>> CommandBox(["cat"]).ask(["flu", 3], longest=100)
    [b'"flu"', b'3']
    """

    command: Sequence[str]
    seconds: float = 600.0

    def __post_init__(self) -> None:
        positive("seconds", self.seconds)
        if not self.command:
            remedy = 'Write ["python", "client.py"] to run client.py.'
            raise InputError("command", self.command, "a program and its arguments", remedy)

    def ask(self, answers: Sequence[Any], longest: int) -> list[bytes]:
        """One line per answer, in order.

        Raises
        ------
        InputError
            It cannot be started, ends early, writes too few, too many or too long lines, or takes
            too long.
        """
        with tempfile.TemporaryFile() as asked:
            text = "".join(json.dumps(answer, ensure_ascii=False) + "\n" for answer in answers)
            asked.write(text.encode())
            asked.seek(0)
            process = self._started(asked)
            try:
                most = (longest + 1) * len(answers)
                out, said, late = self._read(process, len(answers), most)
            finally:
                _end(process)
        lines = out.split(b"\n")
        del lines[-1]  # empty, or a line that is not finished
        when = f"within {self.seconds:g} seconds" if late else "and no more"
        if len(lines) != len(answers) or len(out) > most:
            allowed = f"{len(answers)}, one line of at most {longest} bytes per answer, {when}"
            remedy = f"Run {' '.join(self.command)!r} by hand on a few lines."
            told = said.decode(errors="replace").strip().split("\n")[-1].strip()
            remedy += f" It said: {told}" if told else ""
            raise InputError("reports", len(lines), allowed, remedy)
        return lines

    def _started(self, asked: IO[bytes]) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        try:
            return subprocess.Popen(  # noqa: S603 - running it is what the caller asks for
                list(self.command), stdin=asked, stdout=pipe, stderr=pipe, start_new_session=True
            )
        except OSError as error:
            reason = f"{' '.join(self.command)!r} cannot be started: {error.strerror or error}"
            remedy = "Start it once by hand, from the same folder."
            raise InputError.because("command", reason, remedy) from error

    def _read(
        self, process: subprocess.Popen[bytes], wanted: int, most: int
    ) -> tuple[bytes, bytes, bool]:
        """What came, the end of its standard error, and whether time was up before all came."""
        deadline, seen, size, said = time.monotonic() + self.seconds, 0, 0, b""
        parts: list[bytes] = []
        streams: list[IO[bytes]] = [one for one in (process.stdout, process.stderr) if one]
        with selectors.DefaultSelector() as selector:
            for stream in streams:
                selector.register(stream, selectors.EVENT_READ)
            while selector.get_map() and size <= most:
                if (left := deadline - time.monotonic()) <= 0:
                    return b"".join(parts), said, seen < wanted
                for key, _ in selector.select(left):
                    part = os.read(key.fd, _CHUNK)
                    if not part:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is process.stderr:
                        said = (said + part)[-_LONGEST_COMPLAINT:]
                    else:
                        parts.append(part)
                        size, seen = size + len(part), seen + part.count(b"\n")
                if seen >= wanted:
                    deadline = min(deadline, time.monotonic() + _PATIENCE)
        return b"".join(parts), said, False


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the whole group; the leader is not waited for before, so that its number stays its own.

    What is left in the pipes is not read.
    """
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    ended, deadline = os.WEXITED | os.WNOHANG | os.WNOWAIT, time.monotonic() + _PATIENCE
    while os.waitid(os.P_PID, process.pid, ended) is None and time.monotonic() < deadline:
        time.sleep(0.01)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdout, process.stderr):
        with suppress(OSError):
            if stream is not None:
                stream.close()
