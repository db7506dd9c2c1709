"""Exact draws from random bytes: words, coins of k / 2^32, uniform choices by rejection.

A source is a function that returns as many bytes as it is asked for. Clients always use
the operating system's (:func:`system`); conformance vectors play back recorded bytes.
Words are 32 bits, little-endian, and every draw says how many it takes, so that ports
can follow byte by byte.
"""

from __future__ import annotations

import secrets
import struct
from collections.abc import Callable

from planner.errors import VerificationError

__all__ = ["Source", "choose", "coin", "system", "words"]

Source = Callable[[int], bytes]
_GRID = 2**32


def system(count: int) -> bytes:
    """``count`` bytes from the operating system's generator."""
    return secrets.token_bytes(count)


def words(source: Source, count: int) -> tuple[int, ...]:
    """``count`` uniform integers below 2^32, from ``4 count`` bytes asked for at once.

    Raises
    ------
    VerificationError
        The source returned another number of bytes: nothing may be drawn from it.
    """
    data = source(4 * count)
    if not isinstance(data, bytes) or len(data) != 4 * count:
        raise VerificationError("The source of entropy failed", "Report nothing.")
    return struct.unpack(f"<{count}I", data)


def coin(source: Source, threshold: int) -> bool:
    """True with probability ``threshold / 2^32`` exactly: one word, true if it is below.

    Examples
    --------
    >>> coin(lambda count: bytes(count), 1), coin(lambda count: bytes(count), 0)
    (True, False)
    """
    return words(source, 1)[0] < threshold


def choose(source: Source, size: int) -> int:
    """Uniform from 0 to ``size - 1``, ``1 <= size <= 2^32``: words until one is accepted.

    A word is accepted if it is below the largest multiple of ``size`` up to 2^32; its
    remainder modulo ``size`` is the choice.

    Examples
    --------
    >>> data = iter([bytes([255] * 4), bytes([5, 0, 0, 0])])
    >>> choose(lambda count: next(data), 3)
    2
    """
    accepted = _GRID - _GRID % size
    while True:
        word = words(source, 1)[0]
        if word < accepted:
            return word % size
