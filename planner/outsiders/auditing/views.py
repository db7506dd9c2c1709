"""Reports as an auditor sees them: their content, their bits, and what surrounds the content."""

from __future__ import annotations

import json
from base64 import b64decode
from binascii import Error
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_WIDEST = 4096  # bytes of a report that are looked at; its whole length is always seen
_MOST_BITS = 8
_TELLING = 4.0  # standard errors by which a bit must differ in the first half
Symbols = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Reports:
    """Reports of one answer.

    Attributes
    ----------
    content:
        What the report says, bytes, shape ``(n, width)``, filled up with zeros.
    label:
        The number that tells reports apart, bytes; none in other formats than ours.
    shapes:
        Everything else of each line: its length, the order of its keys, spaces, other values.
    """

    content: NDArray[np.uint8]
    label: NDArray[np.uint8]
    shapes: tuple[bytes, ...]

    @classmethod
    def read(cls, lines: Sequence[bytes]) -> Reports:
        """Lines of a report file (JSON with ``report`` and ``id``), or any other bytes."""
        parts = [_parts(line) for line in lines]
        content, label = (_rows([one[k] for one in parts]) for k in (0, 1))
        return cls(content, label, tuple(one[2] for one in parts))


View = Callable[[Sequence[Reports], int], list[Symbols]]
"""A whole number per report, for the reports of two answers; only the first ``half`` reports of
each may be used to find out what is worth looking at."""


def _contents(pair: Sequence[Reports], half: int) -> list[Symbols]:
    """Each different content a symbol."""
    del half
    return _numbered([one.content for one in pair])


def _shapes(pair: Sequence[Reports], half: int) -> list[Symbols]:
    """Each different shape a symbol, numbered by what it is and not by when it was seen."""
    del half
    shapes = sorted({shape for one in pair for shape in one.shapes})
    known = {shape: number for number, shape in enumerate(shapes)}
    return [np.array([known[shape] for shape in one.shapes]) for one in pair]


def _bits(pair: Sequence[Reports], half: int) -> list[Symbols]:
    """The few bits of content and label that differ most in the first half, together."""
    rows = [np.hstack(columns) for columns in zip(*(_even(pair)), strict=True)]
    shares = [_bit_shares(one[:half]) for one in rows]
    gap = np.abs(shares[0] - shares[1])
    spread = np.sqrt(np.maximum(sum(p * (1 - p) for p in shares), 1 / half) / half)
    order = np.argsort(-gap / spread, kind="stable")[:_MOST_BITS]
    chosen = order[(gap / spread)[order] > _TELLING]
    if chosen.size == 0:
        chosen = order[:2]
    return [_joined(one, chosen) for one in rows]


VIEWS: dict[str, View] = {"content": _contents, "bits": _bits, "length and order": _shapes}
"""What every audit looks at, by name."""


def _parts(line: bytes) -> tuple[bytes, bytes, bytes]:
    """Content, label, and the line with both taken out."""
    try:
        document = json.loads(line)
        texts = document["report"], document["id"]
        content, label = b64decode(texts[0], validate=True), bytes.fromhex(texts[1])
    except (ValueError, KeyError, TypeError, Error):
        return line[:_WIDEST], b"", b"%d" % len(line)
    shape = line
    for text in texts:
        shape = shape.replace(text.encode(), b"<%d>" % len(text))
    return content[:_WIDEST], label, shape


def _rows(parts: list[bytes]) -> NDArray[np.uint8]:
    width = max(map(len, parts), default=0)
    filled = b"".join(part.ljust(width, b"\0") for part in parts)
    return np.frombuffer(filled, dtype=np.uint8).reshape(len(parts), width)


def _even(pair: Sequence[Reports]) -> list[list[NDArray[np.uint8]]]:
    """Content and label of both, each as wide as the wider of the two."""
    columns = []
    for name in ("content", "label"):
        both = [getattr(one, name) for one in pair]
        width = max(one.shape[1] for one in both)
        columns.append([np.pad(one, ((0, 0), (0, width - one.shape[1]))) for one in both])
    return columns


def _numbered(both: list[NDArray[np.uint8]]) -> list[Symbols]:
    width = max(1, *(one.shape[1] for one in both))
    padded = np.vstack([np.pad(one, ((0, 0), (0, width - one.shape[1]))) for one in both])
    texts = np.ascontiguousarray(padded).view(np.dtype((np.void, width))).ravel()
    numbers = np.unique(texts, return_inverse=True)[1].ravel()
    return [numbers[: len(both[0])], numbers[len(both[0]) :]]


def _bit_shares(rows: NDArray[np.uint8]) -> NDArray[np.float64]:
    step = max(1, 2**22 // max(1, rows.shape[1]))
    total = np.zeros(8 * rows.shape[1])
    for start in range(0, len(rows), step):
        total += np.unpackbits(rows[start : start + step], axis=1).sum(axis=0)
    return total / len(rows)


def _joined(rows: NDArray[np.uint8], chosen: NDArray[np.int64]) -> Symbols:
    symbols = np.zeros(len(rows), dtype=np.int64)
    for place in chosen:
        symbols = 2 * symbols + ((rows[:, place // 8] >> (7 - place % 8)) & 1)
    return symbols
