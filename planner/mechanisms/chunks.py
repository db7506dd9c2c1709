"""Seeded work in chunks of rows on all processors, with the same result on any number of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

CHUNK_WORDS = 2**15
"""64-bit words per chunk: small enough for the cache, large enough to hide call overhead."""

T = TypeVar("T")


def rows_per_chunk(words: int) -> int:
    """Rows of ``words`` 64-bit words that make up one chunk, at least 1."""
    return max(1, CHUNK_WORDS // words)


def spawn(rng: np.random.Generator, count: int) -> list[np.random.Generator]:
    """``count`` independent generators (SFC64, the fastest NumPy has), seeded by ``rng``.

    Works for every generator, also one without a seed sequence, and moves ``rng``
    on, so that two calls never give the same children.

    Examples
    --------
    >>> first, second = spawn(np.random.default_rng(1), 2)
    >>> int(first.integers(100)) == int(second.integers(100))
    False
    """
    entropy = rng.integers(2**32, size=8, dtype=np.uint64).tolist()
    children = np.random.SeedSequence(entropy).spawn(count)
    return [np.random.Generator(np.random.SFC64(child)) for child in children]


def map_rows(function: Callable[[slice, int], T], rows: int, chunk: int) -> list[T]:
    """``function(rows of chunk i, i)`` for all chunks, on all processors, results in order.

    NumPy lets threads run side by side inside its loops. The chunks do not depend
    on the number of processors, hence neither do the results.
    """
    parts = [slice(start, min(start + chunk, rows)) for start in range(0, rows, chunk)]
    workers = min(len(parts), os.cpu_count() or 1)
    if workers <= 1:
        return [function(part, i) for i, part in enumerate(parts)]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(function, parts, range(len(parts))))
