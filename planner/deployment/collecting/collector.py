"""Collect: count any number of report files in bounded memory, and resume where it stopped."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from planner.deployment.client.sealed import Purpose, Sealed, digest
from planner.deployment.collecting.engines import (
    CountedFile,
    Engine,
    FileCount,
    count_file,
    local_engine,
    stamp_of,
)
from planner.deployment.collecting.places import (
    LeftOut,
    open_folders,
    place_of,
    report_files,
)
from planner.deployment.collecting.reports import (
    ID_SIZE,
    MARK_SIZE,
    Contradiction,
    Expected,
    Group,
    Key,
    Sums,
)
from planner.deployment.collecting.slots import Slots
from planner.deployment.parameters import Parameters
from planner.errors import FileError, InputError
from planner.laws.schema import Document
from planner.mechanisms.counting import Aggregate

_VERSION = 5
_ELSEWHERE = "Give another path for the checkpoint; what is there is left as it is."
_CHECKPOINT = Purpose(
    "counted",
    "checkpoint",
    "Delete it to count everything again.",
    _ELSEWHERE,
    _ELSEWHERE,
)
_HEADING = bytes(32)  # the name of what a checkpoint says of itself


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
        self._sealed = Sealed(path, _CHECKPOINT, held=True)
        heading = json.dumps({"version": _VERSION, "parameters": parameters}).encode()
        try:
            with self._sealed.changing() as entries:
                if not entries.names():
                    entries.put(_HEADING, heading)
                elif entries.get(_HEADING) != heading:
                    reason = "is the checkpoint of other parameters, or of an earlier version"
                    raise FileError(path, reason, _ELSEWHERE)
        except FileError:
            self.close()
            raise

    def close(self) -> None:
        """Release the file."""
        self._sealed.close()

    def files(self) -> list[CountedFile]:
        """The files counted so far, in the order of their paths."""
        return sorted((file.file for file in self._each()), key=lambda file: file.path)

    def contents(self) -> Iterator[FileCount]:
        """The same files, each with its sums and marks; one at a time is in memory."""
        return self._each([_name(file.path) for file in self.files()])

    def _each(self, names: Sequence[bytes] | None = None) -> Iterator[FileCount]:
        with self._sealed.changing() as entries:
            listed = set(entries.names()) - {_HEADING} if names is None else names
            yield from (
                _saved(content)
                for content in map(entries.get, listed)
                if content is not None
            )

    def save(self, files: Iterable[FileCount]) -> None:
        """Add files, all or none; durable on return."""
        with self._sealed.changing() as entries:
            for file in files:
                entries.put(_name(file.path), _packed(file))

    def drop(self, paths: Iterable[Path]) -> None:
        """Take files out, all or none; durable on return."""
        with self._sealed.changing() as entries:
            for path in paths:
                entries.put(_name(path), None)


def _name(path: Path) -> bytes:
    return digest(str(path).encode())


def _packed(file: FileCount) -> bytes:
    """What is known of the file, as JSON, then sums, then marks; the size of the first before."""
    parts = [
        (*key, group, total.users, total.counts.size)
        for (key, group), total in file.sums.items()
    ]
    sums = b"".join(
        total.counts.astype("<i8").tobytes() for total in file.sums.values()
    )
    text = json.dumps(
        asdict(file.file) | {"sums": parts}, default=str
    ).encode()  # paths as text
    return len(text).to_bytes(8, "little") + text + sums + file.marks


def _saved(content: bytes) -> FileCount:
    """Back from an entry, whose checksum is right."""
    start = 8 + int.from_bytes(content[:8], "little")
    fields: Document = json.loads(content[8:start])
    parts = fields.pop("sums")
    origins = tuple(map(place_of, fields["origins"]))
    contradictions = tuple(
        Contradiction(place_of(path), line, report_id, other)
        for path, line, report_id, other in fields["contradictions"]
    )
    fields |= {
        "path": place_of(fields["path"]),
        "origins": origins,
        "contradictions": contradictions,
        "stamp": tuple(fields["stamp"]),
    }
    ends = (start + 8 * np.cumsum([0, *(size for *_, size in parts)])).tolist()
    counts = [np.frombuffer(content[i:j], dtype="<i8") for i, j in pairwise(ends)]
    sums = {
        ((question, number), tuple(group)): Aggregate(users, values)
        for (question, number, group, users, _), values in zip(
            parts, counts, strict=True
        )
    }
    return FileCount(**fields, sums=sums, marks=content[ends[-1] :])


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
            rows = self._database.execute(_FIND).fetchall()
            self._database.execute("DELETE FROM new")
        marks_known: dict[bytes, str] = {}
        for report_id, content, file, same in rows:
            marks_known[report_id + content] = "" if same else str(self._files[file])
        numbers = sorted({file for _, _, file, _ in rows})
        return Repeats(marks_known, tuple(self._files[file] for file in numbers))

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
        raise FileError(
            "temporary directory", f"cannot be written: {error}", remedy
        ) from error


# What becomes of reports whose file was counted and is no longer there.
Missing = Literal["refuse", "keep", "drop"]
Progress = Callable[
    [int, int], object
]  # with the number of files done and of all files
_SAVE_SECONDS = 2.0  # at least, between two savings


@dataclass(frozen=True, slots=True)
class Collection:
    """What was counted, and what was not.

    Attributes
    ----------
    by_group:
        Counts by question and round, of each group that reported.
    counted:
        The files that are in the sums.
    quarantined:
        Files left out, each with the reason; they are not touched.
    resumed:
        How many of the counted files an earlier run had counted.
    dropped:
        Files that an earlier run had counted and whose reports were taken out again.
    crowded:
        How many people reported by question, where these are more than were planned.
    waiting:
        How many reports a receiver has acknowledged and not yet made a file of, by its folder.
    """

    by_group: dict[Group, dict[Key, Aggregate]]
    counted: tuple[CountedFile, ...]
    quarantined: tuple[LeftOut, ...]
    resumed: int
    dropped: tuple[Path, ...] = ()
    crowded: Mapping[str, int] = field(default_factory=dict)
    waiting: Mapping[Path, int] = field(default_factory=dict)

    @property
    def sums(self) -> dict[Key, Aggregate]:
        """Counts by question and round, of all groups together."""
        return summed(self.by_group.values())

    def by(self, groups: Mapping[str, Sequence[str]], variable: str) -> dict[str, Sums]:
        """Counts of each value of a known variable that somebody reported of, in their order."""
        position = list(groups).index(variable)
        by_group = self.by_group.items()
        by_value = {
            value: summed(sums for group, sums in by_group if group[position] == value)
            for value in groups[variable]
        }
        return {value: sums for value, sums in by_value.items() if sums}

    @property
    def repeated(self) -> int:
        """How often a report came that was counted already."""
        return sum(file.repeated for file in self.counted)

    @property
    def contradictions(self) -> list[Contradiction]:
        """The reports that were left out of counted files."""
        return [line for file in self.counted for line in file.contradictions]


def summed(parts: Iterable[Sums]) -> dict[Key, Aggregate]:
    """Counts of several groups together."""
    total: dict[Key, Aggregate] = {}
    for part in parts:
        for key, counts in part.items():
            total[key] = total[key] + counts if key in total else counts
    return total


def collect(
    parameters: Parameters,
    places: Sequence[Path],
    *,
    engine: Engine | None = None,
    checkpoint: Path | None = None,
    missing: Missing = "refuse",
    ignored: Sequence[Path] = (),
    progress: Progress = lambda *_: None,
) -> Collection:
    """Count all report files, each whole or not at all, and each report with an id once.

    Parameters
    ----------
    parameters:
        Verified parameters; reports of others are foreign.
    places:
        Files, or directories in which all ``.parquet``, ``.jsonl`` and ``.ndjson`` files count.
    engine:
        How files are counted; :func:`local_engine` when omitted.
    checkpoint:
        Where progress is kept. A run that finds it goes on from there, whatever ended the
        last one, and counts only files that are new.
    missing:
        What becomes of the counts of files that an earlier run had counted and that are not among
        the places any more: ``"refuse"`` to go on, ``"keep"`` them, or ``"drop"`` them.
    ignored:
        Files in the directories that are known not to be reports.
    progress:
        Called after each file.

    Raises
    ------
    FileError
        A place cannot be read, the checkpoint cannot be used, or a file changed, or is missing,
        after it was counted.
    """
    if missing not in get_args(Missing):
        allowed = f"one of {', '.join(get_args(Missing))}"
        raise InputError("missing", missing, allowed, "Choose one of them.")
    ours = [] if checkpoint is None else [checkpoint, Path(f"{checkpoint}-journal")]
    files, others = report_files(places, [*ignored, *ours])
    with ExitStack() as stack:
        saved = None
        if checkpoint is not None:
            saved = stack.enter_context(
                closing(Checkpoint(checkpoint, parameters.hash))
            )
        run = _Run(parameters, saved, stack.enter_context(closing(KnownReports())))
        run.resume(files, missing)
        collection = run.count(files, others, engine or local_engine, progress)
        return replace(collection, waiting=run.waiting(open_folders(places)))


class _Run:
    """One run of a collection: the sums so far, and what has not been saved yet."""

    def __init__(
        self,
        parameters: Parameters,
        saved: Checkpoint | None,
        known_reports: KnownReports,
    ) -> None:
        self._expected = Expected.of(parameters)
        self._planned = parameters.users
        self._saved = saved
        self._known = known_reports
        self._sums: dict[Group, dict[Key, Aggregate]] = {}
        self._counted: dict[Path, CountedFile] = {}
        self._unsaved: list[FileCount] = []
        self._dropped: tuple[Path, ...] = ()

    def resume(self, files: Sequence[Path], missing: Missing) -> None:
        """Take over what an earlier run had counted."""
        if self._saved is None:
            return
        before = self._saved.files()
        here = set(files)
        for file in before:
            if file.path in here and stamp_of(file.path) != file.stamp:
                remedy = "Restore the file, or delete the checkpoint to count everything again."
                raise FileError(file.path, "changed after it was counted", remedy)
        gone = [file.path for file in before if file.path not in here]
        if gone and missing == "refuse":
            remedy = (
                "Restore it; or choose 'drop' for missing files, to take their reports out, or "
                "'keep'; or give another checkpoint, to start anew."
            )
            reason = f"was counted and is missing, as are {len(gone) - 1:,} more files"
            raise FileError(gone[0], reason, remedy)
        if gone and missing == "drop":
            self._saved.drop(_with_dependants(gone, before))
            self._dropped = tuple(gone)
        for saved in self._saved.contents():
            self._add(saved)

    def count(
        self,
        files: Sequence[Path],
        others: list[LeftOut],
        engine: Engine,
        progress: Progress,
    ) -> Collection:
        """Count the files that have not been counted."""
        owner = {file.file_id: path for path, file in self._counted.items()}
        left = [path for path in files if path not in self._counted]
        resumed = len(self._counted)
        quarantined = list(others)
        before = len(files) - len(left)
        last = time.monotonic()
        progress(before, len(files))
        for done, file in enumerate(engine(left, self._expected), before + 1):
            reason = file.refused
            if not reason and file.file_id in owner:
                reason = f"is a copy of {owner[file.file_id]}, which is counted"
            if reason := reason or self._accept(file):
                quarantined.append((file.path, reason))
            else:
                owner[file.file_id] = file.path
            progress(done, len(files))
            if time.monotonic() - last >= _SAVE_SECONDS:
                self._save()
                last = time.monotonic()
        self._save()
        counted = tuple(self._counted.values())
        left_out = tuple(quarantined)
        crowded = self._crowded()
        return Collection(
            self._sums, counted, left_out, resumed, self._dropped, crowded
        )

    def waiting(self, folders: Sequence[Path]) -> dict[Path, int]:
        """How many readable reports wait in the folders of receivers, and are in no file."""
        counts: dict[Path, int] = {}
        for folder in folders:
            places = self._expected.of_folders(folder)
            marks = set[bytes]()
            for path in folder.glob("*.slots"):
                with suppress(OSError):  # the receiver has made a file of it
                    for line in Slots.lines(path):
                        with suppress(InputError):
                            read = self._expected.read(line[:-1], "a slot", places)
                            marks.add(read.mark)
            count = len(marks) - len(self._known.repeats(b"".join(marks)).known)
            if count:
                counts[folder] = count
        return counts

    def _crowded(self) -> dict[str, int]:
        """People are those of all rounds together if each reports in one, else of the fullest."""
        people = {}
        total = summed(self._sums.values())
        for name, law in self._expected.laws.items():
            users = [
                sums.users for (question, _), sums in total.items() if question == name
            ]
            apart = law.again is not None and not law.blanks
            people[name] = sum(users) if apart else max(users, default=0)
        return {name: n for name, n in people.items() if n > self._planned}

    def _accept(self, file: FileCount) -> str:
        """Add a file's reports, less those that another file has, too; or say why not."""
        repeats = self._known.repeats(file.marks)
        new = file
        if repeats.known:
            contradicting = any(repeats.known.values())
            if len(repeats.known) * MARK_SIZE == len(file.marks) and not contradicting:
                first = repeats.files[0]
                return f"holds only reports that are counted already, from {first}"
            new = count_file(file.path, self._expected, repeats.known)
            if new.refused or new.file_id != file.file_id:
                return "changed while it was counted"
            new = replace(new, origins=repeats.files)
        self._add(new)
        if self._saved is not None:
            self._unsaved.append(new)
        return ""

    def _add(self, file: FileCount) -> None:
        for (key, group), counts in file.sums.items():
            self._sums[group] = summed([self._sums.get(group, {}), {key: counts}])
        self._known.add(file.path, file.marks)
        self._counted[file.path] = file.file

    def _save(self) -> None:
        if self._saved is not None and self._unsaved:
            self._saved.save(self._unsaved)
            self._unsaved = []


def _with_dependants(gone: Sequence[Path], files: Sequence[CountedFile]) -> list[Path]:
    """With the files whose reports were left out for theirs: these are counted again."""
    dropped = set(gone)
    size = 0
    while size < len(dropped):
        size = len(dropped)
        dropped |= {file.path for file in files if not dropped.isdisjoint(file.origins)}
    return sorted(dropped)
