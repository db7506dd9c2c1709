"""Reports in memory, and as lines of JSON as ``Report.to_json`` gives them."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b, sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.deployment.client.document import line_check, parse_json
from planner.errors import InputError
from planner.limits import REPORTS_REMEDY

Key = tuple[str, int | None]
"""Question and round (``None`` for a question that has no rounds)."""
Rows = NDArray[np.uint8]
"""Reports as bytes, shape ``(n, report size)``."""
ID_SIZE = 16
MARK_SIZE = 2 * ID_SIZE


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some reports of one question, with the number of the file they are from.

    Attributes
    ----------
    key:
        Question and round.
    rows:
        The reports.
    file_id:
        Number of the file; copies of a file have the same.
    marks:
        The :func:`mark` of each report, one after the other; empty if the file
        has no report ids.
    """

    key: Key
    rows: Rows
    file_id: str
    marks: bytes = b""


def mark(report_id: str, content: str) -> bytes:
    """What a collector remembers of a report: enough to know it again, in 32 bytes.

    Two digests of 16 bytes: of the report's id, and of everything that the report says. Two
    reports with one id are the same report if the second digests are equal, and a contradiction
    if not.

    Examples
    --------
    >>> one, same, other = (mark("00ff", text) for text in ("q: AA==", "q: AA==", "q: AQ=="))
    >>> one == same, one == other, one[:ID_SIZE] == other[:ID_SIZE]
    (True, False, True)
    """
    parts = (text.encode() for text in (report_id, content))
    return b"".join(blake2b(part, digest_size=ID_SIZE).digest() for part in parts)


MAX_JSON_BYTES = 64 * 2**20
_OTHER_PARAMETERS = "Use the parameter file that the reports were made with."
_KEYS = {"parameters", "question", "id", "report", "round", "check"}
_FRAME_BYTES = 1024  # of a line, for all but its question and its report


def line_batches(
    path: Path, parameters: str, sizes: Mapping[Key, int], without: Collection[bytes] = ()
) -> Iterator[Batch]:
    """A batch for each question and round in a file of at most 64 MiB, named by its content.

    Parameters
    ----------
    path, parameters, sizes:
        As for :func:`~planner.deployment.collecting.one_file.read_batches`.
    without:
        Marks of reports that are left out.

    Raises
    ------
    InputError
        The file is too large or cut off, or a line is not a report of these parameters.
    """
    if path.stat().st_size > MAX_JSON_BYTES:
        remedy = "Write the reports to a Parquet file, or to several smaller files."
        raise InputError.because("size", f"the file has more than {MAX_JSON_BYTES} bytes", remedy)
    data = path.read_bytes()
    file_id = sha256(data).hexdigest()
    if data and not data.endswith(b"\n"):
        raise InputError.because(
            "last line", "the last line is cut off: no newline ends it", REPORTS_REMEDY
        )
    limit, lines, number = _longest_line(sizes), BytesIO(data), 0
    found: dict[Key, tuple[list[bytes], list[bytes]]] = {}
    seen: set[bytes] = set()
    while line := lines.readline(limit + 1):
        number += 1
        if len(line) > limit:
            raise InputError.because(
                "line", f"line {number} is longer than any report, {limit} bytes", REPORTS_REMEDY
            )
        key, report_id, payload, digests = _line(line, number, parameters, sizes)
        if digests[: len(digests) // 2] in seen:
            reason = f"line {number} has the id {report_id!r} of an earlier line"
            remedy = "Remove the repeated line."
            raise InputError.because("id", reason, remedy)
        seen.add(digests[: len(digests) // 2])
        if digests not in without:
            payloads, marks = found.setdefault(key, ([], []))
            payloads.append(payload)
            marks.append(digests)
    for key, (payloads, marks) in found.items():
        rows = np.frombuffer(b"".join(payloads), dtype=np.uint8).reshape(-1, sizes[key])
        yield Batch(key, rows, file_id, b"".join(marks))


def _longest_line(sizes: Mapping[Key, int]) -> int:
    """Bytes of the longest line that a report can need; more would only take memory."""
    return _FRAME_BYTES + max(12 * len(key[0]) + 4 * -(-size // 3) for key, size in sizes.items())


def _line(
    line: bytes, number: int, parameters: str, sizes: Mapping[Key, int]
) -> tuple[Key, str, bytes, bytes]:
    """Question and round, id, payload and mark of a line."""
    try:
        data = parse_json(line)
    except ValueError as error:
        raise InputError.because(
            "line", f"line {number} is not JSON: {error}", REPORTS_REMEDY
        ) from None
    where = f"line {number}"
    if not isinstance(data, dict) or not set(data) <= _KEYS:
        keys = sorted(data) if isinstance(data, dict) else data
        raise InputError(f"keys of {where}", keys, f"those of {sorted(_KEYS)}", REPORTS_REMEDY)
    if text_of(data, "parameters", where) != parameters:
        theirs = data["parameters"]
        raise InputError(f"parameters of {where}", theirs, parameters, _OTHER_PARAMETERS)
    round_number = round_of(data["round"], where) if "round" in data else None
    key = text_of(data, "question", where), round_number
    if key not in sizes:
        reason = f"{where} is of question and round {key}, not one in the parameter file"
        raise InputError.because("question and round", reason, _OTHER_PARAMETERS)
    report_id, report = text_of(data, "id", where), text_of(data, "report", where)
    try:
        payload = b64decode(report, validate=True)
    except ValueError:
        raise InputError(f"report of {where}", report, "base64", REPORTS_REMEDY) from None
    if len(payload) != sizes[key]:
        allowed = f"{sizes[key]} bytes"
        raise InputError(f"length of {where}", len(payload), allowed, REPORTS_REMEDY)
    check = line_check(parameters, key[0], report_id, round_number, report)
    if data.get("check") != check:
        allowed = f"{check}, or the line is damaged"
        raise InputError(f"check of {where}", data.get("check"), allowed, REPORTS_REMEDY)
    return key, report_id, payload, mark(report_id, f"{key[1]}\n{payload.hex()}\n{key[0]}")


def text_of(data: Mapping[str, Any], key: str, where: str) -> str:
    """A field that is text, not empty, and Unicode: no lone half of a pair of code units."""
    value = data.get(key)
    try:
        if isinstance(value, str) and value.encode():
            return value
    except UnicodeEncodeError:
        value = repr(value)
    raise InputError(f"{key} of {where}", value, "text that is not empty", REPORTS_REMEDY)


def round_of(value: Any, where: str) -> int:
    """The number of a round."""
    if type(value) is not int or value < 1:
        raise InputError(f"round of {where}", value, "a number from 1", REPORTS_REMEDY)
    return value
