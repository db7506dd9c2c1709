"""What answer rates do to an error, budget by budget."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from planner.cli.output import lowered, number, table
from planner.planning.answer_rates import AnswerRatePlan, BestBudget, ChannelCurve, channel_sentence
from planner.policy.budget_text import rounded_up

_ROWS = 9


def answer_rate_document(plan: AnswerRatePlan) -> dict[str, Any]:
    """The plan for programs; an undefined error is ``null``."""
    channels = plan.channels()
    return {
        "users": plan.model.users,
        "best": _best(plan.best),
        "curve": {
            "epsilon": plan.curve.epsilon.tolist(),
            "answer_rate": plan.curve.answer_rate.tolist(),
            "mean_rmse": _numbers(plan.curve.mean_rmse),
            "missing_rate_rmse": plan.curve.missing_rate_rmse.tolist(),
            "reliable": plan.curve.reliable.tolist(),
        },
        "channel": None if channels is None else _channel(channels),
        "forced_answers": {
            fake: {"mean_bias": forced.bias.tolist(), "mean_rmse": forced.rmse.tolist()}
            for fake, forced in plan.forced.items()
        },
    }


def _channel(channels: ChannelCurve) -> dict[str, Any]:
    return {
        "best": _best(channels.best()),
        "epsilon": channels.epsilon.tolist(),
        "mean_rmse": _numbers(channels.channel_rmse),
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


def show_answer_rate(console: Console, name: str, plan: AnswerRatePlan) -> None:
    """Print the best budget, the curve around it, and what it rests on."""
    console.print(Text.assemble((name, "bold"), f": {plan.model.users:,} people asked"))
    _show_advice(console, plan)
    channels = plan.channels()
    if channels is not None:
        console.print(channel_sentence(plan, channels))
    console.print()
    console.print(_curve(plan, channels))
    console.print(
        "'mean' is BiSample-MD's error of the mean, 'channel' that of the best channel. "
        "TOP and RND: a mechanism that forces an answer (Harmony), when those who would "
        "rather not answer all send the largest value, or a random one. All errors are "
        "predicted root mean squared errors; 'missing' is that of the missing rate."
    )


def _show_advice(console: Console, plan: AnswerRatePlan) -> None:
    best = plan.best
    console.print(
        f"Best budget for the mean: epsilon {best.epsilon:.3f}. {best.answer_rate:.1%} "
        f"answer, and the mean's error is {number(best.rmse)}."
    )
    console.print(
        f"Any epsilon in {rounded_up(best.flat_lower, 2)} to {lowered(best.flat_upper, 2)} is "
        f"within {best.tolerance:.0%} of the best; the smallest of them protects people most."
    )
    if not best.reliable:
        console.print(
            "Too few people answer for this prediction: even the answer rate is hardly "
            "distinguishable from 0. Ask more people.",
            style="bold red",
        )
    if plan.offered is not None:
        epsilon, error = float(plan.offered.epsilon[0]), float(plan.offered.mean_rmse[0])
        change = f"{error / best.rmse - 1:+.1%}" if np.isfinite(error) else "nobody answers"
        console.print(
            f"Offered now: epsilon {epsilon:.3f}. {float(plan.offered.answer_rate[0]):.1%} "
            f"answer, and the mean's error is {number(error)} ({change})."
        )


def _curve(plan: AnswerRatePlan, channels: ChannelCurve | None) -> Table:
    headings = ("epsilon", "answer", "mean", "channel", "missing", "TOP", "RND")
    view = table("Errors by budget", (), headings)
    even = np.linspace(0, plan.curve.epsilon[-1], _ROWS + 1)[1:]
    budgets = np.sort(np.append(even, plan.best.epsilon))
    curve = plan.model.curve(budgets)
    top, random = (plan.model.forced("harmony", fake, budgets) for fake in ("top", "random"))
    channel = np.full(budgets.shape, np.inf)
    if channels is not None:
        channel = channels.channel_errors(budgets)
    for i, epsilon in enumerate(budgets):
        best = epsilon == plan.best.epsilon
        view.add_row(
            f"{epsilon:.3f}" + (" *" if best else "  "),
            f"{curve.answer_rate[i]:.1%}",
            number(curve.mean_rmse[i]) if curve.reliable[i] else "unreliable",
            number(channel[i]) if np.isfinite(channel[i]) else "",
            f"{curve.missing_rate_rmse[i]:.5f}",
            number(top.rmse[i]),
            number(random.rmse[i]),
            style="bold" if best else "",
        )
    return view


def _numbers(values: np.ndarray[Any, Any]) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]
