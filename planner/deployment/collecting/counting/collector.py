"""Collect: count any number of report files in bounded memory, and resume where it stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from planner.deployment.collecting.counting.checkpoint import Checkpoint, CountedFile, Saved
from planner.deployment.collecting.counting.known_reports import KnownReports
from planner.deployment.collecting.counting.local import Engine, local_engine
from planner.deployment.collecting.counting.one_file import (
    Expected,
    FileCount,
    count_file,
    stamp_of,
)
from planner.deployment.collecting.counting.places import report_files
from planner.deployment.collecting.reports.batch import MARK_SIZE, Key
from planner.deployment.parameter_file.parameters import Parameters
from planner.errors import FileError, InputError
from planner.mechanisms.aggregate import Aggregate

Missing = Literal["refuse", "keep", "drop"]
"""What becomes of reports whose file was counted and is no longer there."""
MISSING: dict[str, Missing] = {choice: choice for choice in get_args(Missing)}
_SAVE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Collection:
    """What was counted, and what was not.

    Attributes
    ----------
    sums:
        Counts by question and round.
    counted:
        The files that are in the sums.
    quarantined:
        Files left out, each with the reason; they are not touched.
    resumed:
        How many of the counted files an earlier run had counted.
    dropped:
        Files that an earlier run had counted and whose reports were taken out again.
    """

    sums: dict[Key, Aggregate]
    counted: tuple[CountedFile, ...]
    quarantined: tuple[tuple[Path, str], ...]
    resumed: int
    dropped: tuple[Path, ...] = ()

    @property
    def repeated(self) -> int:
        """How many reports came in more than one file; each is counted once."""
        return sum(one.repeated for one in self.counted)


def collect(  # noqa: PLR0913 - each is a choice of the caller
    parameters: Parameters,
    places: Sequence[Path],
    *,
    engine: Engine | None = None,
    checkpoint: Path | None = None,
    missing: Missing = "refuse",
    ignored: Sequence[Path] = (),
    save_seconds: float = _SAVE_SECONDS,
    progress: Callable[[int, int], None] | None = None,
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
    save_seconds:
        Least time between two savings.
    progress:
        Called with the number of files done and of all files.

    Raises
    ------
    FileError
        A place cannot be read, the checkpoint cannot be used, or a file changed, or is missing,
        after it was counted.
    """
    if missing not in MISSING:
        raise InputError("missing", missing, f"one of {', '.join(MISSING)}", "Choose one of them.")
    ours = [] if checkpoint is None else [checkpoint, Path(f"{checkpoint}-journal")]
    files, others = report_files(places, [*ignored, *ours])
    saved = None if checkpoint is None else Checkpoint(checkpoint, parameters.hash)
    known = KnownReports()
    try:
        run = _Run(parameters, saved, known, save_seconds)
        run.resume(files, missing)
        return run.count(files, others, engine or local_engine, progress or _silent)
    finally:
        known.close()
        if saved is not None:
            saved.close()


class _Run:
    """One run of a collection: the sums so far, and what has not been saved yet."""

    def __init__(
        self, parameters: Parameters, saved: Checkpoint | None, known: KnownReports, seconds: float
    ) -> None:
        self._expected = Expected.of(parameters)
        self._saved = saved
        self._known = known
        self._seconds = seconds
        self._sums: dict[Key, Aggregate] = {}
        self._counted: dict[Path, CountedFile] = {}
        self._unsaved: list[Saved] = []
        self._dropped: tuple[Path, ...] = ()

    def resume(self, files: Sequence[Path], missing: Missing) -> None:
        """Take over what an earlier run had counted."""
        if self._saved is None:
            return
        before, here = self._saved.files(), set(files)
        for one in before:
            if one.path in here and stamp_of(one.path) != one.stamp:
                remedy = "Restore the file, or delete the checkpoint to count everything again."
                raise FileError(one.path, "changed after it was counted", remedy)
        gone = [one.path for one in before if one.path not in here]
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
        others: Sequence[tuple[Path, str]],
        engine: Engine,
        progress: Callable[[int, int], None],
    ) -> Collection:
        """Count the files that have not been counted."""
        owner = {one.file_id: path for path, one in self._counted.items()}
        left = [path for path in files if path not in self._counted]
        resumed, quarantined = len(self._counted), list(others)
        done, last = len(files) - len(left), time.monotonic()
        progress(done, len(files))
        for one in engine(left, self._expected):
            reason = one.refused
            if not reason and one.file_id in owner:
                reason = f"is a copy of {owner[one.file_id]}, which is counted"
            if not reason:
                reason = self._accept(one)
            if reason:
                quarantined.append((one.path, reason))
            else:
                owner[one.file_id] = one.path
            done += 1
            progress(done, len(files))
            if time.monotonic() - last >= self._seconds:
                self._save()
                last = time.monotonic()
        self._save()
        counted = tuple(self._counted.values())
        return Collection(self._sums, counted, tuple(quarantined), resumed, self._dropped)

    def _accept(self, one: FileCount) -> str:
        """Add a file's reports, less those that another file has, too; or say why not."""
        repeats = self._known.repeats(one.marks)
        if repeats.contradicted is not None:
            return f"contradicts {repeats.contradicted}: a report of the same id says otherwise"
        if repeats.marks:
            first = repeats.files[0]
            if len(repeats.marks) * MARK_SIZE == len(one.marks):
                return f"holds only reports that are counted already, from {first}"
            whole, one = one, count_file(one.path, self._expected, repeats.marks)
            if one.refused or one.file_id != whole.file_id:
                return "changed while it was counted"
        counted = CountedFile(
            one.path,
            one.stamp,
            one.file_id,
            one.users,
            len(repeats.marks),
            repeats.files,
        )
        new = Saved(counted, one.sums, one.marks)
        self._add(new)
        if self._saved is not None:
            self._unsaved.append(new)
        return ""

    def _add(self, one: Saved) -> None:
        for key, counts in one.sums.items():
            before = self._sums.get(key)
            self._sums[key] = counts if before is None else before + counts
        self._known.add(one.file.path, one.marks)
        self._counted[one.file.path] = one.file

    def _save(self) -> None:
        if self._saved is not None and self._unsaved:
            self._saved.save(self._unsaved)
            self._unsaved = []


def _with_dependants(gone: Sequence[Path], files: Sequence[CountedFile]) -> list[Path]:
    """With the files whose reports were left out for theirs: these are counted again."""
    dropped, size = set(gone), 0
    while size < len(dropped):
        size = len(dropped)
        dropped |= {one.path for one in files if not dropped.isdisjoint(one.origins)}
    return sorted(dropped)


def _silent(done: int, total: int) -> None:
    """Shows no progress."""
    del done, total
