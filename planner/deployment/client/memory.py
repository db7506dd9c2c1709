"""What a client remembers: one report per person and question, so that asking twice is free.

A file of SQLite from the standard library: every report is durable before it is released, and
two processes that ask at once get the same one. A report that is there must never be taken for
one that is missing, as a fresh draw would spend the budget again. So the database's own search is
not believed: a report is listed on one of 256 pages, and the root holds every page's checksum and
one of itself. That a report is missing is then proven, like that it is right; what is damaged is an
error, and nothing is drawn.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from planner.errors import FileError
from planner.files import create_once, database_error, room_remedy

_TABLES = """
CREATE TABLE root (content BLOB NOT NULL);
CREATE TABLE pages (number INTEGER PRIMARY KEY, content BLOB NOT NULL);
CREATE TABLE reports (key BLOB PRIMARY KEY, content BLOB NOT NULL);
"""
_PAGES = 256
_SIZE = 32  # of a checksum
_DAMAGED = "Report nothing with it, nor with a new one: that would spend the budget again."
_EARLIER = (
    "Go on with that version while its collections last: it has no checksums, and a new memory "
    "would spend the budget again."
)

Key = tuple[str, str, str]
"""Parameter hash, user and question."""


class Memory:
    """Permanent reports in a file that only its owner may read.

    Parameters
    ----------
    path:
        The file; it is made if it does not exist.

    Raises
    ------
    FileError
        The file cannot be opened, is not such a memory, or is damaged. Nothing is released then.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        try:
            with self._named():
                create_once(self._path, _write_empty)
        except OSError as error:
            reason = f"is not a usable memory of reports: {error.strerror or error}"
            raise FileError(path, reason, room_remedy(error)) from error
        with self._opened() as database:
            self._root(database)

    def change(self, key: Key, step: Callable[[bytes | None], bytes]) -> bytes:
        """Replace what is kept under a key by ``step`` of it, which is also given back.

        ``step`` gets ``None`` if nothing is kept. Its result is durable when it is given back. Two
        calls at once happen one after the other.

        Raises
        ------
        FileError
            The memory cannot be read or written; what was made is not released.
        """
        name = sha256(json.dumps(key).encode()).digest()
        with self._opened() as database:
            self._ask(database, "BEGIN IMMEDIATE")
            root = self._root(database)
            page = self._page(database, root, name[0])
            kept = self._kept(database, page.get(name), name)
            new = step(kept)
            if new != kept:
                self._write(database, root, page, name, new)
            self._ask(database, "COMMIT")
        return new

    def _kept(
        self, database: sqlite3.Connection, digest: bytes | None, name: bytes
    ) -> bytes | None:
        if digest is None:
            return None
        rows = self._ask(database, "SELECT content FROM reports WHERE key = ?", name)
        if len(rows) != 1 or _digest(rows[0][0]) != digest:
            raise self._damaged("a report")
        content: bytes = rows[0][0]
        return content

    def _page(self, database: sqlite3.Connection, root: bytes, number: int) -> dict[bytes, bytes]:
        """The checksum of each report that a page lists."""
        rows = self._ask(database, "SELECT content FROM pages WHERE number = ?", number)
        content = rows[0][0] if rows else b""
        if len(rows) > 1 or _digest(content) != root[number * _SIZE : (number + 1) * _SIZE]:
            raise self._damaged("a page")
        return {
            content[i : i + _SIZE]: content[i + _SIZE : i + 2 * _SIZE]
            for i in range(0, len(content), 2 * _SIZE)
        }

    def _root(self, database: sqlite3.Connection) -> bytes:
        """The checksums of all pages."""
        rows = self._ask(database, "SELECT content FROM root")
        if len(rows) != 1 or not isinstance(rows[0][0], bytes):
            raise self._damaged("its root")
        content, checksum = rows[0][0][:-_SIZE], rows[0][0][-_SIZE:]
        if len(content) != _PAGES * _SIZE or _digest(content) != checksum:
            raise self._damaged("its root")
        return bytes(content)

    def _write(
        self,
        database: sqlite3.Connection,
        root: bytes,
        page: dict[bytes, bytes],
        name: bytes,
        new: bytes,
    ) -> None:
        content = b"".join(key + digest for key, digest in (page | {name: _digest(new)}).items())
        first, last = name[0] * _SIZE, (name[0] + 1) * _SIZE
        root = root[:first] + _digest(content) + root[last:]
        self._ask(database, "DELETE FROM reports WHERE key = ?", name)
        self._ask(database, "INSERT INTO reports VALUES (?, ?)", name, new)
        self._ask(database, "INSERT OR REPLACE INTO pages VALUES (?, ?)", name[0], content)
        self._ask(database, "UPDATE root SET content = ?", root + _digest(root))

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """The database, which must exist; what is not committed is undone."""
        address = f"{self._path.absolute().as_uri()}?mode=rw"
        with self._named():
            database = sqlite3.connect(address, timeout=30, isolation_level=None, uri=True)
        try:
            self._ask(database, "PRAGMA synchronous = FULL")
            self._ask(database, "PRAGMA secure_delete = ON")  # what is replaced is overwritten
            yield database
        finally:
            database.close()

    def _ask(self, database: sqlite3.Connection, statement: str, *values: object) -> list[Any]:
        with self._named():
            return database.execute(statement, values).fetchall()

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeError, OverflowError, MemoryError) as error:
            if "no such table: root" in str(error):
                reason = "is no memory of reports, or is one of an earlier version"
                raise FileError(self._path, reason, _EARLIER) from error
            raise database_error(self._path, error) or self._damaged(str(error)) from error

    def _damaged(self, what: str) -> FileError:
        return FileError(self._path, f"is a damaged memory of reports: {what}", _DAMAGED)


def _write_empty(path: Path) -> None:
    root = _digest(b"") * _PAGES
    database = sqlite3.connect(path, isolation_level=None)
    try:
        database.executescript(_TABLES)
        database.execute("INSERT INTO root VALUES (?)", (root + _digest(root),))
    finally:
        database.close()


def _digest(content: object) -> bytes:
    """A checksum; nothing has that of what is not bytes."""
    return sha256(content).digest() if isinstance(content, bytes) else b""
