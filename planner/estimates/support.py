"""Counts of single items: limits from the law of the reports, not from a normal one.

Of ``n`` people, of whom ``c`` have an item, the reports that support it number

    X ~ Binomial(c, a) + Binomial(n - c, b)

exactly, whatever the mechanism (:mod:`planner.mechanisms.plain`). Where few reports
support an absent item, ``X`` is skewed and normal limits promise too much: the limits here
invert the law itself (Clopper and Pearson, 1934, for a sum of two binomials).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.errors import InputError
from planner.estimates.counts import Estimates, tail_share

if TYPE_CHECKING:
    from collections.abc import Callable


Array = NDArray[np.float64]
Whole = NDArray[np.int64]

# Above this variance of the number of supporting reports normal limits miss at most a third more
# often than promised, for 300 items together; the law itself takes long there.
_MOST_VARIANCE = 400.0
_REACH = 9.0  # standard deviations of the first binomial that are added up; beyond lie 1e-18
_AT_ONCE = 256  # items whose tails are added up together


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
