"""``ldp-planner answer-rate``: who answers at which budget, and which budget is best."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from planner.planning.answer_rate.best_budget import BestBudget
from planner.planning.answer_rate.plan import AnswerRatePlan, plan_answer_rates
from planner.survey.file import load_survey

__all__ = ["answer_rate"]

_WIDTH = 80
_ROWS = 9


def answer_rate(
    survey: Annotated[Path, typer.Argument(help="Survey file with a 'numeric' question.")],
    json_output: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Predicted answer rates and errors over budgets, and the best budget to ask for."""
    loaded = load_survey(survey)
    plans = plan_answer_rates(loaded)
    console = Console(
        width=None if json_output else _WIDTH,
        soft_wrap=json_output,
        highlight=False,
        markup=False,  # names are no commands
        emoji=False,
    )
    if json_output:
        document = {name: _document(plan) for name, plan in plans.items()}
        console.print_json(json.dumps(document, allow_nan=False))
        return
    for name, plan in plans.items():
        console.print(_page(name, plan))


def _document(plan: AnswerRatePlan) -> dict[str, Any]:
    """The plan for programs; an undefined error is ``null``."""
    return {
        "users": plan.model.users,
        "best": _best(plan.best),
        "curve": {
            "epsilon": plan.curve.epsilon.tolist(),
            "answer_rate": plan.curve.answer_rate.tolist(),
            "mean_bias": plan.curve.mean_bias.tolist(),
            "mean_rmse": _numbers(plan.curve.mean_rmse),
            "missing_rate_rmse": plan.curve.missing_rate_rmse.tolist(),
            "reliable": plan.curve.reliable.tolist(),
        },
        "forced_answers": {
            fake: {"mean_bias": forced.bias.tolist(), "mean_rmse": forced.rmse.tolist()}
            for fake, forced in plan.forced.items()
        },
        "sensitivity": [
            {
                "correlation": row.correlation,
                "mean_bias": row.bias,
                "mean_rmse": row.rmse,
                "best": _best(row.best),
            }
            for row in plan.sensitivity
        ],
    }


def _best(best: BestBudget) -> dict[str, Any]:
    return {
        "epsilon": best.epsilon,
        "rmse": best.rmse,
        "flat_region": [best.flat_lower, best.flat_upper],
        "tolerance": best.tolerance,
        "answer_rate": best.answer_rate,
        "reliable": best.reliable,
    }


def _page(name: str, plan: AnswerRatePlan) -> RenderableType:
    return Group(
        Text(f"\n{name}: {plan.model.users:,} people asked", style="bold"),
        *_advice(plan),
        Text(),
        _curve(plan),
        Text(
            "TOP and RND: a mechanism that forces an answer (Harmony), when those who would "
            "rather not answer all send the largest value, or a random one. All errors are "
            "predicted root mean squared errors; 'missing' is that of the missing rate."
        ),
        Text(),
        _sensitivity(plan),
        Text("A positive correlation: people with larger values tolerate larger budgets."),
    )


def _advice(plan: AnswerRatePlan) -> list[Text]:
    best = plan.best
    lines = [
        Text(
            f"Best budget for the mean: epsilon {best.epsilon:.3f}. {best.answer_rate:.1%} "
            f"answer, and the mean's error is {_figure(best.rmse)}."
        ),
        Text(
            f"Any epsilon in {_up(best.flat_lower)} to {_down(best.flat_upper)} is within "
            f"{best.tolerance:.0%} of the best; the smallest of them protects people most."
        ),
    ]
    if not best.reliable:
        lines.append(
            Text(
                "Too few people answer for this prediction: even the answer rate is hardly "
                "distinguishable from 0. Ask more people.",
                style="bold red",
            )
        )
    if plan.offered is not None:
        epsilon, error = float(plan.offered.epsilon[0]), float(plan.offered.mean_rmse[0])
        change = f"{error / best.rmse - 1:+.1%}" if np.isfinite(error) else "nobody answers"
        lines.append(
            Text(
                f"Offered now: epsilon {epsilon:.3f}. {float(plan.offered.answer_rate[0]):.1%} "
                f"answer, and the mean's error is {_figure(error)} ({change})."
            )
        )
    return lines


def _curve(plan: AnswerRatePlan) -> Table:
    table = Table(title="Errors by budget", width=_WIDTH)
    for heading in ("epsilon", "answer", "mean", "missing", "TOP", "RND"):
        table.add_column(heading, justify="right")
    even = np.linspace(0, plan.curve.epsilon[-1], _ROWS + 1)[1:]
    budgets = np.sort(np.append(even, plan.best.epsilon))
    curve = plan.model.curve(budgets)
    top, random = (plan.model.forced("harmony", fake, budgets) for fake in ("top", "random"))
    for i, epsilon in enumerate(budgets):
        best = epsilon == plan.best.epsilon
        table.add_row(
            f"{epsilon:.3f}" + (" *" if best else "  "),
            f"{curve.answer_rate[i]:.1%}",
            _figure(curve.mean_rmse[i]) if curve.reliable[i] else "unreliable",
            f"{curve.missing_rate_rmse[i]:.5f}",
            _figure(top.rmse[i]),
            _figure(random.rmse[i]),
            style="bold" if best else "",
        )
    return table


def _sensitivity(plan: AnswerRatePlan) -> Table:
    table = Table(title="If value and preference are correlated", width=_WIDTH)
    for heading in ("correlation", "bias at best", "error at best", "best epsilon then", "error"):
        table.add_column(heading, justify="right")
    for row in plan.sensitivity:
        cells = _figure(row.bias), _figure(row.rmse), f"{row.best.epsilon:.3f}"
        table.add_row(f"{row.correlation:+.2f}", *cells, _figure(row.best.rmse))
    return table


def _figure(value: float) -> str:
    return f"{value:,.4g}" if np.isfinite(value) else "undefined"


def _numbers(values: np.ndarray[Any, Any]) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]


def _up(value: float) -> str:
    return f"{np.ceil(value * 100) / 100:.2f}"


def _down(value: float) -> str:
    return f"{np.floor(value * 100) / 100:.2f}"
