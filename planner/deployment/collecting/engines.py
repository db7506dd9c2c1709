"""Count files, each whole or not at all: here in processes of their own, or on a Dask cluster.

A Parquet file may be made to crash the library that reads it. So it is read in a process of its
own: only that dies, the file is left out, and a new one takes over. What it may allocate is
limited. Such processes end when their parent does, however it ends.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from subprocess import PIPE, Popen
from threading import Lock, Thread
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary, finalize

import numpy as np
import pyarrow as pa

from planner.deployment.collecting.parquet import parquet_batches
from planner.deployment.collecting.reports import (
    Batch,
    Contradiction,
    Expected,
    Group,
    Key,
    read_lines,
    unfit,
)
from planner.errors import InputError
from planner.limits import REPORTS_REMEDY
from planner.mechanisms.anchored import AnchoredCounter
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.counting import Aggregate, Counter, Reports

if TYPE_CHECKING:
    from distributed import Client
    from distributed import Future as DaskFuture

# That the counting of a file may take, besides what the libraries take once they are loaded.
# Enough for a row group of 256 MiB, its decoded form and Arrow's own copies of it.
MAX_WORKER_BYTES = 2**30
# The same, for each sum of the plan: its name, and what honest reports count for, are needed.
MAX_CELL_BYTES = 256


Stamp = tuple[int, int]
"""Size and time of change (nanoseconds) of a file, which tell whether it was touched since."""


class ActiveCounter:
    """Counts reports that begin with a byte: 1 before one of the law, 0 before blanks.

    The last sum is how many are no blanks.
    """

    def __init__(self, inner: Counter) -> None:
        self._inner = inner
        self._people = 0

    def add(self, rows: Reports) -> None:
        """Count some reports; InputError for one that no client makes."""
        active = rows[:, 0] == 1
        # A blank with a payload would be a channel beside the law, and what it says
        # would not be counted.
        if rows[~active].any():
            what = "first byte of a report"
            allowed = "1 and a report, or 0 and blanks"
            raise InputError(what, "another", allowed, REPORTS_REMEDY)
        if active.any():
            self._inner.add(np.ascontiguousarray(rows[active, 1:]))
        self._people += len(rows)

    def sums(self) -> Aggregate:
        """What was counted."""
        inner = self._inner.sums()
        # The number of those who report a value stands last, as it is what their counts
        # are shares of; blanks are people as well.
        return Aggregate(self._people, np.append(inner.counts, inner.users))


def counter(law: CollectedLaw) -> Counter:
    """Counts reports of one round."""
    if law.anchor is not None:
        return AnchoredCounter(law)
    inner = law.shape.counter()
    if law.blanks:
        return ActiveCounter(inner)
    return inner


@dataclass(frozen=True, slots=True)
class CountedFile:
    """A file whose reports are in the sums.

    Attributes
    ----------
    path, stamp, file_id:
        The file, its size and time of change (nanoseconds) before it was read, and its number, by
        which copies are recognised.
    users:
        Number of its reports that count.
    repeated:
        How many of its reports were left out: the same stand earlier in it, or in another file.
    origins:
        Those other files, and those of the contradictions.
    contradictions:
        Its reports that are left out, as another of the same id says something else.
    """

    path: Path
    stamp: Stamp
    file_id: str = ""
    users: int = 0
    repeated: int = 0
    origins: tuple[Path, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class FileCount(CountedFile):
    """A counted file with its sums and the marks of its reports, or why it is not counted."""

    sums: dict[tuple[Key, Group], Aggregate] = field(default_factory=dict)
    marks: bytes = b""
    refused: str = ""

    @property
    def file(self) -> CountedFile:
        """The counted file alone, without its sums and marks, which take memory."""
        return CountedFile(
            path=self.path,
            stamp=self.stamp,
            file_id=self.file_id,
            users=self.users,
            repeated=self.repeated,
            origins=self.origins,
            contradictions=self.contradictions,
        )


_NOTHING: Mapping[bytes, str] = {}


def count_file(
    path: Path, expected: Expected, marks_known: Mapping[bytes, str] = _NOTHING
) -> FileCount:
    """Count a file; a file that is not right in every report is refused with the reason.

    Reports of a file of lines whose marks are ``marks_known`` are checked, but not counted.
    """
    stamp = (-1, -1)
    try:
        # Before the reading: a change during it gives another stamp, and the next run
        # refuses the file instead of believing it.
        stamp = stamp_of(path)
        return _count_whole(path, stamp, expected, marks_known)
    except MemoryError:  # Arrow's own is one, too
        reason = "needs more memory than there is"
    except (pa.ArrowException, OSError) as error:
        if stamp == (-1, -1):  # it was not even found
            reason = f"cannot be read: {getattr(error, 'strerror', '') or error}"
        else:
            lines = str(error).splitlines() or [type(error).__name__]
            reason = f"is corrupt or truncated: {lines[0]}"
    except InputError as error:
        reason = error.reason
    except ValueError as error:  # of a library that reads it
        reason = str(error)
    return FileCount(path, stamp, refused=reason)


def _count_whole(
    path: Path,
    stamp: Stamp,
    expected: Expected,
    marks_known: Mapping[bytes, str],
) -> FileCount:
    """The counts of a file; raises whatever is wrong with it."""
    if path.suffix.lower() == ".parquet":
        counted = _counted(path, stamp, parquet_batches(path, expected), expected)
    else:
        lines = read_lines(path, expected, marks_known)
        counted = replace(
            _counted(path, stamp, lines.batches, expected),
            file_id=lines.file_id,
            repeated=lines.repeated,
            contradictions=lines.contradictions,
        )
    # An empty file is more often a failed copy than an answer of nobody.
    if not counted.sums and not counted.repeated and not counted.contradictions:
        raise unfit("holds no reports")
    return counted


def _counted(
    path: Path, stamp: Stamp, batches: Iterable[Batch], expected: Expected
) -> FileCount:
    """The sums of some batches of a file, by question, round and group."""
    file_id = ""
    marks = []
    counters: dict[tuple[Key, Group], Counter] = {}
    for batch in batches:
        file_id = batch.file_id
        marks.append(batch.marks)
        cell = (batch.key, batch.group)
        if cell not in counters:
            question, _ = batch.key
            counters[cell] = counter(expected.laws[question])
        counters[cell].add(batch.rows)
    sums = {key: counter.sums() for key, counter in counters.items()}
    users = sum(total.users for total in sums.values())
    return FileCount(
        path=path,
        stamp=stamp,
        file_id=file_id,
        users=users,
        sums=sums,
        marks=b"".join(marks),
    )


def stamp_of(path: Path) -> Stamp:
    """The stamp of a file as it is now."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def serve() -> None:
    """Count in a process of its own: paths in, counts out, until the input ends.

    Both are the parent's, so the pickles are its own. What may be allocated is limited, so that a
    file cannot take the machine's memory: allocating more fails, and the file is refused.
    """
    paths = sys.stdin.buffer
    with os.fdopen(os.dup(1), "wb") as counts:
        # Libraries in C print to file descriptor 1 directly, past Python's sys.stdout.
        os.dup2(2, 1)  # nothing that is printed gets between the counts
        expected = pickle.load(paths)  # noqa: S301
        _limit_memory(sum(law.cells for law in expected.laws.values()))
        while True:
            try:
                path = pickle.load(paths)  # noqa: S301
            except EOFError:
                return
            pickle.dump(count_file(path, expected), counts)
            counts.flush()


