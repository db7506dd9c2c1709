"""Count reports: from the bytes of many reports to mergeable partial sums.

A tally is all that a collector keeps. Tallies of one question add up, in any order, so
that files can be counted anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.deployment.laws import HashingLaw, Law, ResponseLaw, SamplingLaw, SubsetLaw, UnaryLaw
from planner.errors import InputError
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.hashing import OptimizedLocalHashing
from planner.mechanisms.packed import bit_counts, check_reports

__all__ = ["Rows", "Tally", "tally_rows"]

Rows = NDArray[np.uint8]
_WEIGHED = 2**14  # reports of a batch whose weight is looked at: plenty for its distribution


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Counts over reports of one question (and round).

    Attributes
    ----------
    aggregate:
        Number of reports, and per cell how many of them: per bit those that set it; per item
        those that name or support it; per two-bit report or round's output its frequency.
    weights:
        Histogram of the number of ones of some of the reports, int64, shape ``(bits + 1,)``;
        empty where reports have no weight to speak of.
    """

    aggregate: Aggregate
    weights: NDArray[np.int64]

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.aggregate + other.aggregate, self.weights + other.weights)


def tally_rows(law: Law, rows: Rows) -> Tally:
    """Count a batch of at least one report, uint8, shape ``(n, report size)``.

    Raises
    ------
    InputError
        A report that the mechanism cannot produce.
    """
    if isinstance(law, UnaryLaw):
        return _bits(rows, law.bits)
    if isinstance(law, SubsetLaw):
        return _subsets(rows, law)
    if isinstance(law, HashingLaw):
        return _hashes(rows, law)
    if isinstance(law, ResponseLaw):
        return _cells(rows.view("<u4").ravel(), law.values)
    if isinstance(law, SamplingLaw):
        return _cells(rows.view("<u4").ravel(), law.levels.total + 1)
    return _cells(rows.ravel(), 4)


def _bits(rows: Rows, bits: int) -> Tally:
    words = check_reports(rows.view("<u8"), bits)
    some = words[:: -(-len(words) // _WEIGHED)]
    weights = np.bitwise_count(some).sum(axis=1, dtype=np.int64)
    aggregate = Aggregate(len(words), bit_counts(words, bits))
    return Tally(aggregate, np.bincount(weights, minlength=bits + 1))


def _subsets(rows: Rows, law: SubsetLaw) -> Tally:
    words = check_reports(rows.view("<u8"), law.levels.total)
    sizes = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
    for u in np.flatnonzero(sizes != law.size)[:1]:
        raise InputError(f"size of report {u}", int(sizes[u]), f"{law.size} items")
    return Tally(Aggregate(len(words), bit_counts(words, law.levels.total)), _no_weights())


def _hashes(rows: Rows, law: HashingLaw) -> Tally:
    # The hash and its support are the mechanism's own; the budget only fixes their number.
    mechanism = OptimizedLocalHashing(log(max(law.values - 1, 1.25)), law.levels.total)
    if mechanism.values != law.values:
        raise InputError("values", law.values, f"a number of hash values as {mechanism.values}")
    return Tally(mechanism.aggregate(rows.view("<u4").astype(np.uint32)), _no_weights())


def _cells(numbers: NDArray[Any], cells: int) -> Tally:
    for u in np.flatnonzero(numbers >= cells)[:1]:
        raise InputError(f"report {u}", int(numbers[u]), f"from 0 to {cells - 1}")
    counts = np.bincount(numbers, minlength=cells)
    return Tally(Aggregate(numbers.size, counts), _no_weights())


def _no_weights() -> NDArray[np.int64]:
    return np.zeros(0, dtype=np.int64)
