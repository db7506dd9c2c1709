"""Where report files are: folders of this machine, an object store, what else pyarrow reads.

Keys and addresses of a store are those of the environment, such as ``AWS_ACCESS_KEY_ID`` and
``AWS_ENDPOINT_URL``; they never stand in a place.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path, PosixPath
from stat import S_IFDIR, S_IFREG
from typing import BinaryIO

from pyarrow import ArrowException, fs

from planner.errors import FileError

REPORT_SUFFIXES = (".parquet", ".jsonl", ".ndjson")
# Of a receiver, below the folder of its files: what is in no file yet.
OPEN_FOLDER = ".receiving"
# A file, and why; it may be none where the file holds reports.
LeftOut = tuple[Path, str]
_ENDINGS = ", ".join(REPORT_SUFFIXES)
_STORE_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/+([^/]+)(.*)", re.DOTALL)


def report_files(
    places: Sequence[Path], ignored: Iterable[Path] = ()
) -> tuple[list[Path], list[LeftOut]]:
    """The report files in some places, and what else is there.

    Links to files and folders are followed.

    Parameters
    ----------
    places:
        Files, or directories, which are searched with all that is below them; also addresses
        such as ``s3://bucket/reports``.
    ignored:
        Files that are known not to be reports, such as the collector's own.

    Returns
    -------
    tuple
        Absolute paths of report files, sorted, none twice; and, also sorted, each other file
        and each folder that cannot be read, with the reason.

    Raises
    ------
    FileError
        A place does not exist, or is a file that cannot hold reports.
    """
    files: dict[str, Path] = {}
    others: dict[Path, str] = {}
    skipped = set(map(os.path.realpath, ignored))
    seen: list[LeftOut] = []
    for folder in places:
        seen += _seen(place_of(folder))
    for path, reason in seen:
        # Its folder's links are followed, but not its own: its name says what it holds.
        real = os.path.realpath(path)
        name = Path(os.path.realpath(path.parent)) / path.name
        # A store has no links to follow, and an address is not a path of this machine.
        if isinstance(path, Stored):
            real = str(path)
            name = path
        if real in skipped:
            continue
        if reason:
            others[name] = reason
        elif real not in files or str(name) == real:
            # A file that is reached twice, by a link and by itself, counts under its
            # own name, whatever order the places have.
            files[real] = name
    return sorted(files.values()), sorted(others.items())


def _seen(root: Path) -> Iterator[LeftOut]:
    """Every file of a place, and why it holds no reports, if so."""
    if isinstance(root, Stored):
        for path in root.below():
            yield path, _why_not(path)
    elif os.path.isdir(root):  # noqa: PTH112 - unlike pathlib it never raises
        # A folder without permission is one that cannot be read, not an end of the
        # collection.
        yield from _below(root)
    elif not os.path.exists(root):  # noqa: PTH110
        raise FileError(root, "does not exist", "Check the path.")
    elif root.suffix.lower() not in REPORT_SUFFIXES:
        raise FileError(root, f"is none of {_ENDINGS}", "Check the path.")
    else:
        yield root, _why_not(root)


def _below(root: Path) -> Iterator[LeftOut]:
    """Every file below a folder and why it holds no reports, if so."""
    visited = set[str]()
    errors = list[OSError]()
    for folder, folders, names in os.walk(
        root, onerror=errors.append, followlinks=True
    ):
        # Links are followed, so that the walk would go round for ever where one leads
        # to a folder above it.
        real = os.path.realpath(folder)
        if real in visited:  # a link that leads back
            folders.clear()
            continue
        visited.add(real)
        if OPEN_FOLDER in folders:  # the walk does not enter what is taken out
            folders.remove(OPEN_FOLDER)
        for name in names:
            path = Path(folder, name)
            yield path, _why_not(path)
    for error in errors:
        yield Path(error.filename), f"cannot be read: {error.strerror or error}"


def open_folders(places: Sequence[Path]) -> list[Path]:
    """Where receivers keep what is in no file yet, in the places or below them."""
    folders = set[Path]()
    for root in map(place_of, places):
        if not isinstance(root, Stored):
            folders.update(root.resolve().rglob(OPEN_FOLDER))
    return sorted(folders)


def _why_not(path: Path) -> str:
    """Why a file holds no reports; empty if it may."""
    # Paths are kept as text in checkpoints and tables, where such a name has no form.
    name = str(path)
    if name != name.encode(errors="ignore").decode():
        return "has a name that is not UTF-8"
    if path.suffix.lower() not in REPORT_SUFFIXES:
        return f"is none of {_ENDINGS}"
    # Programs that copy write hidden files first: what is hidden is often half there.
    if path.name.startswith("."):
        return "is hidden"
    if not isinstance(path, Stored) and not os.path.isfile(path):  # noqa: PTH113
        if os.path.exists(path):  # noqa: PTH110
            return "is not a regular file"
        return "cannot be found or read"
    return ""


def place_of(path: str | Path) -> Path:
    """A path of this machine, or a :class:`Stored` one if it is an address.

    Examples
    --------
    >>> place_of("s3://bucket/reports"), place_of("reports")
    (Stored('s3://bucket/reports'), PosixPath('reports'))
    """
    if _STORE_ADDRESS.fullmatch(str(path)):
        return Stored(path)
    return Path(path)


class Stored(PosixPath):
    """A file or folder in a store, as far as collecting reads it."""

    def __str__(self) -> str:
        scheme, first, rest = self._parts_of()
        return f"{scheme}://{first}{rest}"

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Size, time of change, and whether it is a folder; OSError if it cannot be found."""
        del follow_symlinks
        system, path = self._opened()
        info = system.get_file_info(path)
        if info.type == fs.FileType.NotFound:
            raise FileNotFoundError(2, "does not exist", str(self))
        mode = S_IFDIR
        if info.type == fs.FileType.File:
            mode = S_IFREG
        # Ten values in the order of os.stat_result: the first is the mode, the seventh the size.
        values = [0] * 10
        values[0] = mode
        values[6] = info.size or 0
        return os.stat_result(values, {"st_mtime_ns": info.mtime_ns})

    def open(self, *_: object, **__: object) -> BinaryIO:  # type: ignore[override]
        """The file's bytes, to be read from any position."""
        system, path = self._opened()
        return system.open_input_file(path)

    def below(self) -> Iterator[Path]:
        """All files below a folder; FileError if there is none, or the store does not answer."""
        try:
            if self.is_file():
                yield self
                return
            system, path = self._opened()
            for entry in system.get_file_info(fs.FileSelector(path, recursive=True)):
                if entry.type == fs.FileType.File:
                    yield self / entry.path.removeprefix(path).lstrip("/")
        except (OSError, ArrowException) as error:
            remedy = "Check the address, and the store's keys in the environment."
            raise FileError(self, f"cannot be read: {error}", remedy) from error

    def _parts_of(self) -> tuple[str, str, str]:
        """Scheme, bucket or host, and the path in it."""
        address = _STORE_ADDRESS.fullmatch("/".join(self.parts))
        assert address is not None  # noqa: S101 - of place_of
        return address[1], address[2], address[3]

    def _opened(self) -> tuple[fs.FileSystem, str]:
        """The file system that it is in, and where it is there."""
        scheme, first, rest = self._parts_of()
        # Whatever stands before an @ is a user and a password; places go into
        # checkpoints, tables and messages.
        if "@" in first:
            reason = "has a key in it, which would be shown and kept"
            raise FileError(f"{scheme}://...", reason, "Put keys into the environment.")
        system, base = file_system_of(f"{scheme}://{first}")
        return system, base + rest


# A file system keeps connections open; one for each file would open thousands.
@lru_cache(64)
def file_system_of(root: str) -> tuple[fs.FileSystem, str]:
    """The file system of an address such as ``s3://bucket``, and where it begins there."""
    system, base = fs.FileSystem.from_uri(root)
    return system, base.rstrip("/")
