"""Reports on their way to files: on disk before they are acknowledged, in one file each at last.

Nothing tells who sent one or when. Until a file is made of them, lines lie in slots drawn at
random (:mod:`~planner.deployment.collecting.slots`); a file has them in the order of their random
ids; the database learns of ids when a file is made, all of them at once and in that order.
"""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
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
from planner.deployment.collecting.slots import Slots, say_the_day
from planner.deployment.parameters import Parameters
from planner.errors import FileError, InputError
from planner.files import naming_database, replace_file, sync_directory
from planner.limits import MEBIBYTE
from planner.mechanisms.counting import Aggregate, Counter

# Reports that wait in slots become a file once they may be as many bytes.
SEALED_BYTES = 16 * MEBIBYTE
# Lines are matched as bytes, as a write that was cut off may end in half a letter of
# UTF-8, which no decoder takes.
# The id of a whole line; no question's name has such a text, as its quotes are escaped.
_LINE_ID = re.compile(rb'\{"parameters":.*?"id":"([0-9a-f]{16})"')
# Exclusive locking refuses a second receiver. The journal is deleted after each change:
# a write-ahead log would keep the ids in the order in which their reports came.
# The ids are the primary key, so that the table's pages are in the order of ids, which
# are random, and not in that of arrival.
_INBOX_TABLES = """
PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL;
BEGIN EXCLUSIVE;
CREATE TABLE IF NOT EXISTS known (id INTEGER PRIMARY KEY, content BLOB);
CREATE TABLE IF NOT EXISTS sealed (slots TEXT PRIMARY KEY, file TEXT);
CREATE TABLE IF NOT EXISTS counted (question, round, users, counts, UNIQUE (question, round));
COMMIT;
"""


