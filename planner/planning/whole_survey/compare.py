"""Two scenarios side by side, question by question and level by level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from planner.frames import Framed
from planner.planning.whole_survey.plan import SurveyPlan
from planner.planning.whole_survey.question_plan import QuestionPlan

COMPARED_ERRORS = (
    "Errors are in per cent of the people who answer (of half the range for a mean): total over "
    "all items, or of one rare item of a level. Of every figure the smaller is better."
)


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One figure of both scenarios; None where a scenario does not have it.

    Errors are in per cent of the people who answer, of a mean of half its range.
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison(Framed):
    """Two plans and the figures that tell them apart."""

    plans: tuple[SurveyPlan, SurveyPlan]
    rows: tuple[ComparedRow, ...]

    @property
    def summary(self) -> str:
        """Which plans are compared."""
        return " against ".join(plan.survey.name for plan in self.plans) + "."

    def columns(self) -> dict[str, Any]:
        """One row a figure that both plans, or one of them, have."""
        names = ("question", "level", "what", "first", "second", "change")
        return {name: [getattr(row, name) for row in self.rows] for name in names}


def compare_plans(first: SurveyPlan, second: SurveyPlan) -> Comparison:
    """Compare two planned surveys; questions and levels are matched by name.

    Examples
    --------
    >>> from planner.planning.whole_survey.plan import plan_survey
    >>> from planner.survey.questions import Level, Categorical, Survey
    >>> def plan(epsilon):
    ...     question = Categorical("q", (Level("low", epsilon, item_count=4),))
    ...     return plan_survey(Survey("s", 1000, (question,)))
    >>> row = compare_plans(plan(1.0), plan(2.0)).rows[1]
    >>> row.level, row.what, round(row.change, 3)
    ('low', 'nats spent', 1.0)
    """
    plans = (first, second)
    rows = [ComparedRow("", "", "most nats spent", *(p.most_spent for p in plans))]
    if first.several or second.several:
        values = [None if p.allocation is None else p.objective_value for p in plans]
        rows.append(ComparedRow("", "", "objective", *values))
    names = dict.fromkeys(q.name for plan in plans for q in plan.questions)
    for name in names:
        rows += _question_rows(name, *(_find(plan, name) for plan in plans))
    return Comparison(plans, tuple(rows))


def _find(plan: SurveyPlan, name: str) -> QuestionPlan | None:
    return next((q for q in plan.questions if q.name == name), None)


def _question_rows(
    name: str, first: QuestionPlan | None, second: QuestionPlan | None
) -> list[ComparedRow]:
    pair = (first, second)
    levels = [_levels(question) for question in pair]
    rows = []
    for level in dict.fromkeys([*levels[0], *levels[1]]):
        for place, what in enumerate(("nats spent", "item error, %")):
            figures = [found[level][place] if level in found else None for found in levels]
            rows.append(ComparedRow(name, level, what, *figures))
    shares = [None if q is None else 100 * q.error_share for q in pair]
    rows.append(ComparedRow(name, "", "total error, %", *shares))
    return rows


def _levels(question: QuestionPlan | None) -> dict[str, tuple[float, float]]:
    """Per level: the budget spent, and the standard error of a rare item in per cent."""
    if question is None or question.levels is None:
        return {}
    found = question.levels
    figures = zip(found.epsilons.tolist(), found.percent.tolist(), strict=True)
    return dict(zip(found.names, figures, strict=True))
