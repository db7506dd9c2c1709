"""Newline JSON: a line a report, as ``Report.to_json`` gives it."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Collection, Iterator, Mapping
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from planner.deployment.client.canonical import parse_json
from planner.deployment.client.line_check import line_check
from planner.deployment.collecting.reports.batch import Batch, Key, mark
from planner.errors import InputError
from planner.limits import REPORTS_REMEDY

MAX_JSON_BYTES = 64 * 2**20
_OTHER_PARAMETERS = "Use the parameter file that the reports were made with."
_KEYS = {"parameters", "question", "id", "report", "round", "check"}
_FRAME_BYTES = 1024  # of a line, for all but its question and its report
_MISSING = object()


class Fields:
    """One JSON object; each accessor returns a field of the right type and range or raises.

    Errors say ``where`` the object is.

    Examples
    --------
    >>> Fields("question 'q'", {"truth": -1}).whole("truth", 0, 10)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    planner.errors.InputError: truth of question 'q' is -1 but must be a whole number...
    """

    __slots__ = ("_data", "_where")

    def __init__(self, where: str, data: Any) -> None:
        if not isinstance(data, dict):
            raise InputError(where, data, "a JSON object", REPORTS_REMEDY)
        self._where = where
        self._data = data

    def text(self, key: str) -> str:
        """Text that is not empty."""
        value = self._get(key)
        if not isinstance(value, str) or not value:
            raise self.wrong(key, value, "text that is not empty")
        return value

    def whole(self, key: str, least: int, most: int) -> int:
        """A whole number from ``least`` to ``most``."""
        value = self._get(key)
        if type(value) is not int or not least <= value <= most:
            raise self.wrong(key, value, f"a whole number from {least} to {most}")
        return value

    def value(self, key: str) -> Any:
        """Any value."""
        return self._get(key)

    def wrong(self, key: str, value: object, allowed: str) -> InputError:
        """The error for a field that is not as it must be."""
        return InputError(f"{key} of {self._where}", value, allowed, REPORTS_REMEDY)

    def _get(self, key: str) -> Any:
        value = self._data.get(key, _MISSING)
        if value is _MISSING:
            raise InputError(f"{key} of {self._where}", None, "given", REPORTS_REMEDY)
        return value


def line_batches(
    path: Path, parameters: str, sizes: Mapping[Key, int], without: Collection[bytes] = ()
) -> Iterator[Batch]:
    """A batch for each question and round in a file of at most 64 MiB, named by its content.

    Parameters
    ----------
    path, parameters, sizes:
        As for :func:`~planner.deployment.collecting.reports.reading.read_batches`.
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
    fields = Fields(f"line {number}", data)
    extra = sorted(set(data) - _KEYS)
    if extra:
        raise InputError(f"keys of line {number}", extra, "those of a report", REPORTS_REMEDY)
    if fields.text("parameters") != parameters:
        theirs = fields.text("parameters")
        raise InputError(f"parameters of line {number}", theirs, parameters, _OTHER_PARAMETERS)
    key = (fields.text("question"), fields.whole("round", 1, 2) if "round" in data else None)
    if key not in sizes:
        reason = f"line {number} is of question and round {key}, not one in the parameter file"
        raise InputError.because("question and round", reason, _OTHER_PARAMETERS)
    report_id, report = fields.text("id"), fields.text("report")
    if "check" in data:  # lines of earlier versions have none
        check = line_check(parameters, key[0], report_id, key[1], report)
        if fields.text("check") != check:
            raise fields.wrong("check", data["check"], f"{check}, or the line is damaged")
    try:
        payload = b64decode(report, validate=True)
    except ValueError:
        raise fields.wrong("report", report, "base64") from None
    if len(payload) != sizes[key]:
        raise InputError(
            f"length of line {number}", len(payload), f"{sizes[key]} bytes", REPORTS_REMEDY
        )
    return key, report_id, payload, mark(report_id, f"{key[1]}\n{payload.hex()}\n{key[0]}")
