"""Item sets that were cut to a padding length: what their estimated counts can still say.

With padding length ``l`` a person ``u`` who has an item counts as ``min(1, l / |x_u|)``. So the
estimate of an item's count ``c`` has the mean

    E = sum over the people who have the item of min(1, l / |x_u|)  <=  c

and misses ``c`` by nothing that more reports could cure. From ``E`` and the sizes of the sets
alone ``c`` is known to lie between ``E`` and

    C(E) = max { people in all : each at most once, sum of min(1, l / size) at most E }

which is reached by taking the people with the largest sets first (a fractional knapsack whose
entries all have value 1), so that from ``E`` and the sizes nothing sharper follows. A lower limit
of ``E`` is one of ``c`` whatever the sets are, an upper limit ``U`` of ``E`` gives the upper limit
``C(U)``, and where nothing is known of the sizes there is none. Proof: docs/theory/item-sets.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError
from planner.estimates.counts import Estimates

__all__ = ["LongerSets", "TruncatedEstimates"]

Array = NDArray[np.float64]
_MISS = 1e-6  # chance that people have more large sets than the stated law lets expect


@dataclass(frozen=True, slots=True)
class LongerSets:
    """Which sets are longer than the padding length, as far as that is known.

    Parameters
    ----------
    padding_length:
        ``l``, at least 1.
    sizes:
        Rising, above ``l``; no set has more items than the last. None: no set is longer.
    shares:
        One each: the probability that a person's set is longer than the size before (than ``l``
        for the first), above 0, at most 1, not rising. Upper bounds do.

    Raises
    ------
    InputError
        Columns of different lengths, or numbers out of range or order.

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

    def __post_init__(self) -> None:
        remedy = "Give sizes above the padding length that rise, each with a share of the people."
        if len(self.sizes) != len(self.shares):
            allowed = f"one for each of {len(self.sizes)} sizes"
            raise InputError("shares of longer sets", len(self.shares), allowed, remedy)
        if any(np.diff([self.padding_length, *self.sizes]) <= 0):
            allowed = f"rising from above the padding length, {self.padding_length}"
            raise InputError("sizes of longer sets", self.sizes, allowed, remedy)
        if not all(0 < share <= 1 for share in self.shares) or any(np.diff(self.shares) > 0):
            allowed = "above 0, at most 1, and not rising"
            raise InputError("shares of longer sets", self.shares, allowed, remedy)

    def most_people(self, users: int) -> list[int]:
        """Of so many people, how many at most have a set longer than the size before.

        All hold together but for one chance in a million, for people who are drawn
        independently.
        """
        from scipy.stats import binom

        if not self.shares:
            return []
        limits = binom.isf(_MISS / len(self.shares), users, np.array(self.shares))
        return [int(limit) for limit in np.minimum(limits, users)]

    def largest_counts(self, expected: Array, longer: Sequence[int], users: int) -> Array:
        """Largest counts that can have been cut to ``expected``, as the module defines ``C``.

        Parameters
        ----------
        expected:
            Expectations of the estimates, or upper limits of them, in people, any shape.
        longer:
            How many people have a set longer than the size before, one for each size.
        users:
            Number of people.
        """
        people = -np.diff([users, *longer, 0])[::-1]  # of each size, the largest first
        kept = np.append(self.padding_length / np.array(self.sizes[::-1]), 1.0)
        reached = np.concatenate([[0.0], np.cumsum(people * kept)])
        return np.interp(expected, reached, np.concatenate([[0.0], np.cumsum(people)]))

    def largest_bias(self, users: int) -> float:
        """By how many people a count can be too small at most, whatever the item."""
        people = -np.diff([*self.most_people(users), 0])
        return float(people @ (1 - self.padding_length / np.array(self.sizes, dtype=np.float64)))


@dataclass(frozen=True, slots=True, eq=False)
class TruncatedEstimates(Estimates):
    """Estimated counts of item sets: of what is left of the sets when they are cut.

    ``values`` are unbiased for the counts after cutting, hence too small on average for the
    people who have an item, unless no set is longer than the padding length.

    Attributes
    ----------
    longer:
        What is known of the sets that are cut; None if nothing is.
    """

    longer: LongerSets | None = None

    def intervals(self, level: float = 0.95, simultaneous: bool = False) -> tuple[Array, Array]:
        """Confidence limits of the true counts, with allowance for what was cut.

        The lower limits hold whatever the sets are. The upper ones hold for sets as
        :attr:`longer` says (and miss once more in a million); they are infinite, no claim at
        all, where nothing is known of the sets.

        Examples
        --------
        >>> longer = LongerSets(2, (4, 8), (0.15, 0.05))
        >>> cut = TruncatedEstimates([200.0], [10.0], [9.0], 1000, longer)
        >>> [limit.round(1).tolist() for limit in cut.intervals()]
        [[180.4], [345.3]]
        >>> TruncatedEstimates([200.0], [10.0], [9.0], 1000).intervals()[1].tolist()
        [inf]
        """
        lower, upper = super(TruncatedEstimates, self).intervals(level, simultaneous)
        if self.longer is None:
            return lower, np.full(upper.shape, np.inf)
        if not self.longer.sizes:
            return lower, upper
        most = self.longer.most_people(self.users)
        return lower, self.longer.largest_counts(upper, most, self.users)
