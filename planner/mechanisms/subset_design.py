"""Subset designs: the best of all mechanisms, drawn, counted by type and estimated."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from planner.arrays import Array, Flags, Whole
from planner.estimates.counts import Estimates
from planner.estimates.report_law import ReportSums, SumLaw
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
        if law.support() is not None:
            # Its reports are counted as supports: the estimator of the file is that of supports.
            law = replace(law, values=as_tuples(law.estimator.tolist()))
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
        firsts = np.array(self.places[0])
        first_bits = np.array(self.places[2])
        # The items of a level stand side by side, among the elements and among the bits.
        shifts = np.repeat(first_bits - firsts, self.levels.item_counts)
        return np.arange(self.levels.elements) + shifts

    @cached_property
    def output_types(self) -> OutputTypes:
        """The types as they are drawn, by groups."""
        return likelihoods(
            np.array(self.counts), np.array(self.types), np.array(self.weights)
        )

    @cached_property
    def estimator(self) -> Array:
        """What a report adds to an item's count, shape ``(types, groups, 2)``: low, high."""
        support = self.support()
        if support is None:
            return np.array(self.values)
        own_chance = float(support[0][0])
        other = float(support[0][1])
        sides = np.array([-other, 1 - other]) / (own_chance - other)
        return np.tile(sides, (len(self.types), 1, 1))

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
            return super().estimate(Aggregate(n, by_type[:, 1:].sum(axis=0)))
        group = self._group
        (low, high) = np.moveaxis(self.estimator, 2, 0)
        values = (by_type[:, 0] @ low)[group]
        for slope, ones in zip(high - low, by_type[:, 1:], strict=True):
            values += slope[group] * ones  # by type: there may be millions of counts
        spread, null = self._standard_errors(values, n)
        bits = self.bits
        people = np.bincount(group, values, len(self.counts))
        return ReportSums(
            values[bits],
            spread[bits],
            null[bits],
            n,
            self._sum_law(people),
            group[bits],
        )

    def _sum_law(self, people: Array | Whole) -> SumLaw:
        """What a report adds to the count of an item: a value for its type and the item's side.

        Of somebody who has the item its side is drawn with the type. Of another level's people it
        is on the high side with the share of its level that is; of another item's of the same
        level one place is taken.
        """
        kinds = len(self.types)
        groups = len(self.counts)
        high = np.array(self.types).T  # (groups, types)
        size = np.array(self.counts)[:, None]
        chances = np.array(self.weights) / DENOMINATOR  # (groups, types, sides)
        share = np.stack([1 - high / size, high / size], axis=2)
        other = np.empty((groups, groups, kinds, 2))
        for group in range(groups):
            # By the person's group, of each type.
            sent = chances.sum(axis=2)[:, :, None]
            other[group] = sent * share[group]
            rest = max(self.counts[group] - 1, 1)
            if_low = chances[group, :, 0] * high[group] / rest
            if_high = chances[group, :, 1] * (high[group] - 1) / rest
            on_high = if_low + if_high
            other[group, group, :, 1] = on_high
            other[group, group, :, 0] = chances[group].sum(axis=1) - on_high
            if self.counts[group] == 1:
                other[group, group] = 0.0  # nobody has another item of it
        return SumLaw(
            numbers=self.estimator.transpose(1, 0, 2).reshape(groups, 2 * kinds),
            own=chances.reshape(groups, 2 * kinds),
            other=np.maximum(other, 0.0).reshape(groups, groups, 2 * kinds),
            people=np.maximum(people, 0.0),
            counted=np.arange(groups),
        )

    def variance(self, users: int, once: Array, twice: Array) -> Array:
        del users, twice  # a person has one answer
        counts = np.empty(self.levels.elements)
        counts[self.bits] = once
        people = np.bincount(self._group, counts, len(self.counts)).astype(np.float64)
        return self._variance(counts, people)[self.bits]

    def second_moments(self, shares: Array, sums: Array) -> Array:
        level_of = np.repeat(np.array(self.groups), self.levels.item_counts)
        return self.output_types.second_moments(self.estimator, level_of, shares, sums)

    def weight_squares(self, counted: Aggregate) -> Array:
        by_type = counted.counts.reshape(len(self.types), -1)
        (low, high) = np.moveaxis(np.square(self.estimator), 2, 0)
        group = self._group
        squares = (by_type[:, 0] @ low)[group]
        for slope, ones in zip(high - low, by_type[:, 1:], strict=True):
            squares += slope[group] * ones
        return np.asarray(squares[self.bits])

    def draw_aggregate(self, people: Whole, rng: np.random.Generator) -> Aggregate:
        """As :class:`Collected` says.

        Types and own sides are drawn for the people of every item; of the others of a type, each
        has an item on the high side with the probability that their own group and side leave. That
        items sum to one number in every report is left out.
        """
        # People of each item, in the order of the bits.
        holders = np.empty_like(people)
        holders[self.bits] = people
        group = self._group
        groups = len(self.counts)
        types = len(self.types)
        chances = np.array(self.weights) / DENOMINATOR  # (groups, types, sides)
        drawn = rng.multinomial(holders, chances.reshape(groups, 2 * types)[group])
        # Reports by own item, type and side.
        sent = drawn.reshape(holders.size, types, 2)
        sent_by_group = np.zeros((groups, types, 2), dtype=np.int64)
        np.add.at(sent_by_group, group, sent)
        reports = sent_by_group.sum(axis=(0, 2))  # of each type
        # Who else may have an item on the high side, in three kinds: people of other groups, and
        # those of the item's own group whose own item is on the low or on the high side.
        others = np.empty((types, 3, holders.size), dtype=np.int64)
        others[:, 0] = (reports - sent_by_group.sum(axis=2)).T[:, group]
        same_group = sent_by_group[group] - sent
        others[:, 1:] = same_group.transpose(1, 2, 0)
        share = self._high_shares()[:, :, group]
        high = sent[:, :, 1].T + rng.binomial(others, share).sum(axis=1)
        result = np.column_stack([reports, high])
        return Aggregate(int(holders.sum()), result.ravel())

    def _high_shares(self) -> Array:
        """Chance that an item is on the high side of another one's report, ``(types, 3, groups)``.

        ``k / m`` for people of other groups; ``k / (m - 1)`` and ``(k - 1) / (m - 1)`` for people
        of its own group whose own item is on the low and on the high side, which takes a place.
        """
        items = np.array(self.counts)
        high = np.array(self.types)
        places = np.stack([high, high, high - 1], axis=1)
        among = np.maximum(np.stack([items, items - 1, items - 1]), 1)
        return np.clip(places / among, 0.0, 1.0)

    @cached_property
    def _group(self) -> Whole:
        """The group of each bit."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def _variance(self, holders: Array, people: Array) -> Array:
        """Variances of counts in the order of the bits.

        ``sum_g people_g other_gi + holders_i (holder_i - other_ii)``: everybody adds what a person
        of their group adds to an item that is not theirs, and holders of the item what they add
        instead.
        """
        others, holder = self.variances
        instead = holder - np.diag(others)
        by_group = people @ others
        return np.asarray(by_group[self._group] + holders * instead[self._group])

    def _standard_errors(self, values: Array, users: int) -> tuple[Array, Array]:
        """Of estimates in the order of the bits, and what they were if nobody had the item."""
        items = np.array(self.counts)
        # Unbiased estimates sum to about the users; what noise took below 0 is left out.
        people = np.maximum(np.bincount(self._group, values, items.size), 0.0)
        shares = items / items.sum()
        if people.any():
            shares = people / people.sum()
        holders = np.clip(values, 0, users)
        variance = self._variance(holders, users * shares)
        # If nobody has the only item of a group, everybody is in the other groups.
        elsewhere = np.tile(shares, (shares.size, 1)) + 1e-300
        elsewhere[np.diag_indices(shares.size)] *= items > 1
        elsewhere /= np.maximum(elsewhere.sum(axis=1, keepdims=True), 1e-300)
        null = users * (elsewhere * self.variances.other.T).sum(axis=1)
        return np.sqrt(variance), np.sqrt(null[self._group])


def draw_sides(
    own_bits: Whole,
    item_counts: Whole,
    high_counts: Whole,
    integers: Whole,
    words: Words,
) -> NDArray[np.uint64]:
    """Reports of a design, the type's number and packed bits, uint64, shape ``(n, 1 + words)``.

    ``own_bits`` are the bits of the people's own items; bits stand group by group. ``integers``
    are ``2^32 Pr[type, own side | group]``, shape ``(groups, types, 2)``.
    """
    width = 1 + words_for(int(item_counts.sum()))
    chunk = rows_at_once(_CHUNK_WORDS, width)
    children = words.split(-(-own_bits.size // chunk))
    reports = np.empty((own_bits.size, width), dtype=np.uint64)
    lasts = np.cumsum(item_counts)
    types = len(high_counts)
    # One search for all groups: the cumulated integers of group g begin at g 2^32.
    ends = np.cumsum(integers.reshape(item_counts.size, -1), axis=1)
    ends += np.arange(item_counts.size)[:, None] * DENOMINATOR

    def draw(part: slice, i: int) -> None:
        """Type and own side from one word each; then everybody's other items, sorted by type."""
        bits = own_bits[part]
        group = np.searchsorted(lasts, bits, side="right")
        word = group * DENOMINATOR + children[i].half(bits.size)
        outcome = np.searchsorted(ends.ravel(), word, side="right") - 2 * types * group
        report_type = outcome >> 1
        is_high = (outcome & 1).astype(np.bool_)
        sort_key = report_type
        if types <= 2**16:
            sort_key = report_type.astype(np.uint16)  # NumPy sorts these by radix
        order = np.argsort(sort_key, kind="stable")
        type_ends = np.cumsum(np.bincount(report_type, minlength=types))
        sets = draw_sets(
            item_counts,
            high_counts,
            type_ends,
            bits[order],
            is_high[order],
            children[i],
        )
        reports[part, 0] = report_type
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
    type_ends: Whole,
    own_bits: Whole,
    is_high: Flags,
    source: Words,
) -> Packed:
    """Packed rows with exact numbers of ones and one given bit each, shape ``(words, rows)``.

    Rows are sorted by type, which ends at row ``type_ends[type]`` and has ``targets[type]`` ones in
    each level. Of each row the bit ``own_bits`` is ``is_high``; the others are drawn.
    """
    rows = own_bits.size
    sizes = item_counts.tolist()
    levels = level_bits(item_counts)
    firsts = np.cumsum([0, *(level.mask.size for level in levels)])
    # A word in which two levels meet is there twice, once for each.
    bits = np.zeros((firsts[-1], rows), dtype=np.uint64)
    parts = np.split(bits, firsts[1:-1])
    for report_type, (start, end) in enumerate(pairwise([0, *type_ends.tolist()])):
        targets_of_type = targets[report_type].tolist()
        for part, level, target, size in zip(
            parts, levels, targets_of_type, sizes, strict=True
        ):
            step = rows_at_once(_NEAR_WORDS, level.mask.size)
            for row in range(start, end, step):
                some = part[:, row : min(row + step, end)]
                _near(some, level.mask, target, size, source)
    ends = np.cumsum(item_counts)
    starts = ends - item_counts
    every = np.arange(rows)
    # Where each own bit stands: its word among those of all levels, and its lane there.
    own_level = np.searchsorted(ends, own_bits, side="right")
    word_of_own = (own_bits >> 6) + (firsts[:-1] - (starts >> 6))[own_level]
    own_place = word_of_own * rows + every
    shift = (own_bits & 63).astype(np.uint64)
    flat = bits.reshape(-1)
    flat[own_place] &= ~(_ONE_BIT << shift)
    report_types = np.repeat(np.arange(type_ends.size), np.diff(type_ends, prepend=0))
    missing = targets[report_types].T - np.stack([_ones(part) for part in parts])
    missing[own_level, every] -= is_high
    # The given bit must never be picked: it looks as if it were right already.
    blocked = missing[own_level, every] > 0
    flat[own_place] |= blocked.astype(np.uint64) << shift
    for part, start, size, missing_here in zip(
        parts, starts.tolist(), sizes, missing, strict=True
    ):
        repair_sizes(part, start & 63, size, missing_here, source)
    flat[own_place] &= ~(_ONE_BIT << shift)
    flat[own_place] |= is_high.astype(np.uint64) << shift
    packed = np.zeros((words_for(int(ends[-1])), rows), dtype=np.uint64)
    for level, part in zip(levels, parts, strict=True):
        packed[level.words] |= part
    return packed


