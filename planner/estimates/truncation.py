"""Item sets that were cut to a padding length: what their estimated counts can still say.

With padding length ``l`` a person ``u`` who has an item counts as ``min(1, l / |x_u|)``. So the
estimate of an item's count ``c`` has a mean ``E <= c`` and misses ``c`` by nothing that more
reports could cure. From ``E`` and the sizes of the sets ``c`` is known to lie between ``E`` and

    C(E) = max { people in all : each at most once, sum of min(1, l / size) at most E }

the people with the largest sets taken first (a fractional knapsack); nothing sharper follows. A
lower limit of ``E`` is one of ``c`` whatever the sets are, an upper limit ``U`` of ``E`` gives
``C(U)``, and where nothing is known of the sizes there is none. Proof: docs/theory/item-sets.md.

What lies between is guessed by a model: each choice of everybody is the item with one probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.estimates.counts import Estimates, ProcessedCounts

Array = NDArray[np.float64]
SIZES_MISS = 1e-3
"""Chance that limits of the shares of larger sets, drawn from those who were asked, are too low."""
_STEPS = 1000  # of the popularity of an item; between them the counts are all but straight
_MISS = 1e-6  # chance that people have more large sets than the stated law lets expect


@dataclass(frozen=True, slots=True)
class LongerSets:
    """Which sets are longer than the padding length, as far as that is known.

    ``sizes`` rise from above the length, and no set has more items than the last; without any no
    set is longer. ``shares`` are the probabilities, above 0 and not rising, that a person's set
    is longer than the size before (than the length for the first). Upper bounds do.

    Examples
    --------
    Of 1,000 people 100 have four items and 50 have eight; sets are cut to two. At most 150
    people can have been counted as 62.5, and 300 as 212.5:

    >>> longer = LongerSets(2, (4, 8), (0.15, 0.05))
    >>> longer.largest_counts(np.array([62.5, 212.5]), [150, 50], users=1000).tolist()
    [150.0, 300.0]
    """

    padding_length: int
    sizes: tuple[int, ...]
    shares: tuple[float, ...]

    def most_people(self, users: int) -> list[int]:
        """Of so many people, how many at most have a set longer than the size before.

        All hold but for one chance in a million, for people who are drawn independently.
        """
        from scipy.stats import binom

        if not self.shares:
            return []
        limits = binom.isf(_MISS / len(self.shares), users, np.array(self.shares))
        return [int(limit) for limit in np.minimum(limits, users)]

    def largest_counts(self, expected: Array, longer: Sequence[int], users: int) -> Array:
        """Largest counts that can have been cut to ``expected``, as the module defines ``C``.

        ``longer`` says how many of the people have a set longer than the size before.
        """
        people = -np.diff([users, *longer, 0])[::-1]  # of each size, the largest first
        kept = np.append(self.padding_length / np.array(self.sizes[::-1]), 1.0)
        reached = np.concatenate([[0.0], np.cumsum(people * kept)])
        return np.interp(expected, reached, np.concatenate([[0.0], np.cumsum(people)]))

    def largest_bias(self, users: int) -> float:
        """By how many people a count can be too small at most, whatever the item."""
        people = -np.diff([*self.most_people(users), 0])
        return float(people @ (1 - self.padding_length / np.array(self.sizes, dtype=np.float64)))


@dataclass(frozen=True, slots=True)
class SetSizes:
    """How many items people have, as far as they were asked.

    Numbers of items ``sizes`` rise from at least 0, and nobody has more than the last. ``shares``,
    of sum 1, are those of the people whose number of items it is, or who have fewer, and more than
    the size before; ``longer`` are upper limits of the share of people with more items.

    Examples
    --------
    Everybody has two items or eight, and sets are cut to two. Of a rare item 2 in 5 are left; of
    a frequent one more, as people with two items have it almost as often as those with eight:

    >>> sizes = SetSizes((2, 8), (0.5, 0.5), (0.52, 0.0))
    >>> sizes.longer_than(2)
    LongerSets(padding_length=2, sizes=(8,), shares=(0.52,))
    >>> sizes.before_the_cut(np.array([10.0, 400.0]), users=1000, padding_length=2).round().tolist()
    [25.0, 761.0]
    """

    sizes: tuple[int, ...]
    shares: tuple[float, ...]
    longer: tuple[float, ...]

    def longer_than(self, padding_length: int) -> LongerSets:
        """Which sets are cut."""
        longer = dict(zip(self.sizes[1:], self.longer, strict=False))
        longer[self.sizes[0]] = 1.0
        cut = [(size, longer[size]) for size in self.sizes if size > padding_length]
        limits = [(size, share) for size, share in cut if share > 0]
        stated, shares = zip(*limits, strict=True) if limits else ((), ())
        return LongerSets(padding_length, stated, shares)

    def before_the_cut(self, expected: Array, users: int, padding_length: int) -> Array:
        """Counts that were probably cut to ``expected``: a guess, but one that knows the sizes.

        An item that each of the ``s`` choices of a person is with probability ``q`` is in their set
        with probability ``1 - (1 - q)^s``, of which ``min(1, l / s)`` is left. ``q`` is the one
        that leaves what is expected; never below 0, nor above the people who have any item.
        """
        sizes, shares = np.array(self.sizes, dtype=np.float64), np.array(self.shares)
        kept = np.minimum(1.0, padding_length / np.maximum(sizes, 1.0))
        choice = np.concatenate([[0.0], np.geomspace(1e-9, 1.0, _STEPS)])
        with np.errstate(divide="ignore", invalid="ignore"):
            held = -np.expm1(sizes * np.log1p(-choice[:, None]))
        held = np.where(sizes == 0, 0.0, held) * shares
        return np.interp(expected / users, held @ kept, held.sum(axis=1)) * users


@dataclass(frozen=True, slots=True, eq=False)
class TruncatedEstimates(Estimates):
    """Estimated counts of item sets, unbiased for what is left of the sets when they are cut.

    ``longer`` is what is known of the sets that are cut; None if nothing is.
    """

    longer: LongerSets | None = None

    def intervals(
        self, confidence: float = 0.95, simultaneous: bool = False
    ) -> tuple[Array, Array]:
        """Confidence limits of the true counts, with allowance for what was cut.

        Upper limits hold for sets as :attr:`longer` says (and miss once more in a million); they
        are infinite, no claim at all, where nothing is known of the sets.

        Examples
        --------
        >>> longer = LongerSets(2, (4, 8), (0.15, 0.05))
        >>> cut = TruncatedEstimates([200.0], [10.0], [9.0], 1000, longer)
        >>> [limit.round(1).tolist() for limit in cut.intervals()]
        [[180.4], [345.3]]
        >>> TruncatedEstimates([200.0], [10.0], [9.0], 1000).intervals()[1].tolist()
        [inf]
        """
        lower, upper = super(TruncatedEstimates, self).intervals(confidence, simultaneous)
        if self.longer is None:
            return lower, np.full(upper.shape, np.inf)
        if not self.longer.sizes:
            return lower, upper
        most = self.longer.most_people(self.users)
        return lower, self.longer.largest_counts(upper, most, self.users)

    def put_back(
        self, sizes: SetSizes, padding_length: int, confidence: float = 0.95
    ) -> ProcessedCounts:
        """Counts with what was probably cut put back, for set sizes that were asked for; biased.

        Of each item what belongs to its lower limit (simultaneous, at least 0) is put back: what
        is only noise must not grow.

        Examples
        --------
        >>> sizes = SetSizes((2, 8), (0.5, 0.5), (0.52, 0.0))
        >>> cut = TruncatedEstimates([400.0, 5.0], [10.0, 10.0], [9.0, 9.0], 1000)
        >>> cut.put_back(sizes, padding_length=2).values.round().tolist()
        [755.0, 5.0]
        """
        surely = np.maximum(self.intervals(confidence, simultaneous=True)[0], 0.0)
        lost = sizes.before_the_cut(surely, self.users, padding_length) - surely
        values = np.clip(self.values, 0, self.users) + np.maximum(lost, 0.0)
        how = "what was cut put back, by the set sizes asked for"
        return ProcessedCounts(np.minimum(values, self.users), how)


def set_estimates(
    once: Estimates, items: int, longer: LongerSets | None, padding_length: int = 1
) -> TruncatedEstimates:
    """Counts of sets from those of what is reported of them, times the length for one item of each.

    Where some sets have more items than are reported, the standard errors put
    ``(sum_u P_u(k))^2 / n`` in place of ``sum_u P_u(k)^2`` in the exact variance, never less.
    """
    errors = once.standard_errors
    if padding_length > 1 or longer is None or longer.sizes:
        held = np.clip(once.values, 0, once.users)
        errors = np.sqrt(np.square(errors) + held * (1 - held / once.users))
    columns = (once.values, errors, once.null_standard_errors)
    values, spread, null = (padding_length * column[:items] for column in columns)
    return TruncatedEstimates(values, spread, null, once.users, longer)
