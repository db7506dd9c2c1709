"""Reports in memory: some of one question, as they come out of a file."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

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
    parts = (text.encode("utf-8", "surrogatepass") for text in (report_id, content))
    return b"".join(blake2b(part, digest_size=ID_SIZE).digest() for part in parts)