def _near(part: Packed, mask: Packed, target: int, items: int, source: Words) -> None:
    """Lanes that are 1 with a probability near ``target / items``, of few binary digits.

    From the last digit to the first, a random word is or-ed where it is 1 and and-ed where it is 0.
    Words cost more than all else: so the complements of the last two are tried as well, and of the
    four sets every row gets the one whose size is nearest to the target.
    """
    share = target / items
    lanes = mask[:, None]
    digits = 2
    deviation = np.sqrt(items * share * (1 - share))  # of the number of ones
    near = _NEAR_MEAN * max(deviation, 1.0) / items
    while abs(round(share * 2**digits) / 2**digits - share) > near:
        digits += 1
    value = round(share * 2**digits)
    if value == 0:
        part[:] = 0
        return
    if value == 2**digits:
        part[:] = lanes
        return
    steps = []
    for digit in range(digits):
        is_one = value >> digit & 1
        steps.append(np.bitwise_or if is_one else np.bitwise_and)
    words = (source.raw(part.size).reshape(part.shape) & lanes for _ in steps)
    for step, word in zip(steps[:-2], words, strict=False):
        step(part, word, out=part)
    last_but_one, last = steps[-2:]
    (first_word, second_word) = words
    base = np.empty_like(first_word)
    whole = np.empty_like(first_word)
    misses = []
    for _ in range(2):
        last_but_one(part, first_word, out=base)
        last(base, second_word, out=whole)
        size = _ones(whole)
        # With a word and with its complement sizes sum to the base's; where or-ed, items more.
        both = _ones(base)
        if last is np.bitwise_or:
            both = both + items
        complement_size = both - size
        misses += [np.abs(size - target), np.abs(complement_size - target)]
        first_word ^= lanes
    # The least miss, and in its last two bits which words are complemented.
    number = np.arange(4, dtype=np.int32)[:, None]
    best = (4 * np.stack(misses) + number).min(axis=0)
    first_word ^= -(best >> 1 & 1).astype(np.uint64)
    second_word ^= -(best & 1).astype(np.uint64)
    last_but_one(part, first_word, out=part)
    last(part, second_word, out=part)
    part &= lanes


