"""Blankets of subset designs; generalised randomised response and subset selection are such."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from planner.designs.output_types import OutputTypes
from planner.designs.subset_design import SubsetDesign
from planner.errors import InputError
from planner.mechanisms.design_grid import as_drawn
from planner.mechanisms.direct import GeneralizedRandomizedResponse
from planner.mechanisms.subset import SubsetSelection
from planner.outsiders.shuffling.blanket import Blanket

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class DesignReports:
    """A subset design: a type, and for every item the side that it stands on.

    All splits of a type are alike but for the sides of single items, so ``omega`` is the type's
    weight times the smallest likelihood of a side on which anybody stands, and the outcomes of a
    pair are the types with the sides of ``x`` and ``x'``: four a type.

    Examples of data sets: all others have the answer ``x``, or ``x'``, or a further one, of each
    level in turn.

    Parameters
    ----------
    types:
        The types, by level or group of levels.
    names:
        One name per level of the types.

    Examples
    --------
    >>> reports = DesignReports.of_selection(GeneralizedRandomizedResponse(1.0, items=10))
    >>> round(reports.blanket(0, 0).local_epsilon, 6), len(reports.examples(0, 0))
    (1.0, 3)
    """

    types: OutputTypes
    names: tuple[str, ...]

    @classmethod
    def of(cls, design: SubsetDesign) -> DesignReports:
        """The law of a design as its client rounds it.

        Raises
        ------
        VerificationError, InputError
            It cannot be drawn: see :func:`planner.mechanisms.design_grid.round_types`.
        """
        return cls(as_drawn(design).types, design.group_names)

    @classmethod
    def of_selection(
        cls, mechanism: SubsetSelection | GeneralizedRandomizedResponse
    ) -> DesignReports:
        """The law of subset selection as it is really drawn, or of its case of one item."""
        m, d = mechanism.items, getattr(mechanism, "size", 1)
        held = float(mechanism.a[0])
        low, high = (1 - held) * m / (m - d), held * m / d
        return cls(OutputTypes([m], [1.0], [[low]], [[high]], [[d]]), ("any answer",))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of answers of each level."""
        return tuple(int(count) for count in self.types.item_counts)

    def blanket(self, first: int, second: int) -> Blanket:
        """For two different answers of these levels, whatever others answer.

        Raises
        ------
        InputError
            Some answer never leads to a report that one of the pair can make.
        """
        types = self.types
        sides = np.where(types.low_counts > 0, types.low, types.high)
        hiding = sides.min(axis=1)
        sent = types.high[:, [first, second]].max(axis=1) > 0
        if np.any(sent & (hiding <= 0)):
            names = f"{self.names[first]!r}, {self.names[second]!r}"
            allowed = "connected to all others by finite pair budgets"
            raise InputError(f"levels {names}", "not", allowed, "Shuffling hides none of them.")
        return self._seen((first, second), hiding)

    def examples(self, first: int, second: int) -> list[Blanket]:
        """The same where all others have one given answer: each an exact delta of data sets."""
        pair = (first, second)
        blankets = [self._seen(pair, other=0), self._seen(pair, other=1)]
        for level, size in enumerate(self.sizes):
            if size > pair.count(level):
                blankets.append(self._seen((*pair, level), other=2))
        return blankets

    def _seen(self, levels: tuple[int, ...], other: int | Array) -> Blanket:
        """By the sides of different answers of these levels, the first two being the pair.

        ``other`` is what hides them: the number of one of these answers, or likelihoods by type.
        """
        masses: list[Array] = []
        first: list[Array] = []
        second: list[Array] = []
        for sides in product((0, 1), repeat=len(levels)):
            share = self._share(levels, sides)
            values = [self._values(*one) for one in zip(levels, sides, strict=True)]
            hiding = values[other] if isinstance(other, int) else other
            there = (share > 0) & (hiding > 0)
            masses.append((self.types.weights * hiding * share)[there])
            first.append(values[0][there] / hiding[there])
            second.append(values[1][there] / hiding[there])
        return Blanket(*map(np.concatenate, (masses, first, second))).merged()

    def _values(self, level: int, side: int) -> Array:
        return (self.types.high if side else self.types.low)[:, level]

    def _share(self, levels: Sequence[int], sides: Sequence[int]) -> Array:
        """Share of each type's splits with these answers on these sides, shape ``(n,)``."""
        counts = self.types.low_counts, self.types.high_counts
        share = np.ones(self.types.size)
        for place, (level, side) in enumerate(zip(levels, sides, strict=True)):
            before = [sides[k] for k in range(place) if levels[k] == level]
            left = counts[side][:, level] - before.count(side)
            share *= np.maximum(left, 0) / (self.sizes[level] - len(before))
        return share
