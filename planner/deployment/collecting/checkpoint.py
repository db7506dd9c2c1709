"""Progress of a collection on disk: the counted files, each with its sums, in one transaction.

Whenever the process dies, the file holds exactly the files whose counting was finished. Every
row has a checksum, and one more is over all of them, so that damage is never counted.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from planner.deployment.collecting.reports import Key
from planner.errors import FileError
from planner.files import create_once, database_error, room_remedy
from planner.mechanisms.aggregate import Aggregate

_VERSION = 3
_DATABASE = b"SQLite format 3\x00"
_TABLES = """
CREATE TABLE collection (about BLOB NOT NULL, digest BLOB NOT NULL);
CREATE TABLE files (
    path BLOB PRIMARY KEY, about BLOB NOT NULL, sums BLOB NOT NULL, marks BLOB NOT NULL,
    digest BLOB NOT NULL);
"""
_REMEDY = "Delete it to count everything again."
_ELSEWHERE = "Give another path for the checkpoint; what is there is left as it is."
_MODULUS = 2**256


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
        self._path = Path(path)
        self._parameters = parameters
        try:
            with self._named():
                create_once(self._path, lambda new: _write_empty(new, parameters))
            with self._path.open("rb") as file:
                begins = file.read(len(_DATABASE))
        except OSError as error:
            reason = f"cannot be made or read: {error.strerror or error}"
            raise FileError(path, reason, room_remedy(error)) from error
        if begins != _DATABASE:
            raise FileError(path, "is not a checkpoint, or is damaged", _ELSEWHERE)
        with self._named():
            self._database = sqlite3.connect(self._path, timeout=1, isolation_level=None)
        try:
            with self._named():
                self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
                self._database.execute("PRAGMA synchronous = FULL")
                self._database.execute("BEGIN EXCLUSIVE")  # the lock is kept from here on
                self._database.execute("COMMIT")
            self._files, self._sum = self._check()
        except FileError:
            self.close()
            raise

    def close(self) -> None:
        """Release the file."""
        self._database.close()

    def files(self) -> list[CountedFile]:
        """The files counted so far, in the order of their paths."""
        return list(self._files.values())

    def contents(self) -> Iterator[Saved]:
        """The same files, each with its sums and marks; one at a time is in memory."""
        for path in self._files:
            (row,) = self._rows("WHERE path = ?", (str(path).encode(),))
            yield _saved(row)

    def save(self, files: Iterable[Saved]) -> None:
        """Add files, all or none; durable on return."""
        rows = [_row(one) for one in files]
        self._change(rows, [])
        self._files |= {one.path: one for one in (_saved(row).file for row in rows)}

    def drop(self, paths: Iterable[Path]) -> None:
        """Take files out, all or none; durable on return."""
        gone = list(paths)
        rows = [row for path in gone for row in self._rows("WHERE path = ?", (str(path).encode(),))]
        self._change([], rows)
        for path in gone:
            del self._files[path]

    def _change(self, new: list[_Row], old: list[_Row]) -> None:
        total = self._sum + sum(map(_number, new)) - sum(map(_number, old))
        about = _about(self._parameters, len(self._files) + len(new) - len(old), total % _MODULUS)
        with self._named():
            try:
                self._database.execute("BEGIN")
                self._database.executemany("INSERT INTO files VALUES (?, ?, ?, ?, ?)", new)
                self._database.executemany(
                    "DELETE FROM files WHERE path = ?", [row[:1] for row in old]
                )
                self._database.execute("UPDATE collection SET about = ?, digest = ?", about)
                self._database.execute("COMMIT")
            except sqlite3.Error:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise
        self._sum = total % _MODULUS

    def _check(self) -> tuple[dict[Path, CountedFile], int]:
        """Every checksum; what is listed, and the sum of the rows' checksums."""
        with self._named():
            found = self._database.execute("SELECT about, digest FROM collection").fetchall()
        if len(found) != 1 or not _is_bytes(found[0]) or _digest(found[0][0]) != found[0][1]:
            raise self._damaged("its heading")
        about = json.loads(found[0][0])
        if about["version"] != _VERSION:
            raise self._damaged(f"its version {about['version']}")
        if about["parameters"] != self._parameters:
            raise FileError(self._path, "is the checkpoint of other parameters", _ELSEWHERE)
        files, total = {}, 0
        for row in self._rows("ORDER BY path"):
            one = _saved(row).file
            files[one.path] = one
            total += _number(row)
        total %= _MODULUS
        if about["files"] != len(files) or about["sum"] != f"{total:064x}":
            raise self._damaged("its list of files")
        return files, total

    def _rows(self, clause: str, values: tuple[bytes, ...] = ()) -> Iterator[_Row]:
        """Rows whose checksum is right."""
        with self._named():
            cursor = self._database.execute(f"SELECT * FROM files {clause}", values)  # noqa: S608
        while True:
            with self._named():
                row = cursor.fetchone()
            if row is None:
                return
            if len(row) != 5 or not _is_bytes(row) or _digest(*row[:-1]) != row[-1]:
                raise self._damaged("a row")
            yield row

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Names the file in whatever goes wrong with the database."""
        try:
            yield
        except (sqlite3.Error, UnicodeError, OverflowError, MemoryError) as error:
            if "no such table: collection" in str(error):
                reason = "is the database of something else, or of an earlier version"
                raise FileError(self._path, reason, _ELSEWHERE) from error
            raise database_error(self._path, error) or self._damaged(str(error)) from error

    def _damaged(self, what: str) -> FileError:
        return FileError(self._path, f"is damaged or of an earlier version: {what}", _REMEDY)


_Row = tuple[bytes, bytes, bytes, bytes, bytes]


def _write_empty(path: Path, parameters: str) -> None:
    database = sqlite3.connect(path, isolation_level=None)
    try:
        database.executescript(_TABLES)
        database.execute("INSERT INTO collection VALUES (?, ?)", _about(parameters, 0, 0))
    finally:
        database.close()


def _about(parameters: str, files: int, total: int) -> tuple[bytes, bytes]:
    about = {"version": _VERSION, "parameters": parameters, "files": files, "sum": f"{total:064x}"}
    data = json.dumps(about).encode()
    return data, _digest(data)


def _row(one: Saved) -> _Row:
    about = {
        "stamp": one.file.stamp,
        "file_id": one.file.file_id,
        "users": one.file.users,
        "repeated": one.file.repeated,
        "origins": [str(path) for path in one.file.origins],
        "sums": [(*key, total.users, total.counts.size) for key, total in one.sums.items()],
    }
    sums = b"".join(total.counts.astype("<i8").tobytes() for total in one.sums.values())
    parts = (str(one.file.path).encode(), json.dumps(about).encode(), sums, one.marks)
    return (*parts, _digest(*parts))


def _saved(row: _Row) -> Saved:
    """Back from a row whose checksum is right."""
    about: dict[str, Any] = json.loads(row[1])
    file = CountedFile(
        Path(row[0].decode()),
        (about["stamp"][0], about["stamp"][1]),
        about["file_id"],
        about["users"],
        about["repeated"],
        tuple(map(Path, about["origins"])),
    )
    sizes = [size for *_, size in about["sums"]]
    ends = np.cumsum([0, *sizes]).tolist()
    counts = [np.frombuffer(row[2], dtype="<i8")[i:j] for i, j in pairwise(ends)]
    sums = {
        (question, number): Aggregate(users, each)
        for (question, number, users, _), each in zip(about["sums"], counts, strict=True)
    }
    return Saved(file, sums, row[3])


def _digest(*parts: bytes) -> bytes:
    checksum = sha256()
    for part in parts:
        checksum.update(len(part).to_bytes(8, "little") + part)
    return checksum.digest()


def _number(row: _Row) -> int:
    return int.from_bytes(row[-1], "little")


def _is_bytes(row: tuple[Any, ...]) -> bool:
    return all(isinstance(value, bytes) for value in row)
