"""Read text with a reason when it cannot be; write files whole or not at all."""

from __future__ import annotations

import csv
import errno
import math
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from planner.errors import FileError
from planner.limits import MEBIBYTE

_MOST_MEBIBYTES = 128
_LONGEST_LINE, _MOST_LINES = 4 * MEBIBYTE, 10_000_000
_MOST_SHOWN = 1_000  # letters of a header, in an error
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
    with _opened(path, mebibytes, remedy) as file:
        return file.read()


@contextmanager
def _opened(path: str | Path, mebibytes: float, remedy: str) -> Iterator[TextIO]:
    """A text file; what is wrong with one that cannot be read is a FileError."""
    path = Path(path)
    try:
        if path.stat().st_size > mebibytes * MEBIBYTE:
            raise FileError(path, f"is larger than {mebibytes:g} MiB", remedy)
        with path.open(encoding="utf-8-sig") as file:
            yield file
    except OSError as error:
        raise unreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise FileError(path, "is not text in UTF-8", "Save it as UTF-8.") from error


def read_lines(path: str | Path) -> Iterator[str]:
    """The lines of a text file, without their ends; one at a time.

    Raises
    ------
    FileError
        As :func:`read_text` does; it has more than 128 MiB or 10 million lines, or one of more
        than 4 MiB.
    """
    with _opened(path, _MOST_MEBIBYTES, "Give a part of it.") as file:
        for number, line in enumerate(iter(lambda: file.readline(_LONGEST_LINE + 1), ""), 1):
            if len(line) > _LONGEST_LINE:
                reason = f"line {number} has more than {_LONGEST_LINE // MEBIBYTE} MiB"
                raise FileError(path, reason, "Is it the right file?")
            if number > _MOST_LINES:
                reason = f"has more than {_MOST_LINES:,} lines"
                raise FileError(path, reason, "Give a part of it.")
            yield line.rstrip("\n")


def read_csv(path: str | Path) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """The header of a CSV file, and its rows with the numbers of their lines; cells are stripped.

    Rows are read as they are asked for. A blank line is a row with an empty cell if there is one
    column, as nothing else could stand for a missing answer there; otherwise it is left out.

    Raises
    ------
    FileError
        It cannot be read, is empty, or its quotes do not match: then or when a row is read.
    """
    rows = _rows(path)
    header = next((row for _, row in rows if row), None)
    if header is None:
        raise FileError(path, "is empty", "Give a header and rows.")
    blank = len(header) == 1
    return header, ((line, row or [""]) for line, row in rows if row or blank)


def _rows(path: str | Path) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader((line + "\n" for line in read_lines(path)), strict=True)
    try:
        for row in reader:
            yield reader.line_num, [cell.strip() for cell in row]
    except csv.Error as error:
        raise FileError(path, f"is not CSV: {error}", "Check its quotes.") from error


def read_column(path: str | Path, column: str | None = None) -> Iterator[tuple[int, str]]:
    """The cells of one column of a CSV file, with their lines; without a name, of the only one.

    Raises
    ------
    FileError
        As :func:`read_csv` does; there is no such column, two, no row, or a number for a header.
    """
    header, rows = read_csv(path)
    if column is None and len(header) == 1:
        (column,) = header
        if column.replace(".", "").isdigit():
            reason = f"the first line, {column!r}, is a number and no header"
            raise FileError(path, reason, "Name the column in a line of its own.")
    if column is None or header.count(column) != 1:
        listed = ", ".join(header)[:_MOST_SHOWN]
        raise FileError(path, f"one column {column!r} is needed", f"There are: {listed}.")
    place, row = header.index(column), None
    for line, row in rows:
        yield line, row[place] if len(row) > place else ""
    if row is None:
        raise FileError(path, "there are no rows below the header", "Add a line per person.")


def unreadable(path: str | Path, error: OSError) -> FileError:
    """The error to raise for a file that the system does not let us read."""
    return FileError(path, f"cannot be read: {error.strerror or error}", "Check the path.")


def room_remedy(error: OSError) -> str:
    """What to do about a file that cannot be written."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return "Make room on the disk, and try again."
    if error.errno in {errno.EFBIG, errno.EIO}:
        return "Check the disk, and the limit on the size of files, and try again."
    return "Check that the directory exists and may be written to."


def database_error(path: str | Path, error: Exception) -> FileError | None:
    """The error to raise for a database that is in use, or that the system fails to write.

    ``None`` for any other failure: then what the file holds is not right. Only damage may cost
    a file; what a full disk or another process stopped is whole, and of use again.
    """
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF  # the primary code
    if code in _IN_USE:
        remedy = "Wait for it to end, and try again."
        return FileError(path, "is in use by another process", remedy)
    if code not in _OF_THE_SYSTEM:
        return None
    remedy = f"What was saved is kept. {room_remedy(OSError(_OF_THE_SYSTEM[code], ''))}"
    return FileError(path, f"cannot be written: {error}", remedy)


def replace_file(path: str | Path, content: str | bytes) -> None:
    """Write ``content`` to ``path`` atomically: temporary file, fsync, rename.

    Readers see the old file or the new one, never a part of it.

    Raises
    ------
    FileError
        The path cannot be written; an existing file is left as it was.
    """
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
        sync_directory(path.parent)
    except OSError as error:
        reason = f"cannot be written: {error.strerror or error}"
        raise FileError(path, reason, room_remedy(error)) from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


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
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)  # mkstemp gives mode 0600
    temporary = Path(name)
    try:
        make(temporary)
        with temporary.open("r+b") as file:
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            path.hardlink_to(temporary)
        sync_directory(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def sync_directory(directory: Path) -> None:
    """Make the rename itself durable where the system allows opening a directory."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
