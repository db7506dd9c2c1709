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
from planner.mechanisms.collected import (
    Collected,
    as_bytes,
    drawn_cells,
    support_addends,
)
from planner.mechanisms.counting import (
    Aggregate,
    Counter,
    Packed,
    Reports,
    SidesCounter,
    bit_of,
    level_bits,
    words_for,
)
from planner.mechanisms.inputs import OwnSums
from planner.mechanisms.rounding import likelihoods, round_types
from planner.mechanisms.words import Words, map_rows, rows_at_once
from planner.solvers.answers import SubsetDesign
from planner.solvers.types import OutputTypes, Variances, pooled

_ONE_BIT = np.uint64(1)
_NEAR_MEAN = 0.8  # standard deviations that a first draw's mean size may be off
_NEAR_WORDS = 2**15  # drawn at a time: in the cache
_LOOK = 3  # steps between two looks at which rows still miss something
_FEW_ITEMS = 2**12  # for which 16 random bits are seldom odd
# Types of what is drawn, and of its product with the number of items.
_Word = type[np.unsignedinteger]
_FEW: tuple[_Word, _Word] = (np.uint16, np.uint32)
_MANY: tuple[_Word, _Word] = (np.uint32, np.uint64)
_CHUNK_WORDS = 2**19  # large, as each step is one call for all rows of a chunk
_NO_SHARE = 1e-300  # a share of nobody that can still be divided by


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

    @cached_property
    def _items(self) -> Whole:
        """Items of each group, ``(groups,)``."""
        return np.array(self.counts)

    @cached_property
    def _high(self) -> Whole:
        """Items of each group on the high side of each type, ``(types, groups)``."""
        return np.array(self.types)

    @cached_property
    def _integers(self) -> Whole:
        """``2^32 Pr[type, own side | group]``, ``(groups, types, 2)``."""
        return np.array(self.weights)

    def counter(self) -> Counter:
        return SidesCounter(self._items, self._high)

    def draw_many(self, elements: Whole, words: Words) -> list[Reports]:
        own_bits = self.bits[elements]
        reports = draw_sides(own_bits, self._items, self._high, self._integers, words)
        if len(self.types) == 1:  # its number says nothing and is not sent
            reports = reports[:, 1:]
        return [as_bytes(reports)]

    def addends_of(self, element: int) -> Array:
        group = self._group[self.bits[element]]
        return np.asarray(self.estimator[:, group].ravel())  # type by type: low, high

    def addend_numbers(self, rows: Reports, element: int) -> Whole:
        words = rows.view("<u8")
        types: Whole = np.zeros(len(words), dtype=np.int64)
        if len(self.types) > 1:
            types = words[:, 0].astype(np.int64)
            words = words[:, 1:]
        return 2 * types + bit_of(words, int(self.bits[element]))

    @cached_property
    def bits(self) -> Whole:
        """The bit of each element, shape ``(elements,)``."""
        # The items of a level stand side by side, among the elements and among the bits.
        of_levels = np.subtract(self.first_bits, self.first_elements)
        shifts = np.repeat(of_levels, self.levels.item_counts)
        return np.arange(self.levels.elements) + shifts

    @cached_property
    def output_types(self) -> OutputTypes:
        """The types as they are drawn, by groups."""
        return likelihoods(self._items, self._high, self._integers)

    @cached_property
    def estimator(self) -> Array:
        """What a report adds to an item's count, shape ``(types, groups, 2)``: low, high."""
        support = self.support()
        if support is None:
            return np.array(self.values)
        # The low side is of items that a report does not support, the high one of those it does.
        a, b = np.array(support[0], dtype=np.float64)
        low_and_high = support_addends(a, b)
        return np.tile(low_and_high, (len(self.types), 1, 1))

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
            # Each item's ones in the reports of all types.
            supports = by_type[:, 1:].sum(axis=0)
            return super().estimate(Aggregate(n, supports))
        values = self._summed(by_type, self.estimator)
        errors, null_errors = self._standard_errors(values, n)
        people = self._by_group(values)
        bits = self.bits
        return ReportSums(
            values[bits],
            errors[bits],
            null_errors[bits],
            n,
            self._sum_law(people),
            self._group[bits],
        )

    def _summed(self, by_type: Whole, added: Array) -> Array:
        """Sum over reports of what each adds by type and side, in the order of the bits.

        ``by_type`` has of each type its reports, then each bit's ones, and ``added`` the shape
        ``(types, groups, 2)``. A report adds ``low`` and, where the bit is 1, ``high - low`` more.
        """
        low = added[:, :, 0]
        slopes = added[:, :, 1] - low
        reports = by_type[:, 0]
        group = self._group
        if_all_low = reports @ low  # by group
        sums = if_all_low[group]
        # Type by type: there may be millions of counts.
        for slope, ones in zip(slopes, by_type[:, 1:], strict=True):
            sums += slope[group] * ones
        return np.asarray(sums)

    def _sum_law(self, people: Array | Whole) -> SumLaw:
        """What a report adds to the count of an item: a value for its type and the item's side.

        Of somebody who has the item its side is drawn with the type. Of another level's people it
        is on the high side with the share of its level that is; of another item's of the same
        level one place is taken.
        """
        types = len(self.types)
        groups = len(self.counts)
        chances = self._integers / DENOMINATOR
        sent = chances.sum(axis=2)  # chance of each type, by the person's group
        high_share = (self._high / self._items).T  # (groups, types)
        share = np.stack([1 - high_share, high_share], axis=2)
        # By the item's group, the person's group, the type and the item's side.
        other = np.empty((groups, groups, types, 2))
        for group, items in enumerate(self.counts):
            other[group] = sent[:, :, None] * share[group]
            if items == 1:
                other[group, group] = 0.0  # nobody has another item of it
                continue
            own_low, own_high = chances[group].T
            high = self._high[:, group]
            if_own_low = own_low * high / (items - 1)
            if_own_high = own_high * (high - 1) / (items - 1)
            on_high = if_own_low + if_own_high
            on_low = sent[group] - on_high
            other[group, group] = np.column_stack([on_low, on_high])
        numbers = self.estimator.transpose(1, 0, 2)
        outcomes = 2 * types
        return SumLaw(
            numbers=numbers.reshape(groups, outcomes),
            chances=chances.reshape(groups, outcomes),
            other_chances=np.maximum(other, 0.0).reshape(groups, groups, outcomes),
            people=np.maximum(people, 0.0),
            counted=np.arange(groups),
        )

    def variance(self, sums: OwnSums) -> Array:
        # A person has one answer: the chances' sums are how many have each item.
        bits = self.bits
        holders = np.empty(self.levels.elements)
        holders[bits] = sums.chances
        variances = self._variance(holders, self._by_group(holders))
        return variances[bits]

    def second_moments(self, shares: Array, sums: Array) -> Array:
        group_of_element = np.repeat(self.groups, self.levels.item_counts)
        return self.output_types.second_moments(
            self.estimator, group_of_element, shares, sums
        )

    def weight_squares(self, counted: Aggregate) -> Array:
        by_type = counted.counts.reshape(len(self.types), -1)
        squares = self._summed(by_type, np.square(self.estimator))
        return np.asarray(squares[self.bits])

    def draw_aggregate(self, people: Whole, rng: np.random.Generator) -> Aggregate:
        """Draw counts of all reports at once, see :class:`Collected`.

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
        # Outcomes are a type and the own side; reports of each by the person's item.
        chances = self._integers.reshape(groups, 2 * types) / DENOMINATOR
        drawn = rng.multinomial(holders, chances[group])
        sent = drawn.reshape(holders.size, types, 2)
        shape = (groups, types, 2)
        sent_by_group = np.zeros(shape, dtype=np.int64)
        np.add.at(sent_by_group, group, sent)
        reports = sent_by_group.sum(axis=(0, 2))  # of each type
        # Who else may have an item on the high side, in three kinds: people of other groups, and
        # those of the item's own group whose own item is on the low or on the high side.
        of_group = sent_by_group.sum(axis=2)
        of_other_groups = (reports - of_group).T  # (types, groups)
        same_group = sent_by_group[group] - sent
        by_kind = (types, 3, holders.size)
        others = np.empty(by_kind, dtype=np.int64)
        others[:, 0] = of_other_groups[:, group]
        others[:, 1:] = same_group.transpose(1, 2, 0)
        high_shares = self._high_shares()
        others_high = rng.binomial(others, high_shares[:, :, group])
        own_high = sent[:, :, 1].T
        high = own_high + others_high.sum(axis=1)
        counts = np.column_stack([reports, high])
        users = int(holders.sum())
        return Aggregate(users, counts.ravel())

    def _high_shares(self) -> Array:
        """Chance that an item is on the high side of another one's report, ``(types, 3, groups)``.

        ``k / m`` for people of other groups; ``k / (m - 1)`` and ``(k - 1) / (m - 1)`` for people
        of its own group whose own item is on the low and on the high side, which takes a place.
        """
        m = self._items
        k = self._high
        high_places = np.stack([k, k, k - 1], axis=1)
        places = np.stack([m, m - 1, m - 1])
        places = np.maximum(places, 1)  # of a group's only item nobody has another one
        return np.clip(high_places / places, 0.0, 1.0)

    @cached_property
    def _group(self) -> Whole:
        """The group of each bit."""
        groups = np.arange(len(self.counts))
        return np.repeat(groups, self.counts)

    def _by_group(self, numbers: Array) -> Array:
        """Sums over each group's items of numbers in the order of the bits."""
        return np.asarray(np.bincount(self._group, numbers, len(self.counts)))

    def _variance(self, holders: Array, people: Array) -> Array:
        """Variances of counts in the order of the bits.

        ``sum_g people_g other_gi + holders_i (holder_i - other_ii)``: everybody adds what a person
        of their group adds to an item that is not theirs, and holders of the item what they add
        instead.
        """
        variances = self.variances
        instead = variances.own - np.diag(variances.other)
        by_group = people @ variances.other
        of_holders = holders * instead[self._group]
        return np.asarray(by_group[self._group] + of_holders)

    def _standard_errors(self, values: Array, users: int) -> tuple[Array, Array]:
        """The standard errors in the order of the bits, and those if nobody had the item."""
        groups = len(self.counts)
        # Unbiased estimates sum to about the users; what noise took below 0 is left out.
        people = np.maximum(self._by_group(values), 0.0)
        shares = self._items / self._items.sum()
        if people.any():
            shares = people / people.sum()
        holders = np.clip(values, 0, users)
        variance = self._variance(holders, users * shares)
        # If nobody has the only item of a group, everybody is in the other groups: a row an item's
        # group, with the shares of all groups then.
        shares_then = np.tile(shares, (groups, 1)) + _NO_SHARE
        own_group = np.diag_indices(groups)
        shares_then[own_group] *= self._items > 1
        totals = shares_then.sum(axis=1, keepdims=True)
        shares_then /= np.maximum(totals, _NO_SHARE)
        null_by_group = shares_then * self.variances.other.T
        null_variance = users * null_by_group.sum(axis=1)
        null_variance = null_variance[self._group]
        return np.sqrt(variance), np.sqrt(null_variance)


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
    people = own_bits.size
    types = len(high_counts)
    width = 1 + words_for(int(item_counts.sum()))
    chunk = rows_at_once(_CHUNK_WORDS, width)
    chunk_count = -(-people // chunk)
    children = words.split(chunk_count)
    reports = np.empty((people, width), dtype=np.uint64)
    group_ends = np.cumsum(item_counts)
    outcome_integers = integers.reshape(item_counts.size, 2 * types)

    def draw(part: slice, i: int) -> None:
        """Type and own side from one word each; then everybody's other items, sorted by type."""
        bits = own_bits[part]
        group = np.searchsorted(group_ends, bits, side="right")
        outcome = drawn_cells(outcome_integers, group, children[i])
        report_type = outcome >> 1
        is_high = (outcome & 1).astype(np.bool_)
        sort_key = report_type
        if types <= 2**16:
            sort_key = report_type.astype(np.uint16)  # NumPy sorts these by radix
        order = np.argsort(sort_key, kind="stable")
        reports_of_types = np.bincount(report_type, minlength=types)
        sets = draw_sets(
            item_counts,
            high_counts,
            type_ends=np.cumsum(reports_of_types),
            own_bits=bits[order],
            is_high=is_high[order],
            source=children[i],
        )
        reports[part, 0] = report_type
        reports[part][order, 1:] = sets.T

    map_rows(draw, people, chunk)
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
    word_counts = [level.mask.size for level in levels]
    firsts = np.cumsum([0, *word_counts])
    # A word in which two levels meet is there twice, once for each.
    bits = np.zeros((firsts[-1], rows), dtype=np.uint64)
    parts = np.split(bits, firsts[1:-1])
    type_starts = [0, *type_ends.tolist()]
    for report_type, (start, end) in enumerate(pairwise(type_starts)):
        targets_of_type = targets[report_type].tolist()
        of_levels = zip(parts, levels, targets_of_type, sizes, strict=True)
        for part, level, target, size in of_levels:
            step = rows_at_once(_NEAR_WORDS, level.mask.size)
            for row in range(start, end, step):
                row_end = min(row + step, end)
                rows_of_part = part[:, row:row_end]
                _draw_near(rows_of_part, level.mask, target, size, source)
    ends = np.cumsum(item_counts)
    starts = ends - item_counts
    every_row = np.arange(rows)
    # Where each own bit stands: its word among those of all levels, and its lane there.
    own_level = np.searchsorted(ends, own_bits, side="right")
    shift_of_level = firsts[:-1] - (starts >> 6)  # of a level's words by meeting levels
    own_word = (own_bits >> 6) + shift_of_level[own_level]
    own_cell = own_word * rows + every_row
    own_lane = (own_bits & 63).astype(np.uint64)
    own_mask = _ONE_BIT << own_lane
    flat = bits.reshape(-1)
    flat[own_cell] &= ~own_mask
    # How many ones each level of each row still lacks, besides the own bit.
    rows_of_type = np.diff(type_ends, prepend=0)
    report_types = np.repeat(np.arange(type_ends.size), rows_of_type)
    ones = np.stack([_ones(part) for part in parts])
    missing = targets[report_types].T - ones
    missing[own_level, every_row] -= is_high
    # The given bit must never be picked: it looks as if it were right already.
    is_blocked = missing[own_level, every_row] > 0
    flat[own_cell] |= is_blocked.astype(np.uint64) << own_lane
    lacking = zip(parts, starts.tolist(), sizes, missing, strict=True)
    for part, start, size, missing_of_level in lacking:
        repair_sizes(part, start & 63, size, missing_of_level, source)
    flat[own_cell] &= ~own_mask
    flat[own_cell] |= is_high.astype(np.uint64) << own_lane
    width = words_for(int(ends[-1]))
    packed = np.zeros((width, rows), dtype=np.uint64)
    for level, part in zip(levels, parts, strict=True):
        packed[level.words] |= part
    return packed


def _draw_near(
    part: Packed, mask: Packed, target: int, items: int, source: Words
) -> None:
    """Lanes that are 1 with a probability near ``target / items``, of few binary digits.

    From the last digit to the first, a random word is or-ed where it is 1 and and-ed where it is 0.
    Words cost more than all else: so the complements of the last two are tried as well, and of the
    four sets every row gets the one whose size is nearest to the target.
    """
    lanes = mask[:, None]
    value, digits = _short_fraction(target, items)
    if value == 0:
        part[:] = 0
        return
    if value == 2**digits:
        part[:] = lanes
        return
    steps = list[np.ufunc]()
    for digit in range(digits):
        is_one = value >> digit & 1
        if is_one:
            steps.append(np.bitwise_or)
        else:
            steps.append(np.bitwise_and)

    def drawn_lanes() -> Packed:
        words = source.raw(part.size)
        return words.reshape(part.shape) & lanes

    *first_steps, last_but_one, last = steps
    for step in first_steps:
        step(part, drawn_lanes(), out=part)
    first_word = drawn_lanes()
    second_word = drawn_lanes()
    before_last = np.empty_like(first_word)
    after_last = np.empty_like(first_word)
    misses = []
    for _ in range(2):
        last_but_one(part, first_word, out=before_last)
        last(before_last, second_word, out=after_last)
        size = _ones(after_last)
        # With a word and with its complement sizes sum to that before; where or-ed, items more.
        both_sizes = _ones(before_last)
        if last is np.bitwise_or:
            both_sizes = both_sizes + items
        complement_size = both_sizes - size
        misses.append(np.abs(size - target))
        misses.append(np.abs(complement_size - target))
        first_word ^= lanes
    # The least miss, and in its last two bits which words are complemented.
    number = np.arange(4, dtype=np.int32)[:, None]
    scores = 4 * np.stack(misses) + number
    best = scores.min(axis=0)
    first_is_complement = (best >> 1 & 1).astype(np.uint64)
    second_is_complement = (best & 1).astype(np.uint64)
    # Of an unsigned 1 the negative has all bits set: the words are complemented where it is 1.
    first_word ^= -first_is_complement
    second_word ^= -second_is_complement
    last_but_one(part, first_word, out=part)
    last(part, second_word, out=part)
    part &= lanes


def _short_fraction(target: int, items: int) -> tuple[int, int]:
    """A binary fraction near ``target / items``, and its number of digits, 2 at least.

    As many items as that are drawn on average: a share of the standard deviation of their number,
    ``sqrt(items share (1 - share))``, off the target at most.
    """
    share = target / items
    deviation = np.sqrt(items * share * (1 - share))
    tolerance = _NEAR_MEAN * max(deviation, 1.0) / items
    digits = 2
    value = round(share * 2**digits)
    while abs(value / 2**digits - share) > tolerance:
        digits += 1
        value = round(share * 2**digits)
    return value, digits


def _ones(bits: Packed) -> NDArray[np.int32]:
    """Ones of all words of each row, shape ``(rows,)``."""
    ones = np.bitwise_count(bits)
    return np.asarray(ones.sum(axis=0, dtype=np.int32))


def repair_sizes(
    part: Packed, first: int, items: int, missing: Whole, source: Words
) -> None:
    """Add ones at random places where some are ``missing``, take them away where it is negative.

    ``part`` has the words of one level, whose ``items`` begin at lane ``first`` of the first.
    """
    flat = part.reshape(-1)
    draw, wide = _MANY
    if items <= _FEW_ITEMS:
        draw, wide = _FEW
    octets = draw().itemsize
    digits = wide(8 * octets)
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
        word_count = -(-left.size * octets // 8)
        random_words = source.raw(word_count)
        drawn = random_words.view(draw)[: left.size]
        product = drawn * size
        pick = (product >> digits) + offset
        word_row = (pick >> wide(6)).astype(np.int64)
        word_index = word_row * missing.size + row
        pick &= lane_mask
        word = flat.take(word_index)
        # A picked bit is turned if it is not yet what it is to become and the row lacks any.
        flip = ((word >> pick) ^ target_bits) & _ONE_BIT
        low_half = product.astype(draw)
        flip &= low_half >= odd
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
