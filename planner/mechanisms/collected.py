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

from planner.arrays import Array, Flags, Whole
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
    bit_of,
    require_below,
)
from planner.mechanisms.inputs import OwnSums
from planner.mechanisms.sampling_privacy import DieEstimates, SamplingPrivacy
from planner.mechanisms.words import Words, map_rows, rows_at_once
from planner.policy import logodds

_CHUNK_CELLS = 2**16
Found = Any
"""What reports tell: estimated counts, or wanted numbers with their covariance; variances."""


class Collected(Shape):
    """The collector's half of a form of report: it draws in bulk, counts and estimates."""

    @abstractmethod
    def counter(self) -> Counter:
        """Counts batches of reports; refuses those that the law cannot produce."""

    @abstractmethod
    def draw_many(self, elements: Whole, words: Words) -> list[Reports]:
        """Reports of each round about elements of shape ``(n,)``; the law of the device's draw."""

    @cached_property
    def chances(self) -> tuple[Array, Array]:
        """``a`` and ``b``, chances that a report supports each element, own and another."""
        levels = self.levels
        support = self.support() or []
        if levels.dummies and len(support) == len(levels.names):
            support = [*support, support[levels.dummy_level]]
        counts = [member.elements for member in levels.members]
        by_level = np.array(support, dtype=np.float64)  # (levels, 2)
        by_element = np.repeat(by_level, counts, axis=0)
        a, b = by_element.T
        return a, b

    def estimate(self, counted: Aggregate) -> Found:
        """Estimates of the elements or of the wanted numbers.

        Sums of several rounds stand one above the other. The standard errors put the estimated
        counts, limited to ``[0, n]``, in place of the true ones in the exact variance.
        """
        a, b = self.chances
        return linear_estimates(counted, a, b)

    def variance(self, sums: OwnSums) -> Array:
        """Exact variance of counts of the first elements, in people squared.

        With the chance ``P`` that the own element is this one and the terms of
        :mod:`planner.policy.logodds` it is ``n noise + sum P (1 + signal) - sum P^2``. Where ``P``
        is 1 or 0 it is the formula of the module.
        """
        first = slice(sums.chances.size)
        a, b = self.chances
        noise, signal = logodds.noise_and_signal(a[first], b[first])
        of_holders = sums.chances * (1 + signal)
        return np.asarray(sums.users * noise + of_holders - sums.squares)

    def second_moments(self, shares: Array, sums: Array) -> Array:
        """``E[S_j S_k]`` of what a report adds to ``sums`` of elements' counts, ``(k, d)``.

        Of a person drawn from ``shares`` of the elements. Here reports support two elements
        independently, given the own one.
        """
        a, b = self.chances
        noise, signal = logodds.noise_and_signal(a, b)
        # E[T_k^2] of what a report adds to element k; E[T_j T_k] is 0, as one of them is not own.
        mean_squares = noise + shares * (1 + signal)
        return np.asarray((sums * mean_squares) @ sums.T)

    def addends_of(self, element: int) -> Array:
        """The numbers that a report may add to the count of an element, shape ``(addends,)``.

        Here ``-b / (a - b)`` if it does not support the element, ``(1 - b) / (a - b)`` if it does.
        """
        a, b = self.chances
        return support_addends(a[element], b[element])

    def addend_numbers(self, rows: Reports, element: int) -> Whole:
        """Which of :meth:`addends_of` each of some checked reports adds, shape ``(n,)``."""
        raise NotImplementedError

    def weight_squares(self, counted: Aggregate) -> Array:
        """``sum T_k^2`` over the reports, ``T_k`` what each adds to the count of element ``k``.

        A report that supports it adds ``(1 - b) / (a - b)``, another one ``-b / (a - b)``.
        """
        a, b = self.chances
        if_not, if_supporting = np.square(support_addends(a, b))
        not_supporting = counted.users - counted.counts
        squares = counted.counts * if_supporting + not_supporting * if_not
        return np.asarray(squares)

    def draw_aggregate(self, people: Whole, rng: np.random.Generator) -> Aggregate:
        """Sums with the law that reports of ``people[k]`` people about element ``k`` give each.

        How they depend on each other is left out.
        """
        users = int(people.sum())
        return self._supports_drawn(people, users, rng)

    def _supports_drawn(
        self, holders: Whole, users: int, rng: np.random.Generator
    ) -> Aggregate:
        """How many of ``users`` reports support each element that so many of them are about."""
        a, b = self.chances
        from_holders = rng.binomial(holders, a)
        from_others = rng.binomial(users - holders, b)
        return Aggregate(users, from_holders + from_others)


