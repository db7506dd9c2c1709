"""Estimated counts: how sure they are, and post-processing that says what it did."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError

__all__ = ["Estimates"]


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Unbiased estimates with standard errors.

    Attributes
    ----------
    values:
        Estimated quantities, shape ``(k,)``; for frequencies the number of users
        per item. Unbiased, hence possibly negative.
    standard_errors:
        Estimated standard deviation of each, same shape and unit.
    null_standard_errors:
        The standard deviation each would have if the truth were zero.
    users:
        Number of reports behind them, at least 1.
    """

    values: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    null_standard_errors: NDArray[np.float64]
    users: int

    def __post_init__(self) -> None:
        if self.users < 1:
            raise InputError("users", self.users, "at least 1", "Collect reports first.")
        for name in ("values", "standard_errors", "null_standard_errors"):
            column = np.array(getattr(self, name), dtype=np.float64)
            if column.ndim != 1 or column.shape != np.shape(self.values) or column.size == 0:
                raise InputError(name, column.shape, "a column, one number per estimate")
            if not np.isfinite(column).all() or (name != "values" and column.min() < 0):
                raise InputError(name, column, "finite; and, for standard errors, not negative")
            column.setflags(write=False)
            object.__setattr__(self, name, column)
