"""Collect: count any number of report files in bounded memory, and resume where it stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.deployment.collecting.counting.checkpoint import Checkpoint, CountedFile
from planner.deployment.collecting.counting.local import Engine, local_engine
from planner.deployment.collecting.counting.one_file import Expected, FileCount, stamp_of
from planner.deployment.collecting.reports.batch import Key
from planner.deployment.collecting.reports.reading import SUFFIXES
from planner.deployment.parameter_file.parameters import Parameters
from planner.errors import FileError
from planner.mechanisms.aggregate import Aggregate

__all__ = ["Collection", "collect", "report_files"]

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
    """

    sums: dict[Key, Aggregate]
    counted: tuple[CountedFile, ...]
    quarantined: tuple[tuple[Path, str], ...]
    resumed: int

    @property
    def suspicious(self) -> tuple[CountedFile, ...]:
        """Counted files that show signs of poisoning."""
        return tuple(one for one in self.counted if one.signs)


def collect(
    parameters: Parameters,
    places: Sequence[Path],
    *,
    engine: Engine | None = None,
    checkpoint: Path | None = None,
    save_seconds: float = _SAVE_SECONDS,
    progress: Callable[[int, int], None] | None = None,
) -> Collection:
    """Count all report files, each whole or not at all.

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
    save_seconds:
        Least time between two savings.
    progress:
        Called with the number of files done and of all files.

    Raises
    ------
    FileError
        A place cannot be read, the checkpoint cannot be used, or a file changed after
        it was counted.
    """
    files = report_files(places)
    saved = None if checkpoint is None else Checkpoint(checkpoint, parameters.hash)
    try:
        run = _Run(parameters, saved, save_seconds)
        return run.count(files, engine or local_engine, progress or _silent)
    finally:
        if saved is not None:
            saved.close()


def report_files(places: Sequence[Path]) -> list[Path]:
    """Absolute paths of the report files in some places, sorted, none twice.

    Raises
    ------
    FileError
        A place does not exist, is a file that cannot hold reports, or has a name that a
        checkpoint cannot hold.
    """
    found: set[Path] = set()
    for place in places:
        if place.is_dir():
            found |= {path.resolve() for path in place.rglob("*") if _holds_reports(path)}
        elif not place.is_file():
            raise FileError(place, "does not exist", "Check the path.")
        elif place.suffix not in SUFFIXES:
            raise FileError(place, f"is none of {', '.join(SUFFIXES)}", "Check the path.")
        else:
            found.add(place.resolve())
    for path in found:
        _require_unicode(path)
    return sorted(found)


class _Run:
    """One run of a collection: the sums so far, and what has not been saved yet."""

    def __init__(self, parameters: Parameters, saved: Checkpoint | None, seconds: float) -> None:
        self._expected = Expected.of(parameters)
        self._saved = saved
        self._seconds = seconds
        self._before = [] if saved is None else saved.files()
        self._sums = {} if saved is None else saved.sums()
        self._new: list[CountedFile] = []
        self._unsaved = 0

    def count(
        self, files: Sequence[Path], engine: Engine, progress: Callable[[int, int], None]
    ) -> Collection:
        known = {one.path: one for one in self._before}
        owner = {one.file_id: one.path for one in self._before}
        for path in files:
            if path in known and stamp_of(path) != known[path].stamp:
                remedy = "Restore the file, or delete the checkpoint to count everything again."
                raise FileError(path, "changed after it was counted", remedy)
        left = [path for path in files if path not in known]
        done, quarantined = len(files) - len(left), []
        last = time.monotonic()
        progress(done, len(files))
        for one in engine(left, self._expected):
            reason = one.refused
            if not reason and one.file_id in owner:
                reason = f"is a copy of {owner[one.file_id]}, which is counted"
            if reason:
                quarantined.append((one.path, reason))
            else:
                owner[one.file_id] = one.path
                self._add(one)
            done += 1
            progress(done, len(files))
            if time.monotonic() - last >= self._seconds:
                self._save()
                last = time.monotonic()
        self._save()
        counted = (*self._before, *self._new)
        return Collection(self._sums, counted, tuple(quarantined), len(self._before))

    def _add(self, one: FileCount) -> None:
        for key, tally in one.tallies.items():
            before = self._sums.get(key)
            total = tally.aggregate if before is None else before + tally.aggregate
            self._sums[key] = total
        self._new.append(CountedFile(one.path, one.stamp, one.file_id, one.users, one.signs))

    def _save(self) -> None:
        if self._saved is not None and self._unsaved < len(self._new):
            self._saved.save(self._new[self._unsaved :], self._sums)
            self._unsaved = len(self._new)


def _silent(done: int, total: int) -> None:
    """Shows no progress."""
    del done, total


def _require_unicode(path: Path) -> None:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise FileError(ascii(str(path)), "has a name that is not UTF-8", "Rename it.") from None


def _holds_reports(path: Path) -> bool:
    return path.suffix in SUFFIXES and not path.name.startswith(".") and path.is_file()
