"""Set designs with NumPy: drawn for many people, counted, and estimated from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import ceil, log, sqrt

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError
from planner.estimates.counts import Estimates
from planner.laws import staircase
from planner.laws.shape import Own
from planner.mechanisms.collected import Collected
from planner.mechanisms.counting import Aggregate, Counter, PackedCounter, Rows, SumCounter
from planner.mechanisms.plain import linear_estimates
from planner.mechanisms.words import Words

Numbers = NDArray[np.int64]
_CHUNK = 2**20  # numbers drawn at once


class Staircase(staircase.Staircase, Collected):
    """A set design, see :class:`planner.laws.staircase.Staircase`."""

    def counter(self) -> Counter:
        if self.width:
            return SumCounter(self.cells, self._counted)
        return _FixedCounter(self.cells, self.held)

    def estimate(self, rounds: Sequence[Aggregate]) -> Estimates:
        items = self.levels.total  # a dummy is nobody's answer
        own, other = (np.full(items, float(chance)) for chance in self.support())
        return linear_estimates(Aggregate(rounds[0].users, rounds[0].counts[:items]), own, other)

    def draw_many(self, own: Numbers, words: Words) -> list[Rows]:
        """Of padded sets, shape ``(n, length)``."""
        rows = max(1, _CHUNK // (2 * self.held + own.shape[1]))
        parts = [self._drawn(own[i : i + rows], words) for i in range(0, len(own), rows)]
        return [np.concatenate(parts) if parts else np.empty((0, self.size), np.uint8)]

    def chances(self, own: Own, round_number: int | None = None) -> NDArray[np.float64]:
        del round_number
        chance, other = map(float, self.support())
        cells = np.full(self.cells, other)
        cells[list(own)] = chance
        return cells

    def _counted(self, rows: Rows) -> Numbers:
        numbers = rows.view(f"<u{self.width}").astype(np.int64)
        wrong = (numbers[:, -1] >= self.cells) | (np.diff(numbers, axis=1) <= 0).any(axis=1)
        for u in np.flatnonzero(wrong)[:1]:
            allowed = f"{self.held} rising numbers below {self.cells}"
            raise InputError(f"report {u}", "another one", allowed, "Leave the report out.")
        return np.bincount(numbers.ravel(), minlength=self.cells)

    def _drawn(self, own: Numbers, words: Words) -> Rows:
        hits, length = self._hits_drawn(len(own), words), own.shape[1]
        own = _shuffled(own, words)
        places = _distinct(self.cells - length, self.held - hits, words)
        shifts = np.sort(own, axis=1) - np.arange(length)
        others = places + sum((places >= one[:, None]).astype(np.int64) for one in shifts.T)
        others[places < 0] = self.cells  # not taken: behind all elements
        mine = np.where(np.arange(length) < hits[:, None], own, self.cells)
        chosen = np.sort(np.concatenate([mine, others], axis=1), axis=1)[:, : self.held]
        if self.width:
            return np.ascontiguousarray(chosen.astype(f"<u{self.width}")).view(np.uint8)
        bits = np.zeros((len(own), 8 * self.size), dtype=np.bool_)
        np.put_along_axis(bits, chosen, True, axis=1)
        return np.packbits(bits, axis=1, bitorder="little")

    def _hits_drawn(self, count: int, words: Words) -> Numbers:
        """The number of own elements in each report."""
        step = np.searchsorted(np.array(self._ends), words.half(count), side="right")
        found = np.empty(count, dtype=np.int64)
        for c, ends in enumerate(self._within):
            rows = np.flatnonzero(step == c)
            shares = [(end << 64) // ends[-1] for end in ends if end < ends[-1]]
            edges = np.array(shares, dtype=np.uint64)
            drawn = words.raw(rows.size)
            places = np.searchsorted(edges, drawn, side="right")
            for k in np.flatnonzero(np.isin(drawn, edges)):  # 64 bits do not tell: one in 10^18
                places[k] = _place(ends, int(drawn[k]), words)
            found[rows] = self.steps[c] + places
        return found


class _FixedCounter(PackedCounter):
    """Packed bits of which every report has so many."""

    def __init__(self, bits: int, held: int) -> None:
        super().__init__(bits)
        self._held = held

    def add(self, rows: Rows) -> None:
        ones = np.bitwise_count(rows.view("<u8")).sum(axis=1)
        for u in np.flatnonzero(ones != self._held)[:1]:
            allowed = f"{self._held}, the elements of a report"
            raise InputError(f"ones of report {u}", int(ones[u]), allowed, "Leave it out.")
        super().add(rows)


def _place(ends: list[int], number: int, words: Words) -> int:
    """How many of the shares ``ends / ends[-1]`` a uniform number that begins so is not below."""
    total, bits = ends[-1], 64
    while True:
        low, high = number * total >> bits, ((number + 1) * total - 1) >> bits
        if bisect_right(ends, low) == bisect_right(ends, high):
            return bisect_right(ends, low)
        number, bits = (number << 64) + int(words.raw(1)[0]), bits + 64


def _shuffled(own: Numbers, words: Words) -> Numbers:
    """Every row in a random order."""
    own, rows = own.copy(), np.arange(len(own))
    for last in range(own.shape[1] - 1, 0, -1):
        place = words.below(last + 1, len(own))
        own[rows, last], own[rows, place] = own[rows, place], own[rows, last].copy()
    return own


def _distinct(count: int, needed: Numbers, words: Words) -> Numbers:
    """In every row so many of 0 to ``count - 1``, uniformly, and -1: the first different ones."""
    most = int(needed.max())
    if 2 * most > count:  # fewer are left out
        return _others(count, needed, words)
    tries = ceil(count * -log(1 - most / count)) + ceil(6 * sqrt(most)) + 8
    drawn = words.below(count, needed.size * tries).reshape(needed.size, tries)
    order = np.argsort(drawn, axis=1, kind="stable")
    ranked = np.take_along_axis(drawn, order, axis=1)
    new = np.ones(drawn.shape, dtype=np.bool_)
    np.put_along_axis(new, order[:, 1:], ranked[:, 1:] != ranked[:, :-1], axis=1)
    number = np.cumsum(new, axis=1)
    chosen = np.where(new & (number <= needed[:, None]), drawn, -1)
    for row in np.flatnonzero(number[:, -1] < needed):  # all anew, so that no set is likelier
        chosen[row] = -1
        again = np.setdiff1d(_distinct(count, needed[row : row + 1], words), [-1])
        chosen[row, : again.size] = again
    return chosen


def _others(count: int, needed: Numbers, words: Words) -> Numbers:
    """The same where more than half are needed: by a random order of all."""
    chosen = np.full((needed.size, count), -1)
    for row, wanted in enumerate(needed.tolist()):
        keys = words.raw(count)
        while np.unique(keys).size < count:
            keys = words.raw(count)
        chosen[row, :wanted] = np.argsort(keys)[:wanted]
    return chosen
