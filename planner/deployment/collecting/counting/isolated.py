"""Count on all processors of this machine, in processes of their own.

A file may be made to crash the library that reads it; then only the worker dies, the file is
quarantined, and a new worker takes over. What a worker may allocate is limited (``worker.py``).
Workers end when their parent does, however it ends.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue

from planner.deployment.collecting.counting.local import in_order
from planner.deployment.collecting.counting.one_file import Expected, FileCount


def isolated_engine(files: Sequence[Path], expected: Expected) -> Iterator[FileCount]:
    """Counts a few files ahead, with a worker for each processor."""
    size = min(os.cpu_count() or 1, len(files))
    if size == 0:
        return
    workers = [_Worker(expected) for _ in range(size)]
    idle: SimpleQueue[_Worker] = SimpleQueue()
    for worker in workers:
        idle.put(worker)

    def count(path: Path) -> FileCount:
        worker = idle.get()
        try:
            return worker.count(path)
        finally:
            idle.put(worker)

    pool = ThreadPoolExecutor(size)
    try:
        yield from in_order(lambda _, path, __: pool.submit(count, path), files, None, 2 * size)
    finally:
        for worker in workers:
            worker.stop()  # what is under way ends with it
        pool.shutdown(cancel_futures=True)


class _Worker:
    """A counting process, started anew after a crash."""

    def __init__(self, expected: Expected) -> None:
        self._expected = expected
        self._stopped = False
        self._start()

    def count(self, path: Path) -> FileCount:
        """Count a file; a crash refuses it."""
        try:
            self._send(path)
            counted: FileCount = pickle.load(self._counts)  # noqa: S301 - our own worker's
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            code = self.process.wait()
            if not self._stopped:
                self._end()
                self._start()
            cause = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            reason = f"is corrupt: the program that reads it crashed ({cause})"
            return FileCount(path, (-1, -1), refused=reason)
        return counted

    def stop(self) -> None:
        """End the process at once, and for good."""
        self._stopped = True
        self._end()

    def _start(self) -> None:
        call = [sys.executable, "-m", "planner.deployment.collecting.counting.worker"]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            # Others reserve a gibibyte at once, which a limit of memory cannot tell from use.
            "ARROW_DEFAULT_MEMORY_POOL": "system",
        }
        self.process = subprocess.Popen(  # noqa: S603 - this interpreter, our own module
            call,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        assert self.process.stdin is not None  # noqa: S101 - both are pipes
        assert self.process.stdout is not None  # noqa: S101
        self._paths, self._counts = self.process.stdin, self.process.stdout
        self._send(self._expected)

    def _send(self, message: Expected | Path) -> None:
        pickle.dump(message, self._paths)
        self._paths.flush()

    def _end(self) -> None:
        self.process.kill()
        for pipe in (self._paths, self._counts):
            with suppress(OSError):  # a request that the dead process did not read
                pipe.close()
        self.process.wait()
