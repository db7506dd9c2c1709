"""Limits of how many people have some answers, by the exact law of a sum over reports."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.arrays import Array, Flags, Whole
from planner.estimates.counts import CountLimits, DrawnEstimates, Estimates
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
        chance = shares @ self.matrix
        off = self.estimator.copy()
        ends = np.cumsum(self.blocks, dtype=np.int64)[:-1]
        for block in np.split(np.arange(chance.size), ends):
            # What a report adds beside the others of its block.
            mean = off[:, block] @ chance[block] / chance[block].sum()
            off[:, block] -= mean[:, None]
        return np.asarray((off * chance) @ off.T / self.reports)


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
    own:
        Chance of each report of somebody who is counted, ``(kinds, outputs)``.
    other:
        Chance of each report of somebody who is not, ``(kinds, people's kinds, outputs)``.
    people:
        Estimated people of each kind, none negative, ``(people's kinds,)``.
    counted:
        For each kind of count of which kind the people are who are counted; -1 if they are of
        none of these kinds.
    """

    numbers: Array
    own: Array
    other: Array
    people: Array
    counted: Whole

    @cached_property
    def present(self) -> Flags:
        """Which kinds of people may be there; all where nobody seems to."""
        if self.people.sum() <= 0:
            return np.ones(self.people.size, dtype=np.bool_)
        return self.people > 0

    @cached_property
    def moments(self) -> Array:
        """Second to fourth central moments of a number, ``(3, kinds, 1 + people's kinds)``.

        The first column is of somebody who is counted, the others are of kinds that are there.
        """
        other = self.other[:, self.present]
        chances = np.concatenate([self.own[:, None], other], axis=1)
        numbers = self.numbers[:, None]
        mean = (numbers * chances).sum(axis=2, keepdims=True)
        off = numbers - mean
        second = (chances * off**2).sum(axis=2)
        third = (chances * off**3).sum(axis=2)
        fourth = (chances * off**4).sum(axis=2)
        return np.stack([second, third, fourth])

    @cached_property
    def unit(self) -> Array:
        """The number ``u`` of each kind of count: its skewness is at most ``u / s``, ``(kinds,)``.

        Of a sum with the standard deviation ``s`` its square is ``u^2 / s^2`` at most, and so is
        the kurtosis above that of a normal law. Of events that are counted it is what one adds.
        """
        second, third, fourth = self.moments
        second = np.maximum(second, 1e-300)
        skewness = np.square(third / second)
        kurtosis = np.abs(fourth / second - 3 * second)
        return np.asarray(np.sqrt(np.maximum(skewness, kurtosis).max(axis=1)))

    def mixture(self, kind: int, values: Array) -> Array:
        """Shares of the kinds among the people who are not counted, ``(k, people's kinds)``.

        Of counts of a kind that are estimated as ``values``; alike where nobody seems to be left.
        """
        # Who is counted is no longer among the others of this kind.
        left = np.tile(self.people, (values.size, 1))
        if self.counted[kind] >= 0:
            left[:, self.counted[kind]] -= np.maximum(values, 0.0)
        # Of a level of one item nobody has another item.
        exists = self.other[kind].any(axis=1)
        left = np.maximum(left, 0.0) * exists
        nobody = left.sum(axis=1) <= 0
        left[nobody] = exists
        return np.asarray(left / left.sum(axis=1, keepdims=True))