def _ones(bits: Packed) -> NDArray[np.int32]:
    """Ones of all words of each row, shape ``(rows,)``."""
    return np.asarray(np.bitwise_count(bits).sum(axis=0, dtype=np.int32))


def repair_sizes(
    part: Packed, first: int, items: int, missing: Whole, source: Words
) -> None:
    """Add ones at random places where some are ``missing``, take them away where it is negative.

    ``part`` has the words of one level, whose ``items`` begin at lane ``first`` of the first.
    """
    flat = part.reshape(-1)
    draw, wide = _FEW if items <= _FEW_ITEMS else _MANY
    digits = wide(8 * draw().itemsize)
    size = wide(items)
    offset = wide(first)
    odd = draw(2 ** int(digits) % items)
    lane_mask = wide(63)
    row = np.flatnonzero(missing)
    left = np.abs(missing[row])
    target_bits = (missing[row] > 0).astype(np.uint64)  # what the bits are to become
    step = 0
    while left.size:
        # Lemire: the high half of the product is uniform, given that the low half is not odd.
        words = source.raw(-(-left.size * draw().itemsize // 8))
        product = words.view(draw)[: left.size] * size
        pick = (product >> digits) + offset
        word_index = (pick >> wide(6)).astype(np.int64) * missing.size + row
        pick &= lane_mask
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
