"""Random words of which draws in bulk are made, and seeded work on all processors.

Words are the operating system's or a generator's. Chunks of rows do not depend on the number of
processors, and neither do results.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arrays import Whole
from planner.errors import InputError

CHUNK_WORDS = 2**15
"""64-bit words per chunk: small enough for the cache, large enough to hide call overhead."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Words:
    """A source of random words.

    Attributes
    ----------
    raw:
        Gives so many uniform words of 64 bits, uint64, shape ``(count,)``.
    split:
        Gives so many sources for chunks that are drawn side by side.
    """

    raw: Callable[[int], NDArray[np.uint64]]
    split: Callable[[int], list[Words]]

    def half(self, count: int) -> NDArray[np.uint32]:
        """The next ``count`` uniform words of 32 bits."""
        pair_count = -(-count // 2)
        halves = self.raw(pair_count).view(np.uint32)
        return halves[:count]

    def octets(self, count: int) -> bytes:
        """The next ``count`` random bytes, as devices ask for them."""
        word_count = -(-count // 8)
        octets = self.raw(word_count).tobytes()
        return octets[:count]

    def below(self, sizes: ArrayLike, count: int) -> Whole:
        """Uniform whole numbers below ``sizes``, each from 1 to 2^32, shape ``(count,)``.

        A word of 64 bits is taken again where it is in the last, incomplete run of its size.
        """
        size = np.asarray(sizes, dtype=np.uint64)
        size = np.broadcast_to(size, (count,))
        chosen = np.empty(count, dtype=np.int64)
        left = np.arange(count)
        while left.size:
            word = self.raw(left.size)
            modulus = size[left]
            rest = word % modulus
            chosen[left] = rest
            # A run begins at word - rest; it is complete if it begins at 2^64 - modulus or before.
            run_start = word - rest
            last_start = np.uint64(0) - modulus
            left = left[run_start > last_start]
        return chosen


def system_words() -> Words:
    """Words of the operating system's generator."""

    def raw(count: int) -> NDArray[np.uint64]:
        octets = secrets.token_bytes(8 * count)
        return np.frombuffer(octets, dtype=np.uint64)

    def split(count: int) -> list[Words]:
        return [words] * count

    words = Words(raw, split)
    return words


def seeded_words(rng: np.random.Generator) -> Words:
    """Words of a generator, for simulations alone; chunks have children of it (SFC64)."""
    if isinstance(rng.bit_generator, np.random.MT19937):
        allowed = "a generator of 64-bit words"
        raise InputError("rng", "MT19937", allowed, "Use SFC64.")
    bits = rng.bit_generator

    def raw(count: int) -> NDArray[np.uint64]:
        return np.asarray(bits.random_raw(count), dtype=np.uint64)

    def split(count: int) -> list[Words]:
        return [seeded_words(child) for child in spawn(rng, count)]

    return Words(raw, split)


def spawn(rng: np.random.Generator, count: int) -> list[np.random.Generator]:
    """``count`` independent generators (SFC64, the fastest NumPy has), seeded by ``rng``.

    Works for every generator, also one without a seed sequence, and moves ``rng``
    on, so that two calls never give the same children.
    """
    entropy = rng.integers(2**32, size=8, dtype=np.uint64)
    seeds = np.random.SeedSequence(entropy.tolist()).spawn(count)
    generators = []
    for seed in seeds:
        bits = np.random.SFC64(seed)
        generators.append(np.random.Generator(bits))
    return generators


def rows_at_once(size: int, width: int) -> int:
    """How many rows of this width have about this size together: one at least.

    Examples
    --------
    >>> rows_at_once(9, 3), rows_at_once(9, 5), rows_at_once(9, 10)
    (3, 1, 1)
    """
    return max(1, size // width)


def map_rows(function: Callable[[slice, int], T], rows: int, chunk: int) -> list[T]:
    """``function(rows of chunk i, i)`` for all chunks, on all processors, results in order.

    NumPy lets threads run side by side inside its loops. The chunks do not depend
    on the number of processors, hence neither do the results.
    """
    parts = []
    for start in range(0, rows, chunk):
        end = min(start + chunk, rows)
        parts.append(slice(start, end))
    numbers = range(len(parts))
    workers = min(len(parts), os.cpu_count() or 1)
    if workers <= 1:
        return list(map(function, parts, numbers))
    with ThreadPoolExecutor(workers) as pool:
        results = pool.map(function, parts, numbers)
        return list(results)
