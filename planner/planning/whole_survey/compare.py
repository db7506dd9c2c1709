"""Two scenarios side by side, question by question and level by level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.frames import Framed
from planner.planning.whole_survey.plan import WholePlan
from planner.planning.whole_survey.planned_question import PlannedQuestion

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["ComparedRow", "Comparison", "compare_plans"]


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One figure of both scenarios; None where a scenario does not have it.

    ``question`` and ``level`` are empty where it is about all of them.
    """

    question: str
    level: str
    what: str
    first: float | None
    second: float | None

    @property
    def change(self) -> float | None:
        """Second over first, less 1."""
        if self.first is None or self.second is None or self.first == 0:
            return None
        return self.second / self.first - 1


@dataclass(frozen=True, slots=True, eq=False)
class Comparison(Framed):
    """Two plans and the figures that tell them apart."""

    plans: tuple[WholePlan, WholePlan]
    rows: tuple[ComparedRow, ...]

    @property
    def summary(self) -> str:
        """Which plans are compared."""
        return " against ".join(plan.survey.name for plan in self.plans) + "."

    def to_frame(self) -> DataFrame:
        """One row a figure that both plans, or one of them, have."""
        from pandas import DataFrame

        return DataFrame(
            {
                "question": [row.question for row in self.rows],
                "level": [row.level for row in self.rows],
                "what": [row.what for row in self.rows],
                "first": [row.first for row in self.rows],
                "second": [row.second for row in self.rows],
                "change": [row.change for row in self.rows],
            }
        )


def compare_plans(first: WholePlan, second: WholePlan) -> Comparison:
    """Compare two planned surveys; questions and levels are matched by name.

    Examples
    --------
    >>> from planner.planning.whole_survey.plan import plan_whole_survey
    >>> from planner.survey import Level, Question, Survey
    >>> def plan(epsilon):
    ...     question = Question("q", (Level("low", epsilon, item_count=4),))
    ...     return plan_whole_survey(Survey("s", 1000, (question,)))
    >>> row = compare_plans(plan(1.0), plan(2.0)).rows[1]
    >>> row.level, row.what, round(row.change, 3)
    ('low', 'nats spent', 1.0)
    """
    plans = (first, second)
    rows = [ComparedRow("", "", "most nats spent", *(p.most_spent for p in plans))]
    if first.several or second.several:
        values = [plan.objective_value for plan in plans]
        rows.append(ComparedRow("", "", "objective", *values))
    names = dict.fromkeys(q.question.name for plan in plans for q in plan.questions)
    for name in names:
        rows += _question_rows(name, *(_find(plan, name) for plan in plans))
    return Comparison(plans, tuple(rows))


def _find(plan: WholePlan, name: str) -> PlannedQuestion | None:
    return next((q for q in plan.questions if q.question.name == name), None)


def _question_rows(
    name: str, first: PlannedQuestion | None, second: PlannedQuestion | None
) -> list[ComparedRow]:
    pair = (first, second)
    levels = [_levels(question) for question in pair]
    rows = []
    for level in dict.fromkeys([*levels[0], *levels[1]]):
        for place, what in enumerate(("nats spent", "item error")):
            figures = [found[level][place] if level in found else None for found in levels]
            rows.append(ComparedRow(name, level, what, *figures))
    totals = [None if q is None else (q.error / (q.users / q.fraction)) ** 0.5 for q in pair]
    rows.append(ComparedRow(name, "", "total error", *totals))
    return rows


def _levels(question: PlannedQuestion | None) -> dict[str, tuple[float, float]]:
    """Per level: the budget spent, and the standard error of a rare item as a share."""
    if question is None or question.plan is None:
        return {}
    table = question.plan.table
    errors = table.standard_errors(question.users) / question.users
    errors = errors * (question.padding_length or 1)
    figures = zip(table.policy.epsilons.tolist(), errors.tolist(), strict=True)
    return dict(zip(table.policy.names, figures, strict=True))
