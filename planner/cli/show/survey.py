"""The plan of a whole survey."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from planner.cli.output import number, table
from planner.cli.show.question import question_document, show_question
from planner.deployment.parameter_file.parameters import Parameters
from planner.planning.whole_survey.plan import WholePlan
from planner.planning.whole_survey.sentences import design_sentence, spending_sentence

__all__ = ["show_whole_plan", "whole_document"]


def show_whole_plan(console: Console, plan: WholePlan) -> None:
    """Print a planned survey: the questions, then what they share."""
    survey = plan.survey
    console.print(Text.assemble((survey.name, "bold"), f": {survey.users:,} users"))
    if plan.several:
        console.print()
        _show_allocation(console, plan)
    for question in plan.questions:
        console.print()
        show_question(console, question, plan.several)


def whole_document(plan: WholePlan, parameters: Parameters | None) -> dict[str, Any]:
    """A planned survey as JSON-ready data; ``parameters`` is null where there is no one file."""
    found = plan.allocation
    return {
        "parameters": None if parameters is None else parameters.document,
        "questions": [question_document(question) for question in plan.questions],
        "survey": {
            "design": plan.survey.design,
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
            "one_each": {
                "fractions": found.one_each.fractions.tolist(),
                "errors": found.one_each.errors.tolist(),
                "value": found.one_each.value,
                "perturbation_alone": found.one_each.noise_value,
            },
            "most_spent": plan.most_spent,
            "spending": [
                {
                    "question": row.question,
                    "level": row.level,
                    "tolerated": row.tolerated,
                    "left": row.left,
                    "spent": row.spent,
                }
                for row in plan.spending
            ],
        },
    }


def _show_allocation(console: Console, plan: WholePlan) -> None:
    found, each = plan.allocation, plan.allocation.one_each
    headings = ("split: share", "error", "one each: asked", "error")
    view = table("One survey, one budget a person", ("question",), headings)
    for j, question in enumerate(plan.questions):
        view.add_row(
            question.question.name,
            f"{found.shares[j]:.1%}",
            number(found.errors[j], 5),
            f"{each.fractions[j]:.1%}",
            number(each.errors[j], 5),
        )
    name = "weighted sum" if found.objective == "sum" else "largest error / target"
    view.add_section()
    view.add_row(name, "", number(found.value, 6), "", number(each.value, 6))
    console.print(view)
    console.print(
        "Errors are mean squared errors per user: in total over the items, or of a mean on [-1, 1]."
        " Asking only some of the people adds what a sample misses; it is included as an "
        "upper bound.",
    )
    console.print(design_sentence(plan))
    gap = max(found.relative_gap, 1e-9)  # the digits below are rounding noise
    console.print(f"The shares are proven best to within a factor of 1 + {gap:.0e}.")
    console.print()
    _show_spending(console, plan)


def _show_spending(console: Console, plan: WholePlan) -> None:
    earlier = any(row.left < row.tolerated for row in plan.spending)
    headings = ["tolerated", *(["left by the ledger"] if earlier else []), "spent here"]
    view = table("What an answer spends, nats", ("question", "level"), headings)
    for row in plan.spending:
        left = [f"{row.left:.4f}"] if earlier else []
        figures = (f"{row.tolerated:.4f}", *left, f"{row.spent:.4f}")
        view.add_row(row.question, row.level, *figures)
    console.print(view)
    console.print(spending_sentence(plan))
