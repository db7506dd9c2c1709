"""Limits of how many people have some answers, by the exact law of a sum over reports."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arrays import Array, Flags, Whole
from planner.estimates.counts import (
    CountLimits,
    DrawnEstimates,
    Estimates,
    nearest_share,
)
from planner.limits import CONFIDENCE

# Of the noise that is added: its standard deviation in units of a report, and of the spread.
_SMEAR = 0.1
_OF_SPREAD = 0.02
_MOVED_ASIDE = 2.0  # of its standard deviations
_NOT_FURTHER = 0.9772  # chance that normal noise is at most two standard deviations
_NOTHING_BEYOND = 6.0  # standard deviations, and units: nothing lies beyond
_SMALLEST_WAVE = 1e-300  # of a transform that is 0
_SHARE_TOLERANCE = 1e-6  # to which a share is searched
_HIGHEST = 5.0  # frequencies that are added up, over the noise's standard deviation
_NOBODY = 1e-6  # a share of answers below which they are taken as equally frequent

Complex = NDArray[np.complex128]


class ReportLaw(NamedTuple):
    """The law of a channel's reports, and what each adds to the wanted numbers.

    ``matrix``: ``Pr[report | answer]``, ``(d, outputs)``.
    ``estimator``: what a report adds to each number wanted, ``(p, outputs)``; ``reports``: how many
    there are. Of ``blocks`` of so many outputs each there are as many reports as expected.
    ``answered``: the estimated share of people with an answer of the order, where the last answer
    is outside of it and shares are of the others; else None.
    """

    matrix: Array
    estimator: Array
    reports: int
    blocks: tuple[int, ...] = ()
    answered: float | None = None

    def covariance(self, shares: Array) -> Array:
        """The covariance of the estimates, for people drawn from such shares of the answers."""
        chances = shares @ self.matrix
        # What a report adds, less the mean of its block.
        deviations = self.estimator.copy()
        ends = np.cumsum(self.blocks, dtype=np.int64)
        outputs = np.arange(chances.size)
        for block in np.split(outputs, ends[:-1]):
            in_block = chances[block]
            mean = deviations[:, block] @ in_block / in_block.sum()
            deviations[:, block] -= mean[:, None]
        of_report = (deviations * chances) @ deviations.T
        return of_report / self.reports


@dataclass(frozen=True, eq=False)
class SumLaw:
    """The law of what one report adds to an estimated count, by the kind of count and of person.

    Counts of one kind differ in nothing but how many people they are of: items of levels that are
    treated alike. So do people of one kind who are not counted.

    Attributes
    ----------
    numbers:
        What each report adds, shape ``(kinds, outputs)``: 1 on average of somebody who is
        counted, 0 of anybody else.
    chances:
        Chance of each report of somebody who is counted, ``(kinds, outputs)``.
    other_chances:
        Chance of each report of somebody who is not, ``(kinds, people's kinds, outputs)``.
    people:
        Estimated people of each kind, none negative, ``(people's kinds,)``.
    counted:
        For each kind of count of which kind the people are who are counted; -1 if they are of
        none of these kinds.
    """

    numbers: Array
    chances: Array
    other_chances: Array
    people: Array
    counted: Whole

    @cached_property
    def present(self) -> Flags:
        """Which kinds of people may be there; all where nobody seems to."""
        somebody = self.people > 0
        if not somebody.any():
            return ~somebody
        return somebody

    @cached_property
    def moments(self) -> Array:
        """Second to fourth central moments of a number, ``(3, kinds, 1 + people's kinds)``.

        The first column is of somebody who is counted, the others are of kinds that are there.
        """
        of_others = self.other_chances[:, self.present]
        of_counted = self.chances[:, None]
        chances = np.concatenate([of_counted, of_others], axis=1)
        numbers = self.numbers[:, None]
        mean = (numbers * chances).sum(axis=2, keepdims=True)
        deviations = numbers - mean
        moments = []
        for power in (2, 3, 4):
            weighted = chances * deviations**power
            moments.append(weighted.sum(axis=2))
        return np.stack(moments)

    @cached_property
    def unit(self) -> Array:
        """The number ``u`` of each kind of count: its skewness is at most ``u / s``, ``(kinds,)``.

        Of a sum with the standard deviation ``s`` its square is ``u^2 / s^2`` at most, and so is
        the kurtosis above that of a normal law. Of events that are counted it is what one adds.
        """
        second, third, fourth = self.moments
        variance = np.maximum(second, 1e-300)
        by_skewness = np.square(third / variance)
        by_kurtosis = np.abs(fourth / variance - 3 * variance)
        square = np.maximum(by_skewness, by_kurtosis)
        return np.sqrt(square.max(axis=1))

    def mixture(self, kind: int, values: Array) -> Array:
        """Shares of the kinds among the people who are not counted, ``(k, people's kinds)``.

        Of counts of a kind that are estimated as ``values``; alike where nobody seems to be left.
        """
        # Who is counted is no longer among the others of this kind.
        others = np.tile(self.people, (values.size, 1))
        of_kind = self.counted[kind]
        if of_kind >= 0:
            others[:, of_kind] -= np.maximum(values, 0.0)
        # Of a level of one item nobody has another item.
        exists = self.other_chances[kind].any(axis=1)
        others = np.maximum(others, 0.0) * exists
        nobody = others.sum(axis=1) <= 0
        others[nobody] = exists
        totals = others.sum(axis=1, keepdims=True)
        return others / totals


class Series(NamedTuple):
    """Davies's series for the distribution of a sum over reports (Biometrika 1973).

    Of ``X`` with the characteristic function ``f``

        Pr[X > x] = 1/2 + sum_k Im(f(u_k) e^(-i u_k x)) / (pi (k + 1/2)).

    A little normal noise that is added makes it short: limits look two of its standard deviations
    to the safe side.

    Attributes
    ----------
    smear:
        Standard deviation of the normal noise that is added.
    reach:
        How far from the mean the series holds, before it repeats itself.
    frequencies, weights:
        ``u_k`` and ``exp(-(smear u_k)^2 / 2) / (pi (k + 1/2))``, shape ``(u,)``.
    log_counted, log_others:
        Logs of the characteristic functions of what one report adds: of somebody who is counted,
        ``(u,)``, and of other people by their kind, ``(people's kinds, u)``.
    """

    smear: float
    reach: float
    frequencies: Array
    weights: Array
    log_counted: Complex
    log_others: Complex

    @classmethod
    def of(cls, law: SumLaw, kind: int, variance: float) -> Series:
        """The series of sums with at most this variance."""
        numbers = law.numbers[kind]
        unit = float(np.ptp(numbers))
        deviation = float(np.sqrt(variance))
        smear = max(_SMEAR * unit, _OF_SPREAD * deviation)
        reach = _NOTHING_BEYOND * (deviation + unit)
        step = np.pi / reach
        # The smearing ends the series: beyond these frequencies the weights vanish.
        terms = int(np.ceil(_HIGHEST / smear / step))
        halves = np.arange(terms, dtype=np.float64) + 0.5
        frequencies = halves * step
        of_noise = np.exp(-np.square(frequencies * smear) / 2)
        angles = np.outer(numbers, frequencies)
        rotations = np.exp(1j * angles)
        return cls(
            smear=smear,
            reach=reach,
            frequencies=frequencies,
            weights=of_noise / (np.pi * halves),
            log_counted=_log(law.chances[kind] @ rotations),
            log_others=_log(law.other_chances[kind] @ rotations),
        )

    def chance_above(self, logs: Complex, mean: ArrayLike, x: ArrayLike) -> Array:
        """``Pr[X > x]`` from the log of the characteristic function, and the mean, of each ``X``.

        ``logs`` is ``(k, u)`` where ``mean`` and ``x`` are ``(k,)``, and ``(u,)`` of one ``X``.
        """
        turns = np.multiply.outer(x, self.frequencies)
        heights = np.exp(logs.real)
        waves = heights * np.sin(logs.imag - turns)
        above = 0.5 + waves @ self.weights
        above = np.clip(above, 0, 1)
        # The series repeats itself: far away nothing is above, or all is.
        distance = np.subtract(mean, x)
        far = np.abs(distance) > self.reach
        return np.where(far, distance > 0, above)


def _log(transform: Array | Complex) -> Complex:
    """The logarithm, also where a characteristic function is 0."""
    logs: Complex = np.log(transform + _SMALLEST_WAVE)
    return logs


@dataclass(frozen=True, eq=False)
class ReportSums(Estimates):
    """How many of those who reported are counted, each a sum over reports with a known law.

    If ``C`` people are counted an estimate has the law of ``C`` draws of the number that one of
    them adds and ``users - C`` of another's, of whom each kind is as frequent as it is estimated.

    Attributes
    ----------
    law:
        What a report adds to each kind of count.
    kinds:
        The kind of each count, shape ``(k,)``.
    """

    law: SumLaw
    kinds: Whole

    @classmethod
    def of_answers(
        cls, law: ReportLaw, chosen: Flags, values: Array, shares: Array
    ) -> ReportSums:
        """People with one of some answers each, ``chosen`` of shape ``(k, d)``.

        Of the estimated shares ``values``, ``(k,)``, and ``shares`` of each answer, ``(d,)``: they
        mix the answers inside, and those outside. The law's numbers are shares up to each answer.
        """
        # Shares of answers are differences of shares up to an answer; the last one is up to all.
        indicators = chosen.astype(np.float64)
        steps = -np.diff(indicators, axis=1)
        up_to_all = indicators[:, -1:]
        counted = within(chosen, shares)
        others = within(~chosen, shares) @ law.matrix
        sums = SumLaw(
            numbers=up_to_all + steps @ law.estimator,
            chances=counted @ law.matrix,
            other_chances=others[:, None],
            people=np.ones(1),
            counted=np.full(len(values), -1),
        )
        no_error = np.zeros(len(values))
        return cls(
            values=law.reports * values,
            standard_errors=no_error,
            null_standard_errors=no_error,
            users=law.reports,
            law=sums,
            kinds=np.arange(len(values)),
        )

    def intervals(
        self, confidence: float = CONFIDENCE, simultaneous: bool = False
    ) -> CountLimits:
        """Confidence limits of the true counts, from 0 to the number of people.

        As those of :class:`~planner.estimates.counts.SupportEstimates`: where few reports decide
        they invert the law, never narrower than it allows.
        """
        return DrawnEstimates.of(self, self.users).intervals(confidence, simultaneous)

    @property
    def unit(self) -> Array:
        """What one report more adds, as far as the law is skewed by it."""
        return self.law.unit[self.kinds]

    @property
    def seen(self) -> Array:
        """The estimate and its kind, a row an item."""
        return np.stack([self.values, self.kinds], axis=1)

    @cached_property
    def _series(self) -> dict[tuple[int, bool], Series]:
        return {}

    def _series_of(self, kind: int, drawn: bool) -> Series:
        """The series of a kind of count; where who is counted is ``drawn``, that spreads, too."""
        key = kind, drawn
        if key not in self._series:
            variances, *_ = self.law.moments
            variance = self.users * float(variances[kind].max())
            if drawn:
                of_kind = self.values[self.kinds == kind]
                counts = np.clip(of_kind, 0, self.users)
                between_people = counts * (1 - counts / self.users)
                variance += 1 + float(between_people.max(initial=0.0))
            self._series[key] = Series.of(self.law, kind, variance)
        return self._series[key]

    @cached_property
    def _last_logs(self) -> dict[tuple[int, bool, bytes], Complex]:
        return {}

    def _log_of_others(self, kind: int, drawn: bool, values: Array) -> Complex:
        """Log of the transform of people who are not counted; a search asks for one many times."""
        series = self._series_of(kind, drawn)
        if len(series.log_others) == 1:
            return series.log_others
        key = kind, drawn, values.tobytes()
        if key not in self._last_logs:
            self._last_logs.clear()
            shares = self.law.mixture(kind, values)
            self._last_logs[key] = _log(shares @ np.exp(series.log_others))
        return self._last_logs[key]

    def tail(
        self, seen: Array, count: Whole, chance: Array, upper: bool = False
    ) -> Array:
        """Tail probabilities by the law itself, never too small; with ``upper`` never too large.

        By Davies's series, see :class:`Series`.
        """
        tails = np.empty(len(seen))
        kinds = seen[:, 1].astype(int)
        for kind in np.unique(kinds):
            rows = np.flatnonzero(kinds == kind)
            tails[rows] = self._tail_of_kind(
                kind=int(kind),
                values=seen[rows, 0],
                count=count[rows],
                chance=chance[rows],
                upper=upper,
            )
        return tails

    def _tail_of_kind(
        self, kind: int, values: Array, count: Whole, chance: Array, *, upper: bool
    ) -> Array:
        """The tail where all counts are of one kind."""
        drawn = bool(chance.min(initial=1.0) < 1)
        series = self._series_of(kind, drawn)
        log_others = self._log_of_others(kind, drawn, values)
        log_counted = series.log_counted
        if drawn:
            # Each of them is counted with this chance, and else is one of the others.
            p = chance[:, None]
            of_counted = p * np.exp(series.log_counted)
            of_others = (1 - p) * np.exp(log_others)
            log_counted = _log(of_counted + of_others)
        others = self.users - count
        logs = count[:, None] * log_counted + others[:, None] * log_others
        mean = chance * count
        aside = _MOVED_ASIDE * series.smear
        if upper:
            above = series.chance_above(logs, mean, values + aside)
            not_above = (1 - above) / _NOT_FURTHER
            return 1 - np.minimum(1, not_above)
        above = series.chance_above(logs, mean, values - aside)
        return np.minimum(1, above / _NOT_FURTHER)


class AnsweredShare(NamedTuple):
    """The law of a share among the people who answered, if some did not.

    A share ``x`` fits the reports if ``L = cell - x total`` does, which has the mean 0: as
    Fieller's interval (1954), by the law of ``L`` in place of the normal one.

    Attributes
    ----------
    cell, total:
        What a report adds to the people with the answers in question, and to all who answered,
        shape ``(outputs,)`` each.
    kinds:
        Chances of the reports of people in the cell, of others who answered, and of people who
        did not, shape ``(3, outputs)``.
    users:
        Number of reports.
    people, every:
        The estimated cell and total, in people.
    drawn:
        Whether the people were drawn at random of a population; else the limits are of those who
        were asked.
    """

    cell: Array
    total: Array
    kinds: Array
    users: int
    people: float
    every: float
    drawn: bool = False

    @property
    def unit(self) -> float:
        """The largest difference of two reports in the cell: of few such steps laws are skewed."""
        return float(np.ptp(self.cell))

    def tails(self, share: float) -> tuple[float, float]:
        """Chance of ``L`` as large as seen, and as small, if this is the share; never too small.

        By Davies's series, see :class:`Series`.
        """
        n = self.users
        answered = nearest_share(self.every / n)
        inside = answered * share
        others = answered * (1 - share)
        # People inside, others with an answer of the order, and those without one.
        shares = np.array([inside, others, 1 - answered])
        numbers = self.cell - share * self.total
        means = self.kinds @ numbers
        squares = self.kinds @ np.square(numbers)
        # Of given people the variance within each kind; of people drawn, whose L has the mean 0,
        # the mean of its square.
        variances = squares - np.square(means)
        if self.drawn:
            variances = squares
        law = SumLaw(
            numbers=numbers[None],
            chances=self.kinds[:1],
            other_chances=self.kinds[None],
            people=shares,
            counted=np.full(1, -1),
        )
        variance = n * float(shares @ variances)
        series = Series.of(law, 0, variance)
        if self.drawn:
            log_of_person = _log(shares @ np.exp(series.log_others))
        else:
            log_of_person = shares @ series.log_others
        logs = n * log_of_person
        mean = n * float(shares @ means)
        seen = self.people - share * self.every
        aside = _MOVED_ASIDE * series.smear
        above = series.chance_above(logs, mean, seen - aside)
        above_further = series.chance_above(logs, mean, seen + aside)
        upper = float(above) / _NOT_FURTHER
        lower = (1 - float(above_further)) / _NOT_FURTHER
        return min(1.0, upper), min(1.0, lower)

    def limits(self, miss: float) -> tuple[float, float]:
        """The least and the largest share that fit, each missing half of so much."""
        from scipy.optimize import brentq

        value = self.people / max(self.every, 1e-300)
        middle = nearest_share(value)

        def as_large(share: float) -> float:
            above, _ = self.tails(share)
            return above - miss / 2

        def as_small(share: float) -> float:
            _, below = self.tails(share)
            return below - miss / 2

        lower = 0.0
        if middle > 0 and as_large(0.0) < 0:
            lower = middle
            if as_large(middle) > 0:
                lower = brentq(as_large, 0.0, middle, xtol=_SHARE_TOLERANCE)
        upper = 1.0
        if middle < 1 and as_small(1.0) < 0:
            upper = middle
            if as_small(middle) > 0:
                upper = brentq(as_small, middle, 1.0, xtol=_SHARE_TOLERANCE)
        # A search that stops short of an end errs outwards.
        least = max(lower - _SHARE_TOLERANCE, 0.0)
        most = min(upper + _SHARE_TOLERANCE, 1.0)
        return least, most


def within(chosen: Flags, shares: Array) -> Array:
    """Shares of each answer among people with one of some, a row; alike where nobody seems to."""
    inside = np.where(chosen, shares, 0.0)
    share_inside = inside.sum(axis=1, keepdims=True)
    nobody = share_inside < _NOBODY
    weights = np.where(nobody, chosen, inside)
    total = weights.sum(axis=1, keepdims=True)
    # Where no answer is chosen there are no shares: they are all 0.
    return weights / np.maximum(total, 1e-300)
