"""Unary encoding with one pair of bit probabilities per privacy level: IDUE, RAPPOR, OUE."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner import arguments
from planner.errors import InputError
from planner.laws.bits import Bits
from planner.laws.exact import round_inward
from planner.limits import DENOMINATOR, DENOMINATOR_BITS
from planner.mechanisms import inputs
from planner.mechanisms.counting import pack, unpack, words_for
from planner.mechanisms.plain import FrequencyMechanism
from planner.mechanisms.rounding import levels_of
from planner.mechanisms.words import CHUNK_WORDS, Words, map_rows
from planner.policy import logodds
from planner.policy.policy import PrivacyPolicy
from planner.solvers.answers import UnaryTable

# Exact Bernoulli draws in bulk: a lane is 1 with probability k / 2^32 exactly. Draw a 32-digit
# binary number U uniformly and ask whether U < k: the first digit at which they differ decides, and
# the answer is k's digit. A random word says for 64 lanes at once whether this digit differs. Ten
# digits are drawn for all words, eight more for the words that still have an undecided lane (one in
# sixteen), and the last fourteen one by one for the lanes (one in 2^18) that need them.
_FIRST, _SECOND = 10, 8  # digits per stage; fewer leave more words to the next stage
_REST = DENOMINATOR_BITS - _FIRST - _SECOND


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
        self._size = self._words * rows
        self._scratch: list[NDArray[np.uint64]] = []  # one for each thread at work, used again
        self._mask = pack(np.ones((1, values.size), dtype=np.uint8))[0, -1]
        self._low = lanes & np.uint32(2**_REST - 1)
        digits = pack(
            (lanes >> np.arange(_REST, DENOMINATOR_BITS, dtype=np.uint32)[:, None]) & np.uint32(1)
        )
        self._second = digits[:_SECOND]
        # A whole chunk's digits: long loops are fast loops.
        self._first = [_uniform(digit, rows) for digit in digits[_SECOND:]]

    def fill(self, out: NDArray[np.uint64], words: Words) -> None:
        """Draw all rows of ``out``, a contiguous array of shape ``(rows, words)``."""
        flat = out.reshape(-1)
        try:
            scratch = self._scratch.pop()
        except IndexError:  # a thread more at work than ever before
            scratch = np.empty((3, self._size), dtype=np.uint64)
        undecided = _compare(flat, self._first, words, scratch[:, : flat.size])
        open_ = np.flatnonzero(undecided)
        lanes = undecided[open_]
        self._scratch.append(scratch)
        column = open_ % self._words
        more, *space = np.empty((4, open_.size), dtype=np.uint64)
        undecided = _compare(more, [digit[column] for digit in self._second], words, space) & lanes
        self._finish(more, undecided, column, words)
        flat[open_] |= more & lanes
        out[:, -1] &= self._mask

    def _finish(
        self,
        flat: NDArray[np.uint64],
        undecided: NDArray[np.uint64],
        column: NDArray[np.int64],
        words: Words,
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
    flat: NDArray[np.uint64],
    digits: Sequence[NDArray[np.uint64] | bool],
    words: Words,
    scratch: Iterable[NDArray[np.uint64]],
) -> NDArray[np.uint64]:
    """Compare from the last digit to the first; write the answers, return the undecided lanes.

    Where a digit differs, the answer becomes the threshold's digit. A random word may as
    well say where digits agree, so that lanes with digit 0 take one operation.
    """
    draw = words.raw
    change, decided, agreed = scratch
    flat[:] = decided[:] = 0
    agreed[:] = ~np.uint64(0)
    for digit in digits:
        word = draw(flat.size)
        if digit is False:
            np.bitwise_and(flat, word, out=flat)
            np.bitwise_and(agreed, word, out=agreed)
            continue
        if digit is True:
            np.bitwise_or(flat, word, out=flat)
        else:
            np.bitwise_xor(flat, digit[: flat.size], out=change)
            np.bitwise_and(change, word, out=change)
            np.bitwise_xor(flat, change, out=flat)
        np.bitwise_or(decided, word, out=decided)
    np.bitwise_not(decided, out=decided)
    return np.bitwise_and(decided, agreed, out=decided)


@dataclass(frozen=True, slots=True, eq=False)
class UnaryMechanism(FrequencyMechanism):
    """Unary encoding: one bit per item, every bit randomised independently.

    Output law: bit ``k`` is 1 with probability ``a`` of the item's level if the
    user's item is ``k``, else with probability ``b`` of the level. Both are drawn
    exactly as integers over 2^32, ``a`` rounded down and ``b`` up, so that no pair
    of items becomes easier to tell apart.

    Variance of an estimated count: ``n b(1-b)/(a-b)^2 + c (1-a-b)/(a-b)``, exact.

    Source: IDUE paper, section V-B; RAPPOR: Erlingsson et al. (CCS 2014); OUE: Wang
    et al. (USENIX Security 2017).

    Parameters
    ----------
    table:
        Bit probabilities per level, and the policy they keep.
    level_of:
        Level number of each item, shape ``(m,)``; when omitted, the first ``m_1`` items are in
        level 0, and so on.

    Raises
    ------
    InputError
        The assignment does not fit the policy, or a level's probabilities are closer than the grid
        of 2^-32 can express.
    VerificationError
        The table breaks its own policy by more than rounding.

    Examples
    --------
    >>> mechanism = UnaryMechanism.rappor(np.log(4), items=5)
    >>> counts = mechanism.draw_aggregate([600, 0, 0, 400, 0], np.random.default_rng(1))
    >>> mechanism.estimate(counts).values.round().tolist()
    [614.0, 17.0, 68.0, 419.0, -1.0]
    """

    table: UnaryTable
    level_of: NDArray[np.int64] = None  # type: ignore[assignment]
    law: Bits = field(init=False, repr=False)

    def __post_init__(self) -> None:
        policy = self.table.policy
        in_order = np.repeat(np.arange(policy.size), policy.item_counts)
        levels = in_order if self.level_of is None else np.array(self.level_of)
        if not np.array_equal(np.bincount(levels, minlength=policy.size), policy.item_counts):
            allowed = f"a level of each item, with {policy.item_counts.tolist()} of each"
            raise InputError("level_of", levels, allowed, "Change it, or the policy's item_counts.")
        about = levels_of(policy)
        integers = round_inward(self.table.a.tolist(), self.table.b.tolist(), about)
        object.__setattr__(self, "level_of", levels)
        object.__setattr__(self, "law", Bits(about, *map(tuple, integers)))

    @classmethod
    def rappor(cls, epsilon: float, items: int) -> UnaryMechanism:
        """Basic RAPPOR (symmetric unary encoding): ``a = 1 - b = e^(eps/2) / (e^(eps/2) + 1)``."""
        half = np.array([arguments.budget("epsilon", epsilon) / 2])
        a, b = logodds.from_log_odds(half, half)
        return cls(_one_level(epsilon, items, a, b, "rappor"))

    @classmethod
    def oue(cls, epsilon: float, items: int) -> UnaryMechanism:
        """Optimised unary encoding: ``a = 1/2``, ``b = 1 / (e^eps + 1)``."""
        b = 1 / (np.exp([arguments.budget("epsilon", epsilon)]) + 1)
        return cls(_one_level(epsilon, items, np.array([0.5]), b, "oue"))

    @property
    def items(self) -> int:  # type: ignore[override]
        """Number of items, ``m``."""
        return self.level_of.size

    @property
    def a(self) -> NDArray[np.float64]:
        """``Pr[bit k is 1 | item k]`` as really drawn, shape ``(items,)``."""
        return (np.array(self.law.a) / DENOMINATOR)[self.level_of]

    @property
    def b(self) -> NDArray[np.float64]:
        """``Pr[bit k is 1 | another item]`` as really drawn, shape ``(items,)``."""
        return (np.array(self.law.b) / DENOMINATOR)[self.level_of]


def draw_reports(
    true: NDArray[np.int64],
    a: NDArray[np.uint32],
    b: NDArray[np.uint32],
    words: Words,
) -> NDArray[np.uint64]:
    """Packed unary reports for checked item numbers; ``a``, ``b`` over 2^32, one per item."""
    width = words_for(a.size)
    chunk = max(1, CHUNK_WORDS // width)
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


def _one_level(
    epsilon: float, items: int, a: NDArray[np.float64], b: NDArray[np.float64], model: str
) -> UnaryTable:
    policy = PrivacyPolicy([epsilon], [inputs.item_count(items)])
    return UnaryTable(policy, a, b, model, "closed form")
