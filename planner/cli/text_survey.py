"""A planned survey as text for the terminal, and as a document for machines."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from planner.cli.text import show_levels, show_reasons
from planner.deployment.parameters import Parameters
from planner.planning.mechanism_choice import Choice
from planner.planning.targets import smallest_detectable
from planner.planning.whole_survey.plan import WholePlan
from planner.planning.whole_survey.planned_question import PlannedQuestion
from planner.planning.whole_survey.sentences import (
    design_sentence,
    misplaced_sentence,
    spending_sentence,
)

__all__ = ["show_whole_plan", "whole_document"]

_MOST_EXPLAINED = 6


def show_whole_plan(console: Console, plan: WholePlan) -> None:
    """Print a planned survey: the questions, then what they share."""
    survey = plan.survey
    console.print(Text.assemble((survey.name, "bold"), f": {survey.users:,} users"))
    if plan.several:
        console.print()
        _show_allocation(console, plan)
    for question in plan.questions:
        console.print()
        _show_question(console, question, plan.several)


def whole_document(plan: WholePlan, parameters: Parameters | None) -> dict[str, Any]:
    """A planned survey as JSON-ready data; ``parameters`` is null where there is no one file."""
    found = plan.allocation
    return {
        "parameters": None if parameters is None else parameters.model_dump(mode="json"),
        "questions": [_question_document(question) for question in plan.questions],
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
    view = Table(title="One survey, one budget a person", title_justify="left")
    view.add_column("question")
    for heading in ("split: share", "error", "one each: asked", "error"):
        view.add_column(heading, justify="right")
    for j, question in enumerate(plan.questions):
        view.add_row(
            question.question.name,
            f"{found.shares[j]:.1%}",
            f"{found.errors[j]:,.5g}",
            f"{each.fractions[j]:.1%}",
            f"{each.errors[j]:,.5g}",
        )
    name = "weighted sum" if found.objective == "sum" else "largest error / target"
    view.add_section()
    view.add_row(name, "", f"{found.value:,.6g}", "", f"{each.value:,.6g}")
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
    view = Table(title="What an answer spends, nats", title_justify="left")
    view.add_column("question")
    view.add_column("level")
    earlier = any(row.left < row.tolerated for row in plan.spending)
    for heading in ("tolerated", *(["left by the ledger"] if earlier else []), "spent here"):
        view.add_column(heading, justify="right")
    for row in plan.spending:
        left = [f"{row.left:.4f}"] if earlier else []
        view.add_row(
            row.question,
            row.level,
            f"{row.tolerated:.4f}",
            *left,
            f"{row.spent:.4f}",
        )
    console.print(view)
    console.print(spending_sentence(plan))


def _show_question(console: Console, question: PlannedQuestion, several: bool) -> None:
    name, plan = question.question.name, question.plan
    if several:
        part = f"share {question.share:.1%} of its budgets"
        if question.fraction < 1:
            part = f"asked of {question.users:,} people"
        console.rule(Text(f"{name}: {part}"), style="")
    if plan is not None:
        show_levels(console, plan, question.users)
        if question.padding_length is None:
            detectable = smallest_detectable(plan.table, question.users)
            console.print(
                "Smallest share of the people at which an item is told apart from one that nobody "
                "has (95 % confidence, power 80 %): "
                f"{_shares(plan.table.policy.names, detectable)}.",
            )
    _show_choice(console, question)
    if question.padding is not None:
        flat = question.padding
        settled = question.question.padding_length
        origin = "as set in the survey" if settled else "the best for these sets"
        console.print(
            f"Padding length {question.padding_length}, {origin}; best {flat.length}, and any from "
            f"{flat.flat_lower} to {flat.flat_upper} is within 5 % of the best.",
        )
    if plan is not None:
        show_reasons(console, plan)
        sentence = misplaced_sentence(question)
        if sentence:
            console.print(sentence)
    _show_targets(console, question)
    for level in question.explanations[:_MOST_EXPLAINED]:
        console.print()
        console.print(f"{level.odds} {level.belief}")
    if len(question.explanations) > _MOST_EXPLAINED:
        more = len(question.explanations) - _MOST_EXPLAINED
        console.print(f"... and {more} more levels (see --report).")


def _show_choice(console: Console, question: PlannedQuestion) -> None:
    planned = None if question.plan is None else question.plan.table.model
    choice = question.choice
    reference = choice.error(planned) if planned else choice.best.error
    view = Table(title=_scale(question), title_justify="left")
    view.add_column("mechanism")
    view.add_column("MSE / users", justify="right")
    view.add_column("RMSE, people" if planned else "RMSE", justify="right")
    view.add_column("against plan" if planned else "against best", justify="right")
    for candidate in choice.candidates:
        mark = candidate.name == planned
        users = question.users
        rmse = math.sqrt(candidate.error * (users if planned else 1 / users))
        view.add_row(
            candidate.label + (" *" if mark else ""),
            f"{candidate.error:,.6g}",
            f"{rmse:,.1f}" if planned else f"{rmse:.4g}",
            "the plan" if mark else f"{candidate.error / reference - 1:+.1%}",
        )
    console.print()
    console.print(view)
    console.print(choice.reason)


def _scale(question: PlannedQuestion) -> str:
    if question.plan is None:
        return f"{question.question.name}: error of the mean"
    if question.padding is not None:
        return "Total error, expected for these sets"
    return "Total error, least favourable answers"


def _show_targets(console: Console, question: PlannedQuestion) -> None:
    for answer in question.targets:
        verdict = "met" if answer.met else "MISSED"
        reached = f"{100 * answer.reached:.4g} %" if answer.reached < 1e6 else "nothing"
        console.print(f"Target, {answer.wanted}: {verdict}, reached {reached}.")
        if not answer.met:
            more = "no number of people would do, as truncated or missing answers bias the result"
            if answer.users is not None:
                more = f"ask {answer.users:,} people"
            console.print(f"  For this question alone: {answer.budgets} Or {more}.")


def _shares(names: tuple[str, ...], shares: np.ndarray[Any, Any]) -> str:
    shown = [f"{name} {100 * share:.3g} %" for name, share in zip(names, shares, strict=True)]
    return ", ".join(shown[:10]) + (", ..." if len(shown) > 10 else "")


def _question_document(question: PlannedQuestion) -> dict[str, Any]:
    document: dict[str, Any] = {
        "name": question.question.name,
        "share": question.share,
        "fraction": question.fraction,
        "users": question.users,
        "error_per_user": question.error,
        "padding_length": question.padding_length,
        "mechanisms": _choice_document(question.choice),
        "targets": [
            {
                "target": answer.wanted,
                "reached": answer.reached if math.isfinite(answer.reached) else None,
                "met": answer.met,
                "budgets": answer.budgets,
                "users": answer.users,
            }
            for answer in question.targets
        ],
        "explanations": [
            {"level": x.level, "odds": x.odds, "belief": x.belief, "bounds": x.bounds}
            for x in question.explanations
        ],
    }
    if question.padding is not None:
        document["padding"] = {
            "best": question.padding.length,
            "lengths": question.padding.lengths.tolist(),
            "bias2": question.padding.bias2.tolist(),
            "variance": question.padding.variance.tolist(),
        }
    if question.plan is not None:
        table = question.plan.table
        prices = table.shadow_prices
        document |= {
            "method": table.method,
            "saturation_epsilon": table.saturation_epsilon,
            "standard_errors": table.standard_errors(question.users).tolist(),
            "shadow_prices": None if prices is None else prices.tolist(),
            "worst_case_mse": {
                name: other.worst_case_mse for name, other in question.plan.alternatives.items()
            },
            "relaxations": [
                {"level": r.level, "amount": r.amount, "saving": r.saving}
                for r in question.plan.relaxations
            ],
        }
    return document


def _choice_document(choice: Choice) -> dict[str, Any]:
    return {
        "recommended": choice.best.name,
        "reason": choice.reason,
        "candidates": [
            {"name": c.name, "label": c.label, "error_per_user": c.error, "note": c.note}
            for c in choice.candidates
        ],
    }
