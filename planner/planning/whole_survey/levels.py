"""The levels of a planned question: what a report does, and how exact it is, level by level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.frames import Framed

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Levels(Framed):
    """One entry per level, ``t`` in all.

    Attributes
    ----------
    names:
        The levels.
    items:
        Number of items of each, shape ``(t,)``.
    epsilons:
        Budget that is spent, in nats, shape ``(t,)``.
    a, b:
        Probability that a report supports an item that was drawn (the person's answer, or one
        of their set), and one that was not, shape ``(t,)``.
    standard_errors:
        Standard error of the estimated count of a rare item, in people of those who answer; the
        padding length of sets is included; shape ``(t,)``.
    percent:
        The same in per cent of those who answer, shape ``(t,)``.
    detectable:
        Smallest share of those who answer at which an item is told apart from one that nobody
        has (one-sided 95 % test, power 80 %), shape ``(t,)``; None for sets.
    saturated:
        Whether more budget of this level would gain nothing, shape ``(t,)``.
    prices:
        By how many people the question's error falls per nat of extra budget, for a small
        step; shape ``(t,)``; None where that is not known.
    """

    names: tuple[str, ...]
    items: NDArray[np.int64]
    epsilons: Array
    a: Array
    b: Array
    standard_errors: Array
    percent: Array
    detectable: Array | None
    saturated: NDArray[np.bool_]
    prices: Array | None

    @property
    def summary(self) -> str:
        """How many levels and items there are."""
        return f"{len(self.names):,} levels, {int(self.items.sum()):,} items."

    def columns(self) -> dict[str, Any]:
        """One row a level, a column an attribute; ``nan`` where something is not known."""
        return {
            "level": self.names,
            "items": self.items,
            "epsilon": self.epsilons,
            "a": self.a,
            "b": self.b,
            "standard_error": self.standard_errors,
            "percent": self.percent,
            "detectable": np.nan if self.detectable is None else self.detectable,
            "saturated": self.saturated,
            "price": np.nan if self.prices is None else self.prices,
        }
