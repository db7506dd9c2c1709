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
_LAST_MASK = np.uint32(2**_LAST_BITS - 1)


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
        bits = values.size
        self._words = words_for(bits)
        # Lanes beyond the last bit get any threshold; they are masked at the end.
        lane_count = 64 * self._words
        lanes = np.full(lane_count, values[-1], dtype=np.uint32)
        lanes[:bits] = values
        every_bit = np.ones((1, bits), dtype=np.uint8)
        self._mask = pack(every_bit)[0, -1]  # of the last word
        self._last_digits = lanes & _LAST_MASK
        # Digits of all lanes from the lowest that is compared in words, shape (digits, words).
        shifts = np.arange(_LAST_BITS, DENOMINATOR_BITS, dtype=np.uint32)
        shifted = lanes >> shifts[:, None]
        digits = pack(shifted & np.uint32(1))
        self._second = digits[:_SECOND_BITS]
        # A whole chunk's digits: long loops are fast loops.
        self._first = []
        for digit in digits[_SECOND_BITS:]:
            self._first.append(_uniform(digit, rows))

    def fill(self, out: Packed, words: Words) -> None:
        """Draw all rows of ``out``, a contiguous array of shape ``(rows, words)``."""
        flat = out.reshape(-1)
        undecided = _compare(flat, self._first, words)
        # The second stage draws for the words alone in which a lane is still undecided.
        open_words = np.flatnonzero(undecided)
        open_lanes = undecided[open_words]
        column = open_words % self._words
        drawn = np.empty(open_words.size, dtype=np.uint64)
        digits = [digit[column] for digit in self._second]
        undecided = _compare(drawn, digits, words)
        undecided &= open_lanes
        self.finish(drawn, undecided, column, words)
        flat[open_words] |= drawn & open_lanes
        out[:, -1] &= self._mask

    def finish(
        self, flat: Packed, undecided: Packed, column: Whole, words: Words
    ) -> None:
        """Set the undecided lanes, which are 0 so far, by their last digits one by one."""
        open_words = np.flatnonzero(undecided)
        bits = unpack(undecided[open_words, None], 64)
        row, lane = np.nonzero(bits)
        column_of_lane = column[open_words[row]]
        last_digits = self._last_digits[64 * column_of_lane + lane]
        random_digits = words.half(row.size) >> np.uint32(32 - _LAST_BITS)
        bits[row, lane] = random_digits < last_digits
        packed = pack(bits)
        flat[open_words] |= packed[:, 0]


def _uniform(digit: Packed, rows: int) -> Packed | bool:
    """The digit of a chunk's lanes; a plain bool if all lanes have the same, as often."""
    if not digit.any():
        return False
    if not (~digit).any():
        return True
    return np.tile(digit, rows)


def _compare(flat: Packed, digits: Sequence[Packed | bool], words: Words) -> Packed:
    """Compare from the last digit to the first; write the answers, return the undecided lanes.

    Where a digit differs, the answer becomes the threshold's digit. A random word may as
    well say where digits agree, so that lanes with digit 0 take one operation.
    """
    flat[:] = 0
    # Lanes decided by a digit that is 1 somewhere, and lanes where all that are 0 everywhere agree.
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
    people = true.size
    reports = np.empty((people, width), dtype=np.uint64)
    noise = BernoulliRows(b, min(chunk, people))
    chunk_count = -(-people // chunk)
    children = words.split(chunk_count)

    def draw(part: slice, i: int) -> None:
        source = children[i]
        rows = reports[part]
        items = true[part]
        noise.fill(rows, source)
        is_one = source.half(items.size) < a[items]
        # The true bit has a law of its own: what was drawn for it is replaced.
        row = np.arange(items.size)
        word = items >> 6
        lane = (items & 63).astype(np.uint64)
        true_bit = np.uint64(1) << lane
        rows[row, word] &= ~true_bit
        rows[row, word] |= is_one.astype(np.uint64) << lane

    map_rows(draw, people, chunk)
    return reports
