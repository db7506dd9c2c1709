"""Exact draws from random bytes: words, uniform choices by rejection.

A source is a function that returns as many bytes as it is asked for. Clients always use
the operating system's (:func:`system`); conformance vectors play back recorded bytes.
Words are 32 bits, little-endian, and every draw says how many it takes, so that ports
can follow byte by byte.
"""

from __future__ import annotations

import secrets
import struct
from collections.abc import Callable, Sequence

from planner.errors import VerificationError
from planner.limits import DENOMINATOR

Source = Callable[[int], bytes]


def system(count: int) -> bytes:
    """``count`` bytes from the operating system's generator."""
    return secrets.token_bytes(count)


def words(source: Source, count: int) -> tuple[int, ...]:
    """``count`` uniform integers below 2^32, from ``4 count`` bytes asked for at once."""
    size = 4 * count
    data = source(size)
    # A source that fails must not be taken for zeros.
    if not isinstance(data, bytes) or len(data) != size:
        raise VerificationError("The source of entropy failed", "Report nothing.")
    return struct.unpack(f"<{count}I", data)


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
    return choose_all(source, [size])[0]


def choose_all(source: Source, sizes: Sequence[int]) -> list[int]:
    """One choice after the other, as :func:`choose` makes them, from as few calls as may be.

    Examples
    --------
    >>> choose_all(lambda count: bytes([7, 0, 0, 0] * (count // 4)), [3, 5])
    [1, 2]
    """
    chosen: list[int] = []
    while len(chosen) < len(sizes):
        missing = len(sizes) - len(chosen)
        for word in words(source, missing):
            size = sizes[len(chosen)]
            # Words past the largest multiple are rejected, or small choices would be likelier.
            if word < DENOMINATOR - DENOMINATOR % size:
                chosen.append(word % size)
    return chosen


def below(source: Source, size: int) -> int:
    """Uniform from 0 to ``size - 1``, of any ``size``: words until their number is accepted.

    A number of as many words as ``size`` and two more, the first the least significant, is accepted
    if it is below the largest multiple of ``size``; its remainder is the choice.

    Examples
    --------
    >>> below(lambda count: bytes([7] + [0] * (count - 1)), 10**30)
    7
    >>> numbers = iter([2**96 - 1, 2**96 - 2])  # the largest multiple of 3 up to 2^96 is 2^96 - 1
    >>> below(lambda count: next(numbers).to_bytes(count, "little"), 3)
    2
    """
    # With two words more than it needs, one number in 2^64 is rejected at most.
    count = -(-size.bit_length() // 32) + 2
    top = DENOMINATOR**count
    while True:
        number = 0
        for position, word in enumerate(words(source, count)):
            number |= word << (32 * position)
        if number < top - top % size:
            return number % size


def order(source: Source, count: int, needed: int) -> list[int]:
    """The first ``needed`` of 0 to ``count - 1`` in a uniformly random order.

    Choices from 0 to ``count - 1``, to ``count - 2``, ...: each is a place in the row of those that
    are left, in which the last takes the place of the one that was chosen.

    Examples
    --------
    >>> order(lambda count: bytes(count), 4, 3)  # always the first place
    [0, 3, 2]
    """
    # Only places whose number changed are kept: a row of all of them may be long.
    moved: dict[int, int] = {}
    chosen = []
    sizes = range(count, count - needed, -1)
    for position in choose_all(source, sizes):
        chosen.append(moved.get(position, position))
        last = count - len(chosen)
        moved[position] = moved.get(last, last)
    return chosen
