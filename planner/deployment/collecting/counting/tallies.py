"""Count reports: from the bytes of many reports to mergeable partial sums.

A tally is all that a collector keeps of a file. Aggregates of one question add up, in any
order, so that files can be counted anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from planner.deployment.client.laws.output import (
    HashingLaw,
    Law,
    SamplingLaw,
    SignLaw,
    SubsetLaw,
    UnaryLaw,
)
from planner.deployment.collecting.reports.batch import Rows
from planner.errors import InputError
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.hashing import OptimizedLocalHashing
from planner.mechanisms.packed import BitCounter, check_reports

__all__ = ["Tallier", "Tally"]

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


class Tallier:
    """Counts batches of reports of one question and round.

    Examples
    --------
    >>> from planner.deployment.client.laws.output import SignLaw
    >>> tallier = Tallier(SignLaw(epsilon=1.0, low=2**30, lower=0.0, upper=1.0, yes_no=True))
    >>> tallier.add(np.array([[3], [3], [0]], dtype=np.uint8))
    >>> tallier.tally().aggregate.counts.tolist()
    [1, 0, 0, 2]
    """

    def __init__(self, law: Law) -> None:
        self._law = law
        self._users = 0
        bits = _bits_of(law)
        self._bits = BitCounter(bits) if bits else None
        self._counts = np.zeros(bits or _cells_of(law), dtype=np.int64)
        weighed = isinstance(law, UnaryLaw)
        self._weights = np.zeros(bits + 1 if weighed else 0, dtype=np.int64)

    def add(self, rows: Rows) -> None:
        """Count at least one report, uint8, shape ``(n, report size)``.

        Raises
        ------
        InputError
            A report that the mechanism cannot produce.
        """
        law = self._law
        if self._bits is not None:
            words = check_reports(rows.view("<u8"), self._counts.size)
            if isinstance(law, SubsetLaw):
                _check_sizes(words, law.size)
            else:
                some = words[:: -(-len(words) // _WEIGHED)]
                weights = np.bitwise_count(some).sum(axis=1, dtype=np.int64)
                self._weights += np.bincount(weights, minlength=self._weights.size)
            self._bits.add(words)
        elif isinstance(law, HashingLaw):
            self._counts += _supports(rows, law)
        else:
            cells = rows.ravel() if isinstance(law, SignLaw) else rows.view("<u4").ravel()
            for u in np.flatnonzero(cells >= self._counts.size)[:1]:
                allowed = f"from 0 to {self._counts.size - 1}"
                raise InputError(f"report {u}", int(cells[u]), allowed)
            self._counts += np.bincount(cells, minlength=self._counts.size)
        self._users += len(rows)

    def tally(self) -> Tally:
        """What was counted."""
        counts = self._counts if self._bits is None else self._bits.counts()
        return Tally(Aggregate(self._users, counts), self._weights)


def _bits_of(law: Law) -> int:
    """Bits of a report; 0 if it has none that are counted one by one."""
    if isinstance(law, UnaryLaw):
        return law.bits
    return law.levels.total if isinstance(law, SubsetLaw) else 0


def _cells_of(law: Law) -> int:
    if isinstance(law, SignLaw):
        return 4
    return law.levels.total + isinstance(law, SamplingLaw)  # one cell for "none of the values"


def _check_sizes(words: NDArray[np.uint64], size: int) -> None:
    sizes = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
    for u in np.flatnonzero(sizes != size)[:1]:
        raise InputError(f"size of report {u}", int(sizes[u]), f"{size} items")


def _supports(rows: Rows, law: HashingLaw) -> NDArray[np.int64]:
    # The hash and its support are the mechanism's own; the budget only fixes their number.
    mechanism = OptimizedLocalHashing(log(max(law.values - 1, 1.25)), law.levels.total)
    return mechanism.aggregate(rows.view("<u4").astype(np.uint32)).counts
