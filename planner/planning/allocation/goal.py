"""What an allocation minimises: the weighted sum of the errors, or the largest over its target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.errors import InputError
from planner.planning.allocation.blocks import Block

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Goal:
    """Weights of the questions' errors, and their targets for the minimax, else None; ``(k,)``."""

    weights: Array
    targets: Array | None = None

    @classmethod
    def of(
        cls, blocks: Sequence[Block], objective: str = "sum", targets: ArrayLike | None = None
    ) -> Goal:
        """The goal called ``objective`` for ``blocks``.

        Raises
        ------
        InputError
            Neither ``"sum"`` nor ``"minimax"``, or targets that do not fit.
        """
        if objective not in ("sum", "minimax"):
            raise InputError("objective", objective, '"sum" or "minimax"', "Choose one of them.")
        if (objective == "minimax") != (targets is not None):
            remedy = 'Give one target a question for "minimax"; leave targets out for "sum".'
            raise InputError("targets", targets, 'given for "minimax", and only for it', remedy)
        weights = np.array([block.weight for block in blocks])
        if targets is None:
            return cls(weights)
        wanted = np.asarray(targets, dtype=np.float64)
        if wanted.shape != weights.shape or not all(isfinite(t) and t > 0 for t in wanted):
            allowed = f"{weights.size} numbers above 0, one per question"
            remedy = "Give each question the error that it should reach."
            raise InputError("targets", targets, allowed, remedy)
        return cls(weights, wanted)

    def value(self, errors: Array) -> float:
        """The objective at these errors per user, shape ``(k,)``."""
        if self.targets is None:
            return float(self.weights @ errors)
        return float(np.max(errors / self.targets))
