"""What answers tolerate, have left and spend: the budgets of a survey's questions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError
from planner.planning.ledger import Ledger
from planner.planning.question_blocks import mean_model
from planner.planning.relax import scaled
from planner.policy import PrivacyPolicy
from planner.survey import Question

__all__ = ["Spending", "at_share", "spending_of", "with_budget_left"]


@dataclass(frozen=True, slots=True)
class Spending:
    """What an answer of one level of one question tolerates in all, and spends here, in nats.

    ``left`` is what earlier collections have left of ``tolerated``. A numeric question has one
    budget for all and no level: then ``level`` is the question's name.
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
        It cannot be planned in a whole survey, or nothing is left.
    """
    if question.kind == "sampled-choice":
        remedy = "Plan it with: ldp-planner sampling SURVEY.toml"
        allowed = "categorical, item-set or numeric"
        raise InputError(f"kind of question {question.name!r}", question.kind, allowed, remedy)
    if question.numeric is not None:
        epsilon, _ = mean_model(question, 1)
        one = ledger.left(PrivacyPolicy([epsilon], [1], names=[question.name]))
        return replace(question, numeric=replace(question.numeric, epsilon=float(one.epsilons[0])))
    return _with_policy(question, ledger.left(question.policy))


def at_share(question: Question, share: float) -> Question:
    """A choice or set question with ``share`` of its budgets."""
    return question if share == 1 else _with_policy(question, scaled(question.policy, share))


def spending_of(asked: Question, left: Question, share: float) -> list[Spending]:
    """What a question's answers spend at ``share`` of what is left, level by level."""
    if asked.numeric is not None and left.numeric is not None:
        rest = float(left.numeric.epsilon or 0.0)
        tolerated = asked.numeric.epsilon or rest
        return [Spending(asked.name, asked.name, tolerated, rest, share * rest)]
    before, after = (_largest(q.policy) for q in (asked, left))
    return [
        Spending(asked.name, name, float(a), float(b), float(share * b))
        for name, a, b in zip(asked.policy.names, before, after, strict=True)
    ]


def _with_policy(question: Question, policy: PrivacyPolicy) -> Question:
    levels = tuple(
        replace(level, epsilon=float(epsilon))
        for level, epsilon in zip(question.levels, policy.epsilons, strict=True)
    )
    rule = policy.rule
    matrix = rule if isinstance(rule, str) else tuple(tuple(row) for row in rule.tolist())
    return replace(question, levels=levels, rule=matrix)


def _largest(policy: PrivacyPolicy) -> NDArray[np.float64]:
    """The most that any pair of a level's answers may spend."""
    if isinstance(policy.rule, str):
        return policy.epsilons
    return np.max(np.where(np.isinf(policy.rule), 0.0, policy.rule), axis=1)
