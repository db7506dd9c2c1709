"""A checkpoint: the progress of a collection in a file, which another run goes on from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np

from planner.deployment.client.sealed import Entries, Purpose, Sealed, digest
from planner.deployment.collecting.engines import CountedFile, FileCount
from planner.deployment.collecting.places import place_of
from planner.deployment.collecting.reports import Contradiction
from planner.errors import FileError
from planner.laws.schema import Document
from planner.mechanisms.counting import Aggregate

# Raised when an entry's form changes: an old one is refused, as counting again costs
# time and a misread sum costs the result.
_VERSION = 5
_ELSEWHERE = "Give another path for the checkpoint; what is there is left as it is."
_CHECKPOINT = Purpose(
    "counted",
    "checkpoint",
    "Delete it to count everything again.",
    _ELSEWHERE,
    _ELSEWHERE,
)
# No path has this name, as that would need a path whose SHA-256 digest is all zeros.
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
        # Held from start to end: two collectors that save in turn would each leave out
        # the other's files.
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
            # The lock on the file would otherwise last until the garbage is collected.
            self.close()
            raise

    def close(self) -> None:
        """Release the file."""
        self._sealed.close()

    def files(self) -> list[CountedFile]:
        """The files counted so far, in the order of their paths."""
        with self._sealed.changing() as entries:
            names = set(entries.names()) - {_HEADING}
            files = [count.file for count in _counts(entries, names)]
        return sorted(files, key=lambda file: file.path)

    def contents(self) -> Iterator[FileCount]:
        """The counted files, each with its sums and marks; one at a time is in memory."""
        # Names first, contents one by one: the sums of a large plan times many files do
        # not fit into memory.
        names = [_name(file.path) for file in self.files()]
        with self._sealed.changing() as entries:
            yield from _counts(entries, names)

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


def _counts(entries: Entries, names: Iterable[bytes]) -> Iterator[FileCount]:
    """The entries with these names that are there."""
    for name in names:
        content = entries.get(name)
        if content is not None:
            yield _saved(content)


def _name(path: Path) -> bytes:
    """The name of a file's entry."""
    return digest(str(path).encode())


# An entry is the size of its text in 8 bytes, the text, the sums, and the marks of the reports.
# The text is JSON: what is known of the file, and how many sums there are of which reports.
_SIZE_BYTES = 8
# Eight bytes with a sign, the lowest first, on every machine: a checkpoint may be
# carried on elsewhere.
_SUMS_TYPE = "<i8"


def _packed(file: FileCount) -> bytes:
    """A counted file as an entry."""
    parts = []
    sums = b""
    for (key, group), total in file.sums.items():
        question, number = key
        counts = total.counts.astype(_SUMS_TYPE)
        # The number of sums stands in the text, as they follow each other without a
        # mark between them.
        part = (question, number, group, total.users, counts.size)
        parts.append(part)
        sums += counts.tobytes()
    document = asdict(file.file)
    document["sums"] = parts
    text = json.dumps(document, default=str).encode()  # paths as text
    size = len(text).to_bytes(_SIZE_BYTES, "little")
    return size + text + sums + file.marks


def _saved(content: bytes) -> FileCount:
    """Back from an entry, whose checksum is right."""
    text_size = int.from_bytes(content[:_SIZE_BYTES], "little")
    position = _SIZE_BYTES + text_size
    document: Document = json.loads(content[_SIZE_BYTES:position])
    sums = {}
    for question, number, group, users, size in document.pop("sums"):
        counts = np.frombuffer(content, _SUMS_TYPE, size, offset=position)
        position += counts.nbytes
        key = (question, number)
        sums[key, tuple(group)] = Aggregate(users, counts)
    # JSON knows neither paths nor tuples.
    document["path"] = place_of(document["path"])
    document["stamp"] = tuple(document["stamp"])
    document["origins"] = tuple(map(place_of, document["origins"]))
    contradictions = []
    for path, line, report_id, other in document["contradictions"]:
        contradiction = Contradiction(place_of(path), line, report_id, other)
        contradictions.append(contradiction)
    document["contradictions"] = tuple(contradictions)
    return FileCount(**document, sums=sums, marks=content[position:])
