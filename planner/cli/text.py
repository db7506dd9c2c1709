"""Plans and checks as text for the terminal, and as documents for machines."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from planner.deployment.document.questions import QuestionParameters
from planner.deployment.parameters import Parameters
from planner.planning.frequency import QuestionPlan

__all__ = ["show_levels", "show_reasons", "show_verification", "terminal", "verification_document"]

_MOST_ROWS = 40


def terminal(*, stderr: bool = False) -> Console:
    """A console that prints names as they are: "[b]" and ":smile:" are no commands to it."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def show_levels(console: Console, plan: QuestionPlan, users: int) -> None:
    """Print what a report of each level does."""
    table, policy = plan.table, plan.table.policy
    view = Table(title=f"{plan.question.name}: what a report does", title_justify="left")
    view.add_column("level")
    for heading in ("items", "epsilon", "a", "b", "std. error"):
        view.add_column(heading, justify="right")
    view.add_column("", no_wrap=True)
    length = plan.question.padding_length
    errors = table.standard_errors(users) * (length or 1)
    saturation = table.saturation_epsilon
    for i in range(min(policy.size, _MOST_ROWS)):
        unused = saturation is not None and policy.epsilons[i] > saturation * (1 + 1e-9)
        view.add_row(
            policy.names[i],
            f"{policy.item_counts[i]:,}",
            f"{policy.epsilons[i]:.4f}",
            f"{table.a[i]:.6f}",
            f"{table.b[i]:.6f}",
            f"{errors[i]:,.1f}",
            "saturated" if unused else "",
        )
    console.print(view)
    if policy.size > _MOST_ROWS:
        console.print(f"... and {policy.size - _MOST_ROWS:,} more levels (see --json).")
    whose = "it is the person's answer"
    if length is not None:
        whose = f"it is the one drawn from the person's answers, padded or cut to {length}"
    console.print(
        f"A report has one bit per item: 1 with probability a if {whose}, "
        "else b. The standard error is that of one rare item's estimated count, in people.",
    )


def show_reasons(console: Console, plan: QuestionPlan) -> None:
    """Print the proof, the saturation point and what to relax."""
    table = plan.table
    if table.certificate is not None:
        gap = max(table.certificate.relative_gap, 1e-9)  # the digits below are rounding noise
        before = "" if plan.question.padding_length is None else ", before padding,"
        console.print(
            f"Certificate: no {table.model} table that keeps these budgets has an error{before} "
            f"below {table.certificate.lower_bound:,.7g} per user; the plan is within a factor of "
            f"1 + {gap:.0e} of it. Found by the method {table.method!r}.",
        )
    saturation = table.saturation_epsilon
    if saturation is not None:
        console.print(
            f"Saturation: budget above {saturation:.4f} buys nothing while the other levels stay "
            "as they are.",
        )
    for relaxation in plan.relaxations:
        console.print(
            f"Relaxing {relaxation.level!r} by {relaxation.amount:g} lowers the total error by "
            f"{relaxation.saving:.1%}.",
        )


def show_verification(console: Console, parameters: Parameters) -> None:
    """Print each pair's realised and demanded budget of verified parameters."""
    name = (parameters.survey, "bold")
    console.print(Text.assemble(name, f": parameters for {parameters.users:,} users"))
    for question in parameters.questions:
        table = Table("level", "against", title=question.name, title_justify="left")
        table.add_column("realised epsilon", justify="right")
        table.add_column("promised epsilon", justify="right")
        rows = _pair_rows(question)
        for row in rows[:_MOST_ROWS]:
            promised = "none" if row["demanded"] is None else _decimals(row["demanded"], math.floor)
            realised = _decimals(row["realised"], math.ceil)  # never shown better than it is
            table.add_row(row["level"], row["against"], realised, promised)
        console.print()
        console.print(table)
        if len(rows) > _MOST_ROWS:
            console.print(f"... and {len(rows) - _MOST_ROWS:,} more pairs (see --json).")
    console.print("Every pair keeps its promised budget, proven in exact integer arithmetic.")


def verification_document(parameters: Parameters) -> dict[str, Any]:
    """Each pair's realised and demanded budget, JSON-ready; ``null`` where none is demanded."""
    return {
        "verified": True,
        "questions": [
            {"name": question.name, "pairs": _pair_rows(question)}
            for question in parameters.questions
        ],
    }


def _pair_rows(question: QuestionParameters) -> list[dict[str, Any]]:
    names = question.law.labels
    return [
        {
            "level": names[pair.first],
            "against": names[pair.second],
            "realised": pair.realised,
            "demanded": pair.demanded,
        }
        for pair in question.pairs
    ]


def _decimals(value: float, towards: Callable[[float], int]) -> str:
    return f"{towards(value * 1e12) / 1e12:.12f}"