def _limit_memory(cells: int) -> None:
    """Limit the memory of this process on Linux; other systems do not keep to such a limit."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        status = Path("/proc/self/status").read_text()
        # What is allocated already, such as by libraries: "VmData:   123456 kB".
        _, _, after = status.partition("VmData:")
        kibibytes, *_ = after.split()
        # The limit counts what is allocated in all, so that it has to stand above what
        # the libraries took before any file is read.
        taken = 1024 * int(kibibytes)
        most = taken + MAX_WORKER_BYTES + MAX_CELL_BYTES * cells
        # Data, not address space: Arrow and threads map much memory that they never
        # touch.
        data = resource.RLIMIT_DATA
        _, hard = resource.getrlimit(data)
        resource.setrlimit(data, (most, hard))


F = TypeVar("F")
# Counts files and gives the results in the order of the files.
Engine = Callable[[Sequence[Path], Expected], Iterator[FileCount]]


def local_engine(files: Sequence[Path], expected: Expected) -> Iterator[FileCount]:
    """Counts on all processors of this machine, a few files ahead."""
    size = min(os.cpu_count() or 1, len(files) or 1)
    pool = ThreadPoolExecutor(size)

    def submit(path: Path) -> Future[FileCount]:
        return pool.submit(count_apart, expected, path)

    def wait(_: Path, future: Future[FileCount]) -> FileCount:
        return future.result()

    try:
        yield from in_order(submit, wait, files, 2 * size)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        workers = _WORKERS.pop(expected, None)
        if workers is not None:
            # Workers first: a thread that waits for the count of a large file returns
            # only once its process is gone.
            workers.stop()  # what is under way ends with it
        pool.shutdown()


def in_order(
    submit: Callable[[Path], F],
    wait: Callable[[Path, F], FileCount],
    files: Sequence[Path],
    n: int,
) -> Iterator[FileCount]:
    """Results of what was submitted, ``n`` files ahead, in order."""
    # A generator: a file is submitted when it is taken, and no sooner.
    started = ((path, submit(path)) for path in files)
    # A few files ahead keep all processors busy; all at once would hold all their
    # results in memory.
    running = deque(islice(started, n))
    while running:
        path, future = running.popleft()
        yield wait(path, future)
        running.extend(islice(started, 1))


def count_apart(expected: Expected, path: Path) -> FileCount:
    """Count a file, in another process unless it is of lines: our own parser does not crash."""
    if path.suffix.lower() != ".parquet":
        return count_file(path, expected)
    # Threads of one pool start together, and each would otherwise make workers of its
    # own.
    with _STARTING:
        workers = _WORKERS.get(expected)
        if workers is None:
            workers = _WORKERS[expected] = _Workers(expected)
            finalize(expected, workers.stop)
    return workers.count(path)


class _Workers:
    """The processes that count files at once; one that died is replaced when it is needed."""

    def __init__(self, expected: Expected) -> None:
        self._expected = pickle.dumps(expected)
        self._lock = Lock()
        self.started: list[CountingProcess] = []
        self._idle: list[CountingProcess] = []
        self._stopped = False

    def count(self, path: Path) -> FileCount:
        """Count a file; a crash refuses it."""
        with self._lock:
            if self._stopped:
                # After the stop no process may start, as nobody would end it.
                raise CancelledError
            if self._idle:
                worker = self._idle.pop()
            else:
                worker = CountingProcess(self._expected)
                self.started.append(worker)
        counted = worker.count(path)
        with self._lock:
            if worker.process.returncode is None:
                self._idle.append(worker)
            else:  # a file has killed it
                self.started.remove(worker)
        return counted

    def stop(self) -> None:
        """End them at once, and for good."""
        with self._lock:
            self._stopped = True
            for worker in self.started:
                worker.stop()


_STARTING = Lock()
# They end when what they expect is given up, as Dask does at the end of a collection.
_WORKERS: WeakKeyDictionary[Expected, _Workers] = WeakKeyDictionary()


class CountingProcess:
    """A process of its own that counts files, one after another."""

    def __init__(self, expected: bytes) -> None:
        call = [sys.executable, "-c", f"from {__name__} import serve; serve()"]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            # Others reserve a gibibyte at once, which a limit of memory cannot tell from use.
            "ARROW_DEFAULT_MEMORY_POOL": "system",
        }
        # In a session of its own the process does not get the terminal's Ctrl-C, and
        # the parent alone decides how it ends. It ends with its input in any case.
        self.process = Popen(  # noqa: S603 - this interpreter, our own module
            call, stdin=PIPE, stdout=PIPE, env=environment, start_new_session=True
        )
        assert self.process.stdin is not None  # noqa: S101 - both are pipes
        assert self.process.stdout is not None  # noqa: S101
        self._paths = self.process.stdin
        self._counts = self.process.stdout
        self._paths.write(expected)

    def count(self, path: Path) -> FileCount:
        """Count a file; a crash refuses it, and ends the worker."""
        try:
            pickle.dump(path, self._paths)
            self._paths.flush()
            counted: FileCount = pickle.load(self._counts)  # noqa: S301 - our own worker's
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            # The pipe is closed before the process is gone, and the exit code is known
            # only then.
            code = self.process.wait()
            self.stop()
            cause = f"exit code {code}"
            if code < 0:  # a signal has ended it
                cause = signal.Signals(-code).name
            reason = f"is corrupt: the program that reads it crashed ({cause})"
            return FileCount(path, (-1, -1), refused=reason)
        return counted

    def stop(self) -> None:
        """End the process at once."""
        self.process.kill()
        for pipe in (self._paths, self._counts):
            with suppress(OSError):  # a request that the dead process did not read
                pipe.close()
        self.process.wait()


_AHEAD = 4  # files per worker thread that are under way
_SAME_VERSION = (
    "Install the same version of the planner on every worker, and run again."
)
_AGAIN = "Start them again and run again: what was saved is not counted anew."


def dask_engine(scheduler: str, patience: float = 10.0) -> Engine:
    """An engine that counts on the workers of a scheduler, e.g. ``"tcp://10.0.0.5:8786"``.

    Every worker must see the files under the same paths. Only partial sums travel. A file on which
    the cluster's workers die, as often as the scheduler allows, is refused; others are counted.

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
        from distributed import CancelledError as DaskCancelled
        from distributed import Client
        from distributed.comm import CommClosedError
    except ImportError as error:
        remedy = "Install it: pip install 'ldp-planner[cluster]'."
        raise InputError("engine", "dask", "one that is installed", remedy) from error

    def engine(files: Sequence[Path], expected: Expected) -> Iterator[FileCount]:
        with _quiet():
            try:
                # Not as the default client: a collection must not take over what else
                # the program computes by Dask.
                settings = {"timeout": patience, "set_as_default": False}
                client = _within(patience, lambda: Client(scheduler, **settings))
            except (OSError, ValueError) as error:
                allowed = "the address of one"
                remedy = "Start it with: dask scheduler"
                raise InputError("scheduler", scheduler, allowed, remedy) from error
            with client:
                try:
                    threads = _threads(client, patience)
                    if threads == 0:
                        allowed = "at least one, at the scheduler"
                        remedy = f"Start one with: dask worker {scheduler}"
                        raise InputError("workers", 0, allowed, remedy)
                    everywhere = client.scatter(
                        expected, broadcast=True, hash=False, timeout=patience
                    )
                    # Dask takes calls of the same arguments for one result; a file may
                    # have changed since, so that no result is used again.
                    submit = partial(client.submit, count_apart, everywhere, pure=False)
                    wait = partial(_wait, client, patience)
                    yield from in_order(submit, wait, files, _AHEAD * threads)
                except InputError:
                    raise
                except (CommClosedError, DaskCancelled, OSError) as error:
                    reason = "one whose scheduler and workers answer"
                    raise InputError("engine", "dask", reason, _AGAIN) from error
                except Exception as error:  # whatever a worker raised
                    reason = f"one whose workers can count ({error})"
                    raise InputError("engine", "dask", reason, _SAME_VERSION) from error

    return engine


