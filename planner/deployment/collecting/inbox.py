"""Reports on their way to files: on disk before they are acknowledged, in one file each at last.

Nothing tells who sent one or when: the database and the files hold lines of reports alone, in the
order of their random ids.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from planner.deployment.client.sealed import SqlRows
from planner.deployment.collecting.collector import summed
from planner.deployment.collecting.engines import counter
from planner.deployment.collecting.places import OPEN_FOLDER
from planner.deployment.collecting.reports import (
    ID_SIZE,
    Expected,
    Key,
    Received,
    rows_of,
)
from planner.deployment.parameters import Parameters
from planner.errors import FileError, InputError
from planner.files import naming_database, replace_file
from planner.limits import MEBIBYTE
from planner.mechanisms.counting import Aggregate, Counter

# Reports that wait in the database become a file once they are as many.
SEALED_BYTES = 16 * MEBIBYTE
_INBOX_TABLES = """
PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS known (id INTEGER PRIMARY KEY, content BLOB);
CREATE TABLE IF NOT EXISTS waiting (id INTEGER PRIMARY KEY, line BLOB);
CREATE TABLE IF NOT EXISTS counted (question, round, users, counts, UNIQUE (question, round));
"""


class Inbox:
    r"""Reports on disk: those that wait in a database, and files of lines that are whole for good.

    A report is known by its id for ever. The database has a random order, that of ids.

    Parameters
    ----------
    folder:
        Made if it does not exist. Of several receivers, one may use it.
    parameters:
        Verified parameters.
    sealed_bytes:
        Size of lines that makes a file.

    Raises
    ------
    FileError
        The folder cannot be written, or another receiver uses it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from planner import Categorical, Level, Survey, plan_survey
    >>> from planner.deployment import Client
    >>> from planner.deployment.parameters import survey_parameters
    >>> survey = Survey("s", 10, (Categorical("q", (Level("only", 1.0, item_count=3),)),))
    >>> parameters, place = survey_parameters(plan_survey(survey)), TemporaryDirectory()
    >>> inbox = Inbox(Path(place.name), parameters)
    >>> line = Client(parameters.document).report("q", 0).to_json().encode() + b"\n"
    >>> inbox.add([[inbox.read(line, "the line")]] * 2)  # kept once
    ['', '']
    >>> inbox.close()
    >>> [path.read_bytes() == line for path in Path(place.name).glob("*.jsonl")]
    [True]
    >>> place.cleanup()
    """

    def __init__(
        self, folder: Path, parameters: Parameters, sealed_bytes: int = SEALED_BYTES
    ) -> None:
        self._folder = folder
        self._most = sealed_bytes
        self._path = folder / OPEN_FOLDER / f"{parameters.hash[:16]}.sqlite"
        self.expected = Expected.of(parameters)
        self._folders = self.expected.of_folders(folder.resolve() / "file")
        self._counters: dict[Key, Counter] = {}
        self._tried: dict[Key, Counter] = {}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(
                self._path, timeout=1.0, isolation_level=None, check_same_thread=False
            )
        except (OSError, sqlite3.Error) as error:
            reason = f"cannot be written: {error}"
            raise FileError(
                folder, reason, "Choose a folder that you may write to."
            ) from error
        with naming_database(self._path, self._damaged):
            self._database.executescript(_INBOX_TABLES)
            lines = self._waiting()
        self._bytes = sum(map(len, lines))
        self._count(
            [self.read(line, "a line in the database") for line in lines],
            self._counters,
        )
        self.seal()  # also what was killed while it wrote a file

    def read(self, line: bytes, where: str) -> Received:
        """A line with its end, if a client of these parameters may have written it.

        Raises
        ------
        InputError
            It is none; ``where`` is named.
        """
        return self.expected.read(line.removesuffix(b"\n"), where, self._folders)

    def add(self, bodies: Sequence[Sequence[Received]]) -> list[str]:
        """Keep the reports of each body, all or none; empty, or why none. Durable on return.

        Raises
        ------
        FileError
            Nothing can be written; then none is kept.
        """
        reasons = self._impossible(bodies)
        new = list[Received]()
        with self._changing():
            for place, body in enumerate(bodies):
                reasons[place] = reasons[place] or self._kept(body, new)
        self._count(new, self._counters)
        self._bytes += sum(len(one.line) for one in new)
        if self._bytes >= self._most:
            with suppress(FileError):  # they are on disk; the next report tries again
                self.seal()
        return reasons

    def _impossible(self, bodies: Sequence[Sequence[Received]]) -> list[str]:
        """Of each whether no client makes a report of it, which would cost the others of a file."""
        try:
            self._count([one for body in bodies for one in body], self._tried)
        except InputError as error:
            if len(bodies) == 1:
                return [error.reason]
            return [reason for body in bodies for reason in self._impossible([body])]
        return [""] * len(bodies)

    def _kept(self, body: Sequence[Received], new: list[Received]) -> str:
        missing: dict[int, Received] = {}
        for one in body:
            number = int(one.report.report_id, 16) - 2**63  # SQLite's have a sign
            known = [(missing[number].mark[ID_SIZE:],)] if number in missing else []
            known = known or self._ask("SELECT content FROM known WHERE id = ?", number)
            if known and known[0][0] != one.mark[ID_SIZE:]:
                return f"the id {one.report.report_id} is that of another report"
            if not known:
                missing[number] = one
        for number, one in missing.items():
            self._ask("INSERT INTO known VALUES (?, ?)", number, one.mark[ID_SIZE:])
            self._ask("INSERT INTO waiting VALUES (?, ?)", number, one.line)
        new += missing.values()
        return ""

    def seal(self) -> None:
        """Make what waits a file, if anything does.

        Raises
        ------
        FileError
            It cannot be written; what waits goes on to wait.
        """
        sums = self.sums()
        with self._changing():
            content = b"".join(self._waiting())
            if not content:
                return
            number = self._ask("PRAGMA user_version")[0][0] + 1
            name = f"received-{self.expected.parameters[:8]}"
            while (path := self._folder / f"{name}-{number:06}.jsonl").exists():
                if (
                    path.read_bytes() == content
                ):  # written by one that was killed at once
                    break
                number += 1
            else:
                replace_file(path, content)
            for (question, round_number), one in sums.items():
                row = (
                    question,
                    round_number or 0,
                    one.users,
                    one.counts.astype("<i8").tobytes(),
                )
                self._ask("INSERT OR REPLACE INTO counted VALUES (?, ?, ?, ?)", *row)
            self._ask("DELETE FROM waiting")
            self._ask(f"PRAGMA user_version = {number}")
        self._counters = {}
        self._bytes = 0

    def sums(self) -> dict[Key, Aggregate]:
        """Counts of all reports so far, by question and round."""
        with naming_database(self._path, self._damaged):
            rows = self._ask("SELECT * FROM counted")
        found = {
            (question, number or None): Aggregate(users, np.frombuffer(counts, "<i8"))
            for question, number, users, counts in rows
        }
        return summed([found, {key: one.sums() for key, one in self._counters.items()}])

    def sealed_sums(self) -> dict[Key, Aggregate]:
        """The same, once what waits is a file, if it can be written."""
        with suppress(FileError):
            self.seal()
        return self.sums()

    def close(self) -> None:
        """Make what waits a file, and release the folder."""
        try:
            self.seal()
        finally:
            self._database.close()

    def _waiting(self) -> list[bytes]:
        return [line for (line,) in self._ask("SELECT line FROM waiting ORDER BY id")]

    def _ask(self, words: str, *values: object) -> SqlRows:
        return self._database.execute(words, values).fetchall()

    def _count(self, reports: Sequence[Received], counters: dict[Key, Counter]) -> None:
        by_key: dict[Key, list[bytes]] = {}
        for one in reports:
            by_key.setdefault(one.key, []).append(one.report.payload)
        for key, payloads in by_key.items():
            if key not in counters:
                counters[key] = counter(self.expected.laws[key[0]])
            counters[key].add(rows_of(payloads))

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """All or nothing."""
        with naming_database(self._path, self._damaged):
            self._ask("BEGIN IMMEDIATE")
            try:
                yield
                self._ask("COMMIT")
            finally:
                if self._database.in_transaction:
                    self._ask("ROLLBACK")

    def _damaged(self, what: str) -> FileError:
        remedy = "Restore it, or receive into another folder."
        return FileError(self._path, f"is damaged: {what}", remedy)
