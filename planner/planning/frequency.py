"""Plan a categorical question: the best table, what else there is, and what to relax."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.errors import InputError
from planner.policy import MAX_EPSILON, PrivacyPolicy
from planner.solvers import BASELINES, baseline, solve
from planner.survey import Question, Survey
from planner.table import UnaryTable

__all__ = ["Plan", "QuestionPlan", "Relaxation", "plan_question", "plan_survey"]

MODELS = ("opt0", "opt1", "opt2")
_MOST_RELAXATIONS = 10


@dataclass(frozen=True, slots=True)
class Relaxation:
    """What it buys to raise one level's budget by ``amount`` nats.

    ``saving`` is the share of the total error that goes away, 0 to 1, from solving the
    relaxed problem, not from extrapolating the shadow price.
    """

    level: str
    amount: float
    saving: float


@dataclass(frozen=True, slots=True)
class QuestionPlan:
    """A question with its certified table and the tables it was compared with.

    Attributes
    ----------
    table:
        The chosen model's table.
    alternatives:
        Every model and baseline by name, the chosen one included.
    relaxations:
        For the levels with the highest shadow prices, best first.
    """

    question: Question
    table: UnaryTable
    alternatives: dict[str, UnaryTable]
    relaxations: tuple[Relaxation, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """A survey with a plan for each of its questions."""

    survey: Survey
    questions: tuple[QuestionPlan, ...]


def plan_survey(survey: Survey, model: str = "opt0", relax_by: float = 0.1) -> Plan:
    """Plan every question of a survey on its own, each with its levels' full budgets.

    Examples
    --------
    >>> from planner.survey import Level
    >>> levels = (Level("severe", 1.0, ("HIV",)), Level("common", 2.0, item_count=4))
    >>> plan = plan_survey(Survey("health", 1000, (Question("diagnosis", levels),)))
    >>> sorted(plan.questions[0].alternatives)
    ['opt0', 'opt1', 'opt2', 'oue', 'rappor']
    """
    return Plan(survey, tuple(plan_question(q, model, relax_by) for q in survey.questions))


def plan_question(question: Question, model: str = "opt0", relax_by: float = 0.1) -> QuestionPlan:
    """Solve every model for ``question``, choose ``model``, and price its budgets.

    Parameters
    ----------
    question:
        A categorical question.
    model:
        ``"opt0"``, ``"opt1"`` or ``"opt2"``.
    relax_by:
        Extra budget in nats that a relaxation gives to one level, above 0.

    Raises
    ------
    InputError
        Another kind of question, an unknown model, or ``relax_by`` not above 0.
    SolverError
        No certified table could be produced.
    """
    if question.kind != "categorical":
        remedy = "Plan a 'sampled-choice' question with: ldp-planner sampling SURVEY.toml"
        raise InputError(
            f"kind of question {question.name!r}", question.kind, "categorical", remedy
        )
    if model not in MODELS:
        raise InputError("model", model, f"one of {', '.join(MODELS)}")
    if not 0 < relax_by < MAX_EPSILON:
        raise InputError("relax_by", relax_by, f"above 0 and below {MAX_EPSILON:g}")
    policy = question.policy
    tables = {name: solve(policy, name) for name in MODELS}
    tables |= {name: baseline(policy, name) for name in BASELINES}
    chosen = tables[model]
    return QuestionPlan(question, chosen, tables, _relaxations(chosen, relax_by))


def _relaxations(table: UnaryTable, amount: float) -> tuple[Relaxation, ...]:
    policy, prices = table.policy, table.shadow_prices
    if prices is None or policy.rule_name == "matrix":
        return ()
    found = []
    for i in np.argsort(-prices)[:_MOST_RELAXATIONS]:
        epsilons = policy.epsilons.copy()
        if prices[i] <= 0 or epsilons[i] + amount > MAX_EPSILON:
            continue
        epsilons[i] += amount
        relaxed = PrivacyPolicy(epsilons, policy.item_counts, policy.rule)
        after = solve(relaxed, table.model, objective=table.objective).objective_value
        saving = max(0.0, 1 - after / table.objective_value)
        found.append(Relaxation(policy.names[i], amount, saving))
    return tuple(sorted(found, key=lambda relaxation: -relaxation.saving))
