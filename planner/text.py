"""Plans and checks as text for the terminal, and as documents for machines."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from planner.deployment.parameters import Parameters
from planner.deployment.questions import QuestionParameters
from planner.planning.frequency import Plan, QuestionPlan

__all__ = [
    "plan_document",
    "show_plan",
    "show_verification",
    "terminal",
    "verification_document",
]

_MOST_ROWS = 40
_NAMES = {
    "opt0": "IDUE opt0",
    "opt1": "IDUE opt1 (a + b = 1)",
    "opt2": "IDUE opt2 (a = 1/2)",
    "rappor": "RAPPOR, smallest budget",
    "oue": "OUE, smallest budget",
}


def terminal(*, stderr: bool = False) -> Console:
    """A console that prints names as they are: "[b]" and ":smile:" are no commands to it."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def show_plan(console: Console, plan: Plan) -> None:
    """Print a plan, question by question."""
    survey = plan.survey
    console.print(Text.assemble((survey.name, "bold"), f": {survey.users:,} users"))
    for question in plan.questions:
        console.print()
        _show_levels(console, question, survey.users)
        _show_alternatives(console, question, survey.users)
        _show_reasons(console, question)


def plan_document(plan: Plan, parameters: Parameters) -> dict[str, Any]:
    """A plan as JSON-ready data: the deployable parameters, and what led to them."""
    return {
        "parameters": parameters.model_dump(mode="json"),
        "questions": [
            {
                "name": question.question.name,
                "method": question.table.method,
                "saturation_epsilon": question.table.saturation_epsilon,
                "standard_errors": question.table.standard_errors(plan.survey.users).tolist(),
                "shadow_prices": _list(question.table.shadow_prices),
                "worst_case_mse": {
                    name: table.worst_case_mse for name, table in question.alternatives.items()
                },
                "relaxations": [
                    {"level": r.level, "amount": r.amount, "saving": r.saving}
                    for r in question.relaxations
                ],
            }
            for question in plan.questions
        ],
    }


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


def _show_levels(console: Console, plan: QuestionPlan, users: int) -> None:
    table, policy = plan.table, plan.table.policy
    view = Table(title=f"{plan.question.name}: what a report does", title_justify="left")
    view.add_column("level")
    for heading in ("items", "epsilon", "a", "b", "std. error"):
        view.add_column(heading, justify="right")
    view.add_column("", no_wrap=True)
    errors = table.standard_errors(users)
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
    console.print(
        "A report has one bit per item: 1 with probability a if it is the person's answer, "
        "else b. The standard error is that of one rare item's estimated count, in people."
    )


def _show_alternatives(console: Console, plan: QuestionPlan, users: int) -> None:
    view = Table(title="Total error, least favourable answers", title_justify="left")
    view.add_column("mechanism")
    view.add_column("MSE / users", justify="right")
    view.add_column("total RMSE", justify="right")
    view.add_column("against the plan", justify="right")
    chosen = plan.table.worst_case_mse
    for name, table in plan.alternatives.items():
        mark = " *" if name == plan.table.model else ""
        ratio = table.worst_case_mse / chosen - 1
        view.add_row(
            _NAMES[name] + mark,
            f"{table.worst_case_mse:,.6g}",
            f"{np.sqrt(users * table.worst_case_mse):,.1f}",
            "the plan" if mark else f"{ratio:+.1%}",
        )
    console.print()
    console.print(view)


def _show_reasons(console: Console, plan: QuestionPlan) -> None:
    table = plan.table
    if table.certificate is not None:
        gap = max(table.certificate.relative_gap, 1e-9)  # the digits below are rounding noise
        console.print(
            f"Certificate: no {table.model} table that keeps these budgets has an error below "
            f"{table.certificate.lower_bound:,.7g} per user; the plan is within a factor of "
            f"1 + {gap:.0e} of it. Found by the method {table.method!r}."
        )
    saturation = table.saturation_epsilon
    if saturation is not None:
        console.print(
            f"Saturation: budget above {saturation:.4f} buys nothing while the other levels stay "
            "as they are."
        )
    for relaxation in plan.relaxations:
        console.print(
            f"Relaxing {relaxation.level!r} by {relaxation.amount:g} lowers the total error by "
            f"{relaxation.saving:.1%}."
        )


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


def _list(values: np.ndarray[Any, Any] | None) -> list[float] | None:
    return None if values is None else values.tolist()


def _decimals(value: float, towards: Callable[[float], int]) -> str:
    return f"{towards(value * 1e9) / 1e9:.9f}"
