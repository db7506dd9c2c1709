"""What counts files: threads or processes of this machine, or a Dask cluster.

In processes of their own a file may be made to crash the library that reads it: only the worker
dies, the file is quarantined, and a new worker takes over. What a worker may allocate is limited.
Workers end when their parent does, however it ends.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

from planner.deployment.collecting.one_file import Expected, FileCount, count_file, serve
from planner.errors import InputError

Engine = Callable[[Sequence[Path], Expected], Iterator[FileCount]]
"""Counts files and gives the results in the order of the files."""


def local_engine(files: Sequence[Path], expected: Expected) -> Iterator[FileCount]:
    """Counts on all processors of this machine, a few files ahead, in threads.

    A seal is checked before a file is parsed, so damage is refused. A file that is made to
    crash the library that reads Parquet would take this process along; where reports come
    from strangers, ``isolated_engine`` survives it.
    """
    workers = os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:
        yield from in_order(pool.submit, files, expected, 2 * workers)


def in_order(
    submit: Callable[..., Any],
    files: Sequence[Path],
    expected: Any,
    ahead: int,
    wait: Callable[[Path, Any], FileCount] = lambda _, future: future.result(),
) -> Iterator[FileCount]:
    """Results of ``submit(count_file, path, expected)``, some files ahead, in order."""
    waiting = iter(files)
    running = deque((path, submit(count_file, path, expected)) for path in islice(waiting, ahead))
    while running:
        yield wait(*running.popleft())
        running.extend((path, submit(count_file, path, expected)) for path in islice(waiting, 1))


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
        call = [sys.executable, "-c", f"from {serve.__module__} import serve; serve()"]
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


_AHEAD = 4  # files per worker thread that are under way
_ALIKE = "Install the same version of the planner on every worker, and run again."
_AGAIN = "Start them again and run again: what was saved is not counted anew."


def dask_engine(scheduler: str, patience: float = 10.0) -> Engine:
    """An engine that counts on the workers of a scheduler, e.g. ``"tcp://10.0.0.5:8786"``.

    Every worker must see the files under the same paths. Only partial sums travel. A file on which
    workers die, as often as the scheduler allows, is refused; the others are counted.

    Parameters
    ----------
    scheduler:
        Its address.
    patience:
        Seconds, above 0, within which the scheduler must answer. It is asked again whenever nothing
        came for so long: a large file may take any time, a scheduler that is gone may not.

    Raises
    ------
    InputError
        The extra ``cluster`` is not installed, the scheduler does not answer or has no workers, or
        these die or cannot count.
    """
    try:
        from distributed import CancelledError, Client
        from distributed.comm import CommClosedError
    except ImportError as error:
        remedy = "Install it: pip install 'ldp-planner[cluster]'."
        raise InputError("engine", "dask", "one that is installed", remedy) from error

    def engine(files: Sequence[Path], expected: Expected) -> Iterator[FileCount]:
        with _quiet():
            try:
                settings = {"timeout": patience, "set_as_default": False}
                client = _within(patience, lambda: Client(scheduler, **settings))
            except (OSError, ValueError) as error:
                remedy = "Start it with: dask scheduler"
                raise InputError("scheduler", scheduler, "the address of one", remedy) from error
            with client:
                try:
                    threads = _threads(client, patience)
                    if threads == 0:
                        remedy = f"Start one with: dask worker {scheduler}"
                        raise InputError("workers", 0, "at least one, at the scheduler", remedy)
                    everywhere = client.scatter(
                        expected, broadcast=True, hash=False, timeout=patience
                    )
                    submit = partial(client.submit, pure=False)
                    wait = partial(_wait, client, patience)
                    yield from in_order(submit, files, everywhere, _AHEAD * threads, wait)
                except InputError:
                    raise
                except (CommClosedError, CancelledError, OSError) as error:
                    reason = "one whose scheduler and workers answer"
                    raise InputError("engine", "dask", reason, _AGAIN) from error
                except Exception as error:  # whatever a worker raised
                    reason = f"one whose workers can count ({error})"
                    raise InputError("engine", "dask", reason, _ALIKE) from error

    return engine


def _within(seconds: float, make: Callable[[], Any]) -> Any:
    """What ``make`` gives; Dask itself waits for ever for an answer to its first words."""
    made: Future[Any] = Future()

    def run() -> None:
        try:
            made.set_result(make())
        except Exception as error:  # noqa: BLE001 - it is raised by result()
            made.set_exception(error)

    Thread(target=run, daemon=True).start()
    return made.result(seconds)


def _threads(client: Any, patience: float) -> int:
    """Of all workers; raises ``TimeoutError`` if the scheduler does not say."""
    return sum(client.sync(client.scheduler.ncores, callback_timeout=patience).values())


def _wait(client: Any, patience: float, path: Path, future: Any) -> FileCount:
    """The result, for as long as the scheduler answers; a file on which workers died is refused."""
    from distributed import KilledWorker

    while True:
        try:
            counted: FileCount = future.result(timeout=patience)
        except TimeoutError:
            _threads(client, patience)
        except KilledWorker:
            return FileCount(path, (-1, -1), refused="is corrupt: workers that read it died")
        else:
            return counted


@contextmanager
def _quiet() -> Iterator[None]:
    """Without Dask's own tracebacks: what went wrong is raised, and named."""
    logger = logging.getLogger("distributed.client")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
