"""Count one file, whole or not at all: what every engine runs, here or on a cluster."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from planner.deployment.collecting.groups import Group
from planner.deployment.collecting.reports import (
    Batch,
    Expected,
    Key,
    line_batches,
    parquet_batches,
)
from planner.deployment.collecting.stored import place_of
from planner.errors import FileError, InputError
from planner.limits import REPORTS_REMEDY
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.counting import Aggregate, Counter, Reports

REPORT_SUFFIXES = (".parquet", ".jsonl", ".ndjson")
# That the counting of a file may take, besides what the libraries take once they are loaded.
MAX_WORKER_BYTES = 2**30
# The same, for each sum of the plan: its name, and what honest reports count for, are needed.
MAX_CELL_BYTES = 256


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
        if rows[~active].any():
            allowed = "1 and a report, or 0 and blanks"
            raise InputError("first byte of a report", "another", allowed, REPORTS_REMEDY)
        if active.any():
            self._inner.add(np.ascontiguousarray(rows[active, 1:]))
        self._people += len(rows)

    def sums(self) -> Aggregate:
        """What was counted."""
        inner = self._inner.sums()
        return Aggregate(self._people, np.append(inner.counts, inner.users))


def counter(law: CollectedLaw) -> Counter:
    """Counts reports of one round."""
    inner = law.shape.counter()
    return ActiveCounter(inner) if law.blanks else inner


def read_batches(
    path: str | Path, expected: Expected, without: Collection[bytes] = ()
) -> Iterator[Batch]:
    """The reports of a file in batches of bounded size.

    A problem may show only after some batches: count a file whole or not at all.

    Parameters
    ----------
    path:
        ``.parquet``, ``.jsonl`` or ``.ndjson``, in small or capital letters.
    expected:
        What every report must be like.
    without:
        Marks of reports to leave out of a file of lines.

    Raises
    ------
    FileError
        The file is corrupt, truncated, foreign, or its reports have the wrong length.
    """
    path = place_of(path)
    try:
        if path.suffix.lower() == ".parquet":
            yield from parquet_batches(path, expected)
        else:
            yield from line_batches(path, expected, without)
    except MemoryError as error:  # Arrow's own is one, too
        raise FileError(path, "needs more memory than there is", "Use smaller files.") from error
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileError(path, f"is corrupt or truncated: {reason}", "Get it again.") from error
    except InputError as error:
        raise FileError(path, error.reason, error.remedy) from error


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
        Those other files.
    """

    path: Path
    stamp: tuple[int, int]
    file_id: str = ""
    users: int = 0
    repeated: int = 0
    origins: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class FileCount(CountedFile):
    """The same with partial sums and the marks of its reports; or why it is not counted."""

    sums: dict[tuple[Key, Group], Aggregate] = field(default_factory=dict)
    marks: bytes = b""
    refused: str = ""

    @property
    def file(self) -> CountedFile:
        """Without what takes memory."""
        about = self.path, self.stamp, self.file_id, self.users, self.repeated, self.origins
        return CountedFile(*about)


def count_file(path: Path, expected: Expected, without: Collection[bytes] = ()) -> FileCount:
    """Count a file; a file that is not right in every report is refused with the reason.

    Reports whose marks are in ``without`` are checked, but not counted.
    """
    stamp = (-1, -1)
    try:
        stamp = stamp_of(path)
        file_id, marks, repeated = "", [], 0
        counters: dict[tuple[Key, Group], Counter] = {}
        for batch in read_batches(path, expected, without):
            file_id = batch.file_id
            marks.append(batch.marks)
            repeated = batch.repeated
            place = batch.key, batch.group
            if place not in counters:
                counters[place] = counter(expected.laws[batch.key[0]])
            counters[place].add(batch.rows)
        sums = {key: counter.sums() for key, counter in counters.items()}
    except FileError as error:
        return FileCount(path, stamp, refused=error.reason)
    except OSError as error:
        return FileCount(path, stamp, refused=f"cannot be read: {error.strerror or error}")
    except MemoryError:
        return FileCount(path, stamp, refused="needs more memory than there is")
    except ValueError as error:  # an InputError: a report that the mechanism cannot produce
        return FileCount(path, stamp, refused=str(error))
    if not sums:
        return FileCount(path, stamp, refused="holds no reports")
    users = sum(one.users for one in sums.values())
    return FileCount(path, stamp, file_id, users, repeated, sums=sums, marks=b"".join(marks))


def stamp_of(path: Path) -> tuple[int, int]:
    """Size and time of change, which tell whether a file was touched since."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def serve() -> None:
    """Count in a process of its own: paths in, counts out, until the input ends.

    Both are the parent's, so the pickles are its own. What may be allocated is limited, so that a
    file cannot take the machine's memory: allocating more fails, and the file is refused.
    """
    paths = sys.stdin.buffer
    with os.fdopen(os.dup(1), "wb") as counts:
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
    """On Linux; other systems do not say what is taken, or do not keep to such a limit."""
    with suppress(ImportError, OSError, StopIteration, ValueError):
        import resource

        status = Path("/proc/self/status").read_text().splitlines()
        (taken,) = (int(line.split()[1]) for line in status if line.startswith("VmData:"))
        most = taken * 1024 + MAX_WORKER_BYTES + MAX_CELL_BYTES * cells
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