class BitsCollected(bits.Bits, Collected):
    """Unary encoding, see :class:`planner.laws.bits.Bits`."""

    def counter(self) -> Counter:
        return PackedCounter(self.levels.elements)

    def draw_many(self, elements: Whole, words: Words) -> list[Reports]:
        a, b = np.array(self._thresholds, dtype=np.uint32)
        reports = draw_reports(elements, a, b, words)
        return [as_bytes(reports)]

    def addend_numbers(self, rows: Reports, element: int) -> Whole:
        return bit_of(rows.view("<u8"), element)


class RowsCollected(rows.Rows, Collected):
    """Channels, see :class:`planner.laws.rows.Rows`."""

    def counter(self) -> Counter:
        return CellCounter(self.cells, "<u2")

    def estimate(self, counted: Aggregate) -> Found:
        values = np.array(self.values)
        blocks = []
        if self.blocks:
            ends = np.cumsum([0, *self.blocks])
            # A block has the same share whatever the answer: that of the first row is of all.
            units = np.add.reduceat(self.rows[0], ends[:-1])
            shares = units / DENOMINATOR
            blocks = list(zip(self.blocks, shares.tolist(), strict=True))
        chances = np.array(self.rows) / DENOMINATOR
        law = ReportLaw(chances, values, counted.users, self.blocks)
        estimates = wanted_estimates(values, counted.counts, blocks)
        return estimates._replace(law=law)

    def draw_many(self, elements: Whole, words: Words) -> list[Reports]:
        cells = drawn_cells(np.array(self.rows), elements, words)
        return [as_bytes(cells.astype("<u2")[:, None])]

    def draw_aggregate(self, people: Whole, rng: np.random.Generator) -> Aggregate:
        """Draw the counts of all cells together, see :class:`Collected`."""
        chances = np.array(self.rows) / DENOMINATOR
        drawn = rng.multinomial(people, chances)
        users = int(people.sum())
        return Aggregate(users, drawn.sum(axis=0))


class HashCollected(hashing.Hash, Collected):
    """Local hashing, see :class:`planner.laws.hashing.Hash`."""

    def counter(self) -> Counter:
        return SumCounter(self.levels.total, self._supports)

    def draw_many(self, elements: Whole, words: Words) -> list[Reports]:
        people = elements.size
        seeds = words.half(people)
        hashes = xxh32(elements.astype(np.uint32), seeds)
        hashed = hashes % np.uint32(self.values)
        is_honest = words.half(people) < self.truth
        any_value = words.below(self.values, people)
        reported = np.where(is_honest, hashed, any_value)
        pairs = np.column_stack([seeds, reported.astype(np.uint32)])
        return [as_bytes(pairs)]

    def _supports(self, reports: Reports) -> Whole:
        """How many reports support each item: those whose seed hashes it to the value they report.

        InputError for a report whose value is not below ``values``.
        """
        pairs = reports.view("<u4").astype(np.uint32)
        require_below(pairs[:, 1], self.values)
        items = np.arange(self.levels.total, dtype=np.uint32)

        def support(part: slice, _: int) -> Whole:
            supported = self._supported(pairs[part], items)
            return supported.sum(axis=0)

        chunk = rows_at_once(_CHUNK_CELLS, self.levels.total)
        by_chunk = map_rows(support, len(pairs), chunk)
        return np.asarray(np.sum(by_chunk, axis=0))

    def _supported(self, pairs: NDArray[np.uint32], items: NDArray[np.uint32]) -> Flags:
        """Whether each report, a seed and a value, supports each item, ``(reports, items)``."""
        seeds = pairs[:, 0, None]
        reported = pairs[:, 1, None]
        hashes = xxh32(items, seeds)
        hashed = hashes % np.uint32(self.values)
        return np.asarray(hashed == reported)

    def addend_numbers(self, rows: Reports, element: int) -> Whole:
        pairs = rows.view("<u4").astype(np.uint32)
        item = np.array([element], dtype=np.uint32)
        supported = self._supported(pairs, item)
        return supported[:, 0].astype(np.int64)


