"""Black boxes: functions that turn answers into lines of reports; a command is one."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from planner import arguments
from planner.errors import InputError
from planner.laws.answers import Answer

_READ_BYTES = 2**20
_MOST_SAID = 2**24  # bytes of complaints
_LONGEST_COMPLAINT = 500  # of which the last are shown
_SECONDS = 2.0  # seconds from "please end" to "end", and for what should not come
_POLL = 0.01  # seconds between two looks
_MARK = "LDP_PLANNER_AUDIT"  # in the environment, by which daemons are found


_Bytes = IO[bytes]
_Process = subprocess.Popen[bytes]
# Of answers makes one line each, in order, none longer than the number of bytes on average.
BlackBox = Callable[[Sequence[Answer], int], list[bytes]]


@dataclass(frozen=True, slots=True)
class CommandBox:
    """A command that reads one answer a line, as JSON, and writes one report a line.

    It is started anew for each call, in a process group of its own, and reads to the end of the
    answers. It must write as many lines as it reads, in order, and may write them late. The group
    is ended when all reports are there, when the command ends, when it writes more than it may, or
    when time is up; on Linux also what left the group, unless it hid its environment. Of its
    standard error the last line is kept.

    Parameters
    ----------
    command:
        Program and arguments; no shell is involved.
    seconds:
        Time limit of one call.

    Examples
    --------
    >>> CommandBox(["cat"])(["flu", 3], longest=100)
    [b'"flu"', b'3']
    """

    command: Sequence[str]
    seconds: float = 600.0

    def __post_init__(self) -> None:
        if arguments.finite("seconds", self.seconds) <= 0:
            remedy = "Zero and less have no meaning here: give a larger number."
            raise InputError("seconds", self.seconds, "above 0", remedy)
        if not self.command:
            remedy = 'Write ["python", "client.py"] to run client.py.'
            raise InputError(
                "command", self.command, "a program and its arguments", remedy
            )

    def __call__(self, answers: Sequence[Answer], longest: int) -> list[bytes]:
        """One line per answer, in order.

        Raises
        ------
        InputError
            It cannot be started, ends early, writes too few, too many or too long lines, or takes
            too long.
        """
        most = (longest + 1) * len(answers)
        # Files, not pipes: a command that writes before it has read everything would
        # wait for us while we wait for it.
        with TemporaryFile() as asked, TemporaryFile() as out, TemporaryFile() as said:
            for answer in answers:
                line = json.dumps(answer, ensure_ascii=False) + "\n"
                asked.write(line.encode())
            asked.seek(0)
            call = list(self.command)
            # A child that starts a session of its own leaves the group, but it inherits
            # the environment, where this stands.
            mark = secrets.token_hex(16)
            environment = os.environ | {_MARK: mark}
            try:
                process = subprocess.Popen(  # noqa: S603 - running it is what the caller asks for
                    call,
                    stdin=asked,
                    stdout=out,
                    stderr=said,
                    env=environment,
                    # A session makes a new process group with the command's number, by
                    # which all of its children can be ended at once.
                    start_new_session=True,
                )
            except OSError as error:
                reason = (
                    f"{' '.join(call)!r} cannot be started: {error.strerror or error}"
                )
                remedy = "Start it once by hand, from the same folder."
                raise InputError.because("command", reason, remedy) from error
            try:
                late = self._late(process, out, said, len(answers), most)
            finally:
                _end(process, f"{_MARK}={mark}".encode())
            out.seek(0)
            written = out.read(most + 1)
            # Only the end is read, since a command may complain in every line.
            said.seek(max(0, _size(said) - _LONGEST_COMPLAINT))
            complaints = said.read().decode(errors="replace").strip()
            last_line = complaints.split("\n")[-1].strip()
        # The lines are compared byte for byte later, so that they are not split at
        # other ends than the newline.
        lines = written.split(b"\n")
        del lines[-1]  # empty, or a line that is not finished
        if len(lines) != len(answers) or len(written) > most:
            when = "and no more"
            if late:
                when = f"within {self.seconds:g} seconds"
            allowed = f"{len(answers)}, one line of at most {longest} bytes per answer, {when}"
            remedy = f"Run {' '.join(self.command)!r} by hand on a few lines."
            if last_line:
                remedy += f" It said: {last_line}"
            raise InputError("reports", len(lines), allowed, remedy)
        return lines

    def _late(
        self, process: _Process, out: _Bytes, said: _Bytes, missing: int, most: int
    ) -> bool:
        """Wait for the end, of whichever kind; whether time was up before all lines came."""
        deadline = time.monotonic() + self.seconds
        seen = 0
        while _runs(process) and _size(out) <= most and _size(said) <= _MOST_SAID:
            if time.monotonic() >= deadline:
                return missing > 0
            # At a position: the command writes on through the same open file, and a
            # seek of ours would move its place.
            while part := os.pread(out.fileno(), _READ_BYTES, seen):
                seen = seen + len(part)
                missing = missing - part.count(b"\n")
            if missing <= 0:
                # What comes after the last line would be a line too many, so that a
                # little time is left for it to show.
                deadline = min(deadline, time.monotonic() + _SECONDS)
            time.sleep(_POLL)
        return False


def _size(file: _Bytes) -> int:
    return os.fstat(file.fileno()).st_size


def _runs(process: _Process) -> bool:
    """Whether a process runs; it is not waited for, so that its group's number stays its own."""
    options = os.WEXITED | os.WNOHANG | os.WNOWAIT
    ended = os.waitid(os.P_PID, process.pid, options)
    return ended is None


def _end(process: _Process, mark: bytes) -> None:
    """End the whole group, at once if it does not end by itself; then those who left it."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    deadline = time.monotonic() + _SECONDS
    while _runs(process) and time.monotonic() < deadline:
        time.sleep(_POLL)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    # Until none is left: a process may start another one between the look and the end.
    while left := _marked(mark):
        for number in left:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        time.sleep(_POLL)


def _marked(mark: bytes) -> list[int]:
    """The processes that were started with the mark, on Linux."""
    # The environment at the start stands in /proc/<pid>/environ for processes of the same user.
    processes = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # another user's, or gone
            if mark in path.read_bytes().split(b"\0"):
                processes.append(int(path.parent.name))
    return processes
