"""The largest sampling probability within the budgets: a linear program with a closed form."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["closed_form", "place"]

Array = NDArray[np.float64]


def closed_form(budgets: Array, floor: float, cap: float) -> Array:
    """Best ``pi_s`` for budgets of shape ``(..., V + 1)``."""
    weights = _weights(budgets)
    values = 1 + weights[..., 1:].sum(axis=-1)
    return np.minimum(cap, np.minimum((1 - floor) / values, 1 / (values + weights[..., 0])))


def place(sampling: float, budgets: Array, floor: float) -> tuple[float, Array]:
    """``pi_0`` and the decoys: everything not sampled, in proportion to ``w_j``."""
    weights = _weights(budgets)
    rest = 1 - sampling
    zero = max(floor, float(rest * weights[0] / weights.sum()))
    return zero, (rest - zero) * weights[1:] / weights[1:].sum()


def _weights(budgets: Array) -> Array:
    return np.asarray(1 / np.expm1(budgets))  # 0 for an output that needs no budget
