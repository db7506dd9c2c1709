"""Randomised response with two coins, also thinned by sampling (the toy construction)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.errors import InputError
from planner.mechanisms import inputs
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.frequency import FrequencyMechanism

_SILENT = 2
_GRID = 2**53  # Generator.random() draws multiples of 2^-53


@dataclass(frozen=True, slots=True)
class TwoCoinResponse(FrequencyMechanism):
    """Tell the truth if the first coin says so, else answer what the second coin says.

    Output law for the answers 0 (No) and 1 (Yes), with coins ``pi_1``, ``pi_2`` and
    the probability ``pi_s`` of taking part at all:

        Pr[1 | Yes] = pi_s (pi_1 + (1-pi_1) pi_2)      Pr[1 | No] = pi_s (1-pi_1) pi_2
        Pr[silent] = 1 - pi_s for both                 Pr[0 | .] the rest

    With ``pi_s = 1`` this is randomised response; below 1 it is the toy construction of
    section 3.3 (eq. 2, 3), with the estimator of eq. 5. Variance of the estimated Yes
    count: ``n b(1-b)/(a-b)^2 + c (1-a-b)/(a-b)`` with ``a = Pr[1 | Yes]`` and
    ``b = Pr[1 | No]``; it grows with the people who answer No.

    Source: Joy and Gerla, "Differential Privacy By Sampling", section 3 and appendix A.
    Its eq. 30 gives the loss of the output Yes only; the loss here is the larger of both
    outputs'. Silence says nothing about the answer, so sampling leaves the loss as it is.

    Parameters
    ----------
    first:
        ``pi_1``, probability of a truthful answer, above 0 and below 1.
    second:
        ``pi_2``, probability that the second coin says Yes, above 0 and below 1.
    sampling:
        ``pi_s``, probability of taking part, above 0 and at most 1.

    Raises
    ------
    InputError
        A probability is out of range.

    Examples
    --------
    >>> coins = TwoCoinResponse(0.8, 0.2)
    >>> round(float(np.exp(coins.privacy_loss())), 9)
    21.0
    >>> [round(float(x), 4) for x in np.exp(coins.output_losses)]
    [6.0, 21.0]
    """

    first: float
    second: float
    sampling: float = 1.0

    def __post_init__(self) -> None:
        for name, most in (("first", "below 1"), ("second", "below 1"), ("sampling", "at most 1")):
            value = getattr(self, name)
            number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            if not number or not (0 < value < 1 or (value == 1 and name == "sampling")):
                raise InputError(
                    name, value, f"a probability above 0 and {most}", "Write 75 % as 0.75."
                )
            drawn = round(float(value) * _GRID) / _GRID
            if drawn == 0:
                allowed = "at least 2^-53, the finest coin that is drawn"
                remedy = "Raise it: a coin this rare would never fall."
                raise InputError(name, value, allowed, remedy)
            object.__setattr__(self, name, drawn)  # what the loss is stated for is what is drawn

    @property
    def items(self) -> int:  # type: ignore[override]
        """The two answers, 0 (No) and 1 (Yes)."""
        return 2

    @property
    def a(self) -> NDArray[np.float64]:
        """Probability of reporting No if No, and Yes if Yes, shape ``(2,)``."""
        lie = 1 - self.first
        honest = np.array([self.first + lie * (1 - self.second), self.first + lie * self.second])
        return self.sampling * honest

    @property
    def b(self) -> NDArray[np.float64]:
        """Probability of reporting No if Yes, and Yes if No, shape ``(2,)``."""
        lie = 1 - self.first
        return self.sampling * lie * np.array([1 - self.second, self.second])

    @property
    def output_losses(self) -> NDArray[np.float64]:
        """What a reported No and a reported Yes say, ``ln(a / b)``, shape ``(2,)``, in nats."""
        return np.log(self.a) - np.log(self.b)

    def privacy_loss(self) -> float:
        """The larger of both outputs' losses, in nats."""
        return float(self.output_losses.max())

    def perturb(self, values: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """Reports 0 (No), 1 (Yes) or 2 (silent), int64, shape ``(n,)``."""
        answers = inputs.item_numbers(values, 2)
        coins = inputs.generator(rng).random((3, answers.size))
        told = np.where(coins[0] < self.first, answers, coins[1] < self.second)
        return np.where(coins[2] < self.sampling, told, _SILENT)

    def aggregate(self, reports: ArrayLike) -> Aggregate:
        """Number of No and of Yes, shape ``(2,)``; the silent ones count as users."""
        numbers = inputs.item_numbers(reports, 3, "reports")
        return Aggregate(numbers.size, np.bincount(numbers, minlength=3)[:_SILENT])

    def output_law(self) -> NDArray[np.float64]:
        """``Pr[report | answer]``, shape ``(2, 3)``: No, Yes, silent."""
        (no_no, yes_yes), (no_yes, yes_no) = self.a, self.b
        silent = 1 - self.sampling
        return np.array([[no_no, yes_no, silent], [no_yes, yes_yes, silent]])

    def report_index(self, reports: ArrayLike) -> NDArray[np.int64]:
        """The report itself."""
        return inputs.item_numbers(reports, 3, "reports")
