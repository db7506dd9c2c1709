"""A checksum inside a Parquet file, checked before anything parses the file.

Parquet does not protect its own structure, and libraries that read it have crashed, or read
fewer rows, after one flipped bit. Parquet lets bytes lie unused before the footer; the seal
is 24 of them: ``LDPRSEAL`` and the XXH3-128 checksum of the rest of the file. It betrays
damage, not malice: whoever can write a file can seal it.
"""

from __future__ import annotations

import mmap
from pathlib import Path

from xxhash import xxh3_128

from planner.errors import InputError

__all__ = ["check_seal", "seal"]

_MAGIC = b"LDPRSEAL"
_SIZE = len(_MAGIC) + 16
_TAIL = 8  # the footer's length and "PAR1"
_LEAST = 4 + _SIZE + _TAIL
_CHUNK = 2**24


def seal(path: str | Path) -> None:
    """Add the seal to a complete Parquet file, in place.

    Raises
    ------
    InputError
        It is not a complete Parquet file.
    """
    with Path(path).open("r+b") as file:
        data = file.read()
        start = _footer_start(data)
        file.seek(start)
        file.write(_MAGIC + _checksum(data, start, start) + data[start:])


def check_seal(path: str | Path) -> None:
    """Check the seal of a Parquet file.

    Raises
    ------
    InputError
        There is none, or the file is not what was sealed.
    """
    with Path(path).open("rb") as file:
        if file.seek(0, 2) < _LEAST:
            raise InputError("length", file.tell(), f"at least {_LEAST} bytes")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            footer = _footer_start(data)
            start = footer - _SIZE
            if start < 4 or data[start : start + len(_MAGIC)] != _MAGIC:
                raise InputError("seal", "missing", "before the footer of a report file")
            if data[start + len(_MAGIC) : footer] != _checksum(data, start, footer):
                raise InputError("checksum", "another", "that of the sealed file")


def _footer_start(data: bytes | mmap.mmap) -> int:
    if data[:4] != b"PAR1" or data[-4:] != b"PAR1":
        raise InputError("frame", "damaged", "that of a complete Parquet file")
    start = len(data) - _TAIL - int.from_bytes(data[-_TAIL:-4], "little")
    if start < 4:
        raise InputError("footer", "damaged", "that of a complete Parquet file")
    return start


def _checksum(data: bytes | mmap.mmap, end: int, resume: int) -> bytes:
    """Of all bytes but those from ``end`` to ``resume``."""
    checksum = xxh3_128()
    with memoryview(data) as view:
        for first, last in ((0, end), (resume, len(data))):
            for place in range(first, last, _CHUNK):
                with view[place : min(place + _CHUNK, last)] as part:
                    checksum.update(part)
    return checksum.digest()
