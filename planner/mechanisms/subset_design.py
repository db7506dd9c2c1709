"""Subset designs: the best of all mechanisms, drawn, counted by type and estimated."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from planner.arrays import Array, Flags, Whole
from planner.estimates.counts import Estimates
from planner.laws import sides
from planner.laws.shape import as_tuples
from planner.limits import DENOMINATOR
from planner.mechanisms.collected import Collected, as_bytes
from planner.mechanisms.counting import (
    Aggregate,
    Counter,
    Packed,
    Reports,
    SidesCounter,
    level_bits,
    words_for,
)
from planner.mechanisms.rounding import likelihoods, round_types
from planner.mechanisms.words import Words, map_rows, rows_at_once
from planner.solvers.answers import SubsetDesign
from planner.solvers.types import OutputTypes, Variances, pooled

_ONE_BIT = np.uint64(1)
# standard deviations, and words at a time: in the cache
_NEAR_MEAN = 0.8
_NEAR_WORDS = 2**15
_LOOK = 3  # steps between two looks at which rows still miss something
_FEW_ITEMS = 2**12  # for which 16 random bits are seldom odd
_Word = type[np.unsignedinteger]
_FEW: tuple[_Word, _Word] = (np.uint16, np.uint32)
_MANY: tuple[_Word, _Word] = (np.uint32, np.uint64)

_CHUNK_WORDS = (
    2**19
)  # large, as each step of the draws is one call for all rows of a chunk


class SidesCollected(sides.Sides, Collected):
    """Subset designs and subset selection, see :class:`planner.laws.sides.Sides`.

    The estimated count of an item is ``sum value[o][group][side]`` over all reports, unbiased for
    every population. Its variance is the sum over people of what each adds, a number that depends
    on their group and on whether the item is their answer (:attr:`variances`), exact.

    Source: docs/theory/designs.md; subset selection (Ye and Barg 2018) is the case of equal
    budgets. The integers keep every pair's budget: docs/theory/exact-integers.md.

    Examples
    --------
    >>> from planner.policy.policy import PrivacyPolicy
    >>> types = OutputTypes([5], [0.5], [[1.0]], [[6.0]], [[1]])  # the item itself with 6/10
    >>> law = SidesCollected.of(SubsetDesign(PrivacyPolicy([np.log(6)], [5]), types, [0], [1.0]))
    >>> people = np.array([600, 0, 0, 400, 0])
    >>> counts = law.draw_aggregate(people, np.random.default_rng(1))
    >>> law.estimate(counts).values.round().tolist()
    [600.0, -10.0, -0.0, 400.0, -0.0]
    """

    @classmethod
    def of(cls, design: SubsetDesign) -> Self:
        """A solved design with its probabilities rounded to the private side, proven.

        The estimator is that of the rounded probabilities, and so exactly as unbiased.
        """
        groups = pooled(design.policy, design.groups)
        high_counts, integers = round_types(groups, design.types)
        drawn = likelihoods(groups.item_counts, high_counts, integers)
        law = cls(
            design.policy.plain(),
            groups=as_tuples(design.groups.tolist()),
            types=as_tuples(high_counts.tolist()),
            weights=as_tuples(integers.tolist()),
            values=as_tuples(drawn.estimator(design.prior).tolist()),
        )
        law.require_fit()
        law.check(None)
        return law

    def counter(self) -> Counter:
        return SidesCounter(np.array(self.counts), np.array(self.types))

    def draw_many(self, elements: Whole, words: Words) -> list[Reports]:
        reports = draw_sides(
            self.bits[elements],
            np.array(self.counts),
            np.array(self.types),
            np.array(self.weights),
            words,
        )
        if len(self.types) == 1:  # its number says nothing and is not sent
            reports = reports[:, 1:]
        return [as_bytes(reports)]

    @cached_property
    def bits(self) -> Whole:
        """The bit of each element, shape ``(elements,)``."""
        firsts, _, places = (np.array(column) for column in self.places)
        return np.arange(self.levels.elements) + np.repeat(
            places - firsts, self.levels.item_counts
        )

    @cached_property
    def output_types(self) -> OutputTypes:
        """The types as they are drawn, by groups."""
        return likelihoods(
            np.array(self.counts), np.array(self.types), np.array(self.weights)
        )

    @cached_property
    def estimator(self) -> Array:
        """What a report adds to an item's count, shape ``(types, groups, 2)``: low, high."""
        if self.values:
            return np.array(self.values)
        own_chance, other_chance = (
            float(chance) for chance in (self.support() or [])[0]
        )
        return np.array([[[-other_chance, 1 - other_chance]]]) / (
            own_chance - other_chance
        )

    @cached_property
    def variances(self) -> Variances:
        """What one person adds to the variance of an item's estimated count, by groups."""
        return self.output_types.variances(self.estimator)

    def estimate(self, counted: Aggregate) -> Estimates:
        """Unbiased counts with standard errors, shape ``(elements,)``, in users.

        The standard errors put the estimated counts, limited to ``[0, n]``, in place of the true
        ones in the exact variance.
        """
        counted.require((self.cells,))
        n = counted.users
        by_type = counted.counts.reshape(len(self.types), -1)
        if self.support() is not None:
            return super().estimate(Aggregate(n, by_type[0, 1:]))
        group = self._group
        (low, high) = np.moveaxis(self.estimator, 2, 0)
        values = (by_type[:, 0] @ low)[group]
        for slope, ones in zip(high - low, by_type[:, 1:], strict=True):
            values += slope[group] * ones  # by type: there may be millions of counts
        spread, null = self._standard_errors(values, n)
        return Estimates(values[self.bits], spread[self.bits], null[self.bits], n)

    def variance(self, users: int, once: Array, twice: Array) -> Array:
        del users, twice  # a person has one answer
        counts = np.empty(self.levels.elements)
        counts[self.bits] = once
        people = np.bincount(self._group, counts, len(self.counts)).astype(np.float64)
        return self._variance(counts, people)[self.bits]

    def second_moments(self, shares: Array, sums: Array) -> Array:
        level_of = np.repeat(np.array(self.groups), self.levels.item_counts)
        return self.output_types.second_moments(self.estimator, level_of, shares, sums)

    def draw_aggregate(self, own: Whole, rng: np.random.Generator) -> Aggregate:
        """As :class:`Collected` says.

        Types and own sides are drawn for the people of every item; of the others of a type, each
        has an item on the high side with the probability that their own group and side leave. That
        items sum to one number in every report is left out.
        """
        counts = np.empty_like(own)
        counts[self.bits] = own
        group = self._group
        t = len(self.counts)
        n = len(self.types)
        chances = (np.array(self.weights) / DENOMINATOR).reshape(t, 2 * n)
        mine = rng.multinomial(counts, chances[group]).reshape(counts.size, n, 2)
        group_people = np.zeros((t, n, 2), dtype=np.int64)
        np.add.at(group_people, group, mine)
        items = np.array(self.counts)
        high = np.array(self.types)
        total = group_people.sum(axis=(0, 2))
        # Of each type: people of other groups; those of the own one, on its low and its high side.
        # Of two items of one group the own side has one place less.
        asked = np.empty((n, 3, counts.size), dtype=np.int64)
        asked[:, 0] = (total - group_people.sum(axis=2)).T[:, group]
        asked[:, 1:] = group_people[group].transpose(1, 2, 0) - mine.transpose(1, 2, 0)
        places = high[:, None] - np.array([0, 0, 1])[:, None]
        share = np.clip(places / np.maximum(items - [[0], [1], [1]], 1), 0, 1)[
            :, :, group
        ]
        ones = mine[:, :, 1].T + rng.binomial(asked, share).sum(axis=1)
        result = np.column_stack([total, ones])
        return Aggregate(int(counts.sum()), result.ravel())

    @cached_property
    def _group(self) -> Whole:
        """Of each bit."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def _variance(self, counts: Array, people: Array) -> Array:
        """Of counts in the order of the bits, with so many people in each group."""
        others, holder = self.variances
        extra = holder - np.diag(others)
        return np.asarray((people @ others)[self._group] + counts * extra[self._group])

    def _standard_errors(self, values: Array, users: int) -> tuple[Array, Array]:
        """Of estimates in the order of the bits, and what they were if nobody had the item."""
        items = np.array(self.counts)
        # Unbiased estimates sum to about the users; what noise took below 0 is left out.
        people = np.maximum(np.bincount(self._group, values, items.size), 0.0)
        shares = people / people.sum() if people.any() else items / items.sum()
        variance = self._variance(np.clip(values, 0, users), users * shares)
        # If nobody has the only item of a group, everybody is in the other groups.
        others = np.tile(shares, (shares.size, 1)) + 1e-300
        others[np.diag_indices(shares.size)] *= items > 1
        others /= np.maximum(others.sum(axis=1, keepdims=True), 1e-300)
        null = users * (others * self.variances.other.T).sum(axis=1)[self._group]
        return np.sqrt(variance), np.sqrt(null)


def draw_sides(
    own_bits: Whole,
    item_counts: Whole,
    high_counts: Whole,
    integers: Whole,
    words: Words,
) -> NDArray[np.uint64]:
    """Reports of a design, the type's number and packed bits, uint64, shape ``(n, 1 + words)``.

    ``own_bits`` is the bit of each person's own item; bits stand group by group.
    """
    width = 1 + words_for(int(item_counts.sum()))
    chunk = rows_at_once(_CHUNK_WORDS, width)
    children = words.split(-(-own_bits.size // chunk))
    reports = np.empty((own_bits.size, width), dtype=np.uint64)
    lasts = np.cumsum(item_counts)
    kinds = len(high_counts)
    ends = np.cumsum(integers.reshape(item_counts.size, -1), axis=1)
    ends += np.arange(item_counts.size)[:, None] * DENOMINATOR

    def draw(part: slice, i: int) -> None:
        """Type and own side from one word each; then everybody's other items, sorted by type."""
        bits = own_bits[part]
        level = np.searchsorted(lasts, bits, side="right")
        word = level * DENOMINATOR + children[i].half(bits.size)
        drawn = np.searchsorted(ends.ravel(), word, side="right") - 2 * kinds * level
        kind = drawn >> 1
        held = (drawn & 1).astype(np.bool_)
        order = np.argsort(
            kind.astype(np.uint16) if kinds <= 2**16 else kind, kind="stable"
        )
        runs = np.cumsum(np.bincount(kind, minlength=kinds))
        sets = draw_sets(
            item_counts, high_counts, runs, bits[order], held[order], children[i]
        )
        reports[part, 0] = kind
        reports[part][order, 1:] = sets.T

    map_rows(draw, own_bits.size, chunk)
    return reports


