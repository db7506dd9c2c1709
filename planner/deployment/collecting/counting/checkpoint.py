"""Progress of a collection on disk: what was counted and the sums, in one transaction.

Whenever the process dies, the file holds the sums of exactly the files that it lists.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from planner.deployment.collecting.reports.batch import Key
from planner.errors import FileError, InputError
from planner.mechanisms.aggregate import Aggregate

__all__ = ["Checkpoint", "CountedFile"]

_TABLES = """
CREATE TABLE IF NOT EXISTS collection (parameters TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS files (
    path TEXT PRIMARY KEY, size INTEGER NOT NULL, changed INTEGER NOT NULL,
    file_id TEXT NOT NULL, users INTEGER NOT NULL, signs TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sums (
    question TEXT NOT NULL, round INTEGER NOT NULL, users INTEGER NOT NULL, counts BLOB NOT NULL,
    PRIMARY KEY (question, round));
"""
_REMEDY = "Delete it to count everything again."


@dataclass(frozen=True, slots=True)
class CountedFile:
    """A file whose reports are in the sums."""

    path: Path
    stamp: tuple[int, int]
    file_id: str
    users: int
    signs: tuple[str, ...]


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
        It cannot be used, another process uses it, or it is of another collection.
    """

    def __init__(self, path: str | Path, parameters: str) -> None:
        self._path = Path(path)
        try:
            self._database = sqlite3.connect(self._path, timeout=1, isolation_level=None)
            self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.executescript(_TABLES)
            self._database.execute("BEGIN EXCLUSIVE")  # the lock is kept from here on
            found = self._database.execute("SELECT parameters FROM collection").fetchall()
            if not found:
                self._database.execute("INSERT INTO collection VALUES (?)", (parameters,))
            self._database.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._failed(error) from error
        if found and found != [(parameters,)]:
            self.close()
            raise FileError(path, "is the checkpoint of other parameters", _REMEDY)

    def close(self) -> None:
        """Release the file."""
        self._database.close()

    def files(self) -> list[CountedFile]:
        """The files counted so far."""
        try:
            rows = self._database.execute("SELECT * FROM files").fetchall()
            return [
                CountedFile(Path(path), (size, changed), file_id, users, tuple(json.loads(signs)))
                for path, size, changed, file_id, users, signs in rows
            ]
        except (sqlite3.Error, ValueError, TypeError) as error:
            raise self._failed(error) from error

    def sums(self) -> dict[Key, Aggregate]:
        """The sums of their reports."""
        try:
            rows = self._database.execute("SELECT * FROM sums").fetchall()
            return {
                (question, number or None): Aggregate(users, np.frombuffer(counts, dtype="<i8"))
                for question, number, users, counts in rows
            }
        except (sqlite3.Error, InputError, ValueError, TypeError) as error:
            raise self._failed(error) from error

    def save(self, files: Iterable[CountedFile], sums: Mapping[Key, Aggregate]) -> None:
        """Add files and replace the sums, both or neither; durable on return."""
        listed = [
            (str(one.path), *one.stamp, one.file_id, one.users, json.dumps(one.signs))
            for one in files
        ]
        totals = [
            (question, number or 0, total.users, total.counts.astype("<i8").tobytes())
            for (question, number), total in sums.items()
        ]
        try:
            self._database.execute("BEGIN")
            self._database.executemany("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?)", listed)
            self._database.executemany("INSERT OR REPLACE INTO sums VALUES (?, ?, ?, ?)", totals)
            self._database.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> FileError:
        if "locked" in str(error):
            return FileError(self._path, "is in use by another process", "Wait for it to end.")
        return FileError(self._path, f"is not a usable checkpoint: {error}", _REMEDY)
