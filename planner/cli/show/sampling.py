"""A Sampling Privacy question: parameters, errors and all three views of the guarantee."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from planner.cli.output import table
from planner.planning.sampled import ACKNOWLEDGEMENTS, SamplingPlan, error_grid
from planner.planning.whole_survey.sentences import reliance_sentence
from planner.policy.budget_text import rounded_up
from planner.survey import Question

_GRID = (0.25, 0.5, 1.0, 2.0, 4.0)


def sampling_document(plan: SamplingPlan) -> dict[str, Any]:
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


def show_sampling(console: Console, question: Question, users: int, plan: SamplingPlan) -> None:
    """Print the parameters, the errors and all three views of the guarantee."""
    mechanism = plan.design.mechanism
    limit = {"cap": "the cap", "budgets": "the budgets"}[plan.design.limited_by]
    console.print(Text.assemble((question.name, "bold"), f": {users:,} people, asked twice"))
    console.print(
        f"sampled {mechanism.sampling:.4f} (limited by {limit}), "
        f"staying at none {mechanism.zero:.4f}"
    )
    for part in (_values(question, plan), _errors(plan), _views(plan), _curve(plan)):
        console.print()
        console.print(part)
    console.print(reliance_sentence(plan), style="green" if plan.acknowledged else "yellow")


def _values(question: Question, plan: SamplingPlan) -> Table:
    view = table(
        "Values: budget, loss in round two, error at 95 %",
        ("value",),
        ("epsilon", "loss", "decoy", "expected", "+/- people", "+/- %"),
    )
    design = plan.design
    none, *losses = plan.views.round_two_losses
    budgets = design.question.budgets
    if not design.mechanism.everyone_has_value:
        view.add_row(
            "(none)", f"{budgets[0]:.3f}", rounded_up(none, 3), f"{design.mechanism.zero:.4f}"
        )
    rows = zip(
        [label for level in question.levels for label in level.labels],
        budgets[1:],
        losses,
        design.mechanism.decoys,
        design.question.yes_counts,
        design.absolute_errors(),
        strict=True,
    )
    for name, budget, loss, decoy, count, error in rows:
        share = f"{100 * error / count:.0f}" if count else "-"
        figures = f"{decoy:.4f}", f"{count:,}", f"{error:.1f}", share
        view.add_row(name, f"{budget:.3f}", rounded_up(loss, 3), *figures)
    return view


def _errors(plan: SamplingPlan) -> Table:
    grid = error_grid(plan.design.question, _GRID)
    headings = [f"{epsilon:g}" for epsilon in grid.epsilons]
    view = table("What another budget, the same for all answers, would give", ["epsilon"], headings)
    view.add_row("sampled", *(f"{each:.4f}" for each in grid.sampling))
    view.add_row("largest error", *(f"{each:.1f}" for each in grid.errors.max(axis=1)))
    return view


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
    return Panel(lines, title="The guarantee, by who sees what", title_align="left")


def _curve(plan: SamplingPlan) -> Table:
    difference, totals = plan.views.aggregates.curve(_GRID)
    headings = [f"{epsilon:g}" for epsilon in _GRID]
    view = table("View 3 in full: delta at each epsilon", ["released"], headings)
    for released, deltas in (("estimates alone", difference), ("both rounds' totals", totals)):
        # Two digits round by 5 % at most, and the raised number never below the true one.
        view.add_row(released, *(f"{1.0527 * delta:.1e}" for delta in deltas))
    return view
