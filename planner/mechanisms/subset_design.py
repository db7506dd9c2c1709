"""Subset designs: the best of all mechanisms, drawn, counted by type and estimated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.errors import InputError, VerificationError
from planner.estimates.counts import Estimates
from planner.limits import DENOMINATOR
from planner.mechanisms import inputs
from planner.mechanisms.counting import Aggregate, Segments, words_for
from planner.mechanisms.rounding import GridTypes, round_types
from planner.mechanisms.unary import ROUNDING
from planner.mechanisms.words import Words, map_rows
from planner.policy.policy import PrivacyPolicy
from planner.solvers.answers import SubsetDesign
from planner.solvers.types import OutputTypes, Variances, pooled

Packed = NDArray[np.uint64]
_ALL = ~np.uint64(0)
_ONE = np.uint64(1)
_NEAR, _NEAR_WORDS = 0.8, 2**15  # standard deviations, and words at a time: in the cache
_LOOK = 3  # steps between two looks at which rows still miss something
_FEW_ITEMS = 2**12  # for which 16 random bits are seldom odd
_FEW: tuple[Any, Any]
_MANY: tuple[Any, Any]
_FEW, _MANY = (np.uint16, np.uint32), (np.uint32, np.uint64)

_MOST_BIAS = 1e-9  # people per person; what doubles leave is a thousandth of it
_CHUNK_WORDS = 2**19  # large, as each step of the draws is one call for all rows of a chunk


@dataclass(frozen=True, slots=True, eq=False)
class SubsetDesignMechanism:
    """A subset design: a report says a type, and for every item on which side it stands.

    Output law: a person of level ``i`` draws a type ``o`` and the side of their own item with
    probability ``W[i][o][side] / 2^32``; the other items are placed at random so that exactly
    ``k_oj`` of the ``m_j`` items of every level ``j`` are on the high side (bit 1). Hence, with
    ``n_high = k_oi`` and ``n_low = m_i - k_oi``,

        Pr[o, split | x] = W[i][o][side of x] m_i / (2^32 n_side prod_j C(m_j, k_oj))

    The estimated count of an item is ``sum g[o][i][side]`` over all reports, unbiased for every
    population. Its variance is the sum over people of what each adds, a number that depends on
    their level and on whether the item is their answer (:attr:`variances`), exact.

    :meth:`draw_aggregate` has the exact law of each item's counts; that they sum to ``k_oj`` per
    report in every level is left out.

    Source: docs/theory/designs.md; subset selection (Ye and Barg 2018) is the case of equal
    budgets. The integers keep every pair's budget: docs/theory/exact-integers.md.

    Parameters
    ----------
    policy:
        The levels and pair budgets; of a solved design its groups of levels.
    high_counts:
        ``k_oj``, shape ``(n, t)``.
    integers:
        ``W``, shape ``(t, n, 2)``; every level's sum to 2^32.
    estimator:
        ``g``, shape ``(n, t, 2)``, side 0 low and 1 high.
    level_of:
        Level number of each item, shape ``(m,)``. Bits stand in the order of the levels, whatever
        this says.

    Raises
    ------
    VerificationError
        The integers break the policy, or the estimator is biased.

    Examples
    --------
    >>> types = OutputTypes([5], [0.5], [[1.0]], [[6.0]], [[1]])  # the item itself with 6/10
    >>> design = SubsetDesign(PrivacyPolicy([np.log(6)], [5]), types, [0], [1.0])
    >>> mechanism = SubsetDesignMechanism.of(design)
    >>> counts = mechanism.draw_aggregate([600, 0, 0, 400, 0], np.random.default_rng(1))
    >>> mechanism.estimate(counts).values.round().tolist()
    [600.0, -10.0, -0.0, 400.0, -0.0]
    """

    policy: PrivacyPolicy
    high_counts: NDArray[np.int64]
    integers: NDArray[np.int64]
    estimator: NDArray[np.float64]
    level_of: NDArray[np.int64]
    _types: OutputTypes = field(init=False, repr=False)
    _variances: Variances = field(init=False, repr=False)
    _order: NDArray[np.int64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "_order", np.argsort(self.level_of, kind="stable"))
        grid = GridTypes(self.high_counts, self.integers)
        set_field(self, "_types", grid.output_types(self.policy.item_counts))
        if (self.integers.sum(axis=(1, 2)) != DENOMINATOR).any():
            raise VerificationError("The integers of a level do not sum to 2^32")
        excess = float(np.nanmax(self.pair_losses() - self.policy.bounds(), initial=0.0))
        if excess > ROUNDING:
            raise VerificationError(f"the design exceeds a pair's budget by {excess:.3g} nats")
        other, own = self._types.expectations(self.estimator)
        if max(np.abs(other).max(), np.abs(own - 1).max()) > _MOST_BIAS:
            raise VerificationError("the estimator is biased")
        set_field(self, "_variances", self._types.variances(self.estimator))

    @classmethod
    def of(cls, design: SubsetDesign) -> SubsetDesignMechanism:
        """A solved design with its probabilities rounded to the private side.

        The mechanism's levels are the design's groups of levels, and its policy is theirs. The
        estimator is that of the rounded probabilities, and so exactly as unbiased.

        Raises
        ------
        VerificationError, InputError
            As :func:`planner.mechanisms.rounding.round_types`.
        """
        groups = pooled(design.policy, design.groups)
        grid = round_types(groups, design.types)
        estimator = grid.output_types(groups.item_counts).estimator(design.prior)
        level_of = np.repeat(design.groups, design.policy.item_counts)
        return cls(groups, grid.high_counts, grid.integers, estimator, level_of)

    @property
    def items(self) -> int:
        """Number of items, ``m``."""
        return self.level_of.size

    @property
    def types(self) -> OutputTypes:
        """The types as they are drawn, by levels."""
        return self._types

    @property
    def variances(self) -> Variances:
        """What one person adds to the variance of an item's estimated count, by levels."""
        return self._variances

    @property
    def worst_case_mse(self) -> float:
        """Total mean squared error per user for the least favourable counts, as really drawn."""
        other, own = self._variances
        return float(
            ((other * (self.policy.item_counts - np.eye(own.size))).sum(axis=1) + own).max()
        )

    def estimate(self, aggregate: Aggregate) -> Estimates:
        """Unbiased counts with standard errors, shape ``(items,)``, in users.

        The standard errors put the estimated counts, limited to ``[0, n]``, in place of the true
        ones in the exact variance.

        Raises
        ------
        InputError
            No users, or counts of the wrong shape.
        """
        n = aggregate.users
        if n < 1:
            raise InputError("users", n, "at least 1", "Collect reports first.")
        shape = (len(self.high_counts), 1 + self.items)
        if aggregate.counts.shape != shape:
            allowed = f"one row a type: its reports and a count per item, shape {shape}"
            remedy = "Count the reports by aggregate of this mechanism."
            raise InputError("counts", aggregate.counts.shape, allowed, remedy)
        level = self.level_of[self._order]
        reports, high = aggregate.counts[:, 0], aggregate.counts[:, 1:]
        values = (reports @ self.estimator[:, :, 0])[level]
        for slope, ones in zip(
            self.estimator[:, :, 1] - self.estimator[:, :, 0], high, strict=True
        ):
            values += slope[level] * ones  # by type: there may be millions of counts
        return Estimates(self._in_item_order(values), *self._standard_errors(values, n), n)

    def bias(self, true_counts: ArrayLike) -> NDArray[np.float64]:
        """Bias of each estimated count, shape ``(items,)``: none."""
        return np.zeros(inputs.true_counts(true_counts, self.items).size)

    def variance(self, true_counts: ArrayLike) -> NDArray[np.float64]:
        """Exact variance of each estimated count, shape ``(items,)``, in users squared.

        Parameters
        ----------
        true_counts:
            Number of users per item, shape ``(items,)``; they sum to ``n``.
        """
        counts = inputs.true_counts(true_counts, self.items).astype(np.float64)
        return self.expected_variance(counts)

    def expected_variance(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """:meth:`variance` for expected numbers of users per item, shape ``(items,)``.

        Of the estimates about the counts as they turn out.
        """
        people = np.bincount(self.level_of, counts, self.policy.size)
        return self._variance(counts, people.astype(np.float64), self.level_of)

    def draw_aggregate(self, true_counts: ArrayLike, rng: np.random.Generator) -> Aggregate:
        """An aggregate with the law that perturbing everybody would give, without reports.

        Types and own sides are drawn for the people of every item; of the others of a type, each
        has an item on the high side with the probability that their own level and side leave.
        """
        counts = inputs.true_counts(true_counts, self.items)[self._order]
        rng = inputs.generator(rng)
        level = self.level_of[self._order]
        t, n = self.policy.size, len(self.high_counts)
        chances = (self.integers / DENOMINATOR).reshape(t, 2 * n)
        mine = rng.multinomial(counts, chances[level]).reshape(self.items, n, 2)
        people = np.zeros((t, n, 2), dtype=np.int64)
        np.add.at(people, level, mine)
        items, high = self.policy.item_counts, self.high_counts
        result = np.empty((n, 1 + self.items), dtype=np.int64)
        for o in range(n):
            result[o, 0] = people[:, o].sum()
            elsewhere = result[o, 0] - people[:, o].sum(axis=1)
            ones = mine[:, o, 1] + rng.binomial(elsewhere[level], (high[o] / items)[level])
            for side in (0, 1):  # two items of one level: the own side has one place less
                share = np.clip((high[o] - side) / np.maximum(items - 1, 1), 0, 1)
                ones += rng.binomial(people[level, o, side] - mine[:, o, side], share[level])
            result[o, 1:] = ones
        return Aggregate(int(counts.sum()), result)

    def privacy_loss(self) -> float:
        """Largest of :meth:`pair_losses`, in nats; 0.0 if there is only one item."""
        return float(np.nanmax(self.pair_losses())) if self.items > 1 else 0.0

    def pair_losses(self) -> NDArray[np.float64]:
        """Realised budget of every pair of levels, in nats, shape ``(t, t)``.

        NaN on the diagonal of a level with a single item, which has no pair.
        """
        return self._types.pair_losses

    def _variance(
        self, counts: NDArray[np.float64], people: NDArray[np.float64], level: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Of counts, by their levels, with so many people in each level."""
        other, own = self._variances
        extra = own - np.diag(other)
        return np.asarray((people @ other)[level] + counts * extra[level])

    def _standard_errors(
        self, values: NDArray[np.float64], users: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of estimates in the order of the bits, and what they were if nobody had the item."""
        level = self.level_of[self._order]
        # Unbiased estimates sum to about the users; what noise took below 0 is left out.
        people = np.maximum(np.bincount(level, values, self.policy.size), 0.0)
        shares = people / people.sum() if people.any() else self.policy.item_counts / self.items
        variance = self._variance(np.clip(values, 0, users), users * shares, level)
        # If nobody has the only item of a level, everybody is in the other levels.
        others = np.tile(shares, (shares.size, 1)) + 1e-300
        others[np.diag_indices(shares.size)] *= self.policy.item_counts > 1
        others /= np.maximum(others.sum(axis=1, keepdims=True), 1e-300)
        null = users * (others * self._variances.other.T).sum(axis=1)[level]
        first, second = (self._in_item_order(np.sqrt(one)) for one in (variance, null))
        return first, second

    def _in_item_order(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        ordered = np.empty_like(column)
        ordered[self._order] = column
        return ordered


def draw_sides(
    place: NDArray[np.int64],
    item_counts: NDArray[np.int64],
    high_counts: NDArray[np.int64],
    integers: NDArray[np.int64],
    words: Words,
) -> NDArray[np.uint64]:
    """Reports of a design, the type's number and packed bits, uint64, shape ``(n, 1 + words)``.

    Parameters
    ----------
    place:
        The bit of each person's own item, shape ``(n,)``; bits stand level by level.
    item_counts, high_counts, integers:
        As :class:`SubsetDesignMechanism` has them.
    words:
        The random words; the result does not depend on the number of processors.
    """
    width = 1 + words_for(int(item_counts.sum()))
    chunk = max(1, _CHUNK_WORDS // width)
    children = words.split(-(-place.size // chunk))
    reports = np.empty((place.size, width), dtype=np.uint64)
    segments, kinds = Segments.of(item_counts), len(high_counts)
    ends = np.cumsum(integers.reshape(item_counts.size, -1), axis=1)
    ends += np.arange(item_counts.size)[:, None] * DENOMINATOR

    def draw(part: slice, i: int) -> None:
        """Type and own side from one word each; then everybody's other items, sorted by type."""
        own = place[part]
        level = np.searchsorted(segments.starts, own, side="right") - 1
        word = level * DENOMINATOR + children[i].half(own.size)
        drawn = np.searchsorted(ends.ravel(), word, side="right") - 2 * kinds * level
        kind, held = drawn >> 1, (drawn & 1).astype(np.bool_)
        order = np.argsort(kind.astype(np.uint16) if kinds <= 2**16 else kind, kind="stable")
        runs = np.cumsum(np.bincount(kind, minlength=kinds))
        sets = draw_sets(segments, high_counts, runs, own[order], held[order], children[i])
        reports[part, 0] = kind
        reports[part][order, 1:] = sets.T

    map_rows(draw, place.size, chunk)
    return reports


# -- sets of exact sizes in bulk: packed rows with a given number of ones in every level ----
#
# Each lane of a level is first 1 with a probability near target / items, by one random word per
# binary digit and 64 lanes; of four such sets the nearest in size is kept, and ones are added or
# taken away at random places until the number is right. All items of a level are treated alike in
# every step, so every set of the right size is equally likely, whatever was drawn and kept first.


def draw_sets(
    segments: Segments,
    targets: NDArray[np.int64],
    runs: NDArray[np.int64],
    own: NDArray[np.int64],
    held: NDArray[np.bool_],
    source: Words,
) -> Packed:
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


def _near(part: Packed, mask: Packed, target: int, items: int, source: Words) -> None:
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


def _ones(bits: Packed) -> NDArray[np.int32]:
    """Ones of all words of each row, shape ``(rows,)``."""
    return np.asarray(np.bitwise_count(bits).sum(axis=0, dtype=np.int32))


def _repair(part: Packed, first: int, items: int, need: NDArray[np.int64], source: Words) -> None:
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


def _joined(bits: Packed, segments: Segments) -> Packed:
    words = np.zeros((int(segments.word[-1]) + 1, bits.shape[1]), dtype=np.uint64)
    for word, row in zip(segments.word.tolist(), bits, strict=True):
        words[word] |= row
    return words