# -- sets of exact sizes in bulk: packed rows with a given number of ones in every level ----
#
# Each lane of a level is first 1 with a probability near target / items, by one random word per
# binary digit and 64 lanes; of four such sets the nearest in size is kept, and ones are added or
# taken away at random places until the number is right. All items of a level are treated alike in
# every step, so every set of the right size is equally likely, whatever was drawn and kept first.


def draw_sets(
    item_counts: Whole,
    targets: Whole,
    runs: Whole,
    own_bits: Whole,
    held: Flags,
    source: Words,
) -> Packed:
    """Packed rows with exact numbers of ones and one given bit each, shape ``(words, rows)``.

    Rows are sorted by kind, which ends at row ``runs[kind]`` and has ``targets[kind]`` ones in each
    level. Of each row the bit of item ``own_bits`` is ``held``; the others are drawn.
    """
    rows = own_bits.size
    sizes = item_counts.tolist()
    levels = level_bits(item_counts)
    firsts = np.cumsum([0, *(level.mask.size for level in levels)])
    bits = np.zeros(
        (firsts[-1], rows), dtype=np.uint64
    )  # a word of two levels is there twice
    parts = np.split(bits, firsts[1:-1])
    for kind, (start, end) in enumerate(pairwise([0, *runs.tolist()])):
        levels_of_type = zip(parts, levels, targets[kind].tolist(), sizes, strict=True)
        for part, (_, mask), target, size in levels_of_type:
            step = rows_at_once(_NEAR_WORDS, mask.size)
            for row in range(start, end, step):
                _near(part[:, row : min(row + step, end)], mask, target, size, source)
    ends = np.cumsum(item_counts)
    every = np.arange(rows)
    starts = ends - item_counts
    own_level = np.searchsorted(ends, own_bits, side="right")
    own_row = (own_bits >> 6) + (firsts[:-1] - (starts >> 6))[own_level]
    own_word = own_row * rows + every
    shift = (own_bits & 63).astype(np.uint64)
    flat = bits.reshape(-1)
    flat[own_word] &= ~(_ONE_BIT << shift)
    kinds = np.repeat(np.arange(runs.size), np.diff(runs, prepend=0))
    need = targets[kinds].T - np.stack([_ones(part) for part in parts])
    need[own_level, every] -= held
    # The given bit must never be picked: it looks as if it were right already.
    blocked = need[own_level, every] > 0
    flat[own_word] |= blocked.astype(np.uint64) << shift
    for part, start, size, missing in zip(
        parts, starts.tolist(), sizes, need, strict=True
    ):
        _repair(part, start & 63, size, missing, source)
    flat[own_word] &= ~(_ONE_BIT << shift)
    flat[own_word] |= held.astype(np.uint64) << shift
    packed = np.zeros((words_for(int(ends[-1])), rows), dtype=np.uint64)
    for (words, _), part in zip(levels, parts, strict=True):
        packed[words] |= part
    return packed