def _within(seconds: float, make: Callable[[], F]) -> F:
    """What ``make`` gives; Dask itself waits for ever for an answer to its first words."""
    result: Future[F] = Future()

    def run() -> None:
        try:
            result.set_result(make())
        except Exception as error:  # noqa: BLE001 - it is raised by result()
            result.set_exception(error)

    # A daemon thread does not keep the program from ending if the scheduler never
    # answers.
    Thread(target=run, daemon=True).start()
    return result.result(seconds)


def _threads(client: Client, patience: float) -> int:
    """The number of threads of all workers; ``TimeoutError`` if the scheduler does not say."""
    threads = client.sync(client.scheduler.ncores, callback_timeout=patience)
    return sum(threads.values())


def _wait(client: Client, patience: float, path: Path, future: DaskFuture) -> FileCount:
    """The result, for as long as the scheduler answers; a file on which workers died is refused."""
    from distributed import KilledWorker

    while True:
        try:
            counted: FileCount = future.result(timeout=patience)
        except TimeoutError:
            # An answer of any kind proves that the scheduler lives, and so that the
            # count may just be slow.
            _threads(client, patience)
        except KilledWorker:
            reason = "is corrupt: workers that read it died"
            return FileCount(path, (-1, -1), refused=reason)
        else:
            return counted


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask's own tracebacks out of the log: what went wrong is raised, and named."""
    logger = logging.getLogger("distributed.client")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
