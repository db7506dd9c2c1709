"""Where commands read from and write to: files, none of them twice, and ``-``."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from planner.errors import FileError, InputError

if TYPE_CHECKING:
    from planner.deployment.parameters import Parameters
    from planner.survey.survey import Survey

DASH = Path("-")
STANDARD_INPUT = "standard input"
_PRINTS_NOTHING: ContextVar[bool] = ContextVar("silent", default=False)
SOON = 1.0  # seconds before a command says what it is doing


# -- input -----------------------------------------------------------------------------------


@cache
def _spool() -> TemporaryDirectory[str]:
    """A folder that is gone when this process ends: tables are read more than once."""
    return TemporaryDirectory()


def spooled(path: Path | None) -> Path | None:
    """The file to read: of ``-`` one that holds the standard input."""
    if path != DASH:
        return path
    # Readers go by how a name ends: JSON lines need their ending, and any other text
    # has none.
    copy = Path(_spool().name, f"{STANDARD_INPUT}.jsonl")
    copy.write_bytes(sys.stdin.buffer.read())
    if not _looks_like_json(copy):
        copy = copy.rename(copy.with_suffix(""))
    return copy


def spooled_all(paths: list[Path] | None) -> list[Path] | None:
    """The files to read of these paths, ``-`` among them."""
    if paths is None:
        return None
    readable = []
    for path in paths:
        copy = spooled(path)
        if path == DASH and copy is not None and not copy.suffix:
            remedy = "Give lines of reports, as perturb --out - writes them."
            raise FileError(STANDARD_INPUT, "has no lines of reports", remedy)
        if copy is not None:
            readable.append(copy)
    return readable


def _looks_like_json(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(64).lstrip()[:1] == b"{"


def without_spool(sentence: str) -> str:
    """A sentence that calls the standard input by its name."""
    if not _spool.cache_info().currsize:
        return sentence
    folder = f"{_spool().name}/"
    return sentence.replace(folder, "").replace(
        f"{STANDARD_INPUT}.jsonl", STANDARD_INPUT
    )


def survey_of(path: Path) -> Survey:
    """The survey of a file, or of the standard input: that names files of this folder."""
    from planner.survey.survey import load_survey, survey_from_text

    if path == DASH:
        text = sys.stdin.buffer.read().decode("utf-8-sig", errors="surrogateescape")
        return survey_from_text(text, STANDARD_INPUT)
    return load_survey(path)


def parameters_of(path: Path) -> Parameters:
    """Read and verify; a survey in place of a parameter file is told so."""
    from planner.deployment.parameters import read_parameters

    if path.suffix.lower() == ".toml":
        remedy = (
            f"Write its parameters first: ldp-planner plan {path} --out params.json"
        )
        raise FileError(path, "is a survey, not a parameter file", remedy)
    return read_parameters(path)


# -- output ----------------------------------------------------------------------------------


def silent() -> bool:
    """Whether nothing is printed but errors and what is asked to be written to ``-``."""
    return _PRINTS_NOTHING.get()


def speak() -> None:
    """Print what a command says: as every command begins."""
    _PRINTS_NOTHING.set(False)


def settle_outputs(
    *paths: Path | None, force: bool, quiet: bool = False, json: bool = False
) -> None:
    """Say where a command writes, before it computes anything.

    Raises
    ------
    FileError
        One exists, and is not to be replaced.
    InputError
        Two documents would go to the standard output.
    """
    given = [path for path in paths if path is not None]
    for path in given:
        exists = path.exists()
        if path.is_dir():  # an empty folder has nothing that could be lost
            exists = any(path.glob("*"))
        if path != DASH and exists and not force:
            remedy = "Write to another file, or replace it with --force."
            raise FileError(path, "exists", remedy)
    if given.count(DASH) + json > 1:
        allowed = "for one document"
        raise InputError("-", "standard output", allowed, "Give the others a file.")
    # A document on the standard output stands there alone: a sentence beside it would
    # break it.
    _PRINTS_NOTHING.set(quiet or DASH in given)


def require_apart(out: Path | None, inputs: Sequence[Path]) -> None:
    """What is written must not replace what is read."""
    for path in inputs:
        # Links, and paths with two dots, may name one file in two ways.
        if out is not None and out.resolve() == path.resolve():
            raise FileError(
                out, "would be replaced, but is read", "Write to another file."
            )


@contextmanager
def destination(path: Path, suffix: str) -> Iterator[Path]:
    """The file to write; what is for ``-`` is printed when it is whole."""
    if path != DASH:
        yield path
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder, f"output{suffix}")
        yield copy
        # What was printed as text goes out before bytes that pass its buffer by.
        sys.stdout.flush()
        sys.stdout.buffer.write(copy.read_bytes())
        sys.stdout.flush()


# -- a sign of life --------------------------------------------------------------------------


@contextmanager
def working(what: str) -> Iterator[None]:
    """Says after a second, on a terminal, what takes so long; gone when it is done."""
    # In a log every second would leave a line.
    if silent() or not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_say_until, args=(done, what), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        # Until the line is wiped: it would else run into what is printed next.
        thread.join()


def _say_until(done: threading.Event, what: str) -> None:
    start = time.monotonic()
    line = ""
    with suppress(OSError, ValueError):  # nobody reads it any more
        while not done.wait(SOON):
            line = f"{what}: {time.monotonic() - start:.0f} s"
            sys.stderr.write(f"\r{line}")
            sys.stderr.flush()
        if line:
            sys.stderr.write("\r" + " " * len(line) + "\r")
            sys.stderr.flush()