def _near(part: Packed, mask: Packed, target: int, items: int, source: Words) -> None:
    """Lanes that are 1 with a probability near ``target / items``, of few binary digits.

    From the last digit to the first, a random word is or-ed where it is 1 and and-ed where it is 0.
    Words cost more than all else: so the complements of the last two are tried as well, and of the
    four sets every row gets the one whose size is nearest to the target.
    """
    share = target / items
    digits = 2
    lanes = mask[:, None]
    near = _NEAR_MEAN * max(np.sqrt(items * share * (1 - share)), 1.0) / items
    while abs(round(share * 2**digits) / 2**digits - share) > near:
        digits += 1
    value = round(share * 2**digits)
    if value in (0, 2**digits):
        part[:] = lanes if value else 0
        return
    steps = [
        np.bitwise_or if value >> digit & 1 else np.bitwise_and
        for digit in range(digits)
    ]
    words = (source.raw(part.size).reshape(part.shape) & lanes for _ in steps)
    for step, word in zip(steps[:-2], words, strict=False):
        step(part, word, out=part)
    (first, second) = steps[-2:]
    (last, last_but_one) = words
    base = np.empty_like(last)
    whole = np.empty_like(last)
    misses = []
    for _ in range(2):
        size = _ones(second(first(part, last, out=base), last_but_one, out=whole))
        # With a word and with its complement sizes sum to the base's; where or-ed, items more.
        turned = _ones(base) + items * (second is np.bitwise_or) - size
        misses += [np.abs(size - target), np.abs(turned - target)]
        last ^= lanes
    # The least miss, and in its last two bits which words are complemented.
    best = (4 * np.stack(misses) + np.arange(4, dtype=np.int32)[:, None]).min(axis=0)
    last ^= -(best >> 1 & 1).astype(np.uint64)
    last_but_one ^= -(best & 1).astype(np.uint64)
    second(first(part, last, out=part), last_but_one, out=part)
    part &= lanes


