"""Counts over reports: all that a collector keeps, and what estimates start from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Aggregate:
    """Counts over ``users`` reports; two aggregates of one mechanism add up.

    Attributes
    ----------
    users:
        Number of reports counted, at least 0.
    counts:
        The mechanism's sufficient counts, int64, ``0 <= counts <= users``.

    Raises
    ------
    InputError
        A count is negative or exceeds the number of users, or shapes differ in a sum.

    Examples
    --------
    >>> total = Aggregate(3, np.array([1, 2])) + Aggregate(2, np.array([0, 2]))
    >>> total.users, total.counts.tolist()
    (5, [1, 4])
    """

    users: int
    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.users < 0:
            raise InputError(
                "users", self.users, "at least 0", "Give the number of reports that were counted."
            )
        counts = np.array(self.counts)
        if counts.dtype.kind not in "iu":
            remedy = "Convert them by counts.astype(numpy.int64) if nothing is lost."
            raise InputError("counts", counts.dtype, "whole numbers", remedy)
        if counts.size and not (counts.min() >= 0 and counts.max() <= self.users):
            worst = int(counts.max() if counts.max() > self.users else counts.min())
            allowed = f"from 0 to the number of users, {self.users}"
            remedy = "A user adds at most 1 to a count: count each report once."
            raise InputError("counts", worst, allowed, remedy)
        counts = counts.astype(np.int64)
        counts.setflags(write=False)
        object.__setattr__(self, "counts", counts)

    def __add__(self, other: Aggregate) -> Aggregate:
        if self.counts.shape != other.counts.shape:
            allowed = f"of the shape {self.counts.shape}"
            remedy = "Add counts of the same question only."
            raise InputError("counts", other.counts.shape, allowed, remedy)
        return Aggregate(self.users + other.users, self.counts + other.counts)
