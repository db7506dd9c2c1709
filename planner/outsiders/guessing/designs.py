"""The best guess from one report of a subset design."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.designs.output_types import OutputTypes
from planner.designs.subset_design import SubsetDesign
from planner.mechanisms.design_grid import as_drawn
from planner.mechanisms.unary import levels_of_items
from planner.outsiders.guessing.reidentification import Likelihoods

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class DesignGuessing:
    """A type of report, and for every item the side that it stands on.

    In a type the likeliest answer of a level is its likeliest item on the high side, with chance
    ``prior high``, or its likeliest item at all, with ``prior low``. Levels are split
    independently, so success is the type's weight times the mean of the largest of these, added
    up over the types; it is linear in the weights.

    Parameters
    ----------
    types:
        The types, by level or group of levels.
    level_of:
        Level of each item in the types, shape ``(items,)``.

    Examples
    --------
    >>> from planner import PrivacyPolicy, best_design
    >>> law = DesignGuessing.of(best_design(PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])))
    >>> round(law.success(np.full(100, 0.01)), 4)
    0.0236
    """

    types: OutputTypes
    level_of: NDArray[np.int64]

    @classmethod
    def of(cls, design: SubsetDesign) -> DesignGuessing:
        """The law of a design as its client rounds it; items are numbered through the levels.

        Raises
        ------
        VerificationError, InputError
            It cannot be drawn: see :func:`planner.mechanisms.design_grid.round_types`.
        """
        return cls(as_drawn(design).types, design.groups[levels_of_items(None, design.policy)])

    @property
    def items(self) -> int:
        """Number of answers."""
        return self.level_of.size

    def success(self, prior: Array) -> float:
        """As the class says, for a prior of shape ``(items,)``."""
        levels = range(self.types.item_counts.size)
        falling = [np.sort(prior[self.level_of == i])[::-1] for i in levels]
        total = 0.0
        for o, weight in enumerate(self.types.weights.tolist()):
            sides = zip(
                self.types.low[o], self.types.high[o], self.types.high_counts[o], strict=True
            )
            columns = [_likeliest(column, *one) for column, one in zip(falling, sides, strict=True)]
            total += weight * _mean_of_largest(columns)
        return total

    def likelihoods(self) -> Likelihoods:
        """One kind a type."""
        types = self.types
        counts = np.hstack([types.low_counts, types.high_counts])
        sides = np.where(counts > 0, np.hstack([types.low, types.high]), 0.0)
        return Likelihoods.of(types.weights, sides, counts / self.items)


def _likeliest(prior: Array, low: float, high: float, high_count: int) -> tuple[Array, Array]:
    """Rising values of ``max prior v`` over a level's items, and the chances not to exceed them.

    The k-th likeliest item is the first on the high side if those before it all are on the low.
    """
    items = prior.size
    least = low * prior[0]
    if high_count == 0:
        return np.array([least]), np.ones(1)
    place = np.arange(items - high_count + 1)
    later = np.cumprod(1 - high_count / (items - place))  # no such item up to this one
    values = np.maximum(high * prior[: place.size], least)
    # Not above the k-th value: nobody before it is on the high side.
    at_most = np.concatenate([[1.0], later[:-1]])
    return values[::-1], at_most[::-1]


def _mean_of_largest(columns: list[tuple[Array, Array]]) -> float:
    """Mean of the largest of independent numbers, given by values and distribution functions."""
    values = np.unique(np.concatenate([column for column, _ in columns]))
    at_most = np.ones(values.size)
    for column, chances in columns:
        place = np.searchsorted(column, values, side="right")
        at_most *= np.concatenate([[0.0], chances])[place]
    return float(values @ np.diff(at_most, prepend=0.0))
