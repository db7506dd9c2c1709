"""Estimated counts of item sets, of which some were cut to a padding length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.arrays import Array
from planner.estimates.counts import CountLimits, DrawnEstimates, Estimates
from planner.limits import CONFIDENCE

# What counts of sets that were cut can still say.
#
# With padding length ``l`` a person ``u`` who has an item counts as ``min(1, l / |x_u|)``. So the
# estimate of an item's count ``c`` has a mean ``E <= c`` and misses ``c`` by nothing that more
# reports could cure. From ``E`` and the sizes of the sets ``c`` is known to lie between ``E`` and
#
#     C(E) = max { people in all : each at most once, sum of min(1, l / size) at most E }
#
# the people with the largest sets taken first (a fractional knapsack); nothing sharper follows. A
# lower limit of ``E`` is one of ``c`` whatever the sets are, an upper limit ``U`` of ``E`` gives
# ``C(U)``, and where nothing is known of the sizes there is none. Proof: docs/theory/item-sets.md.

SIZES_MISS = 1e-3
"""Chance that limits of the shares of larger sets, drawn from those who were asked, are too low."""
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
        """How many of so many people have a set longer than each size before, at most.

        All hold but for one chance in a million, for people who are drawn independently.
        """
        from scipy.stats import binom

        if not self.shares:
            return []
        miss = _MISS / len(self.shares)
        limits = binom.isf(miss, users, np.array(self.shares))
        return [int(limit) for limit in np.minimum(limits, users)]

    def largest_counts(
        self, expected: Array, longer: Sequence[int], users: int
    ) -> Array:
        """``C(E)`` of all ``E`` in ``expected``: the largest true counts that cuts left so.

        ``longer`` has, for each of ``sizes``, how many people have a set longer than the size
        before it (than the padding length, for the first). Of those between two sizes all have the
        larger one.
        """
        # People of each size, the largest first: their sets were cut most.
        people = np.diff([0, *longer[::-1], users])
        # What is kept of an item of such a set; sets up to the padding length are whole.
        sizes = np.array(self.sizes[::-1])
        kept = np.append(self.padding_length / sizes, 1.0)
        left = people * kept
        counted = np.append(0.0, np.cumsum(left))
        counts = np.append(0.0, np.cumsum(people))
        return np.interp(expected, counted, counts)

    def largest_bias(self, users: int) -> float:
        """The most people by which a count can be too small, whatever the item."""
        # People of each size: those with a longer set than the one before, less the next.
        longer = [*self.most_people(users), 0]
        people = -np.diff(longer)
        sizes = np.array(self.sizes, dtype=np.float64)
        lost = 1 - self.padding_length / sizes
        return float(people @ lost)


@dataclass(frozen=True, slots=True, eq=False)
class TruncatedEstimates(Estimates):
    """Estimated counts of item sets, unbiased for what is left of the sets when they are cut.

    Attributes
    ----------
    longer:
        What is known of the sets that are cut; None if nothing is.
    kept:
        The same counts with the law of the reports, for limits of what is left of the sets; None
        where it is not known, and limits are normal.
    """

    longer: LongerSets | None = None
    kept: DrawnEstimates | None = None

    def intervals(
        self, confidence: float = CONFIDENCE, simultaneous: bool = False
    ) -> CountLimits:
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
        if self.kept is None:
            lower, upper = Estimates.intervals(self, confidence, simultaneous)
        else:
            lower, upper = self.kept.intervals(confidence, simultaneous)
        if self.longer is None:
            return lower, np.full(upper.shape, np.inf)
        if not self.longer.sizes:
            return lower, upper
        most = self.longer.most_people(self.users)
        return lower, self.longer.largest_counts(upper, most, self.users)

    def for_population(self) -> TruncatedEstimates:  # type: ignore[override]
        """The estimates for the population of which these people were drawn at random."""
        kept = self.kept
        if kept is None:
            kept = DrawnEstimates.of(self, self.users)
        kept = kept.for_population()
        return replace(self, standard_errors=kept.standard_errors, kept=kept)


def set_estimates(
    reported: Estimates,
    items: int,
    longer: LongerSets | None,
    padding_length: int = 1,
) -> TruncatedEstimates:
    """Counts of sets from those of what is reported of them, times the length for one item of each.

    Where some sets have more items than are reported, or one item of each is drawn, people differ
    in the chance that their report is about item ``k``. Then the standard errors put
    ``(sum_u P_u(k))^2 / n`` in place of ``sum_u P_u(k)^2`` in the exact variance, never less.
    """
    cut = longer is None or bool(longer.sizes)
    errors = reported.standard_errors
    if padding_length > 1 or cut:
        # Which item of a set is reported is drawn: a binomial variance beside the noise.
        counts = np.clip(reported.values, 0, reported.users)
        binomial = counts * (1 - counts / reported.users)
        errors = np.sqrt(np.square(errors) + binomial)
    values = padding_length * reported.values[:items]
    errors = padding_length * errors[:items]
    null_errors = padding_length * reported.null_standard_errors[:items]
    users = reported.users
    one_in = None
    if isinstance(reported, DrawnEstimates):  # a round, scaled to all people
        one_in = reported.one_in
        reported = reported.reported
    kept = DrawnEstimates(
        values=values,
        standard_errors=errors,
        null_standard_errors=null_errors,
        users=users,
        reported=reported.first(items),
        one_in=one_in,
        share_reported=1 / padding_length,
        alike=cut,
    )
    return TruncatedEstimates(values, errors, null_errors, users, longer, kept)