class Series(NamedTuple):
    """What Davies's series of one kind of count needs.

    Attributes
    ----------
    smear:
        Standard deviation of the normal noise that is added.
    reach:
        How far from the mean the series holds, before it repeats itself.
    frequencies, weights:
        ``u_k`` and ``exp(-(smear u_k)^2 / 2) / (pi (k + 1/2))``, shape ``(u,)``.
    own, other:
        Logs of the transforms of what one report adds: of somebody who is counted, ``(u,)``, and
        of other people by their kind, ``(people's kinds, u)``.
    """

    smear: float
    reach: float
    frequencies: Array
    weights: Array
    own: NDArray[np.complex128]
    other: NDArray[np.complex128]

    @classmethod
    def of(cls, law: SumLaw, kind: int, variance: float) -> Series:
        """The series of sums with at most this variance."""
        numbers = law.numbers[kind]
        unit = float(np.ptp(numbers))
        spread = float(np.sqrt(variance))
        smear = max(_SMEAR * unit, _OF_SPREAD * spread)
        reach = _NOTHING_BEYOND * (spread + unit)
        step = np.pi / reach
        # The smearing ends the series: beyond these frequencies the weights vanish.
        size = int(np.ceil(_HIGHEST / smear / step))
        half = np.arange(size, dtype=np.float64) + 0.5
        frequencies = half * step
        weights = np.exp(-np.square(frequencies * smear) / 2) / (np.pi * half)
        turned = np.exp(1j * np.outer(numbers, frequencies))
        waves = np.log(law.own[kind] @ turned + _SMALLEST_WAVE)
        other = np.log(law.other[kind] @ turned + _SMALLEST_WAVE)
        return cls(smear, reach, frequencies, weights, waves, other)


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
        up_to_all = chosen[:, -1:].astype(np.float64)
        up_to = -np.diff(chosen.astype(np.float64), axis=1)
        others = within(~chosen, shares) @ law.matrix
        sums = SumLaw(
            numbers=up_to_all + up_to @ law.estimator,
            own=within(chosen, shares) @ law.matrix,
            other=others[:, None],
            people=np.ones(1),
            counted=np.full(len(values), -1),
        )
        zero = np.zeros(len(values))
        kinds = np.arange(len(values))
        users = law.reports
        return cls(users * values, zero, zero, users, sums, kinds)

    def first(self, size: int) -> ReportSums:
        """The estimates of the first items alone."""
        return ReportSums(
            self.values[:size],
            self.standard_errors[:size],
            self.null_standard_errors[:size],
            self.users,
            self.law,
            self.kinds[:size],
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
        """That of a kind of count; where it is ``drawn`` who is counted, that spreads, too."""
        key = kind, drawn
        if key not in self._series:
            variance = self.users * float(self.law.moments[0, kind].max())
            if drawn:
                held = np.clip(self.values[self.kinds == kind], 0, self.users)
                between_people = held * (1 - held / self.users)
                variance += 1 + float(between_people.max(initial=0.0))
            self._series[key] = Series.of(self.law, kind, variance)
        return self._series[key]

    @cached_property
    def _last_logs(self) -> dict[tuple[int, bool, bytes], NDArray[np.complex128]]:
        return {}

    def _log_of_others(
        self, kind: int, drawn: bool, values: Array
    ) -> NDArray[np.complex128]:
        """Log of the transform of people who are not counted; a search asks for one many times."""
        series = self._series_of(kind, drawn)
        if len(series.other) == 1:
            return series.other
        key = kind, drawn, values.tobytes()
        if key not in self._last_logs:
            self._last_logs.clear()
            mixed = self.law.mixture(kind, values) @ np.exp(series.other)
            self._last_logs[key] = np.log(mixed + _SMALLEST_WAVE)
        return self._last_logs[key]

    def tail(
        self, seen: Array, count: Whole, chance: Array, upper: bool = False
    ) -> Array:
        """Tail probabilities by the law itself, never too small; with ``upper`` never too large.

        By Davies's series for a sum's distribution (Biometrika 1973): of ``X`` with the transform
        ``f``, ``Pr[X > x] = 1/2 + sum_k Im(f(u_k) e^(-i u_k x)) / (pi (k + 1/2))``. A little
        normal noise makes it short: what was seen is moved by twice its size to the safe side.
        """
        tails = np.empty(len(seen))
        kinds = seen[:, 1].astype(int)
        for kind in np.unique(kinds):
            rows = np.flatnonzero(kinds == kind)
            tails[rows] = self._tail_of_kind(
                int(kind), seen[rows, 0], count[rows], chance[rows], upper=upper
            )
        return tails

    def _tail_of_kind(
        self, kind: int, values: Array, count: Whole, chance: Array, *, upper: bool
    ) -> Array:
        drawn = bool(chance.min(initial=1.0) < 1)
        series = self._series_of(kind, drawn)
        aside = _MOVED_ASIDE * series.smear
        moved = values + aside if upper else values - aside
        others = self._log_of_others(kind, drawn, values)
        counted = series.own
        if drawn:
            mixed = chance[:, None] * np.exp(series.own)
            mixed = mixed + (1 - chance[:, None]) * np.exp(others)
            counted = np.log(mixed + _SMALLEST_WAVE)
        logs = count[:, None] * counted + (self.users - count)[:, None] * others
        phase = logs.imag - series.frequencies * moved[:, None]
        waves = np.exp(logs.real) * np.sin(phase)
        above = np.clip(0.5 + waves @ series.weights, 0, 1)
        # The series repeats itself: far away nothing is above, or all is.
        # How far the mean is above what was seen.
        off = chance * count - moved
        above = np.where(np.abs(off) > series.reach, off > 0, above)
        if upper:
            return np.asarray(1 - np.minimum(1, (1 - above) / _NOT_FURTHER))
        return np.asarray(np.minimum(1, above / _NOT_FURTHER))


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
        answered = min(max(self.every / self.users, 0.0), 1.0)
        # People inside, others with an answer of the order, and those without one.
        parts = np.array([answered * share, answered * (1 - share), 1 - answered])
        numbers = self.cell - share * self.total
        mean = self.kinds @ numbers
        square = self.kinds @ np.square(numbers)
        # Of given people the variance within each kind; of people drawn, whose L has the mean 0,
        # the mean of its square.
        variance = self.users * float(parts @ (square - np.square(mean)))
        if self.drawn:
            variance = self.users * float(parts @ square)
        law = SumLaw(
            numbers=numbers[None],
            own=self.kinds[:1],
            other=self.kinds[None],
            people=parts,
            counted=np.full(1, -1),
        )
        series = Series.of(law, 0, variance)
        if self.drawn:
            wave = parts @ np.exp(series.other)
            logs = self.users * np.log(wave + _SMALLEST_WAVE)
        else:
            logs = self.users * (parts @ series.other)
        seen = self.people - share * self.every
        shift = self.users * float(parts @ mean)
        tails = []
        for aside in (-_MOVED_ASIDE, _MOVED_ASIDE):
            moved = seen + aside * series.smear
            if abs(shift - moved) > series.reach:
                above = float(shift > moved)
            else:
                phase = logs.imag - series.frequencies * moved
                waves = np.exp(logs.real) * np.sin(phase)
                above = 0.5 + float(waves @ series.weights)
                above = min(max(above, 0.0), 1.0)
            tails.append(above)
        upper = tails[0] / _NOT_FURTHER
        lower = (1 - tails[1]) / _NOT_FURTHER
        return min(1.0, upper), min(1.0, lower)

    def limits(self, miss: float) -> tuple[float, float]:
        """The least and the largest share that fit, each missing half of so much."""
        from scipy.optimize import brentq

        middle = min(max(self.people / max(self.every, 1e-300), 0.0), 1.0)

        def low(share: float) -> float:
            return self.tails(share)[0] - miss / 2

        def high(share: float) -> float:
            return self.tails(share)[1] - miss / 2

        lower = 0.0
        if middle > 0 and low(0.0) < 0:
            lower = middle
            if low(middle) > 0:
                lower = brentq(low, 0.0, middle, xtol=_SHARE_TOLERANCE)
        upper = 1.0
        if middle < 1 and high(1.0) < 0:
            upper = middle
            if high(middle) > 0:
                upper = brentq(high, middle, 1.0, xtol=_SHARE_TOLERANCE)
        # A search that stops short of an end errs outwards.
        return max(lower - _SHARE_TOLERANCE, 0.0), min(upper + _SHARE_TOLERANCE, 1.0)


def within(chosen: Flags, shares: Array) -> Array:
    """Shares of each answer among people with one of some, a row; alike where nobody seems to."""
    inside = np.where(chosen, shares, 0.0)
    total = inside.sum(axis=1, keepdims=True)
    inside = np.where(total < 1e-6, chosen, inside)
    total = inside.sum(axis=1, keepdims=True)
    # Where no answer is chosen there are no shares: they are all 0.
    return np.asarray(inside / np.maximum(total, 1e-300))
