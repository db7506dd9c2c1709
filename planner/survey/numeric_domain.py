"""The range of a numeric question, and its map to [-1, 1] where the mechanisms work."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from planner import arguments
from planner.arrays import Array
from planner.errors import InputError

_LEAST_WIDTH = 1e-100  # its square, and a share of it, must still be numbers
_LARGEST_BOUND = 1e100


@dataclass(frozen=True, slots=True)
class NumericDomain:
    """The range of a numeric question, mapped to ``[-1, 1]``.

    The bounds are numbers with ``lower < upper``, below 1e100 and at least 1e-100 apart, or an
    :class:`~planner.errors.InputError` is raised. With ``yes_no`` the only answers are ``lower``
    ("no") and ``upper`` ("yes"), and estimates report the share of "yes" too.

    Examples
    --------
    >>> age = NumericDomain(17, 90)
    >>> age.to_unit(np.array([17.0, 53.5, 90.0, np.nan])).tolist()
    [-1.0, 0.0, 1.0, nan]
    """

    lower: float = -1.0
    upper: float = 1.0
    yes_no: bool = False

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            object.__setattr__(self, name, arguments.finite(name, getattr(self, name)))
        if not self.lower < self.upper:
            remedy = "Swap the bounds, or widen the domain."
            raise InputError("lower", self.lower, f"below upper, which is {self.upper!r}", remedy)
        width, bound = self.upper - self.lower, max(-self.lower, self.upper)
        if not width >= _LEAST_WIDTH or bound > _LARGEST_BOUND:
            allowed = f"at least {_LEAST_WIDTH:g} apart from lower, both below {_LARGEST_BOUND:g}"
            raise InputError("upper", self.upper, allowed, "Measure in another unit.")

    @property
    def center(self) -> float:
        """The answer that maps to 0."""
        return self.lower / 2 + self.upper / 2

    @property
    def radius(self) -> float:
        """Half the width: one unit of ``[-1, 1]`` in the question's unit."""
        return (self.upper - self.lower) / 2

    def answers(self, values: ArrayLike, argument: str = "values") -> Array:
        """The values as a column of one or more numbers, each in the domain or NaN."""
        try:
            column = np.asarray(values)
        except (TypeError, ValueError):
            column = np.empty(0)
        masked = isinstance(values, np.ma.MaskedArray)  # asarray reveals what a mask hides
        if masked or column.dtype.kind not in "iuf" or column.ndim != 1 or column.size == 0:
            allowed = "a flat, plain list of numbers, one per user, at least one user"
            raise InputError(argument, values, allowed, "Use NaN for no answer.")
        low, high = self.lower, self.upper
        outside = (column < low) | (column > high)  # which NaN is not
        allowed = f"from {low:g} to {high:g}, or NaN for no answer"
        if self.yes_no:
            outside |= (column > low) & (column < high)
            allowed = f"{low:g} (no), {high:g} (yes) or NaN for no answer"
        for i in np.flatnonzero(outside)[:1]:
            remedy = "Clip it, correct it, or widen the domain before anybody is asked."
            raise InputError(f"{argument}[{i}]", float(column[i]), allowed, remedy)
        return column.astype(np.float64)

    def to_unit(self, values: Array) -> Array:
        """Map ``[lower, upper]`` to ``[-1, 1]``; NaN stays NaN."""
        share = (values - self.lower) / (self.upper - self.lower)
        return np.clip(2 * share - 1, -1.0, 1.0)
