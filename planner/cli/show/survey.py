"""The plan of a survey, and of two side by side."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from planner.cli.output import more, number, table
from planner.cli.show.outsiders import outsiders_document
from planner.cli.show.question import question_document, show_answer, show_question
from planner.deployment.parameter_file.parameters import Parameters
from planner.planning.allocation.plan import Allocation
from planner.planning.whole_survey.cautions import survey_cautions
from planner.planning.whole_survey.compare import COMPARED_ERRORS, Comparison
from planner.planning.whole_survey.plan import SurveyPlan
from planner.planning.whole_survey.sentences import (
    ALLOCATION_ERRORS,
    design_sentence,
    objective_sentence,
    percent,
    shares_sentence,
    spending_sentence,
)

_MOST_QUESTIONS = 5
_MOST_ROWS = 100


def show_survey_plan(console: Console, plan: SurveyPlan) -> None:
    """Print a planned survey: what the questions share, then one by one."""
    _show_head(console, plan)
    if plan.several:
        console.print()
        _show_allocation(console, plan)
    for question in plan.questions:
        console.print()
        show_question(console, question, len(plan.questions) > 1)


def show_survey_answer(console: Console, plan: SurveyPlan) -> None:
    """Print a planned survey on one screen: of each question what matters most."""
    _show_head(console, plan)
    if plan.several:
        console.print(design_sentence(plan))
    for question in plan.questions[:_MOST_QUESTIONS]:
        console.print()
        show_answer(console, question, len(plan.questions) > 1)
    more(console, len(plan.questions), _MOST_QUESTIONS, "questions (see --details)")
    console.print()


def _show_head(console: Console, plan: SurveyPlan) -> None:
    survey = plan.survey
    console.print(Text.assemble((survey.name, "bold"), f": {survey.users:,} people"))
    for sentence in survey_cautions(plan):
        console.print(f"Note. {sentence}")


def survey_document(plan: SurveyPlan, parameters: Parameters | None) -> dict[str, Any]:
    """A planned survey as JSON-ready data; ``parameters`` is null where there is no one file."""
    return {
        "parameters": None if parameters is None else parameters.document,
        "outsiders": outsiders_document(plan.outsiders()),
        "questions": [question_document(question) for question in plan.questions],
        "survey": {
            "design": plan.survey.design,
            "most_spent": plan.most_spent,
            "spending": [asdict(row) for row in plan.spending],
            "sharing": [asdict(row) for row in plan.sharing],
            "allocation": None if plan.allocation is None else _allocation(plan.allocation),
        },
    }


def show_comparison(console: Console, found: Comparison, names: tuple[str, str]) -> None:
    """Print both scenarios side by side."""
    title = f"A: {names[0]}   B: {names[1]}"
    view = table(title, ("question", "level", "figure"), ("A", "B", "B against A"))
    before = ("", "")
    for row in found.rows[:_MOST_ROWS]:
        if row.question != before[0]:
            view.add_section()
        question = "" if row.question == before[0] else row.question
        level = "" if (row.question, row.level) == before else row.level
        change = "" if row.change is None else f"{row.change:+.1%}"
        view.add_row(question, level, row.what, number(row.first, 5), number(row.second, 5), change)
        before = (row.question, row.level)
    console.print(view)
    more(console, len(found.rows), _MOST_ROWS, "figures (see --json)")
    console.print(COMPARED_ERRORS)


def comparison_document(found: Comparison) -> list[dict[str, Any]]:
    """The figures, JSON-ready."""
    return [
        {
            "question": row.question,
            "level": row.level,
            "figure": row.what,
            "first": row.first,
            "second": row.second,
            "change": row.change,
        }
        for row in found.rows
    ]


def _show_allocation(console: Console, plan: SurveyPlan) -> None:
    asked = 1 if plan.allocation is None else plan.allocation.some_each.asked
    each = "one" if asked == 1 else f"{asked}"
    headings = ("split: share", "error", f"{each} each: asked", "error")
    view = table("One survey, one budget a person", ("question",), headings)
    for row in plan.sharing:
        split, some = percent(row.error), percent(row.error_of_some)
        view.add_row(row.question, f"{row.share:.1%}", split, f"{row.fraction:.1%}", some)
    console.print(view)
    console.print(ALLOCATION_ERRORS)
    for sentence in (design_sentence(plan), objective_sentence(plan), shares_sentence(plan)):
        console.print(sentence)
    console.print()
    _show_spending(console, plan)


def _show_spending(console: Console, plan: SurveyPlan) -> None:
    earlier = any(row.left < row.tolerated for row in plan.spending)
    headings = ["tolerated", *(["left by the ledger"] if earlier else []), "spent here"]
    view = table("What an answer spends, nats", ("question", "level"), headings)
    for row in plan.spending:
        left = [f"{row.left:.4f}"] if earlier else []
        figures = (f"{row.tolerated:.4f}", *left, f"{row.spent:.4f}")
        view.add_row(row.question, row.level, *figures)
    console.print(view)
    console.print(spending_sentence(plan))


def _allocation(found: Allocation) -> dict[str, Any]:
    return {
        "better_design": found.better,
        "reason": found.reason,
        "objective": found.objective,
        "split": {
            "shares": found.shares.tolist(),
            "errors": found.errors.tolist(),
            "value": found.value,
            "lower_bound": found.lower_bound,
            "relative_gap": found.relative_gap,
        },
        "some_each": {
            "asked": found.some_each.asked,
            "best_asked": found.best_each.asked,
            "fractions": found.some_each.fractions.tolist(),
            "errors": found.some_each.errors.tolist(),
            "value": found.some_each.value,
            "perturbation_alone": found.some_each.noise_value,
        },
    }
