"""What a client remembers: one report per person and question, so that asking twice is free.

A file of SQLite from the standard library: every report is durable before it is released,
and two processes that ask at once get the same one.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from planner.errors import FileError

__all__ = ["Memory"]

_TABLE = """
CREATE TABLE IF NOT EXISTS reports (
    parameters TEXT NOT NULL, user TEXT NOT NULL, question TEXT NOT NULL, part TEXT NOT NULL,
    payload BLOB NOT NULL,
    PRIMARY KEY (parameters, user, question, part)
) WITHOUT ROWID
"""
_FIND = (
    "SELECT payload FROM reports WHERE parameters = ? AND user = ? AND question = ? AND part = ?"
)
_KEEP = "INSERT OR IGNORE INTO reports VALUES (?, ?, ?, ?, ?)"

Key = tuple[str, str, str, str]


class Memory:
    """Permanent reports in a file that only its owner may read.

    Parameters
    ----------
    path:
        The file; it is made if it does not exist.

    Raises
    ------
    FileError
        The file cannot be opened or is not such a memory. Nothing is released then.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        try:
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
            with closing(self._open()) as database, database:
                database.execute(_TABLE)
        except (OSError, sqlite3.Error) as error:
            raise self._failed(error) from error

    def recall(self, key: Key, make: Callable[[], bytes]) -> bytes:
        """The remembered payload of a key; if there is none, ``make()`` once and for all.

        ``key`` is (parameter hash, user, question, part).

        Raises
        ------
        FileError
            The memory cannot be read or written; what was made is not released.
        """
        try:
            with closing(self._open()) as database:
                row = database.execute(_FIND, key).fetchone()
                if row is None:
                    with database:  # committed and synced here, or rolled back
                        database.execute(_KEEP, (*key, make()))
                    row = database.execute(_FIND, key).fetchone()
        except sqlite3.Error as error:
            raise self._failed(error) from error
        if row is None or not isinstance(row[0], bytes):
            raise FileError(self._path, "has lost a report", "Do not ask again.")
        return row[0]

    def _open(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._path, timeout=30)
        database.execute("PRAGMA synchronous = FULL")
        return database

    def _failed(self, error: Exception) -> FileError:
        remedy = "Give a file in a directory that may be written to, or restore the memory."
        return FileError(self._path, f"is not a usable memory of reports: {error}", remedy)
