"""Randomise many answers at once, for pilots and tests: the client's law, drawn in bulk.

Whoever runs this sees the true answers; in a collection only the person's own device does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.deployment.answer_file import Column, read_answers
from planner.deployment.client.client import Report
from planner.deployment.client.drawing.encoders import SamplingEncoder, encoder_for
from planner.deployment.client.drawing.entropy import system
from planner.deployment.client.laws.output import UnaryLaw
from planner.deployment.collecting.reports.batch import Key, Rows
from planner.deployment.collecting.reports.parquet import ReportWriter
from planner.deployment.parameter_file.parameters import Parameters
from planner.errors import FileError
from planner.files import replace_file
from planner.mechanisms.chunks import map_rows
from planner.mechanisms.packed import pack

__all__ = ["draw_unary", "perturb_file"]

_DRAW_BYTES = 2**21  # random bytes a worker handles at a time


def perturb_file(
    parameters: Parameters,
    data: Path,
    out: Path,
    questions: Sequence[str] = (),
    progress: Callable[[int], None] | None = None,
) -> dict[Path, int]:
    """Randomise the answers of a CSV file and write report files.

    Parameters
    ----------
    parameters:
        Verified parameters.
    data:
        CSV with a header; the column of a question is named like it. Item sets are separated by
        ``;`` or written as a JSON list; an empty cell is no answer, no value or no items.
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
    laws = {name: parameters.question(name).law for name in names}
    columns = [Column(name, law, encoder_for(law)) for name, law in laws.items()]
    paths = _paths(out, columns)
    # Every answer is checked before anything is drawn.
    total = sum(len(rows) for rows in read_answers(data, columns))
    if total == 0:
        raise FileError(data, "there are no rows below the header", "Give at least one answer.")
    if len(paths) > 1:
        _make_directory(out)
    blocks = _randomised(data, columns, progress)
    if all(path.suffix == ".parquet" for path in paths.values()):
        sizes = {one.name: one.encoder.size for one in columns}
        _write_parquet(blocks, parameters.hash, paths, sizes)
    else:
        _write_lines(blocks, parameters.hash, paths)
    return dict.fromkeys(paths.values(), total)


def draw_unary(
    law: UnaryLaw, true: NDArray[np.int64], source: Callable[[int], bytes] = system
) -> Rows:
    """Unary reports for bit numbers, uint8, shape ``(n, report size)``.

    A bit's word is drawn digit by digit: eight binary digits decide unless they equal the
    threshold's, and only then the other 24 are drawn. Exactly the client's law, at a
    quarter of the entropy.

    Parameters
    ----------
    law:
        A unary law.
    true:
        Bit number of each user's (sampled) item, shape ``(n,)``.
    source:
        The operating system's entropy; tests may play back bytes.
    """
    levels = np.array([*law.levels.level_of(), *[law.dummy_level] * law.padding_length])
    a, b = (np.array(column, dtype=np.uint32)[levels] for column in (law.a, law.b))
    size = 8 * -(-law.bits // 64)
    reports = np.empty((true.size, size), dtype=np.uint8)
    chunk = max(1, _DRAW_BYTES // law.bits)

    def draw(part: slice, _: int) -> None:
        own = true[part]
        bits = _bernoulli(b, own.size, source)
        bits[np.arange(own.size), own] = _bernoulli(a[own], 1, source)[0]
        reports[part] = pack(bits).view(np.uint8).reshape(own.size, size)

    map_rows(draw, true.size, chunk)
    return reports


def _bernoulli(
    thresholds: NDArray[np.uint32], rows: int, source: Callable[[int], bytes]
) -> NDArray[np.bool_]:
    """Rows of independent bits; bit ``k`` is 1 with probability ``thresholds[k] / 2^32``."""
    size = thresholds.size
    first = np.frombuffer(source(rows * size), dtype=np.uint8).reshape(rows, size)
    top = (thresholds >> np.uint32(24)).astype(np.uint8)
    bits = first < top
    ties = np.flatnonzero(first == top)
    rest = np.frombuffer(source(4 * ties.size), dtype="<u4") & np.uint32(2**24 - 1)
    bits.reshape(-1)[ties] = rest < (thresholds & np.uint32(2**24 - 1))[ties % size]
    return bits


def _randomised(
    data: Path, columns: Sequence[Column], progress: Callable[[int], None] | None
) -> Iterator[dict[Key, Rows]]:
    """Reports of all columns, a block of people at a time."""
    done = 0
    for people in read_answers(data, columns):
        drawn: dict[Key, Rows] = {}
        for column, codes in zip(columns, zip(*people, strict=True), strict=True):
            drawn |= _draw(column, codes)
        yield drawn
        done += len(people)
        if progress is not None:
            progress(done)


def _draw(column: Column, codes: Sequence[Any]) -> dict[Key, Rows]:
    name, law, encoder = column.name, column.law, column.encoder
    if isinstance(law, UnaryLaw) and not law.padding_length:
        return {(name, None): draw_unary(law, np.array(codes, dtype=np.int64))}
    drawn = [encoder.draw(code, system) for code in codes]
    if not isinstance(encoder, SamplingEncoder):
        return {(name, None): _stacked(drawn, encoder.size)}
    both = list(zip(drawn, codes, strict=True))
    return {
        (name, number): _stacked([encoder.output(*one, number) for one in both], encoder.size)
        for number in (1, 2)
    }


def _stacked(payloads: list[bytes], size: int) -> Rows:
    return np.frombuffer(b"".join(payloads), dtype=np.uint8).reshape(-1, size)


def _write_parquet(
    blocks: Iterator[dict[Key, Rows]],
    parameters: str,
    paths: Mapping[Key, Path],
    sizes: Mapping[str, int],
) -> None:
    with ExitStack() as stack:
        writers = {
            key: stack.enter_context(ReportWriter(path, parameters, key, sizes[key[0]]))
            for key, path in paths.items()
        }
        for drawn in blocks:
            for key, reports in drawn.items():
                writers[key].write(reports)


def _write_lines(
    blocks: Iterator[dict[Key, Rows]], parameters: str, paths: Mapping[Key, Path]
) -> None:
    lines: dict[Key, list[str]] = {key: [] for key in paths}
    for drawn in blocks:
        for (name, number), reports in drawn.items():
            for row in reports:
                one = Report(parameters, name, row.tobytes(), system(8).hex(), number)
                lines[name, number].append(one.to_json() + "\n")
    for key, path in paths.items():
        replace_file(path, "".join(lines[key]))


def _paths(out: Path, columns: Sequence[Column]) -> dict[Key, Path]:
    numbered = enumerate(columns, start=1)
    keys = [(i, one.name, number) for i, one in numbered for number in one.encoder.rounds]
    if len(keys) == 1:
        if out.suffix not in (".parquet", ".jsonl"):
            raise FileError(out, "ends neither in .parquet nor in .jsonl", "Rename it.")
        return {keys[0][1:]: out}
    if out.suffix:
        remedy = "Give a directory, or one question with --question."
        raise FileError(out, f"is one file, but {len(keys)} are needed", remedy)
    ending = {None: "", 1: "-round-1", 2: "-round-2"}
    return {
        (name, number): out / f"question-{i}{ending[number]}.parquet" for i, name, number in keys
    }


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(path, f"cannot be made: {error.strerror or error}") from error
