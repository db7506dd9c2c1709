"""Estimates from the reports of a channel: means as ratios, and ordered answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from planner.arguments import whole_number
from planner.arrays import Array, Flags
from planner.errors import InputError
from planner.estimates.counts import (
    MOST_VARIANCE,
    DrawnEstimates,
    Estimates,
    reach,
    tail_share,
)
from planner.estimates.report_law import (
    AnsweredShare,
    ReportLaw,
    ReportSums,
    within,
)
from planner.frames import Columns, WithDataFrame
from planner.limits import CONFIDENCE
from planner.solvers.answers import Channel

_SURE = 4.0  # standard errors above 0 from which a ratio's first order holds
_SHARE_DIGITS = 1e-12  # of a share, that a limit may be off by


class ChannelEstimates(NamedTuple):
    """Unbiased estimates of the wanted numbers per person, ``(p,)``, and their covariance.

    The covariance is that of people drawn at random, from the reports themselves.
    """

    values: Array
    covariance: Array
    users: int
    law: ReportLaw | None = None

    def of_draws(self, between_people: Array) -> ChannelEstimates:
        """These estimates with the covariance of the draws alone, whoever was asked.

        The covariance ``between_people``, ``(p, p)``, is taken off, unless reports are so few that
        what is left would not be a covariance.
        """
        drawn = self.covariance - between_people / self.users
        if np.linalg.eigvalsh(drawn)[0] <= 0:
            return self
        return self._replace(covariance=drawn)

    def at_least(self, covariance: Array) -> ChannelEstimates:
        """These estimates with a covariance that is nowhere smaller than another one."""
        # The least matrix, as forms go, that is above both along each eigenvector of the gap.
        gap = covariance - self.covariance
        values, vectors = np.linalg.eigh(gap)
        positive = np.maximum(values, 0)
        excess = (vectors * positive) @ vectors.T
        return self._replace(covariance=self.covariance + excess)

    def of_shares_up_to(self, *, no_answer: bool = False) -> ChannelEstimates:
        """These estimates as shares up to each ordered answer: a person counts in one or does not.

        The covariance is that of the law, where it is known: of few reports they do not show it.
        With ``no_answer`` the last answer is outside the order: shares ``C_j / C_m`` of the others,
        to first order of the covariance, as large as any where nobody else may have answered.
        """
        estimates = self
        if self.law is not None:
            shares = np.diff(rising(self.values), prepend=0.0, append=1.0)
            estimates = self._replace(covariance=self.law.covariance(shares))
        answered = 1.0
        if no_answer:
            answered = float(self.values[-1])
            variance = max(float(estimates.covariance[-1, -1]), 0.0)
            if answered < _SURE * sqrt(variance):
                # Whether anybody answered is not known, and so nothing of the shares.
                size = self.values.size - 1
                return ChannelEstimates(np.full(size, 0.5), np.eye(size), self.users)
            estimates = estimates._among_answered()
        up_to = rising(estimates.values)
        # Whoever is up to an answer is up to all later ones: E[1_j 1_k] is the smaller share.
        both = np.minimum.outer(up_to, up_to)
        between_people = both - np.outer(up_to, up_to)
        return estimates.of_draws(between_people / answered)

    def _among_answered(self) -> ChannelEstimates:
        """``C_j / C_m`` of all but the last number, to first order (delta method)."""
        answered = float(self.values[-1])
        shares = self.values[:-1] / answered
        by_cells = np.eye(shares.size)
        jacobian = np.column_stack([by_cells, -shares]) / answered
        law = self.law
        if law is not None:
            law = law._replace(answered=answered)
        return self._replace(
            values=shares,
            covariance=jacobian @ self.covariance @ jacobian.T,
            law=law,
        )


class PopulationEstimates(ChannelEstimates):
    """Estimates for the population of which the people were drawn at random.

    How people differ is part of the covariance, and no limits are those of given people.
    """

    def of_draws(self, between_people: Array) -> ChannelEstimates:
        """Unchanged, but for limits: they are normal."""
        del between_people
        return self._replace(law=None)


def weighted_channel(
    groups: Sequence[ChannelEstimates], weights: Sequence[float]
) -> ChannelEstimates:
    """Numbers per person of all groups together, a person of each counting for its weight.

    With ``W = w n / sum w n`` the values are ``sum W v`` and their covariance, of people drawn at
    random from each group, ``sum W^2 C``.

    Examples
    --------
    >>> one = ChannelEstimates(np.array([0.2]), np.eye(1) * 0.01, 100)
    >>> other = ChannelEstimates(np.array([0.6]), np.eye(1) * 0.01, 100)
    >>> both = weighted_channel([one, other], [3.0, 1.0])
    >>> both.values.round(3).tolist(), both.covariance.round(5).tolist(), both.users
    ([0.3], [[0.00625]], 200)
    """
    n = np.array([group.users for group in groups])
    values = np.array([group.values for group in groups])
    covariances = np.array([group.covariance for group in groups])
    mass = n * np.array(weights)
    shares = mass / mass.sum()
    return PopulationEstimates(
        values=shares @ values,
        covariance=np.tensordot(np.square(shares), covariances, 1),
        users=int(n.sum()),
    )


def rising(values: Array, weights: Array | None = None) -> Array:
    """The nearest shares from 0 to 1 that rise, by least squares."""
    from scipy.optimize import isotonic_regression

    nearest = isotonic_regression(values, weights=weights)
    return np.clip(nearest.x, 0, 1)


def wanted_estimates(
    estimator: Array, counts: ArrayLike, blocks: Sequence[tuple[int, float]] = ()
) -> ChannelEstimates:
    """Estimates from what each report adds to the wanted numbers, shape ``(p, outputs)``.

    ``counts`` are of the people who sent each report. ``blocks`` have a number of reports and
    their known share of all, whatever the answers: the reports of each are taken for as many as
    expected, unless one has none.

    Raises
    ------
    InputError
        Counts that are not whole numbers of at least 0, one a report, or nobody's.
    """
    column = np.asarray(counts)
    outputs = estimator.shape[1]
    is_whole = column.dtype.kind in "iu"
    if column.shape != (outputs,) or not is_whole or column.min() < 0:
        allowed = f"{outputs} whole numbers of at least 0, one a report"
        remedy = f"Count the reports by numpy.bincount(reports, minlength={outputs})."
        raise InputError("counts", counts, allowed, remedy)
    users = int(column.sum())
    if users < 1:
        raise InputError(
            "counts", users, "of at least one person", "Collect reports first."
        )
    strata = _strata(column, blocks)
    values = np.zeros(len(estimator))
    covariance = np.zeros((len(estimator), len(estimator)))
    for outputs, share in strata:
        added = estimator[:, outputs]
        reports = column[outputs]
        n = int(reports.sum())
        values += share * (added @ reports) / n
        if n == 1:  # of one report nothing is known: as if all had come equally often
            reports = np.full(reports.size, 1 / reports.size)
        mean = added @ reports / reports.sum()
        deviations = added - mean[:, None]
        squares = share**2 * (deviations * reports) @ deviations.T
        covariance += squares / max(1, n - 1) / n
    return ChannelEstimates(values, covariance, users)


def _strata(
    counts: Array, blocks: Sequence[tuple[int, float]]
) -> list[tuple[slice, float]]:
    """The outputs of each block and their share of all reports; all together if one has none."""
    together = [(slice(None), 1.0)]
    strata = []
    start = 0
    for size, share in blocks:
        outputs = slice(start, start + size)
        if not counts[outputs].any():
            return together
        strata.append((outputs, share))
        start += size
    return strata or together


@dataclass(frozen=True, slots=True)
class Estimate:
    """One estimated quantity: never a silent NaN.

    ``value``, not clipped to its possible range, and ``standard_error`` are ``None`` if undefined;
    ``lower`` and ``upper`` are finite. Where reports do not limit the quantity the interval is its
    whole possible range, and the ``note`` says so; it is empty otherwise.
    """

    value: float | None
    standard_error: float | None
    lower: float
    upper: float
    note: str = ""

    def scaled(self, offset: float, factor: float) -> Estimate:
        """The estimate of ``offset + factor * quantity``, for ``factor > 0``."""
        value = None
        if self.value is not None:
            value = offset + factor * self.value
        error = None
        if self.standard_error is not None:
            error = factor * self.standard_error
        lower = offset + factor * self.lower
        upper = offset + factor * self.upper
        return Estimate(value, error, lower, upper, self.note)


def large_sample(value: float, variance: float, confidence: float) -> Estimate:
    """The normal-approximation interval of an unbiased estimate.

    Examples
    --------
    >>> large_sample(0.5, 0.01, 0.95).upper.__round__(3)
    0.696
    """
    error = sqrt(max(variance, 0.0))
    half = reach(confidence) * error
    return Estimate(value, error, value - half, value + half)


def mean_of_scores(estimates: ChannelEstimates, confidence: float) -> Estimate:
    """The only number wanted, a mean of scores, of people drawn at random.

    Its variance is that of the reports, and at least the law's for people with next scores: of an
    answer at an end reports may be all the same.
    """
    value = float(estimates.values[0])
    law = estimates.law
    if law is not None:
        scores = law.matrix @ law.estimator[0]
        shares = _around(value, scores)
        estimates = estimates.at_least(law.covariance(shares))
    variance = float(estimates.covariance[0, 0])
    return large_sample(value, variance, confidence)


def _around(mean: float, scores: Array) -> Array:
    """Shares of answers: all people at the two with the next scores, so that the mean is theirs."""
    order = np.argsort(scores)
    ranks = np.arange(scores.size)
    rank = float(np.interp(mean, scores[order], ranks))
    below = min(int(rank), scores.size - 2)
    lower, upper = order[below : below + 2]
    shares = np.zeros(scores.size)
    shares[lower] = below + 1 - rank
    shares[upper] = rank - below
    return shares


def ratio(
    estimates: ChannelEstimates, confidence: float, possible: tuple[float, float]
) -> Estimate:
    """The first wanted number over the second: first-order standard error, Fieller's interval.

    The interval holds the values ``m`` for which ``first - m * second`` is compatible with 0. It
    covers as promised even when few answered. When reports cannot rule out that *nobody* did, no
    bounded interval keeps its promise: then it is the ``possible`` range, and says so.

    Examples
    --------
    >>> found = ChannelEstimates(np.array([0.2, 0.5]), np.eye(2) * 1e-4, 1000)
    >>> mean = ratio(found, 0.95, (-1.0, 1.0))
    >>> round(mean.lower, 3), round(mean.upper, 3)
    (0.358, 0.443)
    """
    a, b = estimates.values.tolist()
    (var_a, cov_ab), (_, var_b) = estimates.covariance.tolist()
    z2 = reach(confidence) ** 2
    least, most = possible
    rate = f"(estimated answer rate {b:.3g})."
    if b <= 0:
        note = "The mean is undefined: as far as these reports show, nobody answered"
        return Estimate(None, None, least, most, f"{note} {rate}")
    # First order: Var(A / B) = (Var A - 2 m Cov(A, B) + m^2 Var B) / b^2.
    value = a / b
    variance = var_a - 2 * value * cov_ab + value**2 * var_b
    error = sqrt(max(variance, 0.0)) / b
    # Fieller (1954): (a - m b)^2 <= z^2 Var(A - m B), a quadratic in m whose leading coefficient
    # is above 0 where b differs from 0 at this confidence.
    quadratic = b * b - z2 * var_b
    if quadratic <= 0:
        note = "The reports cannot rule out that nobody answered, so they do not limit the mean"
        return Estimate(value, error, least, most, f"{note} {rate}")
    linear = a * b - z2 * cov_ab
    constant = a * a - z2 * var_a
    discriminant = linear * linear - quadratic * constant
    root = sqrt(max(discriminant, 0.0))
    lower = (linear - root) / quadratic
    upper = (linear + root) / quadratic
    return Estimate(value, error, lower, upper)


class NumericEstimates(NamedTuple):
    """What reports about a number say of all people, in the question's unit.

    ``mean`` is of those who answered, ``missing_rate`` the share of people who did not, and
    ``frequency`` the share of "yes" among those who did; ``None`` unless the question is yes/no.
    """

    mean: Estimate
    total: Estimate
    missing_rate: Estimate
    frequency: Estimate | None


@dataclass(frozen=True, slots=True)
class QuantileEstimate:
    """The first ordered answer whose consistent cumulative share reaches a share of the people.

    ``lower`` and ``upper`` are the answers between which it lies with the stated confidence.
    """

    answer: str
    lower: str
    upper: str


@dataclass(frozen=True, eq=False, repr=False)
class OrderedEstimates(WithDataFrame):
    """Estimated cumulative shares of ordered answers.

    Attributes
    ----------
    answers:
        The ``d`` answers in order.
    values, covariance:
        Unbiased estimates of the share up to each answer but the last, ``(d - 1,)``.
    users:
        Number of reports.
    law:
        That of the reports, if it is known: limits of few reports invert it.
    confidence:
        That the band covers all cumulative shares at once (Bonferroni).

    Raises
    ------
    InputError
        Shapes that do not fit, negative variances, or a confidence outside 0 to 1.

    Examples
    --------
    >>> estimates = OrderedEstimates(
    ...     ("low", "middle", "high"), [0.55, 0.52], np.diag([0.01, 0.01]) ** 2, users=1000
    ... )
    >>> estimates.consistent.round(3).tolist()
    [0.535, 0.535, 1.0]
    >>> estimates.quantile(0.5).answer, estimates.quantile(0.9).answer
    ('low', 'high')
    """

    answers: tuple[str, ...]
    values: Array
    covariance: Array
    users: int
    law: ReportLaw | None = None
    confidence: float = CONFIDENCE

    def __post_init__(self) -> None:
        size = len(self.answers) - 1
        shapes: dict[str, tuple[int, ...]] = {
            "values": (size,),
            "covariance": (size, size),
        }
        for name, shape in shapes.items():
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.shape != shape or size < 1 or not np.isfinite(array).all():
                remedy = "There is one cumulative share for each answer but the last."
                raise InputError(
                    name, array.shape, f"finite numbers of shape {shape}", remedy
                )
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "answers", tuple(self.answers))
        if np.diag(self.covariance).min() < 0:
            remedy = "Take values and covariance from the same estimate."
            raise InputError(
                "covariance", self.covariance, "with no negative variance", remedy
            )
        whole_number(
            "users", self.users, remedy="Give the number of people who reported."
        )
        reach(self.confidence)

    @cached_property
    def consistent(self) -> Array:
        """Cumulative shares that rise from 0 or more to 1 for the last answer, shape ``(d,)``.

        The nearest such shares, by least squares weighted by one over each variance.
        """
        variances = np.diag(self.covariance)
        weights = 1 / np.maximum(variances, 1e-300)
        return np.append(rising(self.values, weights), 1.0)

    @property
    def shares(self) -> Array:
        """Consistent share of each answer, shape ``(d,)``: none negative, sum 1."""
        return np.diff(self.consistent, prepend=0.0)

    @cached_property
    def band(self) -> tuple[Array, Array]:
        """Lower and upper ends for all cumulative shares at once, shape ``(d,)`` each.

        What is below an earlier lower end, or above a later upper end, cannot be, as cumulative
        shares rise.
        """
        *_, lower, upper = self.among(self._up_to, together=True)
        lower = np.clip(lower, 0, 1)
        upper = np.clip(upper, 0, 1)
        rising_lower = np.maximum.accumulate(lower)
        from_the_last = np.minimum.accumulate(upper[::-1])
        rising_upper = from_the_last[::-1]
        rising_lower = np.append(rising_lower, 1.0)
        rising_upper = np.append(rising_upper, 1.0)
        return rising_lower, rising_upper

    @property
    def _up_to(self) -> Flags:
        """The sets of answers up to each but the last, ``(d - 1, d)``."""
        size = self.values.size
        return np.tri(size, size + 1, dtype=np.bool_)

    def among(
        self, chosen: Flags, together: bool = False, population: bool = False
    ) -> tuple[Array, Array, Array, Array]:
        """Share of people with one of the chosen answers: estimate, standard error and limits.

        ``chosen``: ``(k, d)``. With ``together`` all limits hold with the stated confidence. With
        ``population`` they are of the population the people were drawn from.
        """
        counts = self._counts(chosen)
        if population:
            counts = counts.for_population()
        lower, upper = counts.intervals(self.confidence, together)
        value = counts.values / self.users
        error = counts.standard_errors / self.users
        lower = lower / self.users
        upper = upper / self.users
        if self.law is None or self.law.answered is None:
            return value, error, lower, upper
        at_once = 1  # how many limits are to hold
        if together:
            at_once = len(chosen)
        miss = tail_share(self.confidence, at_once)
        for row, inside in enumerate(chosen):
            share = self._answered_share(inside)._replace(drawn=population)
            unit = share.unit / share.every
            if error[row] ** 2 < MOST_VARIANCE * unit**2:
                lower[row], upper[row] = share.limits(miss)
        return value, error, lower, upper

    def _answered_share(self, inside: Flags) -> AnsweredShare:
        """The law of the share with some answers, where somebody gave none."""
        law = self.law
        assert law is not None  # noqa: S101 - asked before
        assert law.answered is not None  # noqa: S101 - asked before
        size = inside.size
        indicator = inside.astype(np.float64)
        steps = -np.diff(indicator, append=0.0)
        # The answers of people inside, of others who answered, and of those who did not.
        kinds = np.zeros((3, size + 1), dtype=np.bool_)
        kinds[0, :-1] = inside
        kinds[1, :-1] = ~inside
        kinds[2, -1] = True
        shares = within(kinds, np.append(self.shares, 0.0))
        every = law.answered * self.users
        up_to_all = float(steps[-1])
        value = float(steps[:-1] @ self.values) + up_to_all
        return AnsweredShare(
            cell=steps @ law.estimator,
            total=law.estimator[-1],
            kinds=shares @ law.matrix,
            users=self.users,
            people=value * every,
            every=every,
        )

    def hold(self, shares: Array) -> bool:
        """Whether the band holds these shares up to each answer but the last."""
        counts = self._counts(self._up_to)
        if isinstance(counts, DrawnEstimates):
            return counts.hold(self.users * shares, self.confidence)
        lower, upper = self.band
        above = lower[:-1] <= shares + _SHARE_DIGITS
        below = shares <= upper[:-1] + _SHARE_DIGITS
        return bool(above.all() and below.all())

    def _counts(self, chosen: Flags) -> Estimates:
        """People with one of the chosen answers, with the law of their reports if it is known."""
        # An answer's share is that up to it, less that up to the one before (Abel's summation).
        indicators = chosen.astype(np.float64)
        steps = -np.diff(indicators, axis=1)
        up_to_all = chosen[:, -1]
        shares = up_to_all + steps @ self.values
        variances = np.einsum("kp,pq,kq->k", steps, self.covariance, steps)
        people = self.users * shares
        errors = self.users * np.sqrt(variances)
        if self.law is None or self.law.answered is not None:
            return Estimates(people, errors, errors, self.users)
        reported = ReportSums.of_answers(self.law, chosen, shares, self.shares)
        return DrawnEstimates(people, errors, errors, self.users, reported)

    def quantile(
        self, share: float = 0.5, *, population: bool = False
    ) -> QuantileEstimate:
        """The answer at a quantile, with its limits at the stated confidence.

        They invert the limits of the share up to each answer: exact where these are.

        Parameters
        ----------
        share:
            Strictly between 0 and 1 (else InputError); one half is the median.
        population:
            Whether limits are of the population that the people were drawn from.
        """
        if not 0 < share < 1:
            raise InputError(
                "share", share, "strictly between 0 and 1", "Use 0.5 for the median."
            )
        *_, lower, upper = self.among(self._up_to, population=population)
        # Below the first answer up to which the share may be so large, and above the last up to
        # which it may be smaller, the quantile misses with half the allowed chance each.
        may_reach = np.append(upper, 1.0) >= share
        may_be_above = np.append(0.0, lower) < share
        least = np.flatnonzero(may_reach)[0]
        most = np.flatnonzero(may_be_above)[-1]
        middle = int(np.argmax(self.consistent >= share))
        return QuantileEstimate(
            answer=self.answers[middle],
            lower=self.answers[min(least, middle)],
            upper=self.answers[max(most, middle)],
        )

    def mean(self, scores: ArrayLike) -> Estimate:
        """The mean score, unbiased; the share of an answer is that of a score of 1 for it alone.

        Parameters
        ----------
        scores:
            What each answer counts for, in order, shape ``(d,)``, finite (else InputError).

        Examples
        --------
        >>> estimates = OrderedEstimates(
        ...     ("low", "middle", "high"), [0.5, 0.8], np.diag([0.01, 0.02]) ** 2, users=1000
        ... )
        >>> middle = estimates.mean([0, 1, 0])
        >>> round(middle.value, 3), round(middle.standard_error, 4)
        (0.3, 0.0224)
        """
        numbers = np.asarray(scores, dtype=np.float64)
        if numbers.shape != (len(self.answers),) or not np.isfinite(numbers).all():
            allowed = f"{len(self.answers)} finite numbers"
            raise InputError(
                "scores", scores, allowed, "Give one score for each answer."
            )
        # Whoever is up to an answer does not count for what the next ones count more.
        steps = -np.diff(numbers)
        value = float(numbers[-1] + steps @ self.values)
        variance = float(steps @ self.covariance @ steps)
        return large_sample(value, variance, self.confidence)

    @property
    def summary(self) -> str:
        """The median and how sure it is."""
        middle = self.quantile()
        return (
            f"Cumulative shares from {self.users:,} reports; median {middle.answer}, "
            f"between {middle.lower} and {middle.upper} with {100 * self.confidence:g} % "
            "confidence."
        )

    def columns(self) -> Columns:
        """One row an answer: unbiased and consistent cumulative share, and the band."""
        lower, upper = self.band
        errors = np.sqrt(np.diag(self.covariance))
        return {
            "answer": self.answers,
            "cumulative": np.append(self.values, 1.0),
            "standard_error": np.append(errors, 0.0),
            "consistent": self.consistent,
            "lower": lower,
            "upper": upper,
            "share": self.shares,
        }


def estimate_ordered(
    channel: Channel,
    counts: ArrayLike,
    confidence: float = CONFIDENCE,
    people: int | None = None,
    *,
    no_answer: bool = False,
) -> OrderedEstimates:
    """Cumulative shares of ordered answers, consistent, with a band and quantiles.

    The band is of the randomness of the reports alone, whoever was asked; or, if those who reported
    were drawn by lot of so many ``people``, of the lot, too. With ``no_answer`` the channel's last
    answer is outside the order, and shares are of those with another.

    Parameters
    ----------
    channel:
        One that wants the shares up to each answer, or their counts.
    counts:
        Number of people who sent each report, shape ``(outputs,)``.
    confidence:
        Of the band.

    Raises
    ------
    InputError
        A channel for other numbers, or bad counts or confidence.

    Examples
    --------
    >>> from planner import PrivacyPolicy, best_ordered_channel
    >>> policy = PrivacyPolicy([2.0] * 3, [1] * 3, names=["low", "mid", "high"])
    >>> channel = best_ordered_channel(policy)
    >>> reports = np.rint(1000 * channel.matrix[0]).astype(int)  # of 1,000 people who answer "low"
    >>> estimate_ordered(channel, reports).consistent.round(2).tolist()
    [1.0, 1.0, 1.0]
    """
    estimator = shares_up_to(channel).estimator
    estimates = wanted_estimates(estimator, counts)
    law = ReportLaw(channel.matrix, estimator, estimates.users)
    estimates = estimates._replace(users=people or estimates.users, law=law)
    up_to = estimates.of_shares_up_to(no_answer=no_answer)
    return OrderedEstimates(
        answers=channel.symbols[: len(channel.symbols) - no_answer],
        values=up_to.values,
        covariance=up_to.covariance,
        users=up_to.users,
        law=up_to.law,
        confidence=confidence,
    )


def shares_up_to(channel: Channel) -> Channel:
    """The channel with estimates of the share of people up to each answer but the last.

    It wants these shares already, or counts, which are added up; else InputError.

    Examples
    --------
    >>> from planner import PrivacyPolicy, best_ordered_channel
    >>> policy = PrivacyPolicy([1.0] * 3, [1] * 3, names=["low", "middle", "high"])
    >>> shares_up_to(best_ordered_channel(policy, "counts")).wanted_names
    ('up to low', 'up to middle')
    """
    size = channel.policy.size
    up_to_each = np.tril(np.ones((size, size)))
    steps = up_to_each[:-1]
    if np.array_equal(channel.wanted, steps):
        return channel
    if not np.array_equal(channel.wanted, np.eye(size)):
        reason = f"the channel is for {', '.join(channel.wanted_names)}, not for ordered answers"
        raise InputError.because(
            "channel", reason, "Take one from best_ordered_channel."
        )
    # Sums of unbiased estimates are unbiased: counts up to an answer add up.
    names = tuple(f"up to {name}" for name in channel.symbols[:-1])
    added = steps @ channel.estimator
    return Channel(channel.policy, steps, names, channel.matrix, added)
