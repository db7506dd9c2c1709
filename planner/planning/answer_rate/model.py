"""What budget to ask for, when a larger one means less noise but fewer answers.

``theta = tanh(eps/2)`` rises with the budget and the answer rate ``R(eps)`` falls, so
there is a best budget ``eps*``. Everything here is predicted before any data, for
people drawn at random from a large population and to first order in ``1/n``
(:func:`planner.mechanisms.bisample_variance.first_order`).

Source: BiSample paper, sections 4 and 5.2; its TOP and RND users give fake answers
to a mechanism that forces one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import positive_numbers, whole_number
from planner.errors import InputError
from planner.limits import MAX_EPSILON
from planner.mechanisms.bisample_variance import first_order
from planner.mechanisms.forced_answer import FAKE_ANSWERS
from planner.mechanisms.piecewise import piecewise_variance
from planner.planning.answer_rate.best_budget import BestBudget, find_best
from planner.planning.answer_rate.predictions import AnswerRateCurve, ForcedAnswerCurve
from planner.survey.numeric_domain import NumericDomain
from planner.survey.preferences import Preferences

Array = NDArray[np.float64]
_RELIABLE = 5.0  # standard errors between the answer rate and 0


@dataclass(frozen=True, slots=True, eq=False)
class AnswerRateModel:
    """A numeric question, the people asked, and how much epsilon they tolerate.

    Parameters
    ----------
    preferences:
        Distribution of the largest epsilon that a person tolerates.
    users:
        Number of people asked, at least 1.
    domain:
        Range of the answers; ``[-1, 1]`` when omitted.
    mean:
        Expected mean of all people's answers, in the question's unit; the middle of the
        domain when omitted.
    sd:
        Expected standard deviation, in the question's unit; Piecewise alone uses it. When omitted
        it is the largest possible, that of answers at the ends of the domain. Always that for a
        yes/no question.

    Raises
    ------
    InputError
        A number is out of range.

    Examples
    --------
    >>> from planner.survey.preferences import NormalPreferences
    >>> model = AnswerRateModel(NormalPreferences(5, 1.5), users=100_000, mean=0.5)
    >>> best = model.best()
    >>> round(best.epsilon, 3), round(best.answer_rate, 3)
    (3.157, 0.89)
    >>> round(best.flat_lower, 2), round(best.flat_upper, 2)
    (2.48, 3.88)
    """

    preferences: Preferences
    users: int
    domain: NumericDomain = field(default_factory=NumericDomain)
    mean: float | None = None
    sd: float | None = None

    def __post_init__(self) -> None:
        whole_number("users", self.users)
        lower, upper = self.domain.lower, self.domain.upper
        if self.mean is not None and not lower <= self.mean <= upper:
            remedy = "Give the expected mean of the answers, within their range."
            raise InputError("mean", self.mean, f"from {lower:g} to {upper:g}", remedy)
        largest = self.domain.radius * np.sqrt(1 - self.unit_mean**2)
        if self.sd is not None and not 0 <= self.sd <= largest * (1 + 1e-9):
            allowed = f"from 0 to {largest:.6g}, the largest for this mean and range"
            raise InputError("sd", self.sd, allowed, "Lower sd, or leave it out.")

    def curve(self, epsilons: ArrayLike | None = None) -> AnswerRateCurve:
        """Predictions at these budgets, or at 200 budgets up to where 1 % still answer.

        Raises
        ------
        InputError
            A budget outside 0 to 50.
        """
        epsilon = self._budgets(epsilons)
        rate = self.preferences.answer_rate(epsilon)
        variance = first_order(np.tanh(epsilon / 2), rate, self.unit_mean, self.users)
        rate_error = np.sqrt(variance.missing_rate)
        return AnswerRateCurve(
            epsilon,
            rate,
            self.domain.radius * np.sqrt(variance.mean),
            rate_error,
            rate >= _RELIABLE * rate_error,
        )

    def best(
        self, tolerance: float = 0.05, lowest: float = 0.01, highest: float = MAX_EPSILON
    ) -> BestBudget:
        """The budget with the smallest error of the mean, and how flat the error is around it.

        There is no such budget for the missing rate: it is another quantity at each
        budget, and known best (100 %) where nobody answers.

        Parameters
        ----------
        tolerance:
            The flat region is where the error stays within this share of the best.
        lowest, highest:
            Budgets to consider, in nats.

        Raises
        ------
        InputError
            An argument out of range, or nobody answers at any of these budgets.
        """

        def error(epsilon: Array) -> Array:
            return self.curve(epsilon).mean_rmse

        found = find_best(error, self.preferences.kinks, (lowest, highest), tolerance)
        at = self.curve([found.epsilon])
        return found.with_rate(float(at.answer_rate[0]), bool(at.reliable[0]))

    def forced(
        self, mechanism: str, fake_answer: str, epsilons: ArrayLike | None = None
    ) -> ForcedAnswerCurve:
        """Predictions for a mechanism that forces an answer, with its bias.

        With ``mu`` the mean on ``[-1, 1]`` the bias of the mean is
        ``(1 - R)(1 - mu)`` for ``"top"`` and ``-(1 - R) mu`` for ``"random"``.

        Parameters
        ----------
        mechanism:
            ``"harmony"`` (and BiSample, which has the same error) or ``"piecewise"``.
        fake_answer:
            ``"top"`` (the paper's TOP) or ``"random"`` (its RND).
        epsilons:
            Budgets in nats; as for :meth:`curve` when omitted.

        Raises
        ------
        InputError
            An unknown name or a budget outside 0 to 50.
        """
        if mechanism not in ("harmony", "piecewise"):
            remedy = "Choose one of them."
            raise InputError("mechanism", mechanism, '"harmony" or "piecewise"', remedy)
        if fake_answer not in FAKE_ANSWERS:
            raise InputError("fake_answer", fake_answer, '"random" or "top"', "Choose one of them.")
        epsilon = self._budgets(epsilons)
        rate = self.preferences.answer_rate(epsilon)
        fake_mean, fake_square = (1.0, 1.0) if fake_answer == "top" else (0.0, 1 / 3)
        mean = rate * self.unit_mean + (1 - rate) * fake_mean
        square = rate * self._mean_square + (1 - rate) * fake_square
        noise = (
            1 / np.tanh(epsilon / 2) ** 2 - square
            if mechanism == "harmony"
            else piecewise_variance(epsilon, square)
        )
        variance = (noise + square - mean * mean) / self.users
        bias = mean - self.unit_mean
        radius = self.domain.radius
        return ForcedAnswerCurve(epsilon, radius * bias, radius * np.sqrt(variance + bias * bias))

    def usual_budgets(self) -> Array:
        """Two hundred budgets up to where 1 % of the people still answer."""
        last = float(self.preferences.quantile(0.99))
        highest = min(MAX_EPSILON, last) if last > 0.1 else 1.0
        return np.linspace(highest / 200, highest, 200)

    @property
    def unit_mean(self) -> float:
        """Expected mean of all people's answers on ``[-1, 1]``."""
        if self.mean is None:
            return 0.0
        return float(self.domain.to_unit(np.array([self.mean]))[0])

    def _budgets(self, epsilons: ArrayLike | None) -> Array:
        if epsilons is None:
            return self.usual_budgets()
        return positive_numbers("epsilons", epsilons, MAX_EPSILON)

    @property
    def _mean_square(self) -> float:
        """Of all people's answers on ``[-1, 1]``."""
        variance = 1 - self.unit_mean**2
        if self.sd is not None and not self.domain.yes_no:
            variance = min(variance, (self.sd / self.domain.radius) ** 2)
        return variance + self.unit_mean**2
