"""The forms of report with NumPy: drawn for many people, counted, and estimated from.

Each class is the device's (:mod:`planner.laws`) with what a collector needs besides, so that a
collector's law is a device's law.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.estimates.channel import wanted_estimates
from planner.laws import bits, die, hashing, rows
from planner.laws.shape import Shape
from planner.limits import DENOMINATOR
from planner.mechanisms.counting import (
    Aggregate,
    CellCounter,
    Counter,
    PackedCounter,
    SumCounter,
    require_below,
)
from planner.mechanisms.counting import Rows as Reports
from planner.mechanisms.plain import chances_of, linear_estimates, xxh32
from planner.mechanisms.sampling_privacy import DieEstimates, SamplingPrivacy
from planner.mechanisms.unary import draw_reports
from planner.mechanisms.words import Words, map_rows

_CHUNK_CELLS = 2**16
Array = NDArray[np.float64]
Numbers = NDArray[np.int64]


class Collected(Shape):
    """What the collector's classes add."""

    @abstractmethod
    def counter(self) -> Counter:
        """Counts batches of reports; refuses those that the law cannot produce."""

    def estimate(self, counted: Aggregate) -> Any:
        """Estimates of the elements or of the wanted numbers.

        Sums of several rounds stand one above the other.
        """
        return linear_estimates(counted, *chances_of(self))

    @abstractmethod
    def draw_many(self, own: Numbers, words: Words) -> list[Reports]:
        """Reports of each round about elements of shape ``(n,)``; the law of the device's draw."""


class Bits(bits.Bits, Collected):
    """Unary encoding, see :class:`planner.laws.bits.Bits`."""

    def counter(self) -> Counter:
        return PackedCounter(self.levels.elements)

    def draw_many(self, own: Numbers, words: Words) -> list[Reports]:
        a, b = (np.array(column, dtype=np.uint32) for column in self._thresholds)
        return [as_bytes(draw_reports(own, a, b, words))]


class Rows(rows.Rows, Collected):
    """Channels, see :class:`planner.laws.rows.Rows`."""

    def counter(self) -> Counter:
        return CellCounter(self.cells, "<u2")

    def estimate(self, counted: Aggregate) -> Any:
        starts = np.cumsum([0, *self.blocks])[:-1]
        shares = np.add.reduceat(self.rows[0], starts) / DENOMINATOR if self.blocks else [1.0]
        return wanted_estimates(
            np.array(self.values), counted.counts, list(zip(self.blocks, shares, strict=False))
        )

    def draw_many(self, own: Numbers, words: Words) -> list[Reports]:
        ends = np.cumsum(np.array(self.rows), axis=1)
        ends += np.arange(len(self.rows))[:, None] * DENOMINATOR
        word = own * DENOMINATOR + words.half(own.size)
        drawn = np.searchsorted(ends.ravel(), word, side="right") - own * self.cells
        return [as_bytes(drawn.astype("<u2")[:, None])]


class Hash(hashing.Hash, Collected):
    """Local hashing, see :class:`planner.laws.hashing.Hash`."""

    def counter(self) -> Counter:
        return SumCounter(self.levels.total, self._supports)

    def draw_many(self, own: Numbers, words: Words) -> list[Reports]:
        seeds = words.half(own.size)
        hashed = xxh32(own.astype(np.uint32), seeds) % np.uint32(self.values)
        honest = words.half(own.size) < self.truth
        told = np.where(honest, hashed, words.below(self.values, own.size))
        return [as_bytes(np.column_stack([seeds, told.astype(np.uint32)]))]

    def _supports(self, reports: Reports) -> Numbers:
        pairs = reports.view("<u4").astype(np.uint32)
        require_below(pairs[:, 1], self.values)
        items = np.arange(self.levels.total, dtype=np.uint32)

        def support(part: slice, _: int) -> Numbers:
            seeds, told = pairs[part].T[:, :, None]
            return np.sum(xxh32(items, seeds) % np.uint32(self.values) == told, axis=0)

        chunk = max(1, _CHUNK_CELLS // self.levels.total)
        return np.asarray(np.sum(map_rows(support, len(pairs), chunk), axis=0))


class Die(die.Die, Collected):
    """Sampling Privacy, see :class:`planner.laws.die.Die`."""

    def counter(self) -> Counter:
        return CellCounter(self.levels.total + 1, "<u4")

    def estimate(self, counted: Aggregate) -> DieEstimates:
        return self.mechanism.estimate(counted)

    def draw_many(self, own: Numbers, words: Words) -> list[Reports]:
        edges = np.cumsum([self.zero, *self.decoys])
        face = np.searchsorted(edges, words.half(own.size), side="right")
        sampled = face == edges.size
        faces = (np.where(sampled, told, face) for told in (0, own))
        return [as_bytes(one.astype("<u4")[:, None]) for one in faces]

    @cached_property
    def mechanism(self) -> SamplingPrivacy:
        """The mechanism with exactly these integers."""
        decoys = [decoy / DENOMINATOR for decoy in self.decoys]
        shares = self.sampling / DENOMINATOR, self.zero / DENOMINATOR, decoys
        return SamplingPrivacy(*shares, everyone_has_value=self.everyone_has_value)


def as_bytes(reports: NDArray[Any]) -> Reports:
    """Rows of numbers as they are sent."""
    return np.ascontiguousarray(reports).view(np.uint8)
