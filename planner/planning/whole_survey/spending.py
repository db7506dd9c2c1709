"""What answers tolerate, have left and spend: the budgets of a survey's questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner.planning.budgets import scaled
from planner.planning.ledger import Ledger
from planner.planning.whole_survey.left_open import budgets_of
from planner.policy.policy import PrivacyPolicy
from planner.survey import Question

__all__ = ["Spending", "at_share", "spending_of", "with_budget_left"]


@dataclass(frozen=True, slots=True)
class Spending:
    """What an answer of one level of one question tolerates in all, and spends here, in nats.

    ``left`` is what earlier collections have left of ``tolerated``. A numeric question has one
    budget for all, or for all answers without a level of their own: then ``level`` is the
    question's name.
    """

    question: str
    level: str
    tolerated: float
    left: float
    spent: float


def with_budget_left(question: Question, ledger: Ledger) -> Question:
    """The question with what the ledger has left of its budgets.

    Raises
    ------
    InputError
        It has no budget, or nothing is left of it.
    """
    about = question.numeric
    if about is None:
        return _with_policy(question, ledger.left(question.policy))
    budgets = budgets_of(question)
    left = ledger.left(PrivacyPolicy(budgets, [1] * len(budgets), names=_names(question)))
    return replace(question, numeric=about.with_budgets(left.epsilons.tolist()))


def at_share(question: Question, share: float) -> Question:
    """A question with ``share`` of its budgets."""
    if question.numeric is not None:
        spent = [share * budget for budget in budgets_of(question)]
        return replace(question, numeric=question.numeric.with_budgets(spent))
    return question if share == 1 else _with_policy(question, scaled(question.policy, share))


def spending_of(asked: Question, left: Question, share: float) -> list[Spending]:
    """What a question's answers spend at ``share`` of what is left, level by level.

    ``asked`` has the budgets tolerated in all, ``left`` those that the ledger has left.
    """
    return [
        Spending(asked.name, name, tolerated, rest, share * rest)
        for name, tolerated, rest in zip(
            _names(asked), _largest(asked), _largest(left), strict=True
        )
    ]


def _with_policy(question: Question, policy: PrivacyPolicy) -> Question:
    levels = tuple(
        replace(level, epsilon=float(epsilon))
        for level, epsilon in zip(question.levels, policy.epsilons, strict=True)
    )
    rule = policy.rule.plain(policy.epsilons)
    return replace(question, levels=levels, rule=question.rule if policy.rule.by_level else rule)


def _names(question: Question) -> tuple[str, ...]:
    if question.numeric is None:
        return question.policy.names
    return (question.name, *(level.name for level in question.numeric.levels))


def _largest(question: Question) -> Sequence[float]:
    """The most that any pair of a level's answers may spend."""
    if question.numeric is not None:
        return budgets_of(question)
    policy = question.policy
    tolerated: list[float] = policy.rule.tolerated(policy.epsilons).tolist()
    return tolerated
