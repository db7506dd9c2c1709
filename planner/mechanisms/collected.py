"""The forms of report with NumPy: drawn for many people, counted, and estimated from.

Each class is the device's (:mod:`planner.laws`) with what a collector needs besides, so that a
collector's law is a device's law.

A report *supports* element ``k`` with probability ``a_k`` if the person's own is ``k`` and ``b_k``
otherwise (a set bit, a member of the reported subset, an item that hashes to the reported value).
Hence, whatever the form,

    estimate   (count_k - n b_k) / (a_k - b_k)                  unbiased
    variance   n b_k (1-b_k) / (a_k-b_k)^2 + c_k (1-a_k-b_k) / (a_k-b_k)

with ``c_k`` the true count (Wang et al., USENIX Security 2017; IDUE paper, eq. 8).
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.arrays import Array, Whole
from planner.estimates.channel import wanted_estimates
from planner.estimates.counts import SupportEstimates
from planner.estimates.report_law import ReportLaw
from planner.laws import bits, die, hashing, rows
from planner.laws.shape import Shape
from planner.limits import DENOMINATOR
from planner.mechanisms.bernoulli import draw_reports
from planner.mechanisms.counting import (
    Aggregate,
    CellCounter,
    Counter,
    PackedCounter,
    Reports,
    SumCounter,
    require_below,
)
from planner.mechanisms.sampling_privacy import DieEstimates, SamplingPrivacy
from planner.mechanisms.words import Words, map_rows, rows_at_once
from planner.policy import logodds

_CHUNK_CELLS = 2**16
Found = Any
"""What reports tell: estimated counts, or wanted numbers with their covariance; variances."""


class Collected(Shape):
    """What the collector's classes add."""

    @abstractmethod
    def counter(self) -> Counter:
        """Counts batches of reports; refuses those that the law cannot produce."""

    @abstractmethod
    def draw_many(self, elements: Whole, words: Words) -> list[Reports]:
        """Reports of each round about elements of shape ``(n,)``; the law of the device's draw."""

    @cached_property
    def chances(self) -> tuple[Array, Array]:
        """Chances that a report supports each element, as the own one and as another."""
        support = self.support() or []
        if self.levels.dummies and len(support) == len(self.levels.names):
            support = [*support, support[self.levels.dummy_level]]
        counts = [member.elements for member in self.levels.members]
        own_chances, other_chances = np.repeat(
            np.array(support, dtype=np.float64), counts, axis=0
        ).T
        return own_chances, other_chances

    def estimate(self, counted: Aggregate) -> Found:
        """Estimates of the elements or of the wanted numbers.

        Sums of several rounds stand one above the other. The standard errors put the estimated
        counts, limited to ``[0, n]``, in place of the true ones in the exact variance.
        """
        return linear_estimates(counted, *self.chances)

    def variance(self, users: int, once: Array, twice: Array) -> Array:
        """Exact variance of counts of the first elements, in people squared.

        ``once`` and ``twice`` are sums over the people of the chance that the own element is this
        one, and of its square.
        """
        noise, signal = logodds.noise_and_signal(
            *(chances[: once.size] for chances in self.chances)
        )
        return np.asarray(users * noise + once * (1 + signal) - twice)

    def second_moments(self, shares: Array, sums: Array) -> Array:
        """``E[S_j S_k]`` of what a report adds to ``sums`` of elements' counts, ``(k, d)``.

        Of a person drawn from ``shares`` of the elements. Here reports support two elements
        independently, given the own one.
        """
        noise, signal = logodds.noise_and_signal(*self.chances)
        return np.asarray((sums * (noise + shares * (1 + signal))) @ sums.T)

    def weight_squares(self, counted: Aggregate) -> Array:
        """``sum T_k^2`` over the reports, ``T_k`` what each adds to the count of element ``k``.

        A report that supports it adds ``(1 - b) / (a - b)``, another one ``-b / (a - b)``.
        """
        own_chances, other_chances = self.chances
        signal = own_chances - other_chances
        supporting = counted.counts * np.square((1 - other_chances) / signal)
        others = (counted.users - counted.counts) * np.square(other_chances / signal)
        return np.asarray(supporting + others)

    def draw_aggregate(self, people: Whole, rng: np.random.Generator) -> Aggregate:
        """Sums with the law that reports of ``people[k]`` people about element ``k`` give each.

        How they depend on each other is left out.
        """
        n = int(people.sum())
        (a, b) = self.chances
        return Aggregate(n, rng.binomial(people, a) + rng.binomial(n - people, b))


class BitsCollected(bits.Bits, Collected):
    """Unary encoding, see :class:`planner.laws.bits.Bits`."""

    def counter(self) -> Counter:
        return PackedCounter(self.levels.elements)

    def draw_many(self, elements: Whole, words: Words) -> list[Reports]:
        a, b = (np.array(column, dtype=np.uint32) for column in self._thresholds)
        return [as_bytes(draw_reports(elements, a, b, words))]


