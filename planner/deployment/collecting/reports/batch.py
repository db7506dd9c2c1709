"""Reports in memory: some of one question, as they come out of a file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Batch", "Key", "Rows"]

Key = tuple[str, int | None]
"""Question and round (``None`` for a question that has no rounds)."""
Rows = NDArray[np.uint8]
"""Reports as bytes, shape ``(n, report size)``."""


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
        A mark for each report (``reports/marks.py``), one after the other; empty if the file
        has no report ids.
    """

    key: Key
    rows: Rows
    file_id: str
    marks: bytes = b""
