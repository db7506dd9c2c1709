"""The forms of report with NumPy: drawn for many people, counted, and estimated from.

Each class is the device's (:mod:`planner.laws`) with what a collector needs besides, so that a
collector's law is a device's law.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.estimates.channel import wanted_estimates
from planner.estimates.counts import Estimates, tail_share
from planner.laws import bits, die, hashing, rows, sides
from planner.laws.shape import Shape
from planner.limits import DENOMINATOR
from planner.mechanisms.counting import (
    Aggregate,
    CellCounter,
    Counter,
    PackedCounter,
    SidesCounter,
    SumCounter,
    require_below,
)
from planner.mechanisms.counting import Rows as Reports
from planner.mechanisms.plain import linear_estimates, xxh32
from planner.mechanisms.sampling_privacy import SamplingPrivacy
from planner.mechanisms.subset_design import SubsetDesignMechanism, draw_sides
from planner.mechanisms.unary import draw_reports
from planner.mechanisms.words import Words, map_rows
from planner.policy.policy import PrivacyPolicy
from planner.solvers.types import pooled

_CHUNK_CELLS = 2**16
Array = NDArray[np.float64]
Numbers = NDArray[np.int64]


class Collected(Shape):
    """What the collector's classes add."""

    @abstractmethod
    def counter(self) -> Counter:
        """Counts batches of reports; refuses those that the law cannot produce."""

    @abstractmethod
    def estimate(self, rounds: Sequence[Aggregate]) -> Any:
        """Estimates from the sums of each round, of the elements or of the wanted numbers."""

    @abstractmethod
    def draw_many(self, own: Numbers, words: Words) -> list[Reports]:
        """Reports of each round about elements of shape ``(n,)``; the law of the device's draw."""


class Bits(bits.Bits, Collected):
    """Unary encoding, see :class:`planner.laws.bits.Bits`."""

    def counter(self) -> Counter:
        return PackedCounter(self.levels.elements)

    def estimate(self, rounds: Sequence[Aggregate]) -> Estimates:
        a, b = (column / DENOMINATOR for column in self._columns)
        return linear_estimates(rounds[0], a, b)

    def draw_many(self, own: Numbers, words: Words) -> list[Reports]:
        a, b = (column.astype(np.uint32) for column in self._columns)
        return [_as_bytes(draw_reports(own, a, b, words))]

    @property
    def _columns(self) -> tuple[Numbers, Numbers]:
        a, b = self._thresholds
        return np.array(a), np.array(b)


class Sides(sides.Sides, Collected):
    """Subset designs and subset selection, see :class:`planner.laws.sides.Sides`."""

    def counter(self) -> Counter:
        return SidesCounter(np.array(self.counts), np.array(self.types))

    def estimate(self, rounds: Sequence[Aggregate]) -> Estimates:
        (counted,) = rounds
        by_type = counted.counts.reshape(len(self.types), -1)
        if (support := self.support()) is not None:
            own, other = (np.full(self.levels.elements, float(x)) for x in support[0])
            return linear_estimates(Aggregate(counted.users, by_type[0, 1:]), own, other)
        return self._mechanism.estimate(Aggregate(counted.users, by_type))

    def draw_many(self, own: Numbers, words: Words) -> list[Reports]:
        firsts = (np.array(self.counts), np.array(self.types), np.array(self.weights))
        reports = draw_sides(self.bits[own], *firsts, words)
        return [_as_bytes(reports[:, int(len(self.types) == 1) :])]

    @cached_property
    def bits(self) -> Numbers:
        """The bit of each element, shape ``(elements,)``."""
        firsts, _, places = (np.array(column) for column in self.places)
        counts = [count for count, _ in self.levels.members]
        return np.arange(self.levels.elements) + np.repeat(places - firsts, counts)

    @cached_property
    def _mechanism(self) -> SubsetDesignMechanism:
        """The mechanism with exactly these integers and this estimator."""
        counts, epsilons = zip(*self.levels.members, strict=True)
        rule = self.levels.rule
        policy = pooled(PrivacyPolicy(epsilons, counts, rule), np.array(self.groups))
        level_of = np.repeat(self.groups, counts)
        parts = np.array(self.types), np.array(self.weights), np.array(self.values)
        return SubsetDesignMechanism(policy, *parts, level_of)


