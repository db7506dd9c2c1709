"""A file of entries, name by name, of which it is proven what is in it and what is not.

A file of SQLite from the standard library: what was changed is durable, and two processes that ask
at once happen one after the other. The database's own search is not believed: an entry is listed on
one of 256 pages, and the root holds every page's checksum and one of itself. That an entry is
missing is then proven, like that it is right; what is damaged is an error.

The memory of a client is such a file: one report per person and question, so that asking twice is
free. Every report is durable before it is released, and two processes that ask at once get the same
one. A report that is there must never be taken for one that is missing, as a fresh draw would spend
the budget again.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

from planner.errors import FileError
from planner.files import create_once, naming_database, room_remedy
from planner.laws.schema import Json

# The first 16 bytes of every SQLite 3 file, as its file format document states them.
_DATABASE = b"SQLite format 3\x00"
# A name is a SHA-256 digest, so its first byte spreads entries evenly over 256 pages,
# and a look-up reads one page instead of a list of everything.
_PAGES = 256
_DIGEST_SIZE = 32  # of a checksum, and of a name

MemoryKey = tuple[str, str, str]  # parameter hash, user and question
SqlRows = list[Json]

_DAMAGED = (
    "Report nothing with it, nor with a new one: that would spend the budget again."
)
_EARLIER = (
    "Go on with that version while its collections last: "
    "a new memory would spend the budget again."
)


@dataclass(frozen=True, slots=True)
class Purpose:
    """A kind of sealed file: its table, its name for people, and remedies.

    ``damaged`` is the remedy if it is damaged, ``other`` if it is the database of something else,
    ``unreadable`` if it is no database.
    """

    table: str
    noun: str
    damaged: str
    other: str
    unreadable: str


class Sealed:
    """A file of entries with checksums, which only its owner may read.

    Parameters
    ----------
    path:
        The file; it is made if it does not exist.
    kind:
        Its table, its name for people, and the remedies in errors.
    held:
        Whether no other process may use it until it is closed.

    Raises
    ------
    FileError
        The file cannot be opened, is of another kind, in use, or damaged.
    """

    def __init__(self, path: str | Path, kind: Purpose, *, held: bool = False) -> None:
        self._path = Path(path)
        self._kind = kind
        self._database: sqlite3.Connection | None = None
        try:
            with naming_database(self._path, self.damaged):
                # The empty database is written under another name and linked into
                # place, so that two processes that start at once never see half of one.
                create_once(self._path, self._write_empty)
            with self._path.open("rb") as file:
                heading = file.read(len(_DATABASE))
        except OSError as error:
            reason = f"is not a usable {kind.noun}: {error.strerror or error}"
            raise FileError(path, reason, room_remedy(error)) from error
        # SQLite takes an empty file for an empty database, which would be refused as one
        # of an earlier version, with the wrong remedy. So the heading is asked for first.
        if heading != _DATABASE:
            reason = f"is not a {kind.noun}, or is a damaged {kind.noun}"
            raise FileError(path, reason, kind.unreadable)
        try:
            if held:
                self._database = self._connect(timeout=1)
                # In this mode SQLite keeps the lock of the first change until it is closed.
                self.ask(self._database, "PRAGMA locking_mode = EXCLUSIVE")
                # An empty transaction takes the lock now: a second process is refused
                # when it opens the file, not in the middle of its work.
                self.ask(self._database, "BEGIN EXCLUSIVE")
                self.ask(self._database, "COMMIT")
            # An empty change reads and checks the root, so that damage of the root is found before
            # a client is asked anything.
            with self.changing():
                pass
        except FileError:
            self.close()
            raise

    def close(self) -> None:
        """Release a file that is held."""
        if self._database is not None:
            self._database.close()

    @contextmanager
    def changing(self) -> Iterator[Entries]:
        """The entries; what is done to them is durable at the end, or undone by an error."""
        database = self._database or self._connect(timeout=30)
        try:
            # A deferred transaction would take the lock with its first write: two
            # processes could then both read that nothing is kept, and both draw.
            self.ask(database, "BEGIN IMMEDIATE")
            entries = Entries(self, database)
            yield entries
            entries.finish()
            self.ask(database, "COMMIT")
        finally:
            if database is not self._database:
                database.close()  # what is not committed is undone
            elif database.in_transaction:
                database.execute("ROLLBACK")

    def ask(
        self, database: sqlite3.Connection, statement: str, *values: object
    ) -> SqlRows:
        """All rows that answer a statement, where ``{}`` is the table; errors name the file."""
        with naming_database(self._path, self.damaged):
            return database.execute(
                statement.format(self._kind.table), values
            ).fetchall()

    def damaged(self, what: str) -> FileError:
        """The error for a file that is damaged."""
        kind = self._kind
        if f"no such table: {kind.table}_root" in what:
            reason = f"is no {kind.noun}, or is one of an earlier version"
            return FileError(self._path, reason, kind.other)
        return FileError(self._path, f"is a damaged {kind.noun}: {what}", kind.damaged)

    def _connect(self, timeout: float) -> sqlite3.Connection:
        """A connection to the database, which must exist."""
        # Without this mode SQLite would leave an empty file in place of one that was
        # deleted meanwhile.
        address = f"{self._path.absolute().as_uri()}?mode=rw"
        with naming_database(self._path, self.damaged):
            database = sqlite3.connect(
                address, timeout=timeout, isolation_level=None, uri=True
            )
        # SQLite then waits for the disk at each commit; otherwise a report that was
        # released could be forgotten when the power fails.
        self.ask(database, "PRAGMA synchronous = FULL")
        # What is replaced is overwritten, so that no earlier report stays on the disk.
        self.ask(database, "PRAGMA secure_delete = ON")
        return database

    def _write_empty(self, path: Path) -> None:
        """A file without entries: its pages are not there, and the root lists them as empty."""
        table = self._kind.table
        root = digest(b"") * _PAGES
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.executescript(
                f"CREATE TABLE {table}_root (content BLOB NOT NULL);"
                f"CREATE TABLE {table}_pages (name INTEGER PRIMARY KEY, content BLOB NOT NULL);"
                f"CREATE TABLE {table} (name BLOB PRIMARY KEY, content BLOB NOT NULL);"
            )
            root += digest(root)
            database.execute(f"INSERT INTO {table}_root VALUES (?)", (root,))  # noqa: S608


class Entries:
    """The entries of a sealed file during one change; a name has 32 bytes."""

    def __init__(self, file: Sealed, database: sqlite3.Connection) -> None:
        self._file = file
        self._ask = partial(file.ask, database)
        self._pages: dict[int, dict[bytes, bytes]] = {}
        self._changed: set[int] = set()
        self._root = bytearray(self._content("_root", None))
        content = bytes(self._root[:-_DIGEST_SIZE])
        checksum = bytes(self._root[-_DIGEST_SIZE:])
        if len(content) != _PAGES * _DIGEST_SIZE or digest(content) != checksum:
            # A file that was only cut short could still have a root of another length
            # with a right checksum of its own; both are asked for.
            raise file.damaged("its root")

    def names(self) -> list[bytes]:
        """The names of all entries."""
        names: list[bytes] = []
        for number in range(_PAGES):
            names += self._page(number)
        return names

    def get(self, name: bytes) -> bytes | None:
        """An entry; None if it is proven that there is none."""
        checksum = self._page(name[0]).get(name)
        if checksum is None:
            # This page's checksum is right by now, so that the absence of a name from
            # it is proven.
            return None
        content = self._content("", name)
        if digest(content) != checksum:
            raise self._file.damaged("an entry")
        return content

    def put(self, name: bytes, content: bytes | None) -> None:
        """Write an entry anew, or take it out."""
        # The page is read, and thereby checked, before it is changed: a damaged page
        # must not be sealed anew as if it were right.
        page = self._page(name[0])
        page.pop(name, None)
        self._ask("DELETE FROM {} WHERE name = ?", name)
        if content is not None:
            page[name] = digest(content)
            self._ask("INSERT INTO {} VALUES (?, ?)", name, content)
        self._changed.add(name[0])

    def finish(self) -> None:
        """Write pages that were changed, and the root."""
        for number in self._changed:
            content = b""
            for name, checksum in self._page(number).items():
                content += name + checksum
            self._root[_of_page(number)] = digest(content)
            self._ask("INSERT OR REPLACE INTO {}_pages VALUES (?, ?)", number, content)
        if self._changed:
            self._root[-_DIGEST_SIZE:] = digest(bytes(self._root[:-_DIGEST_SIZE]))
            # The root comes last, but all of it is one transaction: after a crash
            # either every checksum is the old one or every one is new.
            self._ask("UPDATE {}_root SET content = ?", bytes(self._root))

    def _page(self, number: int) -> dict[bytes, bytes]:
        """The checksum of each entry that a page lists."""
        if number not in self._pages:
            checksum = self._root[_of_page(number)]
            # An empty page has a checksum like any other, so that a page that was
            # deleted from the database is not taken for an empty one.
            content = b""
            if checksum != digest(b""):  # pages without an entry are not written
                content = self._content("_pages", number)
            if digest(content) != checksum:
                raise self._file.damaged("a page")
            checksum_of = {}
            for start in range(0, len(content), 2 * _DIGEST_SIZE):
                middle = start + _DIGEST_SIZE
                name = content[start:middle]
                checksum_of[name] = content[middle : middle + _DIGEST_SIZE]
            self._pages[number] = checksum_of
        return self._pages[number]

    def _content(self, suffix: str, name: object) -> bytes:
        """The only one of its name."""
        if name is None:
            damaged = "its root"
            rows = self._ask(f"SELECT content FROM {{}}{suffix}")  # noqa: S608
        else:
            damaged = "an entry"
            query = f"SELECT content FROM {{}}{suffix} WHERE name = ?"  # noqa: S608
            rows = self._ask(query, name)
        # A damaged index of SQLite can give a row twice or not at all, and a column has
        # no fixed type: neither is believed.
        if len(rows) != 1 or type(rows[0][0]) is not bytes:
            raise self._file.damaged(damaged)
        content: bytes = rows[0][0]
        return content


def _of_page(number: int) -> slice:
    """Where a page's checksum is in the root."""
    return slice(number * _DIGEST_SIZE, (number + 1) * _DIGEST_SIZE)


def digest(content: bytes) -> bytes:
    """A checksum of 32 bytes."""
    return sha256(content).digest()


_KIND = Purpose("reports", "memory of reports", _DAMAGED, _EARLIER, _DAMAGED)


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
        self._file = Sealed(path, _KIND)

    def change(self, key: MemoryKey, step: Callable[[bytes | None], bytes]) -> bytes:
        """Replace what is kept under a key by ``step`` of it, which is also given back.

        ``step`` gets ``None`` if nothing is kept. Its result is durable when it is given back. Two
        calls at once happen one after the other.

        Raises
        ------
        FileError
            The memory cannot be read or written; what was made is not released.
        """
        # The file has only the digest of who answered what. Whoever knows possible
        # identifiers can still try them all, so that the file is for its owner alone.
        name = digest(json.dumps(key).encode())
        with self._file.changing() as entries:
            kept = entries.get(name)
            new = step(kept)
            # What is kept stays as it is when a person is asked again: nothing is
            # written, and the file's time does not tell that they were.
            if new != kept:
                entries.put(name, new)
        return new
