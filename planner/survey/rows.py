"""What all readers of tables hand on: rows of text with the numbers of their lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from planner.errors import FileError, InputError
from planner.files import unreadable
from planner.limits import MEBIBYTE

MOST_MEBIBYTES = 1024
"""Of a file, as it is and unpacked."""
GIVE_A_PART = "Give a part of it."
Row = tuple[int, list[str]]
NumberedRows = Iterator[Row]
Reader = Callable[[], NumberedRows]  # reads a file from its beginning


class OpenedFile(NamedTuple):
    """A file whose form is known.

    Attributes
    ----------
    form:
        As what it is read, in words.
    rows:
        Reads all rows, the header first.
    mark:
        What stands between cells of text; empty if it is none.
    value_labels:
        What codes mean where the file says it itself: by the name of the column, by code.
    """

    form: str
    rows: Reader
    mark: str = ""
    value_labels: Mapping[str, Mapping[str, str]] = {}


def counted(number: int, thing: str) -> str:
    """The number of things, in words.

    Examples
    --------
    >>> counted(1, "row"), counted(20_000, "row")
    ('1 row', '20,000 rows')
    """
    if number == 1:
        return f"{number} {thing}"
    return f"{number:,} {thing}s"


def require_size(path: Path, size: int, what: str = "is larger than") -> None:
    """Refuse a file that takes too much, as it is or unpacked."""
    if size > MOST_MEBIBYTES * MEBIBYTE:
        raise FileError(path, f"{what} {MOST_MEBIBYTES} MiB", GIVE_A_PART)


def missing_library(form: str, library: str) -> InputError:
    """The error where a library that reads a form of file is not installed."""
    remedy = "Install it: pip install 'ldp-planner[files]'. Or save the file as CSV."
    return InputError.because("file", f"reading {form} needs {library}", remedy)


@contextmanager
def system_errors(path: Path) -> Iterator[None]:
    """Words what the system says of a file, and of text in an encoding."""
    try:
        yield
    except OSError as error:
        raise unreadable(path, error) from error
    except UnicodeError as error:
        reason = f"is not text in its encoding: {error}"
        remedy = "Save it as UTF-8, or say its encoding."
        raise FileError(path, reason, remedy) from error
