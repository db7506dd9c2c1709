"""Random sets of exact sizes in bulk: packed rows with a given number of ones in every level.

Each lane of a level is first 1 with a probability near ``target / items``, by one random word per
binary digit and 64 lanes; of four such sets the nearest in size is kept, and ones are added or
taken away at random places until the number is right. All items of a level are treated alike in
every step, so every set of the right size is equally likely, whatever was drawn and kept first: it
only saves time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.mechanisms.words import Words as Source

Words = NDArray[np.uint64]
_ALL = ~np.uint64(0)
_ONE = np.uint64(1)
_NEAR, _NEAR_WORDS = 0.8, 2**15  # standard deviations, and words at a time: in the cache
_LOOK = 3  # steps between two looks at which rows still miss something
_FEW_ITEMS = 2**12  # for which 16 random bits are seldom odd
_FEW: tuple[Any, Any]
_MANY: tuple[Any, Any]
_FEW, _MANY = (np.uint16, np.uint32), (np.uint32, np.uint64)


class Segments(NamedTuple):
    """Where the words of each level are; a word in which two levels meet is there twice.

    Attributes
    ----------
    starts:
        First item of each level and the number of all items, shape ``(t + 1,)``.
    first, last:
        First and last segment of each level, shape ``(t,)``.
    word:
        The word of a report that each segment belongs to.
    mask:
        The lanes of the word that belong to the level.
    """

    starts: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    word: NDArray[np.int64]
    mask: Words

    @classmethod
    def of(cls, item_counts: NDArray[np.int64]) -> Segments:
        """The segments of levels that follow each other."""
        starts = np.concatenate([[0], np.cumsum(item_counts)])
        low, high = starts[:-1] >> 6, (starts[1:] - 1) >> 6
        first = np.concatenate([[0], np.cumsum(high - low + 1)])
        word = np.arange(first[-1]) - np.repeat(first[:-1] - low, np.diff(first))
        mask = np.full(word.size, _ALL)
        mask[first[:-1]] &= _ALL << (starts[:-1] & 63).astype(np.uint64)
        mask[first[1:] - 1] &= _ALL >> (-starts[1:] & 63).astype(np.uint64)
        return cls(starts, first[:-1], first[1:] - 1, word, mask)


def draw_sets(
    segments: Segments,
    targets: NDArray[np.int64],
    runs: NDArray[np.int64],
    own: NDArray[np.int64],
    held: NDArray[np.bool_],
    source: Source,
) -> Words:
    """Packed rows with exact numbers of ones and one given bit each, word by word.

    Parameters
    ----------
    segments:
        The levels.
    targets:
        Ones in each level for each kind of row, shape ``(n, t)``.
    runs:
        Rows are sorted by kind: row numbers at which each kind ends, shape ``(n,)``.
    own:
        One item of each row, shape ``(rows,)``; its bit is given, the others are drawn.
    held:
        Whether the bit is 1, shape ``(rows,)``.
    source:
        Of the random words.

    Returns
    -------
    words:
        Shape ``(words, rows)``.
    """
    rows = own.size
    bits = np.zeros((segments.word.size, rows), dtype=np.uint64)
    sizes = np.diff(segments.starts).tolist()
    words = [slice(a, b + 1) for a, b in zip(segments.first, segments.last, strict=True)]
    starts = np.concatenate([[0], runs[:-1]])
    for kind, (start, end) in enumerate(zip(starts, runs, strict=True)):
        for level, target in enumerate(targets[kind].tolist()):
            part, mask = bits[words[level]], segments.mask[words[level]]
            step = max(1, _NEAR_WORDS // mask.size)
            for row in range(start, end, step):
                _near(part[:, row : min(row + step, end)], mask, target, sizes[level], source)
    own_level = np.searchsorted(segments.starts, own, side="right") - 1
    own_row = (own >> 6) + (segments.first - (segments.starts[:-1] >> 6))[own_level]
    place, shift = own_row * rows + np.arange(rows), (own & 63).astype(np.uint64)
    flat = bits.reshape(-1)
    kinds = np.repeat(np.arange(runs.size), np.diff(runs, prepend=0))
    flat[place] &= ~(_ONE << shift)
    need = targets[kinds].T - np.stack([_ones(bits[level]) for level in words])
    need[own_level, np.arange(rows)] -= held
    # The given bit must never be picked: it looks as if it were right already.
    blocked = need[own_level, np.arange(rows)] > 0
    flat[place] |= blocked.astype(np.uint64) << shift
    for level, rows_of in enumerate(words):
        _repair(bits[rows_of], int(segments.starts[level] & 63), sizes[level], need[level], source)
    flat[place] &= ~(_ONE << shift)
    flat[place] |= held.astype(np.uint64) << shift
    return _joined(bits, segments)


def _near(part: Words, mask: Words, target: int, items: int, source: Source) -> None:
    """Lanes that are 1 with a probability near ``target / items``, of few binary digits.

    Random words cost more than all else. So the last two digits' complements are tried as well,
    and of the four sets every row gets the one whose size is nearest to the target.
    """
    share, digits, lanes = target / items, 2, mask[:, None]
    near = _NEAR * max(np.sqrt(items * share * (1 - share)), 1.0) / items
    while abs(round(share * 2**digits) / 2**digits - share) > near:
        digits += 1
    value = round(share * 2**digits)
    if value in (0, 2**digits):
        part[:] = lanes if value else 0
        return
    steps = [np.bitwise_or if value >> digit & 1 else np.bitwise_and for digit in range(digits)]
    words = (source.raw(part.size).reshape(part.shape) & lanes for _ in steps)
    for step, word in zip(steps[:-2], words, strict=False):
        step(part, word, out=part)
    (first, second), (one, two) = steps[-2:], words
    base, whole, misses = np.empty_like(one), np.empty_like(one), []
    for _ in range(2):
        size = _ones(second(first(part, one, out=base), two, out=whole))
        turned = _ones(base) + items * (second is np.bitwise_or) - size
        misses += [np.abs(size - target), np.abs(turned - target)]
        one ^= lanes
    best = (4 * np.stack(misses) + np.arange(4, dtype=np.int32)[:, None]).min(axis=0)
    one ^= -(best >> 1 & 1).astype(np.uint64)
    two ^= -(best & 1).astype(np.uint64)
    second(first(part, one, out=part), two, out=part)
    part &= lanes


def _ones(bits: Words) -> NDArray[np.int32]:
    """Ones of all words of each row, shape ``(rows,)``."""
    return np.asarray(np.bitwise_count(bits).sum(axis=0, dtype=np.int32))


def _repair(part: Words, first: int, items: int, need: NDArray[np.int64], source: Source) -> None:
    """Add ones at random places where ``need`` is above 0, take them away where it is below.

    ``part`` has the words of one level, whose ``items`` begin at lane ``first`` of the first.
    """
    flat, raw = part.reshape(-1), source.raw
    draw, wide = _FEW if items <= _FEW_ITEMS else _MANY
    digits, size, offset = wide(8 * draw().itemsize), wide(items), wide(first)
    odd, lane = draw(2 ** int(digits) % items), wide(63)
    row = np.flatnonzero(need)
    left = np.abs(need[row])
    wanted = (need[row] > 0).astype(np.uint64)  # what the bit is to become
    step = 0
    while left.size:
        # Lemire: the high half of the product is uniform, given that the low half is not odd.
        product = raw(-(-left.size * draw().itemsize // 8)).view(draw)[: left.size] * size
        pick = (product >> digits) + offset
        place = (pick >> wide(6)).astype(np.int64) * need.size + row
        pick &= lane
        word = flat.take(place)
        flip = ((word >> pick) ^ wanted) & _ONE
        flip &= product.astype(draw) >= odd
        flip &= left > 0
        word ^= flip << pick
        flat[place] = word
        left -= flip.view(np.int64)
        step += 1
        if step % _LOOK == 0:
            keep = np.flatnonzero(left)
            row, wanted, left = row.take(keep), wanted.take(keep), left.take(keep)


def _joined(bits: Words, segments: Segments) -> Words:
    words = np.zeros((int(segments.word[-1]) + 1, bits.shape[1]), dtype=np.uint64)
    for word, row in zip(segments.word.tolist(), bits, strict=True):
        words[word] |= row
    return words
