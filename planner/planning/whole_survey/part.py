"""A question's part in a survey: its budgets, its share of them, and the people who are asked."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from planner.planning.allocation.blocks import Block, error_of_sample
from planner.survey import Question

__all__ = ["Part"]


@dataclass(frozen=True, slots=True)
class Part:
    """A question's part in a survey, settled.

    Attributes
    ----------
    asked:
        As asked for in the survey.
    tolerated:
        With a budget, where that was left open.
    question:
        With the budgets left, and nothing open.
    share, fraction:
        Share of these budgets that it gets; share of the people who are asked it.
    everybody:
        Number of people who are asked anything.
    """

    asked: Question
    tolerated: Question
    question: Question
    share: float
    fraction: float
    everybody: int

    @property
    def people(self) -> int:
        """Number of people who are asked this question."""
        return max(1, round(self.fraction * self.everybody))

    def error(self, block: Block, error: float) -> float:
        """Squared error per user of the survey, from that if everybody were asked."""
        return max(error_of_sample(block, error, self.fraction), 0.0)

    def total(self, error: float) -> float:
        """The same as a root, in people of those who answer."""
        return self.people * sqrt(error / self.everybody)
