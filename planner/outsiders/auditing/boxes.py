"""Black boxes: something that turns answers into reports, a function or a command."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO, Any, Protocol

from planner.arguments import positive
from planner.errors import InputError

_CHUNK = 2**16
_LONGEST_COMPLAINT = 500  # bytes
_PATIENCE = 2.0  # seconds from "please end" to "end"


class BlackBox(Protocol):
    """Started anew by each call."""

    def ask(self, answers: Sequence[Any]) -> list[bytes]:
        """One report per answer, in order."""


@dataclass(frozen=True, slots=True)
class FunctionBox:
    """A Python callable: ``report(answer)`` makes one report of an answer, as text or bytes."""

    report: Callable[[Any], str | bytes]

    def ask(self, answers: Sequence[Any]) -> list[bytes]:
        """One report per answer, in order."""
        made = (self.report(answer) for answer in answers)
        return [one.encode() if isinstance(one, str) else bytes(one) for one in made]


@dataclass(frozen=True, slots=True)
class CommandBox:
    """A command that reads one answer a line, as JSON, and writes one report a line.

    It is started anew for each call, in one process; its standard input is closed after the
    last answer. It must write as many lines as it reads, in order, and may write them late. It is
    ended by its own process id when all reports are there, when it fails, or when time is up.

    Parameters
    ----------
    command:
        Program and arguments; no shell is involved.
    seconds:
        Time limit of one call.

    Examples
    --------
    >>> CommandBox(["cat"]).ask(["flu", 3])
    [b'"flu"', b'3']
    """

    command: Sequence[str]
    seconds: float = 600.0

    def __post_init__(self) -> None:
        positive("seconds", self.seconds)
        if not self.command:
            remedy = 'Write ["python", "client.py"] to run client.py.'
            raise InputError("command", self.command, "a program and its arguments", remedy)

    def ask(self, answers: Sequence[Any]) -> list[bytes]:
        """One report per answer, in order.

        Raises
        ------
        InputError
            It cannot be started, ends early, writes too few or too many lines, or takes too long.
        """
        text = "".join(json.dumps(answer, ensure_ascii=False) + "\n" for answer in answers)
        # What it says beside its reports reaches no screen as it is: of an error, its last line.
        with tempfile.TemporaryFile() as complaints:
            process = self._started(complaints)
            writer = threading.Thread(target=_write, args=(process, text.encode()), daemon=True)
            writer.start()
            try:
                lines, when = self._lines(process, len(answers))
            finally:
                _end(process)
                writer.join(_PATIENCE)
            if len(lines) != len(answers):
                raise self._wrong(len(lines), f"{len(answers)}, {when}", _last_line(complaints))
        return lines

    def _started(self, complaints: IO[bytes]) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        try:
            return subprocess.Popen(  # noqa: S603 - running it is what the caller asks for
                list(self.command), stdin=pipe, stdout=pipe, stderr=complaints
            )
        except OSError as error:
            reason = f"{' '.join(self.command)!r} cannot be started: {error.strerror or error}"
            remedy = "Start it once by hand, from the same folder."
            raise InputError.because("command", reason, remedy) from error

    def _lines(self, process: subprocess.Popen[bytes], wanted: int) -> tuple[list[bytes], str]:
        """The lines that came, and until when as many as wanted were waited for."""
        assert process.stdout is not None  # noqa: S101 - it was asked for
        deadline = time.monotonic() + self.seconds
        parts: list[bytes] = []
        seen, late = 0, False
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while True:
                if seen >= wanted:  # a moment for what should not come, until it ends by itself
                    deadline = min(deadline, time.monotonic() + _PATIENCE)
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    late = seen < wanted
                    break
                part = os.read(process.stdout.fileno(), _CHUNK)
                if not part:
                    break
                parts.append(part)
                seen += part.count(b"\n")
        lines = b"".join(parts).split(b"\n")
        if late or lines[-1] == b"":  # what is not finished in time is no line
            del lines[-1]
        when = f"within {self.seconds:g} seconds" if late else "and no more"
        return lines, f"one line per answer, {when}"

    def _wrong(self, seen: int, allowed: str, complaint: str) -> InputError:
        remedy = f"Run {' '.join(self.command)!r} by hand on a few lines."
        if complaint:
            remedy += f" It said: {complaint}"
        return InputError("reports", seen, allowed, remedy)


def _last_line(complaints: IO[bytes]) -> str:
    """What a command wrote last to its standard error."""
    end = complaints.seek(0, os.SEEK_END)
    complaints.seek(max(0, end - _LONGEST_COMPLAINT))
    lines = complaints.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _write(process: subprocess.Popen[bytes], text: bytes) -> None:
    """Feed the command; if it stops reading, the reader sees that reports are missing."""
    assert process.stdin is not None  # noqa: S101 - it was asked for
    try:
        process.stdin.write(text)
        process.stdin.close()
    except (OSError, ValueError):
        pass


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout):
        try:
            if stream is not None:
                stream.close()
        except OSError:  # what was not read in time
            pass
