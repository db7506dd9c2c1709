"""A checksum inside a Parquet file, checked before anything parses the file.

Parquet does not protect its own structure, and libraries that read it have crashed, or read
fewer rows, after one flipped bit. Parquet lets bytes lie unused before the footer; the seal
is 24 of them: ``LDPRSEAL`` and the XXH3-128 checksum of the rest of the file. It betrays
damage, not malice: whoever can write a file can seal it.
"""

from __future__ import annotations

from io import BufferedIOBase
from pathlib import Path

from xxhash import xxh3_128

from planner.errors import InputError
from planner.limits import REPORTS_REMEDY

_MAGIC = b"LDPRSEAL"
_SIZE = len(_MAGIC) + 16
_TAIL = 8  # the footer's length and "PAR1"
_FRAME = b"PAR1"
_CHUNK = 2**20
_MAX_FOOTER = 4 * 2**20  # what it becomes in memory is many times larger


def seal(path: str | Path) -> None:
    """Add the seal to a complete Parquet file, in place.

    Raises
    ------
    InputError
        It is not a complete Parquet file.
    """
    with Path(path).open("r+b") as file:
        start = _footer_start(file)
        file.seek(start)
        footer = file.read()
        digest = _checksum(file, start, start)
        file.seek(start)
        file.write(_MAGIC + digest + footer)


def check_seal(path: str | Path) -> None:
    """Check the seal of a Parquet file.

    Raises
    ------
    InputError
        There is none, or the file is not what was sealed.
    """
    with Path(path).open("rb") as file:
        footer = _footer_start(file)
        start = max(footer - _SIZE, len(_FRAME))
        file.seek(start)
        found = file.read(_SIZE)
        if not found.startswith(_MAGIC):
            raise InputError.because(
                "seal", "the file has no seal before its footer", REPORTS_REMEDY
            )
        if found[len(_MAGIC) :] != _checksum(file, start, footer):
            raise InputError.because("checksum", "the file is not what was sealed", REPORTS_REMEDY)


def _footer_start(file: BufferedIOBase) -> int:
    length = file.seek(0, 2)
    if length < 2 * len(_FRAME) + 4:
        raise InputError.because(
            "length", f"the file has {length} bytes, too few for a Parquet file", REPORTS_REMEDY
        )
    file.seek(-_TAIL, 2)
    tail = file.read()
    file.seek(0)
    if file.read(len(_FRAME)) != _FRAME or tail[-len(_FRAME) :] != _FRAME:
        raise InputError.because("frame", "the file is no complete Parquet file", REPORTS_REMEDY)
    footer = int.from_bytes(tail[:4], "little")
    start = length - _TAIL - footer
    if start < len(_FRAME):
        raise InputError.because("footer", "the Parquet file's footer is damaged", REPORTS_REMEDY)
    if footer > _MAX_FOOTER:
        raise InputError(
            "size of the footer", footer, f"at most {_MAX_FOOTER} bytes", REPORTS_REMEDY
        )
    return start


def _checksum(file: BufferedIOBase, end: int, resume: int) -> bytes:
    """Of all bytes but those from ``end`` to ``resume``."""
    checksum = xxh3_128()
    buffer = memoryview(bytearray(_CHUNK))
    file.seek(0)
    while end > file.tell():
        size = file.readinto(buffer[: min(_CHUNK, end - file.tell())])
        checksum.update(buffer[:size])
    file.seek(resume)
    while size := file.readinto(buffer):
        checksum.update(buffer[:size])
    return checksum.digest()
