"""``ldp-planner sampling``: parameters, errors and all three views of the guarantee."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from planner.planning.sampling.plan import ACKNOWLEDGEMENTS, SamplingPlan, plan_sampling_survey
from planner.planning.sampling.search import error_grid
from planner.survey import Question, Survey
from planner.survey.file import load_survey

__all__ = ["sampling"]

_WIDTH = 80
_GRID = (0.25, 0.5, 1.0, 2.0, 4.0)


def sampling(
    survey: Annotated[Path, typer.Argument(help="Survey file with a 'sampled-choice' question.")],
    json_output: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Best Sampling Privacy parameters, their error, and who may see what."""
    loaded = load_survey(survey)
    plans = plan_sampling_survey(loaded)
    console = Console(
        width=None if json_output else _WIDTH, soft_wrap=json_output, markup=False, emoji=False
    )
    if json_output:
        document = {name: _document(plan) for name, plan in plans.items()}
        console.print_json(json.dumps(document, allow_nan=False))
        return
    for question in loaded.questions:
        if question.name in plans:
            console.print(_page(loaded, question, plans[question.name]))


def _document(plan: SamplingPlan) -> dict[str, Any]:
    """The plan for programs; the parameters only if they may be written."""
    views = plan.views
    difference, totals = views.aggregates.curve(_GRID)
    return {
        "limited_by": plan.design.limited_by,
        "expected_counts": list(plan.design.question.yes_counts),
        "absolute_errors_95": plan.design.absolute_errors().tolist(),
        "views": dict(
            zip(("round-two", "linkable", "aggregates-only"), views.sentences(), strict=True)
        ),
        "aggregate_curve": {
            "epsilons": _GRID,
            "difference_deltas": difference.tolist(),
            "totals_deltas": totals.tolist(),
            "totals_are_exact": views.aggregates.totals_are_exact,
        },
        "relies_on": plan.relies_on,
        "parameters": plan.to_document() if plan.acknowledged else None,
        "acknowledgement_needed": ACKNOWLEDGEMENTS[plan.relies_on],
    }


def _page(survey: Survey, question: Question, plan: SamplingPlan) -> RenderableType:
    mechanism = plan.design.mechanism
    limit = {"cap": "the cap", "budgets": "the budgets"}[plan.design.limited_by]
    return Group(
        Text(f"\n{question.name}: {survey.users:,} people, asked twice", style="bold"),
        Text(
            f"sampled {mechanism.sampling:.4f} (limited by {limit}), "
            f"staying at none {mechanism.zero:.4f}\n"
        ),
        _values(question, plan),
        _errors(plan),
        _views(plan),
        _curve(plan),
        _deployment(plan),
    )


def _values(question: Question, plan: SamplingPlan) -> Table:
    table = Table(title="Values: budget, loss in round two, error at 95 %", width=_WIDTH)
    table.add_column("value")
    for column in ("epsilon", "loss", "decoy", "expected", "+/- people", "+/- %"):
        table.add_column(column, justify="right")
    design = plan.design
    none, *losses = plan.views.round_two_losses
    budgets = design.question.budgets
    if not design.mechanism.everyone_has_value:
        table.add_row("(none)", f"{budgets[0]:.3f}", _up(none), f"{design.mechanism.zero:.4f}")
    rows = zip(
        _names(question),
        budgets[1:],
        losses,
        design.mechanism.decoys,
        design.question.yes_counts,
        design.absolute_errors(),
        strict=True,
    )
    for name, budget, loss, decoy, count, error in rows:
        share = f"{100 * error / count:.0f}" if count else "-"
        cells = f"{budget:.3f}", _up(loss), f"{decoy:.4f}", f"{count:,}", f"{error:.1f}", share
        table.add_row(name, *cells)
    return table


def _errors(plan: SamplingPlan) -> Table:
    grid = error_grid(plan.design.question, _GRID)
    table = Table(title="What another budget, the same for all answers, would give", width=_WIDTH)
    table.add_column("epsilon")
    for epsilon in grid.epsilons:
        table.add_column(f"{epsilon:g}", justify="right")
    table.add_row("sampled", *(f"{each:.4f}" for each in grid.sampling))
    table.add_row("largest error", *(f"{each:.1f}" for each in grid.errors.max(axis=1)))
    return table


def _views(plan: SamplingPlan) -> Panel:
    alone, linkable, released = plan.views.sentences(plan.delta)
    lines = Text.assemble(
        ("1. ", "bold"),
        alone,
        ("\n2. ", "bold"),
        (linkable, "bold red"),
        ("\n3. ", "bold"),
        released,
    )
    return Panel(lines, title="The guarantee, by who sees what", width=_WIDTH)


def _curve(plan: SamplingPlan) -> Table:
    difference, totals = plan.views.aggregates.curve(_GRID)
    table = Table(title="View 3 in full: delta at each epsilon", width=_WIDTH)
    table.add_column("released")
    for epsilon in _GRID:
        table.add_column(f"{epsilon:g}", justify="right")
    for released, deltas in (("estimates alone", difference), ("both rounds' totals", totals)):
        # Two digits round by 5 % at most, and the raised number never below the true one.
        table.add_row(released, *(f"{1.0527 * delta:.1e}" for delta in deltas))
    return table


def _deployment(plan: SamplingPlan) -> Text:
    needed = ACKNOWLEDGEMENTS[plan.relies_on]
    if plan.acknowledged:
        return Text(f'Relies on {plan.relies_on}, acknowledged: "{needed}"', style="green")
    return Text(
        f"Relies on {plan.relies_on}, not acknowledged: parameters will not be written.\n"
        f'If it is true, add to [question.sampling]:\nacknowledged = "{needed}"',
        style="yellow",
    )


def _names(question: Question) -> list[str]:
    names = []
    for level in question.levels:
        unnamed = [f"{level.name} {k + 1}" for k in range(level.item_count)]
        names += list(level.items) or unnamed
    return names


def _up(loss: float) -> str:
    return f"{np.ceil(loss * 1000) / 1000:.3f}"
