"""Progress of a collection on disk: the counted files, each with its sums, in one transaction.

Whenever the process dies, the file holds exactly the files whose counting was finished. Checksums
cover all that it holds, so that damage is never counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from planner.deployment.client.sealed import Entries, Kind, Sealed, digest
from planner.deployment.collecting.reports import Key
from planner.errors import FileError
from planner.mechanisms.counting import Aggregate

_VERSION = 4
_ELSEWHERE = "Give another path for the checkpoint; what is there is left as it is."
_KIND = Kind(
    "counted", "checkpoint", "Delete it to count everything again.", _ELSEWHERE, _ELSEWHERE
)
_HEADING = bytes(32)  # the name of what a checkpoint says of itself


@dataclass(frozen=True, slots=True)
class CountedFile:
    """A file whose reports are in the sums.

    Attributes
    ----------
    path, stamp, file_id:
        The file, its size and time of change when it was counted, and its number.
    users:
        Number of its reports that count.
    repeated:
        How many of its reports were left out, because another file's are the same ones.
    origins:
        Those other files.
    """

    path: Path
    stamp: tuple[int, int]
    file_id: str
    users: int
    repeated: int = 0
    origins: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Saved:
    """A counted file with its sums and the marks of the reports in them."""

    file: CountedFile
    sums: dict[Key, Aggregate]
    marks: bytes = b""


class Checkpoint:
    """Keeps the progress of one collection; only one process may use it at a time.

    Parameters
    ----------
    path:
        The file, made if it does not exist.
    parameters:
        The parameter hash; a checkpoint of other parameters is refused.

    Raises
    ------
    FileError
        It cannot be used, another process uses it, it is damaged, or of another collection.
    """

    def __init__(self, path: str | Path, parameters: str) -> None:
        self._sealed = Sealed(path, _KIND, held=True)
        heading = json.dumps({"version": _VERSION, "parameters": parameters}).encode()
        try:
            with self._sealed.changing() as entries:
                if not entries.names():
                    entries.put(_HEADING, heading)
                elif entries.get(_HEADING) != heading:
                    reason = "is the checkpoint of other parameters, or of an earlier version"
                    raise FileError(path, reason, _ELSEWHERE)
                files = [_saved(each).file for _, each in _contents(entries)]
        except FileError:
            self.close()
            raise
        self._files = {one.path: one for one in sorted(files, key=lambda one: one.path)}

    def close(self) -> None:
        """Release the file."""
        self._sealed.close()

    def files(self) -> list[CountedFile]:
        """The files counted so far, in the order of their paths."""
        return list(self._files.values())

    def contents(self) -> Iterator[Saved]:
        """The same files, each with its sums and marks; one at a time is in memory."""
        with self._sealed.changing() as entries:
            for path in self._files:
                content = entries.get(_name(path))
                assert content is not None  # noqa: S101 - it is listed, and the file is held
                yield _saved(content)

    def save(self, files: Iterable[Saved]) -> None:
        """Add files, all or none; durable on return."""
        new = list(files)
        with self._sealed.changing() as entries:
            for one in new:
                entries.put(_name(one.file.path), _packed(one))
        self._files |= {one.file.path: one.file for one in new}

    def drop(self, paths: Iterable[Path]) -> None:
        """Take files out, all or none; durable on return."""
        gone = list(paths)
        with self._sealed.changing() as entries:
            for path in gone:
                entries.put(_name(path), None)
        for path in gone:
            del self._files[path]


def _contents(entries: Entries) -> Iterator[tuple[bytes, bytes]]:
    for name in entries.names():
        if name != _HEADING and (content := entries.get(name)) is not None:
            yield name, content


def _name(path: Path) -> bytes:
    return digest(str(path).encode())


def _packed(one: Saved) -> bytes:
    """What is known of the file, as JSON, then sums, then marks; the size of the first before."""
    about = {
        "path": str(one.file.path),
        "stamp": one.file.stamp,
        "file_id": one.file.file_id,
        "users": one.file.users,
        "repeated": one.file.repeated,
        "origins": [str(path) for path in one.file.origins],
        "sums": [(*key, total.users, total.counts.size) for key, total in one.sums.items()],
    }
    sums = b"".join(total.counts.astype("<i8").tobytes() for total in one.sums.values())
    text = json.dumps(about).encode()
    return len(text).to_bytes(8, "little") + text + sums + one.marks


def _saved(content: bytes) -> Saved:
    """Back from an entry, whose checksum is right."""
    start = 8 + int.from_bytes(content[:8], "little")
    about: dict[str, Any] = json.loads(content[8:start])
    file = CountedFile(
        Path(about["path"]),
        (about["stamp"][0], about["stamp"][1]),
        about["file_id"],
        about["users"],
        about["repeated"],
        tuple(map(Path, about["origins"])),
    )
    sizes = [size for *_, size in about["sums"]]
    ends = (start + 8 * np.cumsum([0, *sizes])).tolist()
    counts = [np.frombuffer(content[i:j], dtype="<i8") for i, j in pairwise(ends)]
    sums = {
        (question, number): Aggregate(users, each)
        for (question, number, users, _), each in zip(about["sums"], counts, strict=True)
    }
    return Saved(file, sums, content[ends[-1] :])
