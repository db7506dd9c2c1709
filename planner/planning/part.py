"""A question's part in a survey: its budgets and its share of them, and the people asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from planner.planning.ledger import Ledger
from planner.planning.what_if import scaled
from planner.policy.policy import PrivacyPolicy
from planner.survey.questions import ItemSet, Numeric, Question


@dataclass(frozen=True, slots=True)
class Spending:
    """What an answer of one level of one question tolerates in all, and spends here, in nats.

    ``left`` is what earlier collections have left of ``tolerated``. A numeric question has one
    budget for all; ``level`` is then the question's name.
    """

    question: str
    level: str
    tolerated: float
    left: float
    spent: float


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
    def deployed(self) -> Question:
        """The question with its share of the budgets."""
        if self.share == 1:
            return self.question
        spent = _with_policy(self.question, scaled(self.question.policy, self.share))
        if isinstance(spent, ItemSet) and spent.sets is not None and spent.sets.cap is not None:
            return spent.replacing(sets=spent.sets.replacing(cap=self.share * spent.sets.cap))
        return spent

    @property
    def spending(self) -> tuple[Spending, ...]:
        """What its answers spend, level by level."""
        names = self.tolerated.policy.names
        budgets = zip(names, _largest(self.tolerated), _largest(self.question), strict=True)
        name = self.tolerated.name
        return tuple(
            Spending(name, level, b, left, self.share * left) for level, b, left in budgets
        )

    @property
    def people(self) -> int:
        """Number of people who are asked this question."""
        return max(1, round(self.fraction * self.everybody))

    @property
    def whole(self) -> float:
        """What its total error is a share of: the people asked, or half the range of a mean."""
        return getattr(self.asked, "radius", 1.0) if self.asked.of_mean else self.people

    def total(self, error: float) -> float:
        """Squared error per person of the survey as a root, in people or in the mean's unit."""
        return self.whole * sqrt(error / self.everybody)


def with_budget_left(question: Question, ledger: Ledger) -> Question:
    """The question with what the ledger has left of its budgets.

    Raises
    ------
    InputError
        It has no budget, or nothing is left of it.
    """
    return _with_policy(question, ledger.left(question.policy))


def _with_policy(question: Question, policy: PrivacyPolicy) -> Question:
    if isinstance(question, Numeric):
        return question.replacing(epsilon=float(policy.epsilons[0]))
    levels = tuple(
        level.replacing(epsilon=float(epsilon))
        for level, epsilon in zip(question.levels, policy.epsilons, strict=True)
    )
    rule = policy.rule.plain(policy.epsilons)
    return question.replacing(levels=levels, rule=question.rule if policy.rule.by_level else rule)


def _largest(question: Question) -> Sequence[float]:
    """The most that any pair of a level's answers may spend."""
    policy = question.policy
    tolerated: list[float] = policy.rule.tolerated(policy.epsilons).tolist()
    return tolerated
