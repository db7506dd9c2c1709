"""Which files of some places are report files; every other file that is seen is named."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from planner.deployment.collecting.reports.reading import SUFFIXES
from planner.errors import FileError

_ENDINGS = ", ".join(SUFFIXES)


def report_files(
    places: Sequence[Path], ignored: Collection[Path] = ()
) -> tuple[list[Path], list[tuple[Path, str]]]:
    """The report files in some places, and what else is there.

    Links to files and folders are followed.

    Parameters
    ----------
    places:
        Files, or directories, which are searched with all that is below them.
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
    for place in places:
        if not os.path.isdir(place):  # noqa: PTH112 - unlike pathlib it never raises
            _require_report_file(place)
            seen = iter([(place, _why_not(place))])
        else:
            seen = _below(place)
        for path, reason in seen:
            real, name = os.path.realpath(path), _absolute(path)
            if real in skipped:
                continue
            if reason:
                others[name] = reason
            elif real not in files or str(name) == real:
                files[real] = name
    return sorted(files.values()), sorted(others.items())


def _absolute(path: Path) -> Path:
    """Its folder's links are followed, but not its own: its name says what it holds."""
    return Path(os.path.realpath(path.parent)) / path.name


def _require_report_file(place: Path) -> None:
    if not os.path.exists(place):  # noqa: PTH110
        raise FileError(place, "does not exist", "Check the path.")
    if place.suffix.lower() not in SUFFIXES:
        raise FileError(place, f"is none of {_ENDINGS}", "Check the path.")


def _below(place: Path) -> Iterator[tuple[Path, str]]:
    """Every file below a folder and why it holds no reports, if so."""
    visited: set[tuple[int, int]] = set()
    waiting = [place]
    while waiting:
        folder = waiting.pop()
        try:
            status = folder.stat()
            if (status.st_dev, status.st_ino) in visited:  # a link that leads back
                continue
            visited.add((status.st_dev, status.st_ino))
            paths = list(folder.iterdir())
        except OSError as error:
            yield folder, f"cannot be read: {error.strerror or error}"
            continue
        for path in paths:
            if os.path.isdir(path):  # noqa: PTH112
                waiting.append(path)
            else:
                yield path, _why_not(path)


def _why_not(path: Path) -> str:
    """Why a file holds no reports; empty if it may."""
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        return "has a name that is not UTF-8"
    if path.suffix.lower() not in SUFFIXES:
        return f"is none of {_ENDINGS}"
    if path.name.startswith("."):
        return "is hidden"
    if not os.path.isfile(path):  # noqa: PTH113
        there = os.path.exists(path)  # noqa: PTH110
        return "is not a regular file" if there else "cannot be found or read"
    return ""
