"""What a simulation measured, beside what was predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from planner.cli.output import table
from planner.planning.whole_survey.sentences import people
from planner.trial.simulate import Simulated, Trial


def simulation_document(trial: Trial, results: Sequence[Simulated]) -> dict[str, Any]:
    """It for programs."""
    question = trial.planned.deployed
    return {
        "question": question.name,
        "people": trial.asked.people,
        "asked": trial.asked.asked,
        "missing": trial.missing,
        "items": len(trial.labels),
        "items_per_level": {level.name: level.item_count for level in question.levels},
        "padding_length": trial.planned.padding_length,
        "unit": trial.planned.unit,
        "deployed": trial.names[0],
        "mechanisms": [asdict(one) for one in results],
    }


def show_simulation(console: Console, trial: Trial, results: Sequence[Simulated]) -> None:
    """Print measured errors beside predicted ones."""
    plan, top = trial.planned, results[0].top
    of_counts = top is not None
    console.print(Text.assemble((plan.name, "bold"), f": {_about(trial)}"))
    counts = (f"RE@{top}", "predicted", f"P@{top}") if of_counts else ("held",)
    title = f"{plan.objective_name.capitalize()}, measured and predicted"
    view = table(title, ("mechanism",), (trial.planned.unit, "±", "predicted", *counts))
    for one in results:
        more = [f"{one.covered:.1%}"] if one.covered is not None else []
        if of_counts:
            rates = (one.relative_error, one.predicted_relative_error)
            more = [*(f"{rate:.1%}" for rate in rates), f"{one.precision:.0%}"]
        spread = "" if one.spread is None else people(one.spread)
        view.add_row(one.label, people(one.error), spread, people(one.predicted), *more)
    console.print(view)
    best = min(results, key=lambda one: one.predicted)
    said = (
        f"RE@{top}, P@{top}: relative error and precision of the {top} most frequent items."
        if of_counts
        else "Held: share of the runs whose 95 % intervals, all at once, hold the truth."
    )
    console.print(
        f"The first is what the plan deploys, its {plan.objective_name} in {plan.unit}, ± its "
        f"standard error over the runs; the others could be deployed at the same budgets. {said} "
        f"Smallest predicted error on these answers: {best.label}."
    )


def _about(trial: Trial) -> str:
    """How many people, items and answers there are."""
    asked, question = trial.asked, trial.planned.deployed
    parts = [f"{asked.people:,} people"]
    if asked.some:
        parts.append(f"{asked.asked:,} of them asked")
    if question.numeric is not None:
        parts.append(f"{trial.missing:,} without an answer")
    else:
        levels = ", ".join(f"{level.name}: {level.item_count:,}" for level in question.levels)
        parts.append(f"{len(trial.labels):,} items ({levels})")
    if trial.planned.padding_length is not None:
        parts.append(f"padding length {trial.planned.padding_length}")
    if trial.planned.share < 1:
        parts.append(f"{trial.planned.share:.1%} of the budgets")
    return ", ".join(parts)
