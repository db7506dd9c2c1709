"""Count one file, whole or not at all: what every engine runs, here or on a cluster."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from planner.deployment.client.mechanisms.law import Law
from planner.deployment.collecting.reports.batch import Key
from planner.deployment.collecting.reports.reading import read_batches
from planner.deployment.mechanisms.counting import Counter
from planner.deployment.mechanisms.registry import deployed
from planner.errors import FileError
from planner.mechanisms.aggregate import Aggregate

if TYPE_CHECKING:
    from planner.deployment.parameter_file.parameters import Parameters


@dataclass(frozen=True, slots=True)
class Expected:
    """What report files must be like: the parameter hash, and each question's law."""

    parameters: str
    laws: dict[str, Law]
    sizes: dict[Key, int]

    @classmethod
    def of(cls, parameters: Parameters) -> Expected:
        """From verified parameters."""
        laws = {question.name: question.law for question in parameters.questions}
        sizes = {(name, number): law.size for name, law in laws.items() for number in law.rounds}
        return cls(parameters.hash, laws, sizes)


@dataclass(frozen=True, slots=True, eq=False)
class FileCount:
    """What one file holds, or why it is not counted.

    Attributes
    ----------
    path:
        The file.
    stamp:
        Its size and time of change (nanoseconds) before it was read.
    file_id:
        By which copies are recognised.
    sums:
        Partial sums by question and round.
    marks:
        The marks of its reports, one after the other; empty if they
        have no ids.
    refused:
        Why the file is quarantined; empty if it is counted.
    """

    path: Path
    stamp: tuple[int, int]
    file_id: str = ""
    sums: dict[Key, Aggregate] = field(default_factory=dict)
    marks: bytes = b""
    refused: str = ""

    @property
    def users(self) -> int:
        """Number of reports."""
        return sum(one.users for one in self.sums.values())


def count_file(path: Path, expected: Expected, without: Collection[bytes] = ()) -> FileCount:
    """Count a file; a file that is not right in every report is refused with the reason.

    Reports whose marks are in ``without`` are checked, but not counted.
    """
    stamp = (-1, -1)
    try:
        stamp = stamp_of(path)
        file_id, marks = "", []
        counters: dict[Key, Counter] = {}
        for batch in read_batches(path, expected.parameters, expected.sizes, without):
            file_id = batch.file_id
            marks.append(batch.marks)
            if batch.key not in counters:
                counters[batch.key] = deployed(expected.laws[batch.key[0]]).counter()
            counters[batch.key].add(batch.rows)
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
    return FileCount(path, stamp, file_id, sums, b"".join(marks))


def stamp_of(path: Path) -> tuple[int, int]:
    """Size and time of change, which tell whether a file was touched since."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns
