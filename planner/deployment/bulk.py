"""Randomise many answers at once, for pilots and tests: the client's law, drawn in bulk.

Whoever runs this sees the true answers; in a collection only the person's own device does.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Self

import numpy as np

from planner.deployment.client.client import Report
from planner.deployment.collecting.reports import MAX_JSON_BYTES, Key, ReportWriter
from planner.deployment.parameters import Parameters
from planner.errors import FileError, InputError
from planner.files import replace_file, room_remedy, unreadable
from planner.laws.answers import Code
from planner.laws.source import system
from planner.limits import MEBIBYTE
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.counting import Reports
from planner.mechanisms.words import Words, system_words

_BLOCK_BYTES = 32 * MEBIBYTE  # of the reports that are drawn before they are written
_BLOCK = 2**14  # answers at a time


def perturb_file(
    parameters: Parameters,
    data: Path,
    out: Path,
    questions: Sequence[str] = (),
    progress: Callable[[int], None] | None = None,
) -> dict[Path, int]:
    """Randomise the answers of a CSV file and write report files, each in an order of its own.

    Parameters
    ----------
    parameters:
        Verified parameters.
    data:
        CSV with a header; the column of a question is named like it. Item sets are separated by
        ``;`` or written as a JSON list; an empty cell is no answer, no value or no items. Of a
        question that is asked again, the answer is that of every round.
    out:
        ``.parquet`` or ``.jsonl`` if one file results, a directory for several (one for
        each question and round).
    questions:
        The questions to answer; all when empty.
    progress:
        Called with the number of answers done.

    Returns
    -------
    dict
        Number of reports in each file written.

    Raises
    ------
    FileError
        The data cannot be read or hold an answer that is none; the line is named.
        No file is written then.
    """
    names = list(dict.fromkeys(questions)) or [one.name for one in parameters.questions]
    columns = [parameters.question(name) for name in names]
    paths = _paths(out, columns)
    # Every answer is checked before anything is drawn.
    total = sum(len(rows) for rows in read_answers(data, columns))
    if total == 0:
        raise FileError(data, "there are no rows below the header", "Give at least one answer.")
    if len(paths) > 1:
        _make_directory(out)
    written = dict.fromkeys(paths.values(), 0)
    with ExitStack() as stack:
        writers: dict[Key, ReportWriter | _LineWriter] = {}
        for key, path in paths.items():
            size = parameters.question(key[0]).size
            writer: ReportWriter | _LineWriter = _LineWriter(path, parameters.hash, key)
            if path.suffix == ".parquet":
                writer = ReportWriter(path, parameters.hash, key, size)
            stack.enter_context(writer)
            writers[key] = writer
        try:
            drawn = {
                key: stack.enter_context(TemporaryFile(dir=path.parent))
                for key, path in paths.items()
            }
            for block in _randomised(data, columns, progress):
                for key, reports in block.items():
                    drawn[key].write(reports.tobytes())
            for key, path in paths.items():
                for rows in _shuffled(drawn[key], parameters.question(key[0]).size):
                    writers[key].write(rows)
                    written[path] += len(rows)
        except OSError as error:
            reason = f"cannot be written: {error.strerror or error}"
            raise FileError(out, reason, room_remedy(error)) from error
    return written


def _shuffled(file: IO[bytes], size: int) -> Iterator[Reports]:
    """In an order of their own: joined by rows, a person's reports would say who answered what."""
    count = file.tell() // size
    file.flush()
    order = np.argsort(system_words().raw(count))
    step = max(1, _BLOCK_BYTES // size)
    for start in range(0, count, step):
        rows = np.memmap(file, np.uint8, "r", shape=(count, size))
        yield rows[order[start : start + step]]


class _LineWriter:
    """Writes a file of lines, whole or not at all, as :class:`ReportWriter` does Parquet."""

    def __init__(self, path: Path, parameters: str, key: Key) -> None:
        self._path, self._parameters, self._key = path, parameters, key
        self._lines, self._bytes = list[str](), 0

    def __enter__(self) -> Self:
        return self

    def write(self, rows: Reports) -> None:
        for row in rows:
            one = Report(
                self._parameters, self._key[0], row.tobytes(), system(8).hex(), self._key[1]
            )
            self._lines.append(one.to_json() + "\n")
            self._bytes += len(self._lines[-1].encode())
            if self._bytes > MAX_JSON_BYTES:
                reason = f"would have more than {MAX_JSON_BYTES} bytes, which no collector reads"
                raise FileError(self._path, reason, "Write a .parquet file.")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            replace_file(self._path, "".join(self._lines))


def _randomised(
    data: Path, columns: Sequence[CollectedLaw], progress: Callable[[int], None] | None
) -> Iterator[dict[Key, Reports]]:
    """Reports of all columns, a block of people at a time."""
    done = 0
    size = sum(column.size * len(column.rounds) for column in columns)
    step = max(1, _BLOCK_BYTES // size)
    for block in read_answers(data, columns):
        for start in range(0, len(block), step):
            people = block[start : start + step]
            drawn: dict[Key, Reports] = {}
            for column, codes in zip(columns, zip(*people, strict=True), strict=True):
                drawn |= _draw(column, codes)
            yield drawn
            done += len(people)
            if progress is not None:
                progress(done)


def _draw(column: CollectedLaw, codes: Sequence[Code]) -> dict[Key, Reports]:
    if column.again is not None:
        rounds = _draw_rounds(column, codes, system_words())
        return {(column.name, n): rows for n, rows in rounds.items()}
    drawn = column.draw_many(codes, system_words())
    return {(column.name, n): rows for n, rows in zip(column.rounds, drawn, strict=True)}


def _draw_rounds(law: CollectedLaw, codes: Sequence[Code], words: Words) -> dict[int, Reports]:
    """Reports of each round of people whose answers stay; round and value are drawn by lot."""
    assert law.again is not None  # noqa: S101 - for the types
    own = words.below(law.again.parts, len(codes))
    if law.blanks:
        (rows,) = law.draw_many(codes, words)
        active = (own == 0)[:, None]
        lasting = np.hstack([active.astype(np.uint8), rows * active])
        return dict.fromkeys(range(1, law.again.count + 1), lasting)
    parts = [[codes[u] for u in np.flatnonzero(own == n).tolist()] for n in range(law.again.count)]
    return {n: law.draw_many(part, words)[0] for n, part in enumerate(parts, 1) if part}


def _paths(out: Path, columns: Sequence[CollectedLaw]) -> dict[Key, Path]:
    numbered = enumerate(columns, start=1)
    keys = [(i, one.name, number) for i, one in numbered for number in one.rounds]
    if len(keys) == 1:
        if out.suffix not in (".parquet", ".jsonl"):
            raise FileError(out, "ends neither in .parquet nor in .jsonl", "Rename it.")
        return {keys[0][1:]: out}
    if out.suffix:
        remedy = "Give a directory, or one question with --question."
        raise FileError(out, f"is one file, but {len(keys)} are needed", remedy)
    return {
        (name, number): out / f"question-{i}{f'-round-{number}' if number else ''}.parquet"
        for i, name, number in keys
    }


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        remedy = "Choose a directory that you may write to."
        raise FileError(path, f"cannot be made: {error.strerror or error}", remedy) from error


def read_answers(data: Path, columns: Sequence[CollectedLaw]) -> Iterator[list[list[Any]]]:
    """Blocks of rows; each row holds, for each column, its checked answer.

    Raises
    ------
    FileError
        The file cannot be read or holds an answer that is none; the line is named.
    """
    try:
        with data.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.reader(file)
            header = [name.strip() for name in next(rows, [])]
            places = [_place(data, header, column.name) for column in columns]
            # A blank line is one empty cell: a missing answer, if there is one column.
            coded = (_codes(data, rows.line_num, row or [""], places, columns) for row in rows)
            while block := list(islice(coded, _BLOCK)):
                yield block
    except OSError as error:
        raise unreadable(data, error) from error
    except (UnicodeDecodeError, csv.Error) as error:
        remedy = "Save it as CSV in UTF-8."
        raise FileError(data, f"is not CSV in UTF-8: {error}", remedy) from error


def _place(data: Path, header: list[str], name: str) -> int:
    if header.count(name) != 1:
        remedy = "Name the column like the question."
        raise FileError(data, f"one column {name!r} is needed; there are {header}", remedy)
    return header.index(name)


def _codes(
    data: Path, line: int, row: list[str], places: list[int], columns: Sequence[CollectedLaw]
) -> list[Any]:
    if len(row) <= max(places):
        remedy = "Give each question one column, empty where there is no answer."
        raise FileError(data, f"line {line} has too few columns", remedy)
    try:
        return [
            column.asked.code(column.asked.from_text(row[place]))
            for place, column in zip(places, columns, strict=True)
        ]
    except InputError as error:
        raise FileError(data, f"line {line}: {error.reason}", error.remedy) from error