class Inbox:
    r"""Reports on disk: those that wait in slots, and files of lines that are whole for good.

    A report is known by its id for ever. What waits becomes a file in three steps, each of
    which can be done again after the process was killed or the disk was full:

    1. The database takes in, at once, the ids, the counts, and the name of the file to be.
    2. The file is written from the slots, of those lines whose ids the database knows.
    3. The slots are removed.

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
        self._file_prefix = f"received-{parameters.hash[:8]}-"
        # The name has the parameters' hash: two collections in one folder never share
        # their known ids or counts.
        self._path = folder / OPEN_FOLDER / f"{parameters.hash[:16]}.sqlite"
        self.expected = Expected.of(parameters)
        self._folders = self.expected.of_folders(folder.resolve() / "file")
        # All slots are as long as the longest line that can come, so that what a slot
        # holds does not decide where it may lie.
        self._slot_size = self.expected.longest_stored
        self._slot_count = max(1, sealed_bytes // self._slot_size)
        self._counters: dict[Key, Counter] = {}
        self._tried: dict[Key, Counter] = {}
        self._waiting: dict[int, bytes] = {}  # what each id's report says, as a digest
        self._slots: Slots | None = None
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            for directory in (folder, folder.absolute().parent):
                sync_directory(directory)  # the names of new folders last, too
            # Writes go through the single thread of the receiver, which is not the one
            # that opened the database.
            self._database = sqlite3.connect(
                self._path, timeout=1.0, isolation_level=None, check_same_thread=False
            )
        except (OSError, sqlite3.Error) as error:
            reason = f"cannot be written: {error}"
            remedy = "Choose a folder that you may write to."
            raise FileError(folder, reason, remedy) from error
        with naming_database(self._path, self._damaged):
            self._database.executescript(_INBOX_TABLES)
        # Files that a killed receiver owed are written first: what waits is judged by
        # the ids that these have made known.
        self._finish()
        self._resume()

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
            Nothing can be written. Of these reports some may be kept; sent again they are known.
        """
        # Reports that no client can make are found before anything is written, as a
        # line that cannot be counted would cost a whole file later.
        reasons = self._impossible(bodies)
        unsynced: dict[int, Received] = {}
        try:
            for position, body in enumerate(bodies):
                if reasons[position]:
                    continue
                new, reasons[position] = self._new_of(body, unsynced)
                for number, received in new.items():
                    self._put(received, unsynced)
                    # Known from here on, so that the same report twice in one group of
                    # requests is written once; it is acknowledged only after the sync.
                    unsynced[number] = received
        except FileError:
            # The others of the group may be on the disk already. Made durable and
            # counted, they are known when their senders try again.
            with suppress(FileError):
                self._sync(unsynced)
            raise
        self._sync(unsynced)
        return reasons

    def _put(self, received: Received, unsynced: dict[int, Received]) -> None:
        """Write a line into a slot; if none is free, make a file of what waits."""
        if self._slots is not None and self._slots.free == 0:
            self._sync(unsynced)
            self.seal()
        if self._slots is None:
            self._slots = self._new_slots()
        self._slots.put(received.line)

    def _sync(self, unsynced: dict[int, Received]) -> None:
        """Make durable what was put, and count it."""
        if self._slots is not None and unsynced:
            # Counted after the sync alone: a sum that includes a report that the disk
            # lost would never be right again.
            self._slots.sync()
            self._count(list(unsynced.values()), self._counters)
            for number, received in unsynced.items():
                self._waiting[number] = _content(received)
            unsynced.clear()

    def _impossible(self, bodies: Sequence[Sequence[Received]]) -> list[str]:
        """Why no client makes such a report, for each of the bodies; empty where one does."""
        reports: list[Received] = []
        for body in bodies:
            reports += body
        try:
            # All at once, which is fast; one by one if there is a wrong one among them.
            self._count(reports, self._tried)
        except InputError as error:
            if len(bodies) == 1:
                return [error.reason]
            reasons: list[str] = []
            for body in bodies:
                reasons += self._impossible([body])
            return reasons
        return [""] * len(bodies)

    def _new_of(
        self, body: Sequence[Received], unsynced: dict[int, Received]
    ) -> tuple[dict[int, Received], str]:
        """The reports of a body that are not known yet; or none, and why."""
        new: dict[int, Received] = {}
        for received in body:
            number = _number(received)
            # The id may stand in this body already, or in one whose lines are written
            # and not synced yet.
            written = new.get(number) or unsynced.get(number)
            if written is None:
                known_content = self._known(number)
            else:
                known_content = _content(written)
            if known_content is None:
                new[number] = received
            # The same id with other content is an attack or a broken client. Which one
            # is right cannot be known, so that the first stays.
            elif known_content != _content(received):
                report_id = received.report.report_id
                return {}, f"the id {report_id} is that of another report"
        return new, ""

    def seal(self) -> None:
        """Make what waits a file, if anything does.

        Raises
        ------
        FileError
            It cannot be written; what waits goes on to wait.
        """
        self._finish()  # what a full disk has stopped before
        if self._slots is None or not self._waiting:
            return
        # The sums include the reports that wait now; they replace the old ones in the
        # same transaction that makes the ids known.
        sums = self.sums()
        # By id, as the order in which rows are inserted shows in how the table's pages
        # were filled and split.
        rows = sorted(self._waiting.items())
        with self._changing():
            self._database.executemany("INSERT INTO known VALUES (?, ?)", rows)
            for (question, round_number), total in sums.items():
                counts = total.counts.astype("<i8").tobytes()
                self._ask(
                    "INSERT OR REPLACE INTO counted VALUES (?, ?, ?, ?)",
                    question,
                    # A round of none is 0, as SQL takes two NULLs for different values
                    # and its unique key would not hold.
                    round_number or 0,
                    total.users,
                    counts,
                )
            slots_name = self._slots.path.name
            # From the commit on, the file is owed: whatever stops the process, the next
            # start writes it from the slots.
            self._ask("INSERT INTO sealed VALUES (?, ?)", slots_name, self._free_name())
        sealed = self._waiting
        self._slots.close()
        self._slots = None
        self._waiting = {}
        self._counters = {}
        with suppress(FileError):  # no room for the file; its lines are in their slots
            self._finish(sealed)

    def _finish(self, sealed: Mapping[int, bytes] | None = None) -> None:
        """Write the files of which the database knows, and remove their slots.

        What the database has just taken in is ``sealed``: it need not be asked for it again.
        """
        with naming_database(self._path, self._damaged):
            unfinished = self._ask("SELECT slots, file FROM sealed")
        for slots_name, file_name in unfinished:
            slots = self._path.parent / slots_name
            path = self._folder / file_name
            if slots.exists():
                # A file that is there is whole, as it is renamed into place; only the
                # removal of its slots is left to do.
                if not path.exists():
                    self._write(path, slots, sealed or {})
                slots.unlink()
                # The removal is made durable before the database forgets it: otherwise
                # slots that come back after a crash would be taken for ones that wait.
                sync_directory(slots.parent)
            with self._changing():
                self._ask("DELETE FROM sealed WHERE slots = ?", slots_name)
        self._say_the_day()

    def _write(self, path: Path, slots: Path, sealed: Mapping[int, bytes]) -> None:
        """The file of those lines in the slots that the database knows, by their ids."""
        by_number: dict[int, bytes] = {}
        for line in Slots.lines(slots):
            named = _LINE_ID.match(line)
            if named is None:  # the end of a line whose writing was cut off
                continue
            number = _as_signed(named[1])
            content = sealed.get(number) or self._known(number)
            if content is None:  # it was not acknowledged
                continue
            other = by_number.setdefault(number, line)
            if other != line:  # one of them was not acknowledged
                by_number[number] = self._saying(content, (other, line))
        # In the order of their random ids, so that a line's place says nothing of when
        # it came.
        lines = [by_number[number] for number in sorted(by_number)]
        replace_file(path, b"".join(lines))
        say_the_day(path)

    def _saying(self, content: bytes, lines: Sequence[bytes]) -> bytes:
        """The line of this content; the first if none can be read."""
        for line in lines:
            with suppress(InputError):
                if _content(self.read(line, "a slot")) == content:
                    return line
        return lines[0]

    def _resume(self) -> None:
        """Take over what waits in slots since a receiver was killed."""
        for leftover in self._folder.glob(f".{self._file_prefix}*"):
            leftover.unlink()  # of a file that was not finished
        for leftover in self._path.parent.glob("*.new"):
            leftover.unlink()  # of slots that were not
        paths = list(self._path.parent.glob(f"{self._path.stem}-*.slots"))
        if len(paths) > 1:
            # All files that were owed are written by now, so that one file of slots
            # waits at most. With two, files were copied here from elsewhere.
            raise self._damaged("more than one file of slots waits")
        for path in paths:
            self._slots = Slots(path, self._slot_size, self._slot_count)
            waiting: dict[int, Received] = {}
            for received in self._readable(path):
                number = _number(received)
                # A known id is in a file already: the receiver was killed between the
                # commit and the removal of the slots.
                if self._known(number) is None:
                    waiting[number] = received
                    self._waiting[number] = _content(received)
            self._count(list(waiting.values()), self._counters)

    def _readable(self, slots: Path) -> Iterator[Received]:
        """The reports in slots; a write that was cut off left none, and was not acknowledged."""
        for line in Slots.lines(slots):
            with suppress(InputError):
                yield self.read(line, "a slot")

    def _new_slots(self) -> Slots:
        """A file of empty slots, under a name that no other has had."""
        with self._changing():
            # SQLite keeps this number in its header for applications; it rises with
            # each file of slots, so that no name comes twice.
            number = self._ask("PRAGMA user_version")[0][0] + 1
            self._ask(f"PRAGMA user_version = {number}")
        path = self._path.with_name(f"{self._path.stem}-{number:06}.slots")
        slots = Slots(path, self._slot_size, self._slot_count)
        self._say_the_day()
        return slots

    def _free_name(self) -> str:
        """A file name that is neither there nor in work; folders are used again."""
        number = self._ask("PRAGMA user_version")[0][0]
        while True:
            name = f"{self._file_prefix}{number:06}.jsonl"
            if not (self._folder / name).exists():
                return name
            number += 1

    def sums(self) -> dict[Key, Aggregate]:
        """Counts of all reports so far, by question and round."""
        with naming_database(self._path, self._damaged):
            rows = self._ask("SELECT * FROM counted")
        sealed: dict[Key, Aggregate] = {}
        for question, number, users, counts in rows:
            # A table's key has no NULL: 0 is of no rounds.
            key = (question, number or None)
            sealed[key] = Aggregate(users, np.frombuffer(counts, "<i8"))
        waiting = {}
        for key, counting in self._counters.items():
            waiting[key] = counting.sums()
        return summed([sealed, waiting])

    def close(self) -> None:
        """Make what waits a file, and release the folder."""
        try:
            self.seal()
            self._finish()
            # Empty slots tell nothing, and the next receiver makes new ones.
            if self._slots is not None:
                self._slots.path.unlink()
        finally:
            self.release()

    def release(self) -> None:
        """Release the folder; what waits goes on to wait."""
        if self._slots is not None:
            self._slots.close()
            self._slots = None
        self._database.close()
        self._say_the_day()

    def _say_the_day(self) -> None:
        """Files' times tell no more than the day in which something came."""
        for path in self._path.parent.iterdir():
            say_the_day(path)
        say_the_day(self._path.parent)
        say_the_day(self._folder)

    def _known(self, number: int) -> bytes | None:
        """The digest of what the report of an id says, if it is kept."""
        if number in self._waiting:
            return self._waiting[number]
        with naming_database(self._path, self._damaged):
            rows = self._ask("SELECT content FROM known WHERE id = ?", number)
        if not rows:
            return None
        content: bytes = rows[0][0]
        return content

    def _ask(self, words: str, *values: object) -> SqlRows:
        """All rows with which the database answers a statement."""
        return self._database.execute(words, values).fetchall()

    def _count(self, reports: Sequence[Received], counters: dict[Key, Counter]) -> None:
        """Add reports to the counters of their questions and rounds, which are made if needed."""
        payloads_of = defaultdict[Key, list[bytes]](list)
        for received in reports:
            payloads_of[received.key].append(received.report.payload)
        for key, payloads in payloads_of.items():
            if key not in counters:
                question, _ = key
                law = self.expected.laws[question]
                counters[key] = counter(law)
            counters[key].add(rows_of(payloads))

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """What is done to the database takes place whole, or is undone by an error."""
        with naming_database(self._path, self._damaged):
            self._ask("BEGIN IMMEDIATE")
            try:
                yield
                self._ask("COMMIT")
            finally:
                # An error of the commit itself leaves the transaction open, and the
                # next change would be refused.
                if self._database.in_transaction:
                    self._ask("ROLLBACK")

    def _damaged(self, what: str) -> FileError:
        """The error for a database that is not as it was left."""
        remedy = "Restore it, or receive into another folder."
        return FileError(self._path, f"is damaged: {what}", remedy)


def _content(received: Received) -> bytes:
    """The digest of all that a report says."""
    return received.mark[ID_SIZE:]


def _number(received: Received) -> int:
    """A report's id as a number of SQLite."""
    return _as_signed(received.report.report_id)


def _as_signed(report_id: str | bytes) -> int:
    """An id, 64 random bits without a sign, as SQLite has integers, with one: less ``2^63``."""
    return int(report_id, 16) - 2**63
