"""Read text with a reason when it cannot be; write files whole or not at all."""

from __future__ import annotations

import errno
import math
import os
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from planner.errors import FileError
from planner.limits import MEBIBYTE

_IN_USE = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_OF_THE_SYSTEM = {
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_READONLY: errno.EACCES,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
    sqlite3.SQLITE_PERM: errno.EACCES,
}


def read_text(
    path: str | Path, mebibytes: float = math.inf, remedy: str = "Is it the right file?"
) -> str:
    """Read a text file in UTF-8; a byte order mark is left out.

    It has at most so many ``mebibytes``; ``remedy`` says what to do about a larger one.

    Raises
    ------
    FileError
        It cannot be read, is larger, or is not text in UTF-8.
    """
    path = Path(path)
    try:
        if path.stat().st_size > mebibytes * MEBIBYTE:
            raise FileError(path, f"is larger than {mebibytes:g} MiB", remedy)
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise unreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise FileError(path, "is not text in UTF-8", "Save it as UTF-8.") from error


def unreadable(path: str | Path, error: OSError) -> FileError:
    """The error to raise for a file that the system does not let us read."""
    return FileError(
        path, f"cannot be read: {error.strerror or error}", "Check the path."
    )


def unwritable(path: str | Path, error: OSError) -> FileError:
    """The error to raise for a file that the system does not let us write."""
    return FileError(
        path, f"cannot be written: {error.strerror or error}", room_remedy(error)
    )


def room_remedy(error: OSError) -> str:
    """What to do about a file that cannot be written."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return "Make room on the disk, and try again."
    if error.errno in {errno.EFBIG, errno.EIO}:
        return "Check the disk, and the limit on the size of files, and try again."
    return "Check that the directory exists and may be written to."


@contextmanager
def naming_database(
    path: str | Path, damaged: Callable[[str], FileError]
) -> Iterator[None]:
    """Names the file in whatever goes wrong with a database.

    Only damage, of which ``damaged`` makes the error, may cost a file; what a full disk or another
    process stopped is whole, and of use again.
    """
    try:
        yield
    except (sqlite3.Error, UnicodeError, OverflowError, MemoryError) as error:
        code = (
            getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        )  # the primary code
        made = damaged(str(error))
        if code in _IN_USE:
            remedy = "Wait for it to end, and try again."
            made = FileError(path, "is in use by another process", remedy)
        elif code in _OF_THE_SYSTEM:
            remedy = f"What was saved is kept. {room_remedy(OSError(_OF_THE_SYSTEM[code], ''))}"
            made = FileError(path, f"cannot be written: {error}", remedy)
        raise made from error


def replace_file(path: str | Path, content: str | bytes) -> None:
    """Write ``content`` to ``path`` atomically: temporary file, fsync, rename.

    Readers see the old file or the new one, never a part of it. ``-`` is the standard output.

    Raises
    ------
    FileError
        The path cannot be written; an existing file is left as it was.
    """
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    if str(path) == "-":
        sys.stdout.flush()  # what was printed before stands before it
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return
    try:
        with _beside(path) as temporary:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.chmod(0o644)
            temporary.replace(path)
    except OSError as error:
        raise unwritable(path, error) from error


def create_once(path: Path, make: Callable[[Path], None]) -> None:
    """Make a file that only its owner may read, whole or not at all; one that exists is left alone.

    ``make`` writes the file under another name in the same directory. Of several processes at
    once one succeeds, and all then see its file.

    Raises
    ------
    OSError
        The directory cannot be written to.
    """
    if path.exists():
        return
    with _beside(path) as temporary:
        make(temporary)
        with temporary.open("r+b") as file:
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            path.hardlink_to(temporary)


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A file of mode 0600 beside one that it is to become; its new name lasts when this ends."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    try:
        yield Path(name)
        sync_directory(path.parent)
    finally:
        Path(name).unlink(missing_ok=True)


def sync_directory(directory: Path) -> None:
    """Make the rename itself durable where the system allows opening a directory."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
