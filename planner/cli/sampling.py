"""``ldp-planner sampling``: parameters, errors and all three views of the guarantee."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from planner.cli.options import Json, SurveyFile
from planner.cli.output import print_json, table, terminal
from planner.planning.sampling.design import error_grid
from planner.planning.sampling.plan import ACKNOWLEDGEMENTS, SamplingPlan, plan_sampling_survey
from planner.policy.budget_text import rounded_up
from planner.survey import Question, Survey
from planner.survey.file import load_survey

__all__ = ["sampling"]

_GRID = (0.25, 0.5, 1.0, 2.0, 4.0)


def sampling(survey: SurveyFile, json_output: Json = False) -> None:
    """Best Sampling Privacy parameters, and who may see what.

    For the survey's questions of the kind "sampled-choice".
    """
    loaded = load_survey(survey)
    plans = plan_sampling_survey(loaded)
    if json_output:
        print_json({name: _document(plan) for name, plan in plans.items()})
        return
    console = terminal()
    for question in loaded.questions:
        if question.name in plans:
            _show(console, loaded, question, plans[question.name])
            console.print()


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


def _show(console: Console, survey: Survey, question: Question, plan: SamplingPlan) -> None:
    mechanism = plan.design.mechanism
    limit = {"cap": "the cap", "budgets": "the budgets"}[plan.design.limited_by]
    console.print(Text.assemble((question.name, "bold"), f": {survey.users:,} people, asked twice"))
    console.print(
        f"sampled {mechanism.sampling:.4f} (limited by {limit}), "
        f"staying at none {mechanism.zero:.4f}"
    )
    for part in (_values(question, plan), _errors(plan), _views(plan), _curve(plan)):
        console.print()
        console.print(part)
    console.print(_deployment(plan))


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


def _deployment(plan: SamplingPlan) -> Text:
    needed = ACKNOWLEDGEMENTS[plan.relies_on]
    if plan.acknowledged:
        return Text(f'Relies on {plan.relies_on}, acknowledged: "{needed}"', style="green")
    return Text(
        f"Relies on {plan.relies_on}, not acknowledged: parameters will not be written.\n"
        f'If it is true, add to [question.sampling]:\nacknowledged = "{needed}"',
        style="yellow",
    )
