"""Estimated counts: how sure they are, and post-processing that says what it did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.errors import InputError
from planner.frames import Framed

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

# Above this variance of the number of supporting reports normal limits miss at most a third more
# often than promised, for 300 items together; the law itself takes long there.
_MOST_VARIANCE = 400.0
_REACH = 9.0  # standard deviations of the first binomial that are added up; beyond lie 1e-18
_AT_ONCE = 256  # items whose tails are added up together

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Estimates(Framed):
    """Unbiased estimates with standard errors.

    Attributes
    ----------
    values:
        Estimated quantities, shape ``(k,)``; for frequencies the number of users
        per item. Unbiased, hence possibly negative.
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
    >>> lower, upper = counts.intervals(level=0.95)
    >>> lower.round(1).tolist(), upper.round(1).tolist()
    ([70.4, -25.6], [109.6, 9.6])
    >>> counts.significant(level=0.99).tolist()
    [True, False]
    >>> counts.clipped().values.tolist()
    [90.0, 0.0]
    """

    values: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    null_standard_errors: NDArray[np.float64]
    users: int

    def __post_init__(self) -> None:
        if self.users < 1:
            raise InputError("users", self.users, "at least 1", "Collect reports first.")
        for name in ("values", "standard_errors", "null_standard_errors"):
            column = np.array(getattr(self, name), dtype=np.float64)
            if column.ndim != 1 or column.shape != np.shape(self.values) or column.size == 0:
                remedy = "Give as many values as standard errors, one or more."
                raise InputError(name, column.shape, "a column, one number per estimate", remedy)
            if not np.isfinite(column).all() or (name != "values" and column.min() < 0):
                allowed = "finite; and, for standard errors, not negative"
                remedy = "A value that is not known has no estimate: leave it out everywhere."
                raise InputError(name, column, allowed, remedy)
            column.setflags(write=False)
            object.__setattr__(self, name, column)

    # -- how sure ------------------------------------------------------------

    def intervals(
        self, level: float = 0.95, simultaneous: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper ends of confidence intervals for the true quantities.

        They cover the randomness of the reports, not of who was asked. Estimates are sums
        over many users, taken as normal.

        Parameters
        ----------
        level:
            Probability of covering, above 0, below 1.
        simultaneous:
            False: each interval covers with probability ``level``. True: all
            of them together do (Bonferroni).
        """
        share = tail_share(level, self.values.size if simultaneous else 1)
        reach = normal_quantile(1 - share / 2) * self.standard_errors
        return self.values - reach, self.values + reach

    def smallest_significant(
        self, level: float = 0.95, simultaneous: bool = True
    ) -> NDArray[np.float64]:
        """The smallest estimate that is distinguishable from zero, shape ``(k,)``.

        One-sided: an item that nobody has exceeds it with probability ``1 - level``;
        with ``simultaneous``, any such item of all does (Bonferroni).
        """
        share = tail_share(level, self.values.size if simultaneous else 1)
        return normal_quantile(1 - share) * self.null_standard_errors

    def significant(self, level: float = 0.95, simultaneous: bool = True) -> NDArray[np.bool_]:
        """Which estimates are distinguishable from zero; see :meth:`smallest_significant`."""
        return self.values > self.smallest_significant(level, simultaneous)

    # -- post-processing: costs no privacy, and unbiasedness is lost ----------

    def clipped(self) -> ProcessedCounts:
        """Every count moved into ``[0, users]``. Small counts become too large on average."""
        values = np.clip(self.values, 0, self.users)
        return ProcessedCounts(values, "clipped to [0, users]; no longer unbiased")

    def on_simplex(self) -> ProcessedCounts:
        """The nearest counts that are not negative and sum to ``users``, for single items.

        Nearest by least squares weighted by one over the variance ``s_k^2`` that the count of
        an absent item would have: minimise ``sum (x_k - v_k)^2 / s_k^2``. The solution is
        ``max(0, v_k - lambda s_k^2)``: an item of a noisier level gives way more than one of
        another, where subtracting the same number from all ("norm-sub", Wang et al., NDSS 2020)
        is right only for equal variances. Weights that grow with the count itself would let
        one large count pay for the noise of all others, and can be far worse than doing
        nothing (docs/how-to/collect.md has the comparison).

        Examples
        --------
        >>> Estimates([60, 50, -2], [5, 10, 5], [5, 10, 5], users=100).on_simplex().values.tolist()
        [58.0, 42.0, 0.0]
        """
        v, weight = self.values, np.square(np.maximum(self.null_standard_errors, 1e-300))
        order = np.argsort(-v / weight, kind="stable")
        shift = (np.cumsum(v[order]) - self.users) / np.cumsum(weight[order])
        active = np.flatnonzero(v[order] / weight[order] > shift)  # a prefix, never empty
        multiplier = shift[active[-1]]
        values = np.maximum(0.0, v - multiplier * weight)
        return ProcessedCounts(values, "weighted projection onto the simplex; no longer unbiased")

    @property
    def summary(self) -> str:
        """How many reports are behind them."""
        return f"Estimates from {self.users:,} reports, with 95 % intervals."

    def columns(self) -> dict[str, Any]:
        """One row an estimate, in their order, with its 95 % interval."""
        lower, upper = self.intervals()
        return {
            "estimate": self.values,
            "standard_error": self.standard_errors,
            "lower": lower,
            "upper": upper,
            "significant": self.significant(),
        }