class Rows(rows.Rows, Collected):
    """Channels, see :class:`planner.laws.rows.Rows`."""

    def counter(self) -> Counter:
        return CellCounter(self.cells, "<u2")

    def estimate(self, rounds: Sequence[Aggregate]) -> Any:
        starts = np.cumsum([0, *self.blocks])[:-1]
        shares = np.add.reduceat(self.rows[0], starts) / DENOMINATOR if self.blocks else [1.0]
        return wanted_estimates(
            np.array(self.values), rounds[0].counts, list(zip(self.blocks, shares, strict=False))
        )

    def draw_many(self, own: Numbers, words: Words) -> list[Reports]:
        ends = np.cumsum(np.array(self.rows), axis=1)
        ends += np.arange(len(self.rows))[:, None] * DENOMINATOR
        word = own * DENOMINATOR + words.half(own.size)
        drawn = np.searchsorted(ends.ravel(), word, side="right") - own * self.cells
        return [_as_bytes(drawn.astype("<u2")[:, None])]


class Hash(hashing.Hash, Collected):
    """Local hashing, see :class:`planner.laws.hashing.Hash`."""

    def counter(self) -> Counter:
        return SumCounter(self.levels.total, self._supports)

    def estimate(self, rounds: Sequence[Aggregate]) -> Estimates:
        own, other = (np.full(self.levels.total, float(chance)) for chance in self.support()[0])
        return linear_estimates(rounds[0], own, other)

    def draw_many(self, own: Numbers, words: Words) -> list[Reports]:
        seeds = words.half(own.size)
        hashed = xxh32(own.astype(np.uint32), seeds) % np.uint32(self.values)
        honest = words.half(own.size) < self.truth
        told = np.where(honest, hashed, words.below(self.values, own.size))
        return [_as_bytes(np.column_stack([seeds, told.astype(np.uint32)]))]

    def _supports(self, reports: Reports) -> Numbers:
        pairs = reports.view("<u4").astype(np.uint32)
        require_below(pairs[:, 1], self.values)
        items = np.arange(self.levels.total, dtype=np.uint32)

        def support(part: slice, _: int) -> Numbers:
            seeds, told = pairs[part].T[:, :, None]
            return np.sum(xxh32(items, seeds) % np.uint32(self.values) == told, axis=0)

        chunk = max(1, _CHUNK_CELLS // self.levels.total)
        return np.asarray(np.sum(map_rows(support, len(pairs), chunk), axis=0))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DieEstimates(Estimates):
    """Estimates of Sampling Privacy, with the exact limits of a binomial law of unknown size."""

    mechanism: SamplingPrivacy
    totals: Aggregate

    def intervals(
        self, confidence: float = 0.95, simultaneous: bool = False
    ) -> tuple[Array, Array]:
        """Exact confidence limits of each count, the one of no value first."""
        share = tail_share(confidence, self.values.size if simultaneous else 1)
        lower, upper = self.mechanism.intervals(self.totals, 1 - share)
        return lower.astype(np.float64), upper.astype(np.float64)


class Die(die.Die, Collected):
    """Sampling Privacy, see :class:`planner.laws.die.Die`."""

    def counter(self) -> Counter:
        return CellCounter(self.levels.total + 1, "<u4")

    def estimate(self, rounds: Sequence[Aggregate]) -> DieEstimates:
        totals = Aggregate(rounds[0].users, np.stack([one.counts for one in rounds]))
        found = self.mechanism.estimate(totals)
        columns = found.values, found.standard_errors, found.null_standard_errors
        return DieEstimates(*columns, found.users, self.mechanism, totals)

    def draw_many(self, own: Numbers, words: Words) -> list[Reports]:
        edges = np.cumsum([self.zero, *self.decoys])
        face = np.searchsorted(edges, words.half(own.size), side="right")
        sampled = face == edges.size
        faces = (np.where(sampled, told, face) for told in (0, own))
        return [_as_bytes(one.astype("<u4")[:, None]) for one in faces]

    @cached_property
    def mechanism(self) -> SamplingPrivacy:
        """The mechanism with exactly these integers."""
        decoys = [decoy / DENOMINATOR for decoy in self.decoys]
        shares = self.sampling / DENOMINATOR, self.zero / DENOMINATOR, decoys
        return SamplingPrivacy(*shares, everyone_has_value=self.everyone_has_value)


def _as_bytes(reports: NDArray[Any]) -> Reports:
    return np.ascontiguousarray(reports).view(np.uint8)