def _ones(bits: Packed) -> NDArray[np.int32]:
    """Ones of all words of each row, shape ``(rows,)``."""
    return np.asarray(np.bitwise_count(bits).sum(axis=0, dtype=np.int32))


def _repair(part: Packed, first: int, items: int, need: Whole, source: Words) -> None:
    """Add ones at random places where ``need`` is above 0, take them away where it is below.

    ``part`` has the words of one level, whose ``items`` begin at lane ``first`` of the first.
    """
    flat = part.reshape(-1)
    raw = source.raw
    draw, wide = _FEW if items <= _FEW_ITEMS else _MANY
    digits = wide(8 * draw().itemsize)
    size = wide(items)
    offset = wide(first)
    odd = draw(2 ** int(digits) % items)
    lane = wide(63)
    row = np.flatnonzero(need)
    left = np.abs(need[row])
    target_bits = (need[row] > 0).astype(np.uint64)  # what the bit is to become
    step = 0
    while left.size:
        # Lemire: the high half of the product is uniform, given that the low half is not odd.
        product = (
            raw(-(-left.size * draw().itemsize // 8)).view(draw)[: left.size] * size
        )
        pick = (product >> digits) + offset
        word_index = (pick >> wide(6)).astype(np.int64) * need.size + row
        pick &= lane
        word = flat.take(word_index)
        flip = ((word >> pick) ^ target_bits) & _ONE_BIT
        flip &= product.astype(draw) >= odd
        flip &= left > 0
        word ^= flip << pick
        flat[word_index] = word
        left -= flip.view(np.int64)
        step += 1
        if step % _LOOK == 0:
            keep = np.flatnonzero(left)
            row = row.take(keep)
            target_bits = target_bits.take(keep)
            left = left.take(keep)
