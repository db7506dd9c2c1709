"""The marks of all counted reports, by which a report counts once, whatever files hold it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from planner.deployment.collecting.reports import ID_SIZE, MARK_SIZE
from planner.errors import FileError

# They stand in a temporary file beyond 64 MB, which nobody else reads and which needs no journal.
# After a crash the table is made anew from the checkpoint, so that neither a journal
# nor a sync is worth its time. The cache is 64 MiB; a negative number counts KiB.
_TABLES = """
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;
CREATE TABLE known (id BLOB PRIMARY KEY, content BLOB, file INTEGER) WITHOUT ROWID;
CREATE TABLE new (id BLOB, content BLOB);
"""
_FIND = """
SELECT new.id, new.content, known.file, known.content = new.content
FROM new JOIN known ON known.id = new.id
"""


@dataclass(frozen=True, slots=True)
class Repeats:
    """Reports of which another file has one of the same id.

    Attributes
    ----------
    known:
        Their marks, each with "" if the other file has the same report, or with the name of that
        file if it says something else.
    files:
        The other files.
    """

    known: Mapping[bytes, str] = field(default_factory=dict)
    files: tuple[Path, ...] = ()


class KnownReports:
    """The marks of all counted reports.

    Examples
    --------
    >>> from planner.deployment.collecting.reports import mark
    >>> known, one = KnownReports(), mark("00ff", "q: AA==")
    >>> known.add(Path("a.jsonl"), one)
    >>> known.repeats(one + mark("00fe", "q: AA==")).files
    (PosixPath('a.jsonl'),)
    >>> list(known.repeats(mark("00ff", "q: AQ==")).known.values())
    ['a.jsonl']
    """

    def __init__(self) -> None:
        # An empty name is SQLite's own temporary database: it is deleted at the close,
        # and stays in memory while it fits.
        self._database = sqlite3.connect("", isolation_level=None)
        self._files: list[Path] = []
        with _named():
            self._database.executescript(_TABLES)

    def repeats(self, marks: bytes) -> Repeats:
        """The reports that are known already, of those with these marks."""
        if not self._files:
            return Repeats()
        with _named():
            # A join of tables takes one pass; a query for each of a million marks would
            # take far longer.
            self._database.executemany("INSERT INTO new VALUES (?, ?)", _parts(marks))
            rows = self._database.execute(_FIND).fetchall()
            self._database.execute("DELETE FROM new")
        marks_known: dict[bytes, str] = {}
        numbers = set()
        for report_id, content, number, is_same in rows:
            numbers.add(number)
            contradicted = ""
            if not is_same:
                contradicted = str(self._files[number])
            marks_known[report_id + content] = contradicted
        files = tuple(self._files[number] for number in sorted(numbers))
        return Repeats(marks_known, files)

    def add(self, path: Path, marks: bytes) -> None:
        """Remember reports, none of which is known."""
        if not marks:
            return
        number = len(self._files)
        # In the order of the table's key, so that its pages fill one after the other.
        rows = [
            (report_id, content, number) for report_id, content in sorted(_parts(marks))
        ]
        with _named():
            self._database.execute("BEGIN")
            self._database.executemany("INSERT INTO known VALUES (?, ?, ?)", rows)
            self._database.execute("COMMIT")
        self._files.append(path)

    def close(self) -> None:
        """Delete the temporary file."""
        self._database.close()


def _parts(marks: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The id and the content of each report, from their marks."""
    for start in range(0, len(marks), MARK_SIZE):
        middle = start + ID_SIZE
        yield marks[start:middle], marks[middle : start + MARK_SIZE]


@contextmanager
def _named() -> Iterator[None]:
    """SQLite's errors, which name no file, as errors of the temporary directory."""
    try:
        yield
    except sqlite3.Error as error:
        remedy = "Make room there, or name another directory in SQLITE_TMPDIR."
        reason = f"cannot be written: {error}"
        raise FileError("temporary directory", reason, remedy) from error
