"""Two planned surveys side by side: budgets and errors, matched by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planner.planning.by_level import ByLevel
from planner.planning.plan import SurveyPlan
from planner.planning.question import QuestionPlan


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


def compare_plans(first: SurveyPlan, second: SurveyPlan) -> tuple[ComparedRow, ...]:
    """Compare two planned surveys; questions and levels are matched by name.

    Examples
    --------
    >>> from planner import Categorical, Level, Survey, plan_survey
    >>> def plan(epsilon):
    ...     asked = Categorical("q", (Level("low", epsilon, item_count=4),))
    ...     return plan_survey(Survey("s", 1000, (asked,)))
    >>> row = compare_plans(plan(1.0), plan(2.0))[2]
    >>> row.level, row.what, round(row.change, 3)
    ('low', 'spent (epsilon)', 1.0)
    """
    plans = (first, second)
    # What is said against answers is compared where either plan has budgets of its own for it.
    sided = False
    for plan in plans:
        for question in plan.questions:
            sided |= question.deployed.policy.against is not None
    first_figures = _figures(first, against=sided)
    second_figures = _figures(second, against=sided)
    # Those of both, each once and in the order in which it is first met.
    keys = list(dict.fromkeys([*first_figures, *second_figures]))
    # A question's figures stand together.
    order = list(dict.fromkeys(question for question, _, _ in keys))
    keys.sort(key=lambda key: order.index(key[0]))
    rows = []
    for key in keys:
        (name, level, what) = key
        before = first_figures.get(key)
        after = second_figures.get(key)
        rows.append(ComparedRow(name, level, what, before, after))
    return tuple(rows)


def _figures(plan: SurveyPlan, *, against: bool) -> dict[tuple[str, str, str], float]:
    """The figures of a plan in its order, by question, level and what each is.

    Question and level are blank where a figure is about all of them. With ``against``, what reports
    say against answers is one of a level's figures.
    """
    figures: dict[tuple[str, str, str], float] = {}
    figures["", "", "people"] = plan.questions[0].part.everybody
    figures["", "", "most spent (epsilon)"] = plan.most_spent
    if plan.objective_value is not None:
        figures["", "", "objective"] = plan.objective_value
    for question in plan.questions:
        for level, what, figure in _of_question(question, against=against):
            figures[question.name, level, what] = figure
    return figures


def _of_question(
    question: QuestionPlan, *, against: bool
) -> Iterator[tuple[str, str, float]]:
    """The figures of a question: the level, or "" for all of them, and what each is."""
    levels = question.fact(ByLevel)
    if levels is not None:
        for i, level in enumerate(levels.names):
            yield level, "spent (epsilon)", float(levels.epsilons[i])
            if against:
                said_against = float(question.leakage[1, i])
                yield level, "said against (epsilon)", said_against
            yield level, "item error, %", float(levels.percent[i])
    yield "", "total error, %", 100 * question.error_share
    moves = question.moves
    if moves is not None:
        # A count moves by people, a mean by its own unit.
        unit = "people" if moves.unit else "in its unit"
        yield "", f"one false report, {unit}", moves.most
        if moves.of_answering is not None:
            most = moves.of_answering.most
            yield "", "one false report, times who answer", most
    part = question.part
    if question.again is not None:
        for what, stays, anew in question.again.beside:
            percent_stays = 100 * part.total(stays) / part.whole
            yield "", f"{what}, %", percent_stays
            percent_anew = 100 * part.total(anew) / part.whole
            yield "", f"{what}, answers drawn anew, %", percent_anew
