"""Collect: count any number of report files in bounded memory, and resume where it stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, get_args

from planner.deployment.collecting.checkpoint import Checkpoint
from planner.deployment.collecting.engines import (
    CountedFile,
    Engine,
    FileCount,
    count_file,
    local_engine,
    stamp_of,
)
from planner.deployment.collecting.known_reports import KnownReports
from planner.deployment.collecting.places import (
    LeftOut,
    open_folders,
    report_files,
)
from planner.deployment.collecting.reports import (
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
from planner.mechanisms.counting import Aggregate

# What becomes of reports whose file was counted and is no longer there.
Missing = Literal["refuse", "keep", "drop"]
# Called with the number of files done and of all files.
Progress = Callable[[int, int], object]
# Each saving waits for the disk; what a crash can cost is so many seconds of counting.
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
        names = list(groups)
        position = names.index(variable)
        by_value: dict[str, Sums] = {}
        for value in groups[variable]:
            parts = []
            for group, sums in self.by_group.items():
                if group[position] == value:
                    parts.append(sums)
            if parts:
                by_value[value] = summed(parts)
        return by_value

    @property
    def repeated(self) -> int:
        """How often a report came that was counted already."""
        return sum(file.repeated for file in self.counted)

    @property
    def contradictions(self) -> list[Contradiction]:
        """The reports that were left out of counted files."""
        reports: list[Contradiction] = []
        for file in self.counted:
            reports += file.contradictions
        return reports


def summed(parts: Iterable[Sums]) -> dict[Key, Aggregate]:
    """Counts of several groups together."""
    total: dict[Key, Aggregate] = {}
    for part in parts:
        for key, counts in part.items():
            if key in total:
                counts = total[key] + counts  # noqa: PLW2901 - a sum, not the loop's
            total[key] = counts
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
    no_reports = list(ignored)
    if checkpoint is not None:
        # A checkpoint in a folder of reports would be found as a stray file; SQLite's
        # journal stands beside it while it is written.
        no_reports += [checkpoint, Path(f"{checkpoint}-journal")]
    files, others = report_files(places, no_reports)
    with ExitStack() as stack:
        saved = None
        if checkpoint is not None:
            saved = Checkpoint(checkpoint, parameters.hash)
            stack.enter_context(closing(saved))
        known_reports = stack.enter_context(closing(KnownReports()))
        run = _Run(parameters, saved, known_reports)
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
            # The sums of a file cannot be taken back out by its new content, and
            # counting it again would count its reports twice.
            if file.path in here and stamp_of(file.path) != file.stamp:
                remedy = "Restore the file, or delete the checkpoint to count everything again."
                raise FileError(file.path, "changed after it was counted", remedy)
        gone = [file.path for file in before if file.path not in here]
        # A file that vanished may be a folder that is not mounted: going on in silence
        # would hide that its reports count, or drop them.
        if gone and missing == "refuse":
            remedy = (
                "Restore it; or choose 'drop' for missing files, to take their reports out, or "
                "'keep'; or give another checkpoint, to start anew."
            )
            reason = f"was counted and is missing, as are {len(gone) - 1:,} more files"
            raise FileError(gone[0], reason, remedy)
        if gone and missing == "drop":
            # Files that left reports out because these had them are counted anew, or
            # those reports would be in no sum.
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
        # A Parquet file has no ids of reports. That it is a copy is seen by its number
        # alone.
        first_with = {file.file_id: path for path, file in self._counted.items()}
        uncounted = [path for path in files if path not in self._counted]
        resumed = len(self._counted)
        quarantined = list(others)
        done = len(files) - len(uncounted)
        saved_at = time.monotonic()
        progress(done, len(files))
        for file in engine(uncounted, self._expected):
            reason = file.refused
            if not reason and file.file_id in first_with:
                reason = f"is a copy of {first_with[file.file_id]}, which is counted"
            if not reason:
                # In the order of the files, whatever order an engine finishes them in:
                # which of two contradicting reports counts then is the same in each
                # run.
                reason = self._accept(file)
            if reason:
                quarantined.append((file.path, reason))
            else:
                first_with[file.file_id] = file.path
            done += 1
            progress(done, len(files))
            if time.monotonic() - saved_at >= _SAVE_SECONDS:
                self._save()
                saved_at = time.monotonic()
        # The last files are saved before anything is estimated, so that a failure there
        # costs no counting.
        self._save()
        return Collection(
            by_group=self._sums,
            counted=tuple(self._counted.values()),
            quarantined=tuple(quarantined),
            resumed=resumed,
            dropped=self._dropped,
            crowded=self._crowded(),
        )

    def waiting(self, folders: Sequence[Path]) -> dict[Path, int]:
        """How many readable reports wait in the folders of receivers, and are in no file."""
        counts: dict[Path, int] = {}
        for folder in folders:
            places = self._expected.of_folders(folder)
            # A set of marks: a report sent twice while it waits is one.
            marks = set[bytes]()
            for path in folder.glob("*.slots"):
                with suppress(OSError):  # the receiver has made a file of it
                    for line in Slots.lines(path):
                        with suppress(InputError):
                            read = self._expected.read(line[:-1], "a slot", places)
                            marks.add(read.mark)
            # Between the making of a file and the removal of its slots a report is in
            # both.
            counted = self._known.repeats(b"".join(marks)).known
            if len(marks) > len(counted):
                counts[folder] = len(marks) - len(counted)
        return counts

    def _crowded(self) -> dict[str, int]:
        """The questions that more people answered than were planned, with how many did."""
        users_by_round: dict[str, list[int]] = {}
        for (question, _), sums in summed(self._sums.values()).items():
            users_by_round.setdefault(question, []).append(sums.users)
        crowded = {}
        for name, law in self._expected.laws.items():
            users = users_by_round.get(name, [0])
            # Where each person reports in one round, the rounds have different people.
            if law.again is not None and not law.blanks:
                people = sum(users)
            else:
                # In rounds that everybody reports in, one person gives a report in
                # each: the largest number is that of people.
                people = max(users)
            if people > self._planned:
                crowded[name] = people
        return crowded

    def _accept(self, file: FileCount) -> str:
        """Add a file's reports, less those that another file has, too; or say why not."""
        repeats = self._known.repeats(file.marks)
        new = file
        if repeats.known:
            contradicting = any(repeats.known.values())
            if len(repeats.known) * MARK_SIZE == len(file.marks) and not contradicting:
                first = repeats.files[0]
                return f"holds only reports that are counted already, from {first}"
            # Known reports are left out while the file is read once more: its sums
            # alone do not tell which part of them is whose.
            new = count_file(file.path, self._expected, repeats.known)
            # Between the two readings the file could have been replaced, and its marks
            # would be those of other reports.
            if new.refused or new.file_id != file.file_id:
                return "changed while it was counted"
            new = replace(new, origins=repeats.files)
        self._add(new)
        if self._saved is not None:
            self._unsaved.append(new)
        return ""

    def _add(self, file: FileCount) -> None:
        """Take a file's counts into the sums, and remember its reports."""
        for (key, group), counts in file.sums.items():
            self._sums[group] = summed([self._sums.get(group, {}), {key: counts}])
        self._known.add(file.path, file.marks)
        self._counted[file.path] = file.file

    def _save(self) -> None:
        """Write what was counted since the last time into the checkpoint."""
        if self._saved is not None and self._unsaved:
            self._saved.save(self._unsaved)
            self._unsaved = []


def _with_dependants(gone: Sequence[Path], files: Sequence[CountedFile]) -> list[Path]:
    """These files, and those whose reports were left out for theirs: all are counted again."""
    dropped = set(gone)
    size = 0
    # Those may have others that were left out for theirs: until no more are found.
    while size < len(dropped):
        size = len(dropped)
        for file in files:
            if not dropped.isdisjoint(file.origins):
                dropped.add(file.path)
    return sorted(dropped)
