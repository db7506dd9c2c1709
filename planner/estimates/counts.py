"""Estimated counts: how sure they are, and post-processing that says what it did."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import is_number, number_column
from planner.arrays import Array, Flags, Whole
from planner.errors import InputError
from planner.frames import Columns, WithDataFrame
from planner.limits import CONFIDENCE

# Above this variance of the number of supporting reports normal limits miss at most a third more
# often than promised, for 300 items together; the law itself takes long there.
MOST_VARIANCE = 400.0
# Beyond what is added up of a binomial lies at most 1e-18: half of it on each side.
_LOG_OF_REST = math.log(2e18)
_AT_ONCE = 256  # items whose tails are added up together
_CHANCE_STEPS = 24  # of the search for a chance: what is left is 6e-8

CountLimits = tuple[Array, Array]
"""Lower and upper, shape ``(k,)`` each."""
ChanceLimits = tuple[Array, Array]
"""Lower and upper limits of chances, shape ``(k,)`` each."""


class ProcessedCounts(NamedTuple):
    """Counts that look better and are biased, and what was done; standard errors do not apply."""

    values: Array
    method: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Estimates(WithDataFrame):
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
        self, confidence: float = CONFIDENCE, simultaneous: bool = False
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
        at_once = 1  # how many limits are to hold
        if simultaneous:
            at_once = self.values.size
        half = reach(confidence, at_once) * self.standard_errors
        return self.values - half, self.values + half

    @property
    def unit(self) -> Array:
        """People that one report more, for an item, adds to its count."""
        return np.ones(self.values.size)

    @property
    def seen(self) -> Array:
        """What the chance of an estimate depends on, a row an item."""
        errors = np.maximum(self.standard_errors, self.null_standard_errors)
        errors = np.maximum(errors, 1e-9)
        return np.stack([self.values, errors], axis=1)

    def tail(
        self, seen: Array, count: Whole, chance: Array, upper: bool = False
    ) -> Array:
        """Chance of what was seen of some items, or of more, taken from above; ``(k,)``.

        So many people may be among those who reported and have the item, each with this chance.
        The rest is noise: normal, as large as it was estimated.
        """
        from scipy.special import ndtr

        del upper  # as likely
        # By how many report with the item, and the normal noise around each number.
        numbers, chances = _binomial(count[:, None], chance[:, None])
        estimate = seen[:, :1]
        error = seen[:, 1:]
        above = ndtr((numbers - estimate) / error)
        joint = chances * above
        return joint.sum(axis=1)

    def enough(self, seen: Array, miss: float, count: Whole, chance: Array) -> Flags:
        """Whether with so many people what was seen, or more, has more than half of ``miss``."""
        tail = self.tail(seen, count, chance)
        return tail > miss / 2

    def too_much(self, seen: Array, miss: float, count: Whole, chance: Array) -> Flags:
        """Whether with so many what was seen, or less, has no more than half of ``miss``."""
        tail = self.tail(seen, count, chance, upper=True)
        return 1 - tail <= miss / 2

    def first(self, size: int) -> Self:
        """The estimates of the first items alone: of each column that many numbers."""
        columns: dict[str, Any] = {}
        for field in fields(self):
            column = getattr(self, field.name)
            if isinstance(column, Estimates):
                columns[field.name] = column.first(size)
            elif isinstance(column, np.ndarray):
                columns[field.name] = column[:size]
        return replace(self, **columns)

    def for_population(self) -> DrawnEstimates:
        """The estimates for the population of which these people were drawn at random.

        Examples
        --------
        >>> counts = Estimates([100.0], [10.0], [9.0], users=200).for_population()
        >>> counts.standard_errors.round(2).tolist()
        [12.25]
        """
        return DrawnEstimates.of(self, self.users).for_population()

    @property
    def population_variance(self) -> Array:
        """Variance of each count if people are drawn at random: ``s^2 + c (1 - c/n)``."""
        count = np.clip(self.values, 0, self.users)
        between_people = count * (1 - count / self.users)
        return np.square(self.standard_errors) + between_people

    def chance_limits(self, miss: float, normal: ChanceLimits) -> ChanceLimits:
        """Limits of the chance that the answer of somebody drawn at random is an item.

        Where few reports decide, the law of the reports is inverted; else limits are ``normal``.

        Parameters
        ----------
        miss:
            Chance that each pair of limits may miss.
        normal:
            Limits of the normal law, shape ``(k,)`` each.
        """
        lower = np.clip(normal[0], 0.0, 1.0)
        upper = np.clip(normal[1], 0.0, 1.0)
        reports = self.population_variance / np.square(self.unit)
        few = reports < MOST_VARIANCE
        if few.any():
            by_law = partial(self._chances_by_law, miss)
            lower[few], upper[few] = _limits_of_rows(self.seen[few], by_law)
        return lower, upper

    def _chances_by_law(self, miss: float, seen: Array) -> ChanceLimits:
        """Limits of the chance of each row of what was seen, by the law of the reports."""
        size = len(seen)
        users = np.full(size, self.users, dtype=np.int64)
        enough = partial(self.enough, seen, miss, users)
        too_much = partial(self.too_much, seen, miss, users)
        lower = _least_chance(enough, size)
        upper = _least_chance(too_much, size)
        return lower, upper

    def clipped(self) -> ProcessedCounts:
        """Every count moved into ``[0, users]``. Small counts become too large on average."""
        values = np.clip(self.values, 0, self.users)
        method = (
            "a number below 0 or above all people is moved there, on average too high"
        )
        return ProcessedCounts(values, method)

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
        errors = np.maximum(self.null_standard_errors, 1e-300)
        variances = np.square(errors)
        order = np.argsort(-v / variances, kind="stable")
        value = v[order]
        variance = variances[order]
        # lambda if the first items of this order alone stayed above 0, for each number of them.
        too_many = np.cumsum(value) - self.users
        multipliers = too_many / np.cumsum(variance)
        # It is that of the largest set of items that all stay above 0: a prefix, never empty.
        above_0 = np.flatnonzero(value / variance > multipliers)
        multiplier = multipliers[above_0[-1]]
        values = np.maximum(0.0, v - multiplier * variances)
        method = (
            "the nearest numbers of which none is below 0 and which add up to all people, on "
            "average too high for rare answers"
        )
        return ProcessedCounts(values, method)

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


def nearest_share(number: float) -> float:
    """The nearest number from 0 to 1."""
    return min(max(number, 0.0), 1.0)


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
        self, confidence: float = CONFIDENCE, simultaneous: bool = False
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
        """People that one supporting report more adds."""
        return 1 / (self.a - self.b)

    @property
    def seen(self) -> Array:
        """Supporting reports and both chances, a row an item."""
        return np.stack([self.supports, self.a, self.b], axis=1)

    def tail(
        self, seen: Array, count: Whole, chance: Array, upper: bool = False
    ) -> Array:
        """The chance by the law itself, see :meth:`Estimates.tail`."""
        supports, a, b = seen.T
        of_counted = b + chance * (a - b)
        return support_tail(supports + upper, count, self.users, of_counted, b)

    def chance_limits(self, miss: float, normal: ChanceLimits) -> ChanceLimits:
        """Clopper and Pearson's limits of ``l = b + p (a - b)``, mapped to ``p``: exact.

        The number of supports of people drawn at random is ``Binomial(n, l)``.
        """
        del normal  # not needed: the law is inverted in closed form
        lower, upper = clopper_pearson(self.supports, self.users, miss)
        gap = self.a - self.b
        lower = (lower - self.b) / gap
        upper = (upper - self.b) / gap
        return lower, upper


def clopper_pearson(
    successes: ArrayLike, trials: ArrayLike, miss: float
) -> ChanceLimits:
    """Limits of a binomial chance that miss with at most this probability, half on each side.

    Clopper and Pearson: The use of confidence or fiducial limits illustrated in the case of the
    binomial (Biometrika 1934); the ends are quantiles of beta laws.

    Examples
    --------
    >>> [end.round(4).tolist() for end in clopper_pearson([0, 3], 10, 0.05)]
    [[0.0, 0.0667], [0.3085, 0.6525]]
    """
    from scipy.special import betaincinv

    hits = np.asarray(successes, dtype=np.float64)
    others = np.asarray(trials, dtype=np.float64) - hits
    # A beta law needs numbers above 0: where there is none, the end is set below.
    some_hits = np.maximum(hits, 1e-300)
    some_others = np.maximum(others, 1e-300)
    lower = betaincinv(some_hits, others + 1, miss / 2)
    upper = betaincinv(hits + 1, some_others, 1 - miss / 2)
    lower = np.where(hits > 0, lower, 0.0)
    upper = np.where(others > 0, upper, 1.0)
    return lower, upper


def support_tail(
    least: ArrayLike, count: ArrayLike, users: int, a: ArrayLike, b: ArrayLike
) -> Array:
    """``Pr[X >= least]`` for ``X ~ Binomial(count, a) + Binomial(users - count, b)``, ``(k,)``.

    The first binomial is added up where all but 1e-18 of it lies.

    Examples
    --------
    >>> support_tail([1], [1], 2, [0.5], [0.25]).round(12).tolist()
    [0.625]
    """
    # A row an item; its columns are how many reports of those with the item support it.
    holders = _as_rows(count)
    others = users - holders
    of_holders, chances = _binomial(holders, _as_rows(a))
    missing = _as_rows(least) - of_holders
    enough = _binomial_tail(missing, others, _as_rows(b))
    joint = chances * enough
    return np.minimum(1.0, joint.sum(axis=1))


def _as_rows(numbers: ArrayLike) -> NDArray[Any]:
    """Numbers one below the other, ``(k, 1)``."""
    return np.reshape(numbers, (-1, 1))


def _binomial(count: Whole, chance: Array) -> tuple[Whole, Array]:
    """The numbers that hold all but 1e-18 of ``Binomial(count, chance)``, and their chances.

    Arguments are ``(k, 1)``; results have a row for each, as wide as the widest needs. Beyond a
    row's own numbers its chances are 0.

    By Bernstein's inequality ``Pr[X - m >= t] <= exp(-t^2 / (2 v + 2 t / 3))`` at the mean ``m``
    and the variance ``v``. SciPy's ``binom`` has the same chances, but takes far longer to check
    its arguments than to compute the few of a row.
    """
    from scipy.special import betaln, xlog1py, xlogy

    mean = count * chance
    variance = mean * (1 - chance)
    third = _LOG_OF_REST / 3
    # t^2 = L (2 v + 2 t / 3) is solved by t = L/3 + sqrt((L/3)^2 + 2 L v).
    spread = third + np.sqrt(third**2 + 2 * _LOG_OF_REST * variance)
    smallest = np.floor(mean - spread)
    largest = np.ceil(mean + spread)
    first = np.maximum(0, smallest).astype(np.int64)
    last = np.minimum(count, largest).astype(np.int64)
    # As many columns as the widest row needs; beyond its own end a row has no chance.
    widths = last - first + 1
    numbers = first + np.arange(int(widths.max()))
    others = np.maximum(count - numbers, 0)
    # n over k is 1 / ((n + 1) B(k + 1, n - k + 1)).
    logs = xlogy(numbers, chance) + xlog1py(others, -chance)
    logs = logs - betaln(numbers + 1, others + 1) - np.log1p(count)
    chances = np.where(numbers <= last, np.exp(logs), 0.0)
    # Digits that logarithms lost would be seen in 1 less a tail near 1.
    totals = chances.sum(axis=1, keepdims=True)
    return numbers, chances / totals


def _binomial_tail(least: Whole, count: Whole, chance: Array) -> Array:
    """``Pr[Binomial(count, chance) >= least]``, an incomplete beta function of ``k, n - k + 1``."""
    from scipy.special import betainc

    inside = np.clip(least, 1, np.maximum(count, 1))
    tail = betainc(inside, count - inside + 1, chance)
    tail = np.where(least > count, 0.0, tail)
    return np.where(least <= 0, 1.0, tail)


def _limits_of_rows(
    rows: Array, limits: Callable[[Array], tuple[Array, Array]]
) -> Array:
    """Limits of each row, ``(2, k)``; of equal rows they are searched for once."""
    distinct, same = np.unique(rows, axis=0, return_inverse=True)
    parts = -(-len(distinct) // _AT_ONCE)
    ends = []
    # A part at a time: the laws of many items would not fit into memory together.
    for part in np.array_split(distinct, parts):
        lower, upper = limits(part)
        ends.append([lower, upper])
    of_distinct = np.concatenate(ends, axis=1)
    return of_distinct[:, same.ravel()]


def _least_chance(holds: Callable[[Array], Flags], size: int) -> Array:
    """The least chance, from 0 to 1, from which on each of so many conditions holds."""
    least = np.zeros(size)
    most = np.ones(size)
    for _ in range(_CHANCE_STEPS):
        middle = (least + most) / 2
        held = holds(middle)
        least = np.where(held, least, middle)
        most = np.where(held, middle, most)
    never_left = least == 0
    return np.where(never_left, 0.0, most)


def _first_that_holds(
    holds: Callable[[Whole], Flags], low: Whole, high: Whole
) -> Whole:
    """The first whole number from ``low`` to ``high`` that holds, else the one after ``high``."""
    least = low
    most = high + 1
    while np.any(least < most):
        middle = (least + most) // 2
        # All items are searched together; one that is settled holds, so that it stays.
        settled = least >= most
        held = holds(np.minimum(middle, high)) | settled
        least = np.where(held, least, middle + 1)
        most = np.where(held, middle, most)
    return most


# -- counts of all people from reports of some ---------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class DrawnEstimates(Estimates):
    """Estimated counts of ``users`` people, from the estimates of those who reported.

    Attributes
    ----------
    reported:
        Estimates of the people who reported, with the law of their reports.
    one_in:
        Each person reported with one chance in so many, apart from the others; None if so many
        of all people as reported were drawn by lot.
    share_reported:
        Chance that the report of a person with an item is about it: 1, or one over the length of
        a padded set.
    alike:
        Whether each report is about the item with the same chance, whoever sent it. It is so of
        people drawn at random from a population. Of people who differ the same sum of chances
        spreads least: the limits hold for them, too (Hoeffding, 1956).
    """

    reported: Estimates
    one_in: int | None = None
    share_reported: float = 1.0
    alike: bool = False

    @classmethod
    def of(cls, reported: Estimates, people: int, one_in: int | None = None) -> Self:
        """Estimates of so many people; the lot adds to the errors.

        Examples
        --------
        >>> half = DrawnEstimates.of(Estimates([50.0], [3.0], [2.0], users=500), people=1000)
        >>> half.values.tolist(), half.standard_errors.round(2).tolist()
        ([100.0], [11.22])
        """
        factor = one_in or people / reported.users
        values = factor * reported.values
        of_reports = np.square(factor * reported.standard_errors)
        of_lot = (factor - 1) * _lot_variance(values, people, one_in)
        return cls(
            values=values,
            standard_errors=np.sqrt(of_reports + of_lot),
            null_standard_errors=factor * reported.null_standard_errors,
            users=people,
            reported=reported,
            one_in=one_in,
        )

    def for_population(self) -> DrawnEstimates:
        """The estimates for the population of which all people were drawn at random.

        Whoever reported is a random part of it, and its variance that of
        :attr:`population_variance`.
        """
        if self.alike:
            return self
        people_a_report = self._factor / self.share_reported
        errors = people_a_report * np.sqrt(self.reported.population_variance)
        return replace(self, standard_errors=errors, alike=True)

    def round_variance(self, counts: Array) -> Array:
        """The covariance of estimates of such counts in two rounds, in people squared.

        By a lot for all it is ``N p (1 - p)`` of answers that stay; of one value, for which each
        person is drawn anew, ``N p^2``.
        """
        if self.one_in is None:
            return _lot_variance(counts, self.users)
        people = np.clip(counts, 0, self.users)
        return np.square(people) / self.users

    def intervals(
        self, confidence: float = CONFIDENCE, simultaneous: bool = False
    ) -> CountLimits:
        """Limits from 0 to all people; of few people or reports by their law.

        Of ``C`` people with an item as many are drawn as a hypergeometric law says. It is taken
        for the binomial one of the same mean and variance, and the reports follow theirs: normal
        limits, and where few reports decide, those of the law.
        """
        low, high = Estimates.intervals(self, confidence, simultaneous)
        at_once = 1  # how many limits are to hold
        if simultaneous:
            at_once = self.values.size
        miss = tail_share(confidence, at_once)
        if self.alike:
            # The chance that a person is counted, as it is estimated from those who reported.
            scale = self._factor * self.reported.users / self.share_reported
            normal = (low / scale, high / scale)
            least, most = self.reported.chance_limits(miss, normal)
            lower = np.clip(scale * least, 0, self.users)
            upper = np.clip(scale * most, 0, self.users)
            return lower, upper
        lower = np.clip(low, 0, self.users)
        upper = np.clip(high, 0, self.users)
        few = self._skewed
        if few.any():
            rows = self._guesses(low, high)[few]
            by_law = partial(self._limits_by_law, miss)
            lower[few], upper[few] = _limits_of_rows(rows, by_law)
        if self.one_in:
            # How many report varies, too: as many people as may be have no binomial law.
            many = high > self.reported.users
            lower = np.where(many, low, lower)
            upper = np.where(many, high, upper)
        return lower, upper

    def hold(self, counts: Array, confidence: float = CONFIDENCE) -> bool:
        """Whether all joint limits hold these counts, ``(k,)``: no limit need be searched for."""
        if self.alike:
            lower, upper = self.intervals(confidence, simultaneous=True)
            above = lower <= counts + 1e-9
            below = counts <= upper + 1e-9
            return bool(above.all() and below.all())
        few = self._skewed
        half = reach(confidence, counts.size) * self.standard_errors
        distance = np.abs(self.values - counts)
        near = distance <= half + 1e-9
        if not near[~few].all():
            return False
        miss = tail_share(confidence, counts.size)
        people = counts[few].round().astype(np.int64)
        seen = self.reported.seen[few]
        # All people are never too few for what was seen, and none are never too many.
        enough = self._enough(seen, miss, people) | (people == self.users)
        too_many = self._too_many(seen, miss, people) & (people > 0)
        return bool(enough.all() and not too_many.any())

    @property
    def _factor(self) -> float:
        """People that one who reported stands for."""
        return self.one_in or self.users / self.reported.users

    @property
    def _unit(self) -> Array:
        """People that one supporting report more adds, of all."""
        return self._factor / self.share_reported * self.reported.unit

    @property
    def _skewed(self) -> Flags:
        """Which of these have so few reports that limits are those of the law."""
        reports = np.square(self.standard_errors / self._unit)
        return reports < MOST_VARIANCE

    def _guesses(self, low: Array, high: Array) -> Array:
        """Around normal limits, within a standard error and eight reports, and what was seen.

        A row an item: from where, and up to where, the lower limit is looked for first, the same
        of the upper one, and its columns of ``seen``.
        """
        near = self.standard_errors + 8 * self._unit
        columns = []
        for limit in (low, high):
            columns.append(limit - near)
            columns.append(limit + near)
        guesses = np.clip(columns, 0, self.users).round()
        return np.column_stack([guesses.T, self.reported.seen])

    def _limits_by_law(self, miss: float, rows: Array) -> CountLimits:
        """Limits that miss with this chance at most, of rows of ``_guesses``."""
        guesses, seen = np.hsplit(rows, [4])
        low, below, above, high = guesses.astype(np.int64).T
        enough = partial(self._enough, seen, miss)
        too_many = partial(self._too_many, seen, miss)
        fewest = self._search(enough, low, below)
        most = self._search(too_many, above, high) - 1
        lower = np.minimum(fewest, self.users)
        upper = np.maximum(most, 0)
        return lower, upper

    def _search(
        self, holds: Callable[[Whole], Flags], low: Whole, high: Whole
    ) -> Whole:
        """The first count that holds, looked for between two guesses before elsewhere."""
        too_high = holds(low)
        far_enough = holds(high)
        start = np.where(too_high, 0, low)
        end = np.where(far_enough, high, self.users)
        return _first_that_holds(holds, start, end)

    def _enough(self, seen: Array, miss: float, people: Whole) -> Flags:
        """Whether of so many of all people what was seen, or more, has enough chance."""
        count, chance = self._reporting(people)
        return self.reported.enough(seen, miss, count, chance)

    def _too_many(self, seen: Array, miss: float, people: Whole) -> Flags:
        """Whether of so many of all people what was seen, or less, has too little chance."""
        count, chance = self._reporting(people)
        return self.reported.too_much(seen, miss, count, chance)

    def _reporting(self, count: Whole) -> tuple[Whole, Array]:
        """How many reports may be about the item, and with what chance each.

        A hypergeometric law of ``N`` people, ``C`` with the item, ``n`` drawn, has the mean
        ``m = n C / N`` and the variance ``m (1 - q)``, ``q = 1 - (1 - n/N) (N - C) / (N - 1)``:
        that of ``Binomial(m / q, q)``.
        """
        people = self.users
        reports = self.reported.users
        trials = np.minimum(count, reports)
        if self.one_in:
            m = count * (1 / self.one_in)
        else:
            m = count * (reports / people)
            others = people - np.maximum(count, 1)
            share_of_others = others / max(people - 1, 1)
            q = 1 - (1 - reports / people) * share_of_others
            of_same_law = np.ceil(m / q - 1e-9)
            trials = np.minimum(of_same_law.astype(np.int64), trials)
        chance = m / np.maximum(trials, 1)
        chance = np.minimum(chance, 1.0)
        return trials, self.share_reported * chance


def _lot_variance(values: Array, people: int, one_in: int | None = None) -> Array:
    """Variance that a lot adds to such counts, a factor left out.

    ``c (1 - c / N)`` where so many of all people are drawn as report; ``c`` where each is drawn
    apart, as it is not known how many report.
    """
    counts = np.clip(values, 0, people)
    if one_in:
        return counts
    return counts * (1 - counts / people)
