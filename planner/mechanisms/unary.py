"""Reports of independent bits, drawn in bulk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arrays import Whole
from planner.limits import DENOMINATOR_BITS
from planner.mechanisms.counting import pack, unpack, words_for
from planner.mechanisms.words import CHUNK_WORDS, Words, map_rows, rows_at_once

# Exact Bernoulli draws in bulk: a lane is 1 with probability k / 2^32 exactly. Draw a 32-digit
# binary number U uniformly and ask whether U < k: the first digit at which they differ decides, and
# the answer is k's digit. A random word says for 64 lanes at once whether this digit differs. Ten
# digits are drawn for all words, eight more for the words that still have an undecided lane (one in
# sixteen), and the last fourteen one by one for the lanes (one in 2^18) that need them.
_FIRST_BITS, _SECOND = 10, 8  # digits per stage; fewer leave more words to the next stage
_REST = DENOMINATOR_BITS - _FIRST_BITS - _SECOND


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
        lanes = np.full(64 * self._words, values[-1], dtype=np.uint32)
        lanes[: values.size] = values
        self._mask = pack(np.ones((1, values.size), dtype=np.uint8))[0, -1]
        self._low = lanes & np.uint32(2**_REST - 1)
        places = np.arange(_REST, DENOMINATOR_BITS, dtype=np.uint32)[:, None]
        digits = pack((lanes >> places) & np.uint32(1))
        self._second = digits[:_SECOND]
        # A whole chunk's digits: long loops are fast loops.
        self._first = [_uniform(digit, rows) for digit in digits[_SECOND:]]

    def fill(self, out: NDArray[np.uint64], words: Words) -> None:
        """Draw all rows of ``out``, a contiguous array of shape ``(rows, words)``."""
        flat = out.reshape(-1)
        undecided = _compare(flat, self._first, words)
        open_ = np.flatnonzero(undecided)
        lanes, column = undecided[open_], open_ % self._words
        more = np.empty(open_.size, dtype=np.uint64)
        undecided = _compare(more, [digit[column] for digit in self._second], words) & lanes
        self._finish(more, undecided, column, words)
        flat[open_] |= more & lanes
        out[:, -1] &= self._mask

    def _finish(
        self, flat: NDArray[np.uint64], undecided: NDArray[np.uint64], column: Whole, words: Words
    ) -> None:
        """Set the undecided lanes, which are 0 so far, by their last digits one by one."""
        some = np.flatnonzero(undecided)
        bits = unpack(undecided[some, None], 64)
        row, lane = np.nonzero(bits)
        place = column[some[row]] * 64 + lane
        bits[row, lane] = words.half(row.size) >> np.uint32(32 - _REST) < self._low[place]
        flat[some] |= pack(bits)[:, 0]


def _uniform(digit: NDArray[np.uint64], rows: int) -> NDArray[np.uint64] | bool:
    """The digit of a chunk's lanes; a plain bool if all lanes have the same, as often."""
    if not digit.any():
        return False
    return True if not (~digit).any() else np.tile(digit, rows)


def _compare(
    flat: NDArray[np.uint64], digits: Sequence[NDArray[np.uint64] | bool], words: Words
) -> NDArray[np.uint64]:
    """Compare from the last digit to the first; write the answers, return the undecided lanes.

    Where a digit differs, the answer becomes the threshold's digit. A random word may as
    well say where digits agree, so that lanes with digit 0 take one operation.
    """
    flat[:] = 0
    decided, agreed = np.zeros_like(flat), np.full_like(flat, ~np.uint64(0))
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
) -> NDArray[np.uint64]:
    """Packed unary reports for checked item numbers; ``a``, ``b`` over 2^32, one per item."""
    width = words_for(a.size)
    chunk = rows_at_once(CHUNK_WORDS, width)
    reports = np.empty((true.size, width), dtype=np.uint64)
    noise = BernoulliRows(b, min(chunk, true.size))
    children = words.split(-(-true.size // chunk))

    def draw(part: slice, i: int) -> None:
        rows, items = reports[part], true[part]
        noise.fill(rows, children[i])
        heads = children[i].half(items.size) < a[items]
        place = (np.arange(items.size), items >> 6)
        shift = (items & 63).astype(np.uint64)
        rows[place] &= ~(np.uint64(1) << shift)  # the true bit has its own law
        rows[place] |= heads.astype(np.uint64) << shift

    map_rows(draw, true.size, chunk)
    return reports