class DieCollected(die.Die, Collected):
    """Sampling Privacy, see :class:`planner.laws.die.Die`."""

    def counter(self) -> Counter:
        return CellCounter(self.levels.total + 1, "<u4")

    def estimate(self, counted: Aggregate) -> DieEstimates:
        return self.mechanism.estimate(counted)

    def draw_many(self, elements: Whole, words: Words) -> list[Reports]:
        # One throw decides both rounds: the last face is that of those who are sampled.
        edges = np.cumsum([self.zero, *self.decoys])
        throw = words.half(elements.size)
        face = np.searchsorted(edges, throw, side="right")
        is_sampled = face == edges.size
        first = np.where(is_sampled, 0, face)
        second = np.where(is_sampled, elements, face)
        reports = []
        for reported in (first, second):
            numbers = reported.astype("<u4")
            reports.append(as_bytes(numbers[:, None]))
        return reports

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


def drawn_cells(integers: Whole, rows: Whole, words: Words) -> Whole:
    """For each person a cell of their row of ``integers``, which say of 2^32 how often each is.

    One search serves all rows: the cumulated integers of row ``x`` begin at ``x 2^32``.
    """
    row_count, cells = integers.shape
    ends = np.cumsum(integers, axis=1)
    ends += np.arange(row_count)[:, None] * DENOMINATOR
    word = rows * DENOMINATOR + words.half(rows.size)
    cell = np.searchsorted(ends.ravel(), word, side="right")
    return np.asarray(cell - rows * cells)


def support_addends(a: Array, b: Array) -> Array:
    """The numbers that a report adds to the count of an item, shape ``(2, ...)``.

    ``-b / (a - b)`` if it does not support the item, ``(1 - b) / (a - b)`` if it does.
    """
    return np.array([-b, 1 - b]) / (a - b)


def linear_estimates(counted: Aggregate, a: Array, b: Array) -> SupportEstimates:
    """``(count - n b) / (a - b)`` with standard errors, for probabilities of shape ``(items,)``.

    The variance is ``n noise + c signal`` (IDUE paper, eq. 8; :mod:`planner.policy.logodds`), with
    the estimate, limited to ``[0, n]``, in place of the true count ``c``. Null standard errors are
    those with ``c = 0``.
    """
    counted.require(a.shape)
    n = counted.users
    noise, signal = logodds.noise_and_signal(a, b)
    values = (counted.counts - n * b) / (a - b)
    null_variances = n * noise
    variances = null_variances + np.clip(values, 0, n) * signal
    return SupportEstimates(
        values,
        np.sqrt(variances),
        np.sqrt(null_variances),
        n,
        counted.counts,
        a,
        b,
    )


def as_bytes(reports: NDArray[np.generic]) -> Reports:
    """Rows of numbers as they are sent."""
    return np.ascontiguousarray(reports).view(np.uint8)


def xxh32(number: NDArray[np.uint32], seed: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """XXH32 of four little-endian bytes, for whole arrays (broadcast) of numbers and seeds.

    The reference libraries hash one buffer a call; this is their algorithm for a
    four-byte buffer, and the tests compare the two. The constants are its primes 5, 3, 4 and 2, in
    this order, and 4 is the buffer's length; products and sums are modulo 2^32.

    Examples
    --------
    >>> hex(xxh32(np.array([1], dtype=np.uint32), np.array([7], dtype=np.uint32))[0])
    '0x57848006'
    """
    u = np.uint32
    state = seed + u(374761393) + u(4)
    state = state + number * u(3266489917)
    rotated = (state << u(17)) | (state >> u(15))
    state = rotated * u(668265263)
    # The avalanche: every bit of the state reaches every bit of the hash.
    state = state ^ (state >> u(15))
    state = state * u(2246822519)
    state = state ^ (state >> u(13))
    state = state * u(3266489917)
    return state ^ (state >> u(16))
