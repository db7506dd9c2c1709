"""Exact random bits in bulk: rows of a report's bits, each 1 with a probability over 2^32.

A lane is 1 with probability ``k / 2^32`` exactly: draw a number ``U`` of 32 binary digits uniformly
and ask whether ``U < k``. The first digit at which they differ decides, and the answer is k's digit
there. A random word says for 64 lanes at once whether this digit differs. Ten digits are drawn for
all words, eight more for the words that still have an undecided lane (one in sixteen), and the last
fourteen one by one for the lanes (one in 2^18) that need them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arrays import Whole
from planner.limits import DENOMINATOR_BITS
from planner.mechanisms.counting import Packed, pack, unpack, words_for
from planner.mechanisms.words import CHUNK_WORDS, Words, map_rows, rows_at_once

# Digits per stage; fewer leave more words to the next stage.
_FIRST_BITS = 10
_SECOND_BITS = 8
_LAST_BITS = DENOMINATOR_BITS - _FIRST_BITS - _SECOND_BITS


class BernoulliRows:
    """Rows of independent bits; bit ``k`` of a row is 1 with probability ``thresholds[k] / 2^32``.

    Examples
    --------
    >>> from planner.mechanisms.words import seeded_words
    >>> rows = np.empty((4, 1), dtype=np.uint64)
    >>> BernoulliRows([2**31, 0], rows=4).fill(rows, seeded_words(np.random.default_rng(3)))
    >>> rows.ravel().tolist()  # the second bit never comes up
    [1, 1, 1, 0]
    """

    def __init__(self, thresholds: ArrayLike, rows: int) -> None:
        values = np.asarray(thresholds)
        self._words = words_for(values.size)
        # Lanes beyond the last bit get any threshold; they are masked at the end.
        lanes = np.full(64 * self._words, values[-1], dtype=np.uint32)
        lanes[: values.size] = values
        self._mask = pack(np.ones((1, values.size), dtype=np.uint8))[0, -1]
        self._last_digits = lanes & np.uint32(2**_LAST_BITS - 1)
        # Digits of all lanes from the lowest that is compared in words, shape (digits, words).
        shifts = np.arange(_LAST_BITS, DENOMINATOR_BITS, dtype=np.uint32)[:, None]
        digits = pack((lanes >> shifts) & np.uint32(1))
        self._second = digits[:_SECOND_BITS]
        # A whole chunk's digits: long loops are fast loops.
        self._first = [_uniform(digit, rows) for digit in digits[_SECOND_BITS:]]

    def fill(self, out: Packed, words: Words) -> None:
        """Draw all rows of ``out``, a contiguous array of shape ``(rows, words)``."""
        flat = out.reshape(-1)
        undecided = _compare(flat, self._first, words)
        open_words = np.flatnonzero(undecided)
        lanes = undecided[open_words]
        column = open_words % self._words
        drawn = np.empty(open_words.size, dtype=np.uint64)
        digits = [digit[column] for digit in self._second]
        undecided = _compare(drawn, digits, words) & lanes
        self.finish(drawn, undecided, column, words)
        flat[open_words] |= drawn & lanes
        out[:, -1] &= self._mask

    def finish(
        self, flat: Packed, undecided: Packed, column: Whole, words: Words
    ) -> None:
        """Set the undecided lanes, which are 0 so far, by their last digits one by one."""
        some = np.flatnonzero(undecided)
        bits = unpack(undecided[some, None], 64)
        row, lane = np.nonzero(bits)
        last_digits = self._last_digits[column[some[row]] * 64 + lane]
        drawn = words.half(row.size) >> np.uint32(32 - _LAST_BITS)
        bits[row, lane] = drawn < last_digits
        flat[some] |= pack(bits)[:, 0]


def _uniform(digit: Packed, rows: int) -> Packed | bool:
    """The digit of a chunk's lanes; a plain bool if all lanes have the same, as often."""
    if not digit.any():
        return False
    return True if not (~digit).any() else np.tile(digit, rows)


def _compare(flat: Packed, digits: Sequence[Packed | bool], words: Words) -> Packed:
    """Compare from the last digit to the first; write the answers, return the undecided lanes.

    Where a digit differs, the answer becomes the threshold's digit. A random word may as
    well say where digits agree, so that lanes with digit 0 take one operation.
    """
    flat[:] = 0
    decided = np.zeros_like(flat)
    agreed = np.full_like(flat, ~np.uint64(0))
    for digit in digits:
        word = words.raw(flat.size)
        if digit is False:
            flat &= word
            agreed &= word
            continue
        if digit is True:
            flat |= word
        else:
            change = flat ^ digit[: flat.size]
            change &= word
            flat ^= change
        decided |= word
    return ~decided & agreed


def draw_reports(
    true: Whole, a: NDArray[np.uint32], b: NDArray[np.uint32], words: Words
) -> Packed:
    """Packed unary reports for checked item numbers; ``a``, ``b`` over 2^32, one per item."""
    width = words_for(a.size)
    chunk = rows_at_once(CHUNK_WORDS, width)
    reports = np.empty((true.size, width), dtype=np.uint64)
    noise = BernoulliRows(b, min(chunk, true.size))
    children = words.split(-(-true.size // chunk))

    def draw(part: slice, i: int) -> None:
        rows = reports[part]
        items = true[part]
        noise.fill(rows, children[i])
        heads = children[i].half(items.size) < a[items]
        own_words = (np.arange(items.size), items >> 6)
        shift = (items & 63).astype(np.uint64)
        rows[own_words] &= ~(np.uint64(1) << shift)  # the true bit has its own law
        rows[own_words] |= heads.astype(np.uint64) << shift

    map_rows(draw, true.size, chunk)
    return reports
