"""What is predicted of a numeric question: its errors over budgets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.frames import Framed

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AnswerRateCurve(Framed):
    """Predictions for BiSample-MD over budgets; all columns of shape ``(k,)``.

    Attributes
    ----------
    epsilon:
        Budgets in nats.
    answer_rate:
        Share of people who answer.
    mean_rmse:
        Root mean squared error of the estimated mean against the population's, in the
        question's unit; ``inf`` where nobody answers.
    missing_rate_rmse:
        Root mean squared error of the estimated missing rate.
    reliable:
        The answer rate is at least five standard errors above 0, so that a ratio of
        estimates behaves as its first-order variance says.
    """

    epsilon: Array
    answer_rate: Array
    mean_rmse: Array
    missing_rate_rmse: Array
    reliable: NDArray[np.bool_]

    @property
    def summary(self) -> str:
        """Which budgets the rows are for."""
        return f"BiSample-MD at {self.epsilon.size} budgets."

    def columns(self) -> dict[str, Any]:
        """One row a budget, a column an attribute."""
        names = ("epsilon", "answer_rate", "mean_rmse", "missing_rate_rmse")
        return {name: getattr(self, name) for name in (*names, "reliable")}


class ForcedAnswerCurve(NamedTuple):
    """Predictions for a mechanism that forces an answer, in the question's unit, ``(k,)``."""

    epsilon: Array
    bias: Array
    rmse: Array
