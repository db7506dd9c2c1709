"""Which reports have been counted, whatever file they came in: exact, and in bounded memory.

Marks lie in a database of SQLite that is private to the process and spills to a temporary file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from planner.deployment.collecting.reports.batch import ID_SIZE, MARK_SIZE
from planner.errors import FileError

_TABLES = """
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;
CREATE TABLE known (id BLOB PRIMARY KEY, content BLOB, file INTEGER) WITHOUT ROWID;
CREATE TABLE new (id BLOB, content BLOB);
"""
_FIND = """
SELECT known.id, known.content, known.file, known.content = new.content
FROM new JOIN known ON known.id = new.id
"""


@dataclass(frozen=True, slots=True)
class Repeats:
    """Reports that another file has, too.

    Attributes
    ----------
    marks:
        Their marks.
    files:
        The files that they were counted from.
    contradicted:
        A file with a report of the same id that says something else, if there is one.
    """

    marks: frozenset[bytes] = frozenset()
    files: tuple[Path, ...] = ()
    contradicted: Path | None = None


class KnownReports:
    """The marks of all counted reports.

    Examples
    --------
    >>> from planner.deployment.collecting.reports.batch import mark
    >>> known, one = KnownReports(), mark("00ff", "q: AA==")
    >>> known.add(Path("a.jsonl"), one)
    >>> known.repeats(one + mark("00fe", "q: AA==")).files
    (PosixPath('a.jsonl'),)
    >>> known.repeats(mark("00ff", "q: AQ==")).contradicted
    PosixPath('a.jsonl')
    """

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        self._files: list[Path] = []
        with _named():
            self._database.executescript(_TABLES)

    def repeats(self, marks: bytes) -> Repeats:
        """Those of some reports that are known already."""
        if not self._files:
            return Repeats()
        with _named():
            self._database.executemany("INSERT INTO new VALUES (?, ?)", _parts(marks))
            found = self._database.execute(_FIND).fetchall()
            self._database.execute("DELETE FROM new")
        for _, _, number, same in found:
            if not same:
                return Repeats(contradicted=self._files[number])
        numbers = sorted({number for _, _, number, _ in found})
        same = frozenset(report_id + content for report_id, content, _, _ in found)
        return Repeats(same, tuple(self._files[number] for number in numbers))

    def add(self, path: Path, marks: bytes) -> None:
        """Remember reports, none of which is known."""
        if not marks:
            return
        rows = ((*parts, len(self._files)) for parts in sorted(_parts(marks)))
        with _named():
            self._database.execute("BEGIN")
            self._database.executemany("INSERT INTO known VALUES (?, ?, ?)", rows)
            self._database.execute("COMMIT")
        self._files.append(path)

    def close(self) -> None:
        """Delete the temporary file."""
        self._database.close()


def _parts(marks: bytes) -> Iterator[tuple[bytes, bytes]]:
    for start in range(0, len(marks), MARK_SIZE):
        middle = start + ID_SIZE
        yield marks[start:middle], marks[middle : start + MARK_SIZE]


@contextmanager
def _named() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        remedy = "Make room there, or name another directory in SQLITE_TMPDIR."
        raise FileError("temporary directory", f"cannot be written: {error}", remedy) from error
