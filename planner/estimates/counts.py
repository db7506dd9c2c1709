"""Estimated counts: how sure they are, post-processing that says what it did, sets that are cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from planner.arguments import is_number, number_column
from planner.arrays import Array, Flags, Whole
from planner.errors import InputError
from planner.frames import Columns, Framed

# Above this variance of the number of supporting reports normal limits miss at most a third more
# often than promised, for 300 items together; the law itself takes long there.
_MOST_VARIANCE = 400.0
_REACH = (
    9.0  # standard deviations of the first binomial that are added up; beyond lie 1e-18
)
_AT_ONCE = 256  # items whose tails are added up together

CountLimits = tuple[Array, Array]
"""Lower and upper, shape ``(k,)`` each."""


class ProcessedCounts(NamedTuple):
    """Counts that look better and are biased, and what was done; standard errors do not apply."""

    values: Array
    method: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Estimates(Framed):
    """Unbiased estimates with standard errors.

    Attributes
    ----------
    values:
        Estimated quantities, shape ``(k,)``; for frequencies people per item, possibly negative.
    standard_errors:
        Estimated standard deviation of each, same shape and unit.
    null_standard_errors:
        The standard deviation each would have if the truth were zero.
    users:
        Number of reports behind them, at least 1.

    Raises
    ------
    InputError
        No users, columns of different lengths, or numbers that are not finite.

    Examples
    --------
    >>> counts = Estimates([90.0, -8.0], [10.0, 9.0], [9.0, 9.0], users=200)
    >>> lower, upper = counts.intervals(0.95)
    >>> lower.round(1).tolist(), upper.round(1).tolist()
    ([70.4, -25.6], [109.6, 9.6])
    >>> counts.clipped().values.tolist()
    [90.0, 0.0]
    """

    values: Array
    standard_errors: Array
    null_standard_errors: Array
    users: int

    def __post_init__(self) -> None:
        if self.users < 1:
            raise InputError(
                "users", self.users, "at least 1", "Collect reports first."
            )
        for name in ("values", "standard_errors", "null_standard_errors"):
            column = number_column(name, getattr(self, name))
            if column.shape != np.shape(self.values):
                remedy = "Give as many values as standard errors, one or more."
                raise InputError(
                    name, column.shape, "a column, one number per estimate", remedy
                )
            if name != "values" and column.min() < 0:
                raise InputError(
                    name, column, "not negative", "Take the roots of variances."
                )
            object.__setattr__(self, name, column)

    def intervals(
        self, confidence: float = 0.95, simultaneous: bool = False
    ) -> CountLimits:
        """Lower and upper ends of confidence intervals for the true quantities.

        They cover the randomness of the reports, not of who was asked. Estimates are sums
        over many users, taken as normal.

        Parameters
        ----------
        confidence:
            Probability of covering, above 0, below 1: of each interval, or with ``simultaneous``
            of all together (Bonferroni).
        """
        together = self.values.size if simultaneous else 1
        half = reach(confidence, together) * self.standard_errors
        return self.values - half, self.values + half

    @property
    def unit(self) -> Array:
        """People that one report more, for an item, adds to its count."""
        return np.ones(self.values.size)

    @property
    def seen(self) -> Array:
        """What the chance of an estimate depends on, a row an item."""
        errors = np.maximum(self.standard_errors, self.null_standard_errors)
        return np.stack([self.values, np.maximum(errors, 1e-9)], axis=1)

    def tail(
        self, seen: Array, count: Whole, chance: Array, more: bool = False
    ) -> Array:
        """Chance of what was seen of some items, or of more, taken from above; ``(k,)``.

        So many people may be among those who reported and have the item, each with this chance.
        The rest is noise: normal, as large as it was estimated.
        """
        from scipy.special import ndtr

        del more  # as likely
        ones, law = _binomial(count[:, None], chance[:, None])
        return np.asarray((law * ndtr((ones - seen[:, :1]) / seen[:, 1:])).sum(axis=1))

    def clipped(self) -> ProcessedCounts:
        """Every count moved into ``[0, users]``. Small counts become too large on average."""
        values = np.clip(self.values, 0, self.users)
        return ProcessedCounts(values, "clipped to [0, users]; no longer unbiased")

    def on_simplex(self) -> ProcessedCounts:
        """The nearest counts that are not negative and sum to ``users``, for single items.

        They minimise ``sum (x_k - v_k)^2 / s_k^2`` with the variance ``s_k^2`` of an absent item:
        ``x_k = max(0, v_k - lambda s_k^2)``, so that an item of a noisier level gives way more.
        Subtracting the same from all ("norm-sub", Wang et al., NDSS 2020) is right for equal
        variances only; with each count's own variance one large count would pay for the noise of
        all others (docs/how-to/collect.md compares them).

        Examples
        --------
        >>> Estimates([60, 50, -2], [5, 10, 5], [5, 10, 5], users=100).on_simplex().values.tolist()
        [58.0, 42.0, 0.0]
        """
        v = self.values
        weight = np.square(np.maximum(self.null_standard_errors, 1e-300))
        order = np.argsort(-v / weight, kind="stable")
        shift = (np.cumsum(v[order]) - self.users) / np.cumsum(weight[order])
        active = np.flatnonzero(
            v[order] / weight[order] > shift
        )  # a prefix, never empty
        values = np.maximum(0.0, v - shift[active[-1]] * weight)
        return ProcessedCounts(
            values, "weighted projection onto the simplex; no longer unbiased"
        )

    @property
    def summary(self) -> str:
        """How many reports are behind them."""
        return f"Estimates from {self.users:,} reports, with 95 % intervals."

    def columns(self) -> Columns:
        """One row an estimate, in their order, with its 95 % interval."""
        lower, upper = self.intervals()
        return {
            "estimate": self.values,
            "standard_error": self.standard_errors,
            "lower": lower,
            "upper": upper,
        }


def normal_quantile(probability: float) -> float:
    """Quantile of the standard normal distribution."""
    from scipy.special import ndtri

    return float(ndtri(probability))


def reach(confidence: float, together: int = 1) -> float:
    """Standard errors to both sides of a normal estimate in which so many hold together.

    Examples
    --------
    >>> round(reach(0.95), 4), round(reach(0.95, together=10), 4)
    (1.96, 2.807)
    """
    return -normal_quantile(tail_share(confidence, together) / 2)


def tail_share(confidence: float, together: int = 1) -> float:
    """Chance that each of so many limits may miss; InputError for what is no confidence."""
    if not (is_number(confidence) and 0 < confidence < 1):
        remedy = "Use 0.95 for limits that miss one time in twenty."
        raise InputError(
            "confidence", confidence, "a share strictly between 0 and 1", remedy
        )
    return (1 - confidence) / together


@dataclass(frozen=True, slots=True, eq=False)
class SupportEstimates(Estimates):
    """Estimated counts of single items, with the law of the reports that support each.

    Of n people, of whom c have an item, ``Binomial(c, a) + Binomial(n - c, b)`` reports support
    it, exactly, whatever the mechanism. Where few support an item normal limits promise too much:
    the limits here invert the law (Clopper and Pearson, 1934, for such a sum).

    Attributes
    ----------
    supports:
        Number of reports that support each item, whole, shape ``(k,)``.
    a, b:
        Probability that a report supports the item if it is the person's, and if it is not;
        shape ``(k,)``, ``b < a``.
    """

    supports: Whole
    a: Array
    b: Array

    def intervals(
        self, confidence: float = 0.95, simultaneous: bool = False
    ) -> CountLimits:
        """Confidence limits of the true counts, from 0 to the number of people.

        Every whole number ``c`` is inside under which the supporting reports seen, or fewer,
        and the same, or more, both have more than half the allowed chance. Where the variance
        of their number is above 400 the normal limits take over; at confidence 0.95 for 300
        items together they then miss with probability 0.065 at most, where 0.05 is promised.

        Examples
        --------
        >>> few = SupportEstimates([3.0], [3.9], [3.4], 2000, *np.array([[9], [0.9], [0.003]]))
        >>> [limit.round(1).tolist() for limit in few.intervals()]
        [[0.0], [9.0]]
        """
        return DrawnEstimates.of(self, self.users).intervals(confidence, simultaneous)

    @property
    def unit(self) -> Array:
        """As of any estimates."""
        return 1 / (self.a - self.b)

    @property
    def seen(self) -> Array:
        """As of any estimates: the law."""
        return np.stack([self.supports, self.a, self.b], axis=1)

    def tail(
        self, seen: Array, count: Whole, chance: Array, more: bool = False
    ) -> Array:
        """The same by the law itself: of so many reports each is of a person who has the item."""
        supports, a, b = seen.T
        return support_tail(supports + more, count, self.users, b + chance * (a - b), b)


def support_tail(
    least: ArrayLike, count: ArrayLike, users: int, a: ArrayLike, b: ArrayLike
) -> Array:
    """``Pr[X >= least]`` for ``X ~ Binomial(count, a) + Binomial(users - count, b)``, ``(k,)``.

    The first binomial is added up over nine standard deviations to both sides, beyond which lie
    at most 1e-18 of it.

    Examples
    --------
    >>> support_tail([1], [1], 2, [0.5], [0.25]).tolist()
    [0.625]
    """
    from scipy.stats import binom

    least, count, a, b = (
        np.atleast_1d(np.asarray(column))[:, None] for column in (least, count, a, b)
    )
    ones, chance = _binomial(count, a)
    others = binom.sf(least - ones - 1, users - count, b)
    return np.asarray(np.minimum(1.0, (chance * others).sum(axis=1)))


def _binomial(count: Whole, chance: Array) -> tuple[Whole, Array]:
    """Numbers of ``Binomial(count, chance)`` within nine standard deviations, and their chances."""
    from scipy.stats import binom

    spread = _REACH * np.sqrt(count * chance * (1 - chance)) + _REACH**2
    first = np.maximum(0, np.floor(count * chance - spread)).astype(np.int64)
    last = np.minimum(count, np.ceil(count * chance + spread)).astype(np.int64)
    ones = first + np.arange(int((last - first).max()) + 1)
    return ones, np.where(ones <= last, binom.pmf(ones, count, chance), 0.0)


def _first(holds: Callable[[Whole], Flags], low: Whole, high: Whole) -> Whole:
    """The first whole number from ``low`` to ``high`` that holds, else the one after ``high``."""
    least = low
    most = high + 1
    while np.any(least < most):
        middle = (least + most) // 2
        good = holds(np.minimum(middle, high)) | (least >= most)
        least = np.where(good, least, middle + 1)
        most = np.where(good, middle, most)
    return most


# -- counts of all people from reports of some, drawn by lot -----------------------------


@dataclass(frozen=True, slots=True, eq=False)
class DrawnEstimates(Estimates):
    """Estimated counts of all people, from those of the people ``inside`` a round.

    So many of all people were drawn as reported; with ``parts`` each apart, one chance in so many.
    """

    inside: Estimates
    parts: int | None

    @classmethod
    def of(cls, inside: Estimates, people: int, parts: int | None = None) -> Self:
        """Scaled to so many people; the lot adds to the errors.

        Examples
        --------
        >>> half = DrawnEstimates.of(Estimates([50.0], [3.0], [2.0], users=500), people=1000)
        >>> half.values.tolist(), half.standard_errors.round(2).tolist()
        ([100.0], [11.22])
        """
        factor = parts or people / inside.users
        values = factor * inside.values
        drawn = (factor - 1) * _lot_spread(values, people, parts)
        errors = np.sqrt(np.square(factor * inside.standard_errors) + drawn)
        null = factor * inside.null_standard_errors
        return cls(values, errors, null, people, inside, parts)

    def spread(self, counts: Array) -> Array:
        """By how much estimates of such counts in two rounds vary together.

        Once it is ``N p (1 - p)`` of answers that stay, of one value ``N p^2`` of those drawn anew.
        """
        if self.parts is None:
            return _lot_spread(counts, self.users)
        return np.square(np.clip(counts, 0, self.users)) / self.users

    def intervals(
        self, confidence: float = 0.95, simultaneous: bool = False
    ) -> CountLimits:
        """Limits from 0 to all people; of few people or reports by their law.

        Of ``C`` people with an item as many are drawn as a hypergeometric law says. It is taken
        for the binomial one of the same mean and variance, and the reports follow theirs: normal
        limits, and where few reports decide, those of the law.
        """
        limits = super(DrawnEstimates, self).intervals(confidence, simultaneous)
        share = tail_share(confidence, self.values.size if simultaneous else 1)
        lower, upper = (np.clip(limit, 0, self.users) for limit in limits)
        if (few := self._skewed).any():
            lower[few], upper[few] = self._by_law(limits, share)
        if self.parts:  # a lot of its own for each person: how many report varies, too
            many = limits[1] > self.inside.users
            lower, upper = np.where(many, limits, (lower, upper))
        return lower, upper

    def hold(self, counts: Array, confidence: float = 0.95) -> bool:
        """Whether all joint limits hold these counts, ``(k,)``: no limit need be searched for."""
        share = tail_share(confidence, counts.size)
        few = self._skewed
        half = reach(confidence, counts.size) * self.standard_errors
        near = np.abs(self.values - counts) <= half + 1e-9
        whole = counts[few].round().astype(np.int64)
        seen = self.inside.seen[few]
        least = self._holds(seen, share, False, whole) | (whole == self.users)
        most = ~self._holds(seen, share, True, whole) | (whole == 0)
        return bool(near[~few].all() and least.all() and most.all())

    @property
    def _unit(self) -> Array:
        return self.users / self.inside.users * self.inside.unit

    @property
    def _skewed(self) -> Flags:
        """Which of these have so few reports that limits are those of the law."""
        return np.asarray(np.square(self.standard_errors / self._unit) < _MOST_VARIANCE)

    def _by_law(self, limits: CountLimits, share: float) -> Array:
        """Where few reports decide, limits of which so large a share may be missed, ``(2, k)``."""
        near = self.standard_errors + 8 * self._unit
        around = (limit + side * near for limit in limits for side in (-1, 1))
        guesses = [np.clip(guess, 0, self.users).round() for guess in around]
        rows = np.column_stack([*guesses, self.inside.seen])[self._skewed]
        rows, same = np.unique(rows, axis=0, return_inverse=True)
        found = []
        for part in np.array_split(rows, -(-len(rows) // _AT_ONCE)):
            (low, below, above, high) = part[:, :4].astype(np.int64).T
            seen = part[:, 4:]
            ends = []
            for more, least, most in ((False, low, below), (True, above, high)):
                holds = partial(self._holds, seen, share, more)
                least = np.where(holds(least), 0, least)  # noqa: PLW2901
                ends.append(
                    _first(holds, least, np.where(holds(most), most, self.users))
                )
            found.append([np.minimum(ends[0], self.users), np.maximum(ends[1] - 1, 0)])
        return np.concatenate(found, axis=1)[:, same.ravel()]

    def _holds(self, seen: Array, share: float, more: bool, count: Whole) -> Flags:
        """Whether a count is enough for what was seen; with ``more``, whether it is too many."""
        tail = self.inside.tail(seen, *self._lot(count), more=more)
        return np.asarray(1 - tail <= share / 2 if more else tail > share / 2)

    def _lot(self, count: Whole) -> tuple[Whole, Array]:
        """How many of those who report may have the item, and with what chance each."""
        people = self.users
        reports = self.inside.users
        drawn = count * (1 / self.parts if self.parts else reports / people)
        chance = 1 - (1 - reports / people) * (people - np.maximum(count, 1)) / max(
            people - 1, 1
        )
        most = count if self.parts else np.ceil(drawn / chance - 1e-9).astype(np.int64)
        most = np.minimum(most, np.minimum(count, reports))
        return most, np.minimum(drawn / np.maximum(most, 1), 1.0)


def _lot_spread(values: Array, people: int, parts: int | None = None) -> Array:
    """Of people who have an item or not, all with such a count; not known how many if ``parts``."""
    counts = np.clip(values, 0, people)
    return counts if parts else counts * (1 - counts / people)


# -- item sets that were cut to a padding length: what their counts can still say ---------
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
        """Of so many people, how many at most have a set longer than the size before.

        All hold but for one chance in a million, for people who are drawn independently.
        """
        from scipy.stats import binom

        if not self.shares:
            return []
        limits = binom.isf(_MISS / len(self.shares), users, np.array(self.shares))
        return [int(limit) for limit in np.minimum(limits, users)]

    def largest_counts(
        self, expected: Array, longer: Sequence[int], users: int
    ) -> Array:
        """Largest counts that can have been cut to ``expected``, ``C`` as above.

        ``longer`` says how many of the people have a set longer than the size before.
        """
        people = -np.diff([users, *longer, 0])[::-1]  # of each size, the largest first
        kept = np.append(self.padding_length / np.array(self.sizes[::-1]), 1.0)
        reached = np.concatenate([[0.0], np.cumsum(people * kept)])
        return np.interp(expected, reached, np.concatenate([[0.0], np.cumsum(people)]))

    def largest_bias(self, users: int) -> float:
        """By how many people a count can be too small at most, whatever the item."""
        people = -np.diff([*self.most_people(users), 0])
        return float(
            people @ (1 - self.padding_length / np.array(self.sizes, dtype=np.float64))
        )


@dataclass(frozen=True, slots=True, eq=False)
class TruncatedEstimates(Estimates):
    """Estimated counts of item sets, unbiased for what is left of the sets when they are cut.

    ``longer`` is what is known of the sets that are cut; None if nothing is.
    """

    longer: LongerSets | None = None

    def intervals(
        self, confidence: float = 0.95, simultaneous: bool = False
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
        lower, upper = super(TruncatedEstimates, self).intervals(
            confidence, simultaneous
        )
        if self.longer is None:
            return lower, np.full(upper.shape, np.inf)
        if not self.longer.sizes:
            return lower, upper
        most = self.longer.most_people(self.users)
        return lower, self.longer.largest_counts(upper, most, self.users)


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
