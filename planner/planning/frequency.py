"""Plan a categorical question: the best table, what else there is, and what to relax."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.designs.table import UnaryTable
from planner.errors import InputError
from planner.frames import Framed
from planner.planning.relax import Relaxation, relaxations
from planner.policy.objective import Objective
from planner.solvers import BASELINES, MODELS, baseline, model_named, solve
from planner.survey import Question, Survey

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Plan", "QuestionPlan", "Relaxation", "plan_question", "plan_survey"]


@dataclass(frozen=True, slots=True)
class QuestionPlan(Framed):
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

    @property
    def summary(self) -> str:
        """The question, and the table that was chosen."""
        return f"{self.question.name}: {self.table.summary}"

    def to_frame(self) -> DataFrame:
        """One row a table: the chosen one and those it was compared with, errors per user."""
        from pandas import DataFrame

        tables = self.alternatives.values()
        return DataFrame(
            {
                "table": list(self.alternatives),
                "chosen": [table is self.table for table in tables],
                "objective": [table.objective_value for table in tables],
                "worst_case_mse": [table.worst_case_mse for table in tables],
                "proven_gap": [getattr(t.certificate, "relative_gap", None) for t in tables],
            }
        )


@dataclass(frozen=True, slots=True)
class Plan(Framed):
    """A survey with a plan for each of its questions."""

    survey: Survey
    questions: tuple[QuestionPlan, ...]

    @property
    def summary(self) -> str:
        """What is collected from how many people."""
        return f"{self.survey.name}: {self.survey.users:,} people."

    def to_frame(self) -> DataFrame:
        """One row a level of a question: the columns of its table, after the question."""
        from pandas import DataFrame, concat

        tables = [plan.table.to_frame() for plan in self.questions]
        names = [plan.question.name for plan in self.questions]
        both = concat(tables, keys=names, names=["question", None])
        return DataFrame(both.reset_index("question"))


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


def plan_question(
    question: Question,
    model: str = "opt0",
    relax_by: float = 0.1,
    objective: Objective | None = None,
) -> QuestionPlan:
    """Solve every model for ``question``, choose ``model``, and price its budgets.

    Parameters
    ----------
    question:
        A question of the kind ``"categorical"`` or ``"item-set"``.
    model:
        ``"opt0"``, ``"opt1"`` or ``"opt2"``.
    relax_by:
        Extra budget in nats that a relaxation gives to one level, above 0.
    objective:
        What to minimise; the question's own when omitted.

    Raises
    ------
    InputError
        Another kind of question, an unknown model, or ``relax_by`` not above 0.
    SolverError
        No certified table could be produced.
    """
    if question.kind not in ("categorical", "item-set"):
        remedy = "Plan a 'sampled-choice' question with: ldp-planner sampling SURVEY.toml"
        raise InputError(
            f"kind of question {question.name!r}", question.kind, "categorical or item-set", remedy
        )
    model_named(model)  # before anything is solved
    policy = question.policy
    aim = objective or question.objective
    tables = {name: solve(policy, name, objective=aim) for name in MODELS}
    tables |= {name: baseline(policy, name) for name in BASELINES}
    chosen = tables[model]
    return QuestionPlan(question, chosen, tables, relaxations(chosen, relax_by))
