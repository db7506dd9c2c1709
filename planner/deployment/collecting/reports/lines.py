"""Newline JSON: a line a report, as ``Report.to_json`` gives it."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

import numpy as np

from planner.deployment.client.json_fields import Fields
from planner.deployment.collecting.reports.batch import Batch, Key
from planner.errors import InputError

__all__ = ["MAX_JSON_BYTES", "line_batches"]

MAX_JSON_BYTES = 64 * 2**20


def line_batches(path: Path, parameters: str, sizes: Mapping[Key, int]) -> Iterator[Batch]:
    """A batch for each question and round in a file of at most 64 MiB, named by its content.

    Raises
    ------
    InputError
        The file is too large or cut off, or a line is not a report of these parameters.
    """
    if path.stat().st_size > MAX_JSON_BYTES:
        raise InputError("size", path.stat().st_size, f"at most {MAX_JSON_BYTES}; use Parquet")
    data = path.read_bytes()
    file_id = sha256(data).hexdigest()
    if data and not data.endswith(b"\n"):
        raise InputError("last line", "cut off", "ended by a newline")
    found: dict[Key, list[bytes]] = {}
    seen: set[str] = set()
    for number, line in enumerate(data.splitlines(), start=1):
        key, report_id, payload = _line(line, number, parameters, sizes)
        if report_id in seen:
            raise InputError(f"id in line {number}", report_id, "given once in a file")
        seen.add(report_id)
        found.setdefault(key, []).append(payload)
    for key, payloads in found.items():
        rows = np.frombuffer(b"".join(payloads), dtype=np.uint8).reshape(-1, sizes[key])
        yield Batch(key, rows, file_id)


def _line(
    line: bytes, number: int, parameters: str, sizes: Mapping[Key, int]
) -> tuple[Key, str, bytes]:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError(f"line {number}", "not JSON", "a report") from None
    fields = Fields(f"line {number}", data)
    extra = sorted(set(data) - {"parameters", "question", "id", "report", "round"})
    if extra:
        raise InputError(f"keys of line {number}", extra, "those of a report")
    if fields.text("parameters") != parameters:
        raise fields.wrong("parameters", fields.text("parameters"), parameters)
    key = (fields.text("question"), fields.whole("round", 1, 2) if "round" in data else None)
    if key not in sizes:
        raise InputError(f"question and round of line {number}", key, "in the parameter file")
    try:
        payload = b64decode(fields.text("report"), validate=True)
    except ValueError:
        raise fields.wrong("report", data["report"], "base64") from None
    if len(payload) != sizes[key]:
        raise InputError(f"length of line {number}", len(payload), f"{sizes[key]} bytes")
    return key, fields.text("id"), payload