@dataclass(frozen=True, slots=True, eq=False)
class ProcessedCounts:
    """Post-processed counts. They look better and are biased; standard errors do not apply.

    Attributes
    ----------
    values:
        Counts in users, shape ``(k,)``.
    method:
        What was done, in words; show it with the numbers.
    """

    values: NDArray[np.float64]
    method: str


def normal_quantile(probability: float) -> float:
    """Quantile of the standard normal distribution."""
    from scipy.special import ndtri

    return float(ndtri(probability))


def tail_share(level: float, together: int = 1) -> float:
    """Chance that each of so many limits may miss, if all hold with probability ``level``.

    Raises
    ------
    InputError
        ``level`` is not above 0 and below 1.
    """
    if not 0 < level < 1:
        remedy = "Use 0.95 for limits that miss one time in twenty."
        raise InputError("level", level, "a probability above 0 and below 1", remedy)
    return (1 - level) / together


# -- single items: limits from the law of the reports, not from a normal one ----------------
#
# Of n people, of whom c have an item, Binomial(c, a) + Binomial(n - c, b) reports support it,
# exactly, whatever the mechanism. Where few support an absent item that is skewed and normal limits
# promise too much: the limits here invert the law (Clopper and Pearson, 1934, for such a sum).


@dataclass(frozen=True, slots=True, eq=False)
class SupportEstimates(Estimates):
    """Estimated counts of single items, with the law of the reports that support each.

    Attributes
    ----------
    supports:
        Number of reports that support each item, whole, shape ``(k,)``.
    a, b:
        Probability that a report supports the item if it is the person's, and if it is not;
        shape ``(k,)``, ``b < a``.

    Raises
    ------
    InputError
        As for :class:`~planner.estimates.counts.Estimates`; or columns of different lengths.
    """

    supports: Whole
    a: Array
    b: Array

    def __post_init__(self) -> None:
        super(SupportEstimates, self).__post_init__()
        for name in ("supports", "a", "b"):
            column = np.array(getattr(self, name))
            if column.shape != self.values.shape:
                allowed = f"one number per estimate, shape {self.values.shape}"
                remedy = "Give the probabilities and counts of the same items as the values."
                raise InputError(name, column.shape, allowed, remedy)
            column.setflags(write=False)
            object.__setattr__(self, name, column)

    def intervals(self, level: float = 0.95, simultaneous: bool = False) -> tuple[Array, Array]:
        """Confidence limits of the true counts, from 0 to the number of people.

        Every whole number ``c`` is inside under which the supporting reports seen, or fewer,
        and the same, or more, both have more than half the allowed chance. Where the variance
        of their number is above 400 the normal limits take over; at confidence 0.95 for 300
        items together they then miss with probability 0.065 at most, where 0.05 is promised.

        Examples
        --------
        >>> few = SupportEstimates([3.0], [3.9], [3.4], 2000, [9], np.array([0.9]), [0.003])
        >>> [limit.round(1).tolist() for limit in few.intervals()]
        [[0.0], [9.0]]
        """
        lower, upper = super(SupportEstimates, self).intervals(level, simultaneous)
        lower, upper = (np.clip(limit, 0, self.users) for limit in (lower, upper))
        slope = self.a - self.b
        skewed = np.flatnonzero((self.standard_errors * slope) ** 2 < _MOST_VARIANCE)
        if skewed.size:
            share = tail_share(level, self.values.size if simultaneous else 1) / 2
            rows = np.stack([self.supports[skewed], self.a[skewed], self.b[skewed]], axis=1)
            rows, same = np.unique(rows, axis=0, return_inverse=True)
            limits = [_limits(part, self.users, share) for part in _parts(rows)]
            ends = np.concatenate(limits)[same.ravel()]
            lower[skewed], upper[skewed] = ends.T
        return lower, upper

    def smallest_significant(self, level: float = 0.95, simultaneous: bool = True) -> Array:
        """The largest estimate that an absent item exceeds with probability at most ``1 - level``.

        From the binomial law of the reports that support it; with ``simultaneous``, any such
        item of all exceeds its own with at most that probability (Bonferroni).
        """
        from scipy.stats import binom

        share = tail_share(level, self.values.size if simultaneous else 1)
        most = binom.isf(share, self.users, self.b)
        return np.asarray((most - self.users * self.b) / (self.a - self.b))


