"""Randomise many answers at once, for pilots and tests: the client's law, drawn in bulk.

Whoever runs this sees the true answers; in a collection only the person's own device does.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.deployment.client import Report
from planner.deployment.document.questions import QuestionParameters
from planner.deployment.drawing.encoders import Encoder, SamplingEncoder, encoder_for
from planner.deployment.drawing.entropy import system
from planner.deployment.laws.output import SignLaw, UnaryLaw
from planner.deployment.parameters import Parameters
from planner.deployment.reports.batch import Key, Rows
from planner.deployment.reports.parquet import ReportWriter
from planner.errors import FileError, InputError
from planner.files import replace_file
from planner.mechanisms.chunks import map_rows
from planner.mechanisms.packed import pack

__all__ = ["draw_unary", "perturb_file"]

_BLOCK = 2**14  # answers at a time
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
    names = list(questions) or [question.name for question in parameters.questions]
    chosen = [parameters.question(name) for name in names]
    encoders = {question.name: encoder_for(question.law) for question in chosen}
    paths = _paths(out, encoders)
    # Every answer is checked before anything is drawn.
    total = sum(len(rows) for rows in _answers(data, chosen, encoders))
    if total == 0:
        raise FileError(data, "there are no rows below the header", "Give at least one answer.")
    if len(paths) > 1:
        _make_directory(out)
    if all(path.suffix == ".parquet" for path in paths.values()):
        _write_parquet(parameters, data, chosen, encoders, paths, progress)
    else:
        _write_lines(parameters, data, chosen, encoders, paths)
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


def _write_parquet(
    parameters: Parameters,
    data: Path,
    chosen: Sequence[QuestionParameters],
    encoders: Mapping[str, Encoder],
    paths: Mapping[Key, Path],
    progress: Callable[[int], None] | None,
) -> None:
    done = 0
    with ExitStack() as stack:
        writers = {
            key: stack.enter_context(
                ReportWriter(path, parameters.hash, key, encoders[key[0]].size)
            )
            for key, path in paths.items()
        }
        for rows in _answers(data, chosen, encoders):
            for i, question in enumerate(chosen):
                codes = [row[i] for row in rows]
                for key, reports in _draw(question, encoders[question.name], codes).items():
                    writers[key].write(reports)
            done += len(rows)
            if progress is not None:
                progress(done)


def _draw(question: QuestionParameters, encoder: Encoder, codes: list[Any]) -> dict[Key, Rows]:
    name, law = question.name, question.law
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


def _write_lines(
    parameters: Parameters,
    data: Path,
    chosen: Sequence[QuestionParameters],
    encoders: Mapping[str, Encoder],
    paths: Mapping[Key, Path],
) -> None:
    lines: dict[Key, list[str]] = {key: [] for key in paths}
    for rows in _answers(data, chosen, encoders):
        for i, question in enumerate(chosen):
            drawn = _draw(question, encoders[question.name], [row[i] for row in rows])
            for key, reports in drawn.items():
                for row in reports:
                    one = Report(parameters.hash, key[0], row.tobytes(), system(8).hex(), key[1])
                    lines[key].append(one.to_json() + "\n")
    for key, path in paths.items():
        replace_file(path, "".join(lines[key]))


def _paths(out: Path, encoders: Mapping[str, Encoder]) -> dict[Key, Path]:
    keys: list[Key] = []
    for name, encoder in encoders.items():
        keys += [(name, 1), (name, 2)] if isinstance(encoder, SamplingEncoder) else [(name, None)]
    if len(keys) == 1:
        if out.suffix not in (".parquet", ".jsonl"):
            raise FileError(out, "ends neither in .parquet nor in .jsonl", "Rename it.")
        return {keys[0]: out}
    if out.suffix:
        remedy = "Give a directory, or one question with --question."
        raise FileError(out, f"is one file, but {len(keys)} are needed", remedy)
    place = {name: i + 1 for i, name in enumerate(encoders)}
    ending = {None: "", 1: "-round-1", 2: "-round-2"}
    return {key: out / f"question-{place[key[0]]}{ending[key[1]]}.parquet" for key in keys}


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(path, f"cannot be made: {error.strerror or error}") from error


def _answers(
    data: Path, chosen: Sequence[QuestionParameters], encoders: Mapping[str, Encoder]
) -> Iterator[list[list[Any]]]:
    """Blocks of rows with each question's checked answer."""
    try:
        with data.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.reader(file)
            header = [name.strip() for name in next(rows, [])]
            columns = [_column(data, header, question.name) for question in chosen]
            numbered = enumerate(rows, start=2)
            while block := list(islice(numbered, _BLOCK)):
                yield [_row(data, line, row, columns, chosen, encoders) for line, row in block]
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}"
        raise FileError(data, reason, "Check the path.") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileError(data, f"is not CSV in UTF-8: {error}") from error


def _column(data: Path, header: list[str], name: str) -> int:
    if header.count(name) != 1:
        remedy = "Name the column like the question."
        raise FileError(data, f"one column {name!r} is needed; there are {header}", remedy)
    return header.index(name)


def _row(
    data: Path,
    line: int,
    row: list[str],
    columns: list[int],
    chosen: Sequence[QuestionParameters],
    encoders: Mapping[str, Encoder],
) -> list[Any]:
    try:
        cells = [row[column] for column in columns]
        return [
            encoders[question.name].code(_answer(question, cell))
            for question, cell in zip(chosen, cells, strict=True)
        ]
    except IndexError:
        raise FileError(data, f"line {line} has too few columns") from None
    except InputError as error:
        raise FileError(data, f"line {line}: {error}") from error


def _answer(question: QuestionParameters, cell: str) -> Any:
    """A cell as the answer that a person would give."""
    law = question.law
    if isinstance(law, SignLaw):
        try:
            return float(cell) if cell.strip() else None
        except ValueError:
            return cell
    levels = law.levels  # type: ignore[attr-defined]
    if isinstance(law, UnaryLaw) and law.padding_length:
        return [_item(levels, item) for item in _items(cell)]
    return _item(levels, cell) if cell else None


def _items(cell: str) -> list[Any]:
    if not cell.startswith("["):
        return [item for item in cell.split(";") if item]
    try:
        items = json.loads(cell)
    except ValueError:
        items = None
    if not isinstance(items, list):
        raise InputError("answer", "text", "a JSON list")
    return items


def _item(levels: Any, cell: Any) -> Any:
    """Items without a name are given by number."""
    if not levels.named and isinstance(cell, str) and cell.isascii() and cell.isdigit():
        return int(cell)
    return cell
