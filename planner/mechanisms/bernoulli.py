"""Exact Bernoulli draws in bulk: 64 lanes a word, compared digit by digit.

A lane is 1 with probability ``k / 2^32`` exactly: draw a 32-digit binary number
``U`` uniformly and ask whether ``U < k``. The first digit at which ``U`` and ``k``
differ decides, and the answer is then ``k``'s digit. A random word says for 64 lanes
at once whether this digit differs (probability 1/2 each). After 12 digits all but one
lane in 4096 are decided; the others get their remaining 20 digits one by one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.errors import InputError
from planner.mechanisms.packed import pack, words_for

__all__ = ["GRID", "GRID_BITS", "BernoulliRows", "thresholds_above", "thresholds_below"]

GRID_BITS = 32
GRID = 2**GRID_BITS
_BULK = 12  # digits compared for all lanes; fewer leave too many to the one-by-one end
_REST = GRID_BITS - _BULK


def thresholds_below(probabilities: ArrayLike) -> NDArray[np.int64]:
    """The largest integers ``k`` with ``k / 2^32 <= probability``."""
    return np.floor(np.asarray(probabilities, dtype=np.float64) * GRID).astype(np.int64)


def thresholds_above(probabilities: ArrayLike) -> NDArray[np.int64]:
    """The smallest integers ``k`` with ``k / 2^32 >= probability``."""
    return np.ceil(np.asarray(probabilities, dtype=np.float64) * GRID).astype(np.int64)


class BernoulliRows:
    """Rows of independent bits; bit ``k`` of a row is 1 with probability ``thresholds[k] / 2^32``.

    Parameters
    ----------
    thresholds:
        Integers from 0 to ``2^32 - 1``, one per bit of a row, shape ``(m,)``.
    rows:
        The largest number of rows that will be drawn at a time.

    Raises
    ------
    InputError
        A threshold is outside that range.

    Examples
    --------
    >>> rows = np.empty((4, 1), dtype=np.uint64)
    >>> BernoulliRows([2**31, 0], rows=4).fill(rows, np.random.default_rng(1))
    >>> rows.ravel().tolist()  # the second bit never comes up
    [1, 0, 0, 0]
    """

    __slots__ = ("_digits", "_low", "_words")

    def __init__(self, thresholds: ArrayLike, rows: int) -> None:
        values = np.asarray(thresholds)
        whole = values.ndim == 1 and values.size > 0 and values.dtype.kind in "iu"
        if not whole or values.min() < 0 or values.max() >= GRID:
            raise InputError("thresholds", thresholds, f"a list of integers from 0 to {GRID - 1}")
        self._words = words_for(values.size)
        lanes = np.zeros(64 * self._words, dtype=np.uint32)  # lanes beyond the row stay 0
        lanes[: values.size] = values
        self._low = lanes & np.uint32(2**_REST - 1)
        bits = (lanes >> np.arange(_REST, GRID_BITS, dtype=np.uint32)[:, None]) & np.uint32(1)
        self._digits = np.tile(pack(bits), rows)  # a whole chunk's: long loops are fast loops

    def fill(self, out: NDArray[np.uint64], rng: np.random.Generator) -> None:
        """Draw all rows of ``out``, a contiguous array of shape ``(rows, words)``."""
        flat = out.reshape(-1)
        draw = rng.bit_generator.random_raw
        change = np.empty_like(flat)
        decided = np.zeros_like(flat)
        flat[:] = 0
        for digit in self._digits:  # from the last digit to the first: the first decides
            differs = draw(flat.size)
            np.bitwise_xor(flat, digit[: flat.size], out=change)
            np.bitwise_and(change, differs, out=change)
            np.bitwise_xor(flat, change, out=flat)  # where they differ: the threshold's digit
            np.bitwise_or(decided, differs, out=decided)
        self._finish(flat, np.bitwise_not(decided, out=decided), rng)

    def _finish(
        self, flat: NDArray[np.uint64], undecided: NDArray[np.uint64], rng: np.random.Generator
    ) -> None:
        words = np.flatnonzero(undecided)
        bits = np.unpackbits(undecided[words].view(np.uint8), bitorder="little")
        lanes = np.flatnonzero(bits)
        column = (words[lanes >> 6] % self._words) * 64 + (lanes & 63)
        rest = rng.integers(2**_REST, size=lanes.size, dtype=np.uint32)
        bits[lanes] = rest < self._low[column]
        flat[words] |= np.packbits(bits, bitorder="little").view(np.uint64)