def support_tail(
    least: ArrayLike, count: ArrayLike, users: int, a: ArrayLike, b: ArrayLike
) -> Array:
    """``Pr[X >= least]`` for ``X ~ Binomial(count, a) + Binomial(users - count, b)``.

    All of shape ``(k,)``. The first binomial is added up over nine standard deviations to both
    sides, beyond which lie at most 1e-18 of it.

    Examples
    --------
    >>> support_tail([1], [1], 2, [0.5], [0.25]).tolist()
    [0.625]
    """
    from scipy.stats import binom

    least, count, a, b = (np.atleast_1d(np.asarray(column)) for column in (least, count, a, b))
    spread = _REACH * np.sqrt(count * a * (1 - a)) + _REACH**2
    first = np.maximum(0, np.floor(count * a - spread)).astype(np.int64)
    last = np.minimum(count, np.ceil(count * a + spread)).astype(np.int64)
    steps = np.arange(int((last - first).max()) + 1)
    ones = first[:, None] + steps
    chance = np.where(ones <= last[:, None], binom.pmf(ones, count[:, None], a[:, None]), 0.0)
    others = binom.sf(least[:, None] - ones - 1, (users - count)[:, None], b[:, None])
    return np.asarray(np.minimum(1.0, (chance * others).sum(axis=1)))


def _parts(rows: Array) -> list[Array]:
    return np.array_split(rows, -(-len(rows) // _AT_ONCE))


def _limits(rows: Array, users: int, share: float) -> Array:
    """Lower and upper limits for rows of (supports, a, b), shape ``(k, 2)``."""
    seen, a, b = rows[:, 0].astype(np.int64), rows[:, 1], rows[:, 2]

    def enough(count: Whole) -> NDArray[np.bool_]:
        return support_tail(seen, count, users, a, b) > share

    def too_many(count: Whole) -> NDArray[np.bool_]:
        return 1 - support_tail(seen + 1, count, users, a, b) <= share

    likely = np.clip((seen - users * b) / (a - b), 0, users)
    reach = 8 * (np.sqrt(users * b + likely * a) + 8) / (a - b)
    ends = np.maximum(0, likely - reach), np.minimum(users, likely + reach)
    low, high = (end.round().astype(np.int64) for end in ends)
    lower = _first(enough, np.where(enough(low), 0, low), np.where(enough(high), high, users))
    upper = _first(too_many, np.where(too_many(low), 0, low), np.where(too_many(high), high, users))
    return np.stack([lower, np.maximum(upper - 1, 0)], axis=1).astype(np.float64)


def _first(holds: Callable[[Whole], NDArray[np.bool_]], low: Whole, high: Whole) -> Whole:
    """The first whole number from ``low`` to ``high`` that holds, else the one after ``high``."""
    least, most = low, high + 1
    while np.any(open_rows := least < most):
        middle = (least + most) // 2
        good = holds(np.minimum(middle, high))
        most = np.where(good & open_rows, middle, most)
        least = np.where(~good & open_rows, middle + 1, least)
    return most