class RowsCollected(rows.Rows, Collected):
    """Channels, see :class:`planner.laws.rows.Rows`."""

    def counter(self) -> Counter:
        return CellCounter(self.cells, "<u2")

    def estimate(self, counted: Aggregate) -> Found:
        starts = np.cumsum([0, *self.blocks])[:-1]
        shares = (
            np.add.reduceat(self.rows[0], starts) / DENOMINATOR
            if self.blocks
            else [1.0]
        )
        values = np.array(self.values)
        blocks = list(zip(self.blocks, shares, strict=False))
        law = ReportLaw(
            np.array(self.rows) / DENOMINATOR, values, counted.users, self.blocks
        )
        return wanted_estimates(values, counted.counts, blocks)._replace(law=law)

    def draw_many(self, elements: Whole, words: Words) -> list[Reports]:
        ends = np.cumsum(np.array(self.rows), axis=1)
        ends += np.arange(len(self.rows))[:, None] * DENOMINATOR
        word = elements * DENOMINATOR + words.half(elements.size)
        drawn = (
            np.searchsorted(ends.ravel(), word, side="right") - elements * self.cells
        )
        return [as_bytes(drawn.astype("<u2")[:, None])]

    def draw_aggregate(self, people: Whole, rng: np.random.Generator) -> Aggregate:
        """As :class:`Collected` says, all cells together."""
        drawn = rng.multinomial(people, np.array(self.rows) / DENOMINATOR)
        return Aggregate(int(people.sum()), drawn.sum(axis=0))


class HashCollected(hashing.Hash, Collected):
    """Local hashing, see :class:`planner.laws.hashing.Hash`."""

    def counter(self) -> Counter:
        return SumCounter(self.levels.total, self._supports)

    def draw_many(self, elements: Whole, words: Words) -> list[Reports]:
        seeds = words.half(elements.size)
        hashed = xxh32(elements.astype(np.uint32), seeds) % np.uint32(self.values)
        honest = words.half(elements.size) < self.truth
        reported = np.where(honest, hashed, words.below(self.values, elements.size))
        return [as_bytes(np.column_stack([seeds, reported.astype(np.uint32)]))]

    def _supports(self, reports: Reports) -> Whole:
        pairs = reports.view("<u4").astype(np.uint32)
        require_below(pairs[:, 1], self.values)
        items = np.arange(self.levels.total, dtype=np.uint32)

        def support(part: slice, _: int) -> Whole:
            seeds, reported = pairs[part].T[:, :, None]
            return np.sum(
                xxh32(items, seeds) % np.uint32(self.values) == reported, axis=0
            )

        chunk = rows_at_once(_CHUNK_CELLS, self.levels.total)
        return np.asarray(np.sum(map_rows(support, len(pairs), chunk), axis=0))


class DieCollected(die.Die, Collected):
    """Sampling Privacy, see :class:`planner.laws.die.Die`."""

    def counter(self) -> Counter:
        return CellCounter(self.levels.total + 1, "<u4")

    def estimate(self, counted: Aggregate) -> DieEstimates:
        return self.mechanism.estimate(counted)

    def draw_many(self, elements: Whole, words: Words) -> list[Reports]:
        edges = np.cumsum([self.zero, *self.decoys])
        face = np.searchsorted(edges, words.half(elements.size), side="right")
        sampled = face == edges.size
        faces = (np.where(sampled, values, face) for values in (0, elements))
        return [as_bytes(numbers.astype("<u4")[:, None]) for numbers in faces]

    @cached_property
    def mechanism(self) -> SamplingPrivacy:
        """The mechanism with exactly these integers."""
        decoys = [decoy / DENOMINATOR for decoy in self.decoys]
        return SamplingPrivacy(
            self.sampling / DENOMINATOR,
            self.zero / DENOMINATOR,
            decoys,
            everyone_has_value=self.everyone_has_value,
        )


def linear_estimates(
    counted: Aggregate, own_chances: Array, other_chances: Array
) -> SupportEstimates:
    """``(count - n b) / (a - b)`` with standard errors, for probabilities of shape ``(items,)``."""
    counted.require(own_chances.shape)
    n = counted.users
    (noise, signal) = logodds.noise_and_signal(own_chances, other_chances)
    values = (counted.counts - n * other_chances) / (own_chances - other_chances)
    errors = np.sqrt(n * noise + np.clip(values, 0, n) * signal)
    null = np.sqrt(n * noise)
    return SupportEstimates(
        values, errors, null, n, counted.counts, own_chances, other_chances
    )


def as_bytes(reports: NDArray[np.generic]) -> Reports:
    """Rows of numbers as they are sent."""
    return np.ascontiguousarray(reports).view(np.uint8)


def xxh32(number: NDArray[np.uint32], seed: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """XXH32 of four little-endian bytes, for whole arrays (broadcast) of numbers and seeds.

    The reference libraries hash one buffer a call; this is their algorithm for a
    four-byte buffer, and the tests compare the two.

    Examples
    --------
    >>> hex(xxh32(np.array([1], dtype=np.uint32), np.array([7], dtype=np.uint32))[0])
    '0x57848006'
    """
    u = np.uint32
    h = seed + u(374761393) + u(4) + number * u(3266489917)
    h = ((h << u(17)) | (h >> u(15))) * u(668265263)
    h = (h ^ (h >> u(15))) * u(2246822519)
    h = (h ^ (h >> u(13))) * u(3266489917)
    return h ^ (h >> u(16))
