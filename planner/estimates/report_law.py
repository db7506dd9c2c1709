"""Limits of how many people have some answers, by the exact law of a channel's reports."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from planner.arrays import Array, Flags, Whole
from planner.estimates.counts import Estimates

# of the noise that is added: units of a report, of the spread
_SMEAR = 0.1
_OF_SPREAD = 0.02
_MOVED_ASIDE = 2.0  # of its standard deviations
_NOT_FURTHER = 0.9772  # chance to be less than so many off
_NOTHING_BEYOND = 6.0  # standard deviations, and units: nothing lies beyond
_SMALLEST_WAVE = 1e-300  # of a transform that is 0
_HIGHEST = (
    5.0  # over the noise's standard deviation: of the frequencies that are added up
)


class ReportLaw(NamedTuple):
    """``matrix``: ``Pr[report | answer]``, ``(d, outputs)``.

    ``estimator``: what a report adds to each number wanted, ``(p, outputs)``; ``reports``: how many
    there are. Of ``blocks`` of so many outputs each there are as many reports as expected.
    """

    matrix: Array
    estimator: Array
    reports: int
    blocks: tuple[int, ...] = ()

    def covariance(self, shares: Array) -> Array:
        """Of the estimates, of people drawn from such shares of the answers."""
        chance = shares @ self.matrix
        off = self.estimator.copy()
        ends = np.cumsum(self.blocks, dtype=np.int64)[:-1]
        for block in np.split(np.arange(chance.size), ends):
            # What a report adds beside the others of its block.
            off[:, block] -= (off[:, block] @ chance[block] / chance[block].sum())[
                :, None
            ]
        return np.asarray((off * chance) @ off.T / self.reports)


@dataclass(frozen=True, eq=False)
class ChannelCounts(Estimates):
    """How many of those who reported have one of some answers, a set of answers a row.

    An estimate is a sum over reports. If ``C`` people have one of the answers it has the law of
    ``C`` draws of one report's number and ``users - C`` of another's: among the people with these
    answers, and among the others, each answer is as frequent as it is estimated. ``numbers`` are
    what a report adds, shape ``(k, outputs)``; ``own`` and ``other`` its chances, ``(k, outputs)``.
    By ``lot`` it may differ how many have one of the answers.
    """

    numbers: Array
    own: Array
    other: Array
    lot: bool

    @classmethod
    def of(
        cls, law: ReportLaw, chosen: Flags, values: Array, shares: Array, people: int
    ) -> ChannelCounts:
        """Of sets of answers, ``(k, d)``, with estimated ``values``, and of each answer.

        Those who reported are drawn of so many people.
        """
        steps = np.hstack([chosen[:, -1:], -np.diff(chosen.astype(np.float64), axis=1)])
        numbers = steps[:, :1] + steps[:, 1:] @ law.estimator
        own, other = (within(side, shares) @ law.matrix for side in (chosen, ~chosen))
        zero = np.zeros(len(values))
        about = law.reports * values, zero, zero, law.reports, numbers, own, other
        return cls(*about, people > law.reports)

    @property
    def unit(self) -> Array:
        """By its square variance is divided: then skewness squared, and kurtosis, are one over it.

        For events that are counted it is what one adds.
        """
        second, third, fourth = self._moments
        second = np.maximum(second, 1e-300)
        largest = np.maximum(
            (third / second) ** 2, np.abs(fourth / second - 3 * second)
        )
        return np.asarray(np.sqrt(largest.max(axis=0)))

    @cached_property
    def _moments(self) -> Array:
        """Second to fourth central one of a number, of own and other answers, ``(3, 2, k)``."""
        chances = np.stack([self.own, self.other])
        off = self.numbers - (self.numbers * chances).sum(axis=2, keepdims=True)
        return np.stack([(chances * off**power).sum(axis=2) for power in (2, 3, 4)])

    @property
    def seen(self) -> Array:
        """As of any estimates: its place."""
        return np.arange(self.values.size, dtype=np.float64)[:, None]

    @cached_property
    def _steps(self) -> tuple[Array, Array]:
        """The largest difference that one report makes, and standard deviations, at most."""
        drawn = 0.25 * self.lot  # of 0 or 1, at most
        spread = np.sqrt(self.users * (self._moments[0].max(axis=0) + drawn))
        return np.ptp(self.numbers, axis=1), spread

    @cached_property
    def _waves(self) -> tuple[Array, Array, Array, Array]:
        """The noise that is added; frequencies, their weights, and logs of both transforms."""
        unit, spread = self._steps
        smear = np.maximum(_SMEAR * unit, _OF_SPREAD * spread)[:, None]
        step = np.pi / (_NOTHING_BEYOND * (spread + unit))[:, None]
        most = int(np.ceil((_HIGHEST / smear / step).max()))
        at = (np.arange(most) + 0.5) * step
        weights = np.exp(-np.square(at * smear) / 2) / (np.pi * (np.arange(most) + 0.5))
        turned = np.exp(1j * at[:, :, None] * self.numbers[:, None, :])
        laws = [
            np.einsum("kuo,ko->ku", turned, side) for side in (self.own, self.other)
        ]
        return smear[:, 0], at, weights, np.log(np.stack(laws) + _SMALLEST_WAVE)

    def tail(
        self, seen: Array, count: Whole, chance: Array, more: bool = False
    ) -> Array:
        """As of any estimates, by the law itself, never too small; with ``more`` never too large.

        By Davies's series for a sum's distribution (1973). A little normal noise makes it short:
        what was seen is moved by twice its size to the safe side.
        """
        smear, at, weights, logs = self._waves
        row = seen[:, 0].astype(int)
        here = self.values[row] + (_MOVED_ASIDE if more else -_MOVED_ASIDE) * smear[row]
        own = logs[0, row]
        if chance.min(initial=1.0) < 1:
            mixed = chance[:, None] * np.exp(own) + (1 - chance[:, None]) * np.exp(
                logs[1, row]
            )
            own = np.log(mixed + _SMALLEST_WAVE)
        each = count[:, None] * own + (self.users - count)[:, None] * logs[1, row]
        waves = np.exp(each - 1j * at[row] * here[:, None]).imag
        above = 0.5 + (weights[row] * waves).sum(axis=1)
        off = chance * count - here
        unit, spread = self._steps
        far = np.abs(off) > _NOTHING_BEYOND * (unit + spread)[row]
        above = np.where(far, off > 0, np.clip(above, 0, 1))
        beyond = np.minimum(1, (1 - above if more else above) / _NOT_FURTHER)
        return np.asarray(1 - beyond if more else beyond)


def within(chosen: Flags, shares: Array) -> Array:
    """Shares of each answer among people with one of some, a row; alike where nobody seems to."""
    inside = np.where(chosen, shares, 0.0)
    few = inside.sum(axis=1, keepdims=True) < 1e-6
    inside = np.where(few, chosen, inside)
    return np.asarray(inside / np.maximum(inside.sum(axis=1, keepdims=True), 1e-300))
