"""Subset selection: report a random subset that holds the true item more often than not."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb, exp, expm1, log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner import arguments
from planner.errors import InputError
from planner.limits import DENOMINATOR
from planner.mechanisms import inputs
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.chunks import map_rows, rows_per_chunk, spawn
from planner.mechanisms.frequency import FrequencyMechanism
from planner.mechanisms.packed import bit_counts, check_reports, words_for

_MAX_LAW_OUTPUTS = 2**16


@dataclass(frozen=True, slots=True)
class SubsetSelection(FrequencyMechanism):
    """Subset selection: every report is a set of ``d`` of the ``m`` items.

    Output law: a given set that contains the user's item has probability
    ``h / C(m-1, d-1)``, any other ``(1-h) / C(m-1, d)``, with
    ``h = d e^eps / (d e^eps + m - d)`` rounded down to a multiple of 2^-32 and
    ``d = round(m / (e^eps + 1))``, at least 1. Hence ``a = h`` and
    ``b = h (d-1)/(m-1) + (1-h) d/(m-1)``.

    Variance of an estimated count: ``n b(1-b)/(a-b)^2 + c (1-a-b)/(a-b)``, exact. The
    best order of error for every budget; a report costs ``m`` bits.

    :meth:`draw_aggregate` has the exact law of each count; the counts' small negative
    correlation (they sum to ``n d``) is left out.

    Source: Ye and Barg (IEEE Trans. Inf. Theory 2018); Wang et al. (2016).

    Parameters
    ----------
    epsilon:
        Budget in nats, above 0 and at most 50.
    items:
        Number of items, at least 2.

    Examples
    --------
    >>> SubsetSelection(1.0, items=12).size
    3
    """

    epsilon: float
    items: int

    def __post_init__(self) -> None:
        arguments.budget("epsilon", self.epsilon)
        inputs.item_count(self.items)
        if self._held <= self.size * DENOMINATOR // self.items:
            allowed = f"large enough for {self.items} items on a grid of 2^-32"
            raise InputError("epsilon", self.epsilon, allowed, "Raise it or merge items.")

    @property
    def size(self) -> int:
        """Items per report, ``d``."""
        return max(1, round(self.items / (exp(self.epsilon) + 1)))

    @property
    def _held(self) -> int:
        """``h`` as an integer over 2^32, rounded down."""
        d, m = self.size, self.items
        h = d * (1 + expm1(self.epsilon)) / (d * expm1(self.epsilon) + m)
        return int(h * DENOMINATOR * (1 - 1e-15))  # the float may err by one unit: stay below

    @property
    def a(self) -> NDArray[np.float64]:
        """``h``, as really drawn, for every item, shape ``(items,)``."""
        return np.full(self.items, self._held / DENOMINATOR)

    @property
    def b(self) -> NDArray[np.float64]:
        """Probability that a report holds a given other item, shape ``(items,)``."""
        h, d, m = self._held / DENOMINATOR, self.size, self.items
        return np.full(m, (h * (d - 1) + (1 - h) * d) / (m - 1))

    def perturb(self, values: ArrayLike, rng: np.random.Generator) -> NDArray[np.uint64]:
        """Packed sets, uint64, shape ``(n, words)``."""
        true = inputs.item_numbers(values, self.items)
        words = words_for(self.items)
        chunk = rows_per_chunk(words)
        children = spawn(inputs.generator(rng), -(-true.size // chunk))
        reports = np.zeros((true.size, words), dtype=np.uint64)
        map_rows(
            lambda part, i: self._fill(reports[part], true[part], children[i]), len(true), chunk
        )
        return reports

    def _fill(
        self, rows: NDArray[np.uint64], true: NDArray[np.int64], rng: np.random.Generator
    ) -> None:
        """Floyd's algorithm for all users at once, over the ``m - 1`` other items.

        The last item stands in for the user's own. Users whose item is in the set
        need one other item less, and sit out the first step.
        """
        last = self.items - 1
        held = rng.integers(DENOMINATOR, size=true.size, dtype=np.uint64) < np.uint64(self._held)
        users = np.arange(true.size)
        _set_bits(rows, users[held], true[held])
        for step, bound in enumerate(range(last - self.size, last)):
            active = users[~held] if step == 0 else users
            if active.size == 0:
                continue
            own = true[active]
            pick = rng.integers(bound + 1, size=active.size)
            pick = np.where(pick == own, last, pick)
            taken = (rows[active, pick >> 6] >> (pick & 63).astype(np.uint64)) & np.uint64(1)
            fallback = np.where(own == bound, last, bound)
            _set_bits(rows, active, np.where(taken == 1, fallback, pick))

    def aggregate(self, reports: NDArray[Any]) -> Aggregate:
        """How many sets hold each item, shape ``(items,)``.

        Raises
        ------
        InputError
            Not packed reports of this domain, or a set that does not hold ``d`` items.
        """
        checked = check_reports(reports, self.items)
        sizes = np.bitwise_count(checked).sum(axis=1)
        for u in np.flatnonzero(sizes != self.size)[:1]:
            remedy = "Read the reports with the mechanism that made them."
            raise InputError(f"size of reports[{u}]", int(sizes[u]), f"{self.size} items", remedy)
        return Aggregate(len(checked), bit_counts(checked, self.items))

    def privacy_loss(self) -> float:
        """``ln[h / C(m-1, d-1)] - ln[(1-h) / C(m-1, d)]``, in nats."""
        h, d, m = self._held / DENOMINATOR, self.size, self.items
        return log(h / (1 - h) * (m - d) / d)

    def output_law(self) -> NDArray[np.float64]:
        """``Pr[set | item]``, shape ``(items, C(items, d))``, sets in lexicographic order."""
        h, d, m = self._held / DENOMINATOR, self.size, self.items
        law = np.empty((m, len(self._sets())))
        for column, chosen in enumerate(self._sets()):
            law[:, column] = (1 - h) / comb(m - 1, d)
            law[list(chosen), column] = h / comb(m - 1, d - 1)
        return law

    def report_index(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Position of each reported set in lexicographic order."""
        checked = check_reports(reports, self.items)[:, 0]
        words = np.array([sum(1 << k for k in chosen) for chosen in self._sets()], dtype=np.uint64)
        order = np.argsort(words)
        return order[np.searchsorted(words, checked, sorter=order)]

    def _sets(self) -> list[tuple[int, ...]]:
        if self.items > 64 or comb(self.items, self.size) > _MAX_LAW_OUTPUTS:
            allowed = "small enough to list all sets (65536 at most)"
            remedy = "Use privacy_loss, which needs no list."
            raise InputError("items", self.items, allowed, remedy)
        return list(combinations(range(self.items), self.size))


def _set_bits(rows: NDArray[np.uint64], users: NDArray[np.int64], items: NDArray[np.int64]) -> None:
    rows[users, items >> 6] |= np.uint64(1) << (items & 63).astype(np.uint64)
