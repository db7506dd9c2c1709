"""What an outsider learns from a plan, beside what it promises."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from planner.cli.output import table
from planner.outsiders.guarantee import CONDITION
from planner.planning.outsiders import NOTHING_TO_SAY, OutsiderView, SurveyOutsiderView
from planner.policy.budget_text import rounded_up


def show_outsiders(
    console: Console, view: SurveyOutsiderView | None, epsilon: float | None = None
) -> None:
    """Print what an outsider learns, and the local budget for a wanted central ``epsilon``."""
    if view is None:
        console.print(NOTHING_TO_SAY)
        return
    for one in view.questions:
        console.print(Text(one.question, "bold"))
        for sentence in one.sentences:
            console.print(sentence)
        if epsilon is not None:
            console.print(one.wanted_sentence(epsilon))
        if len(one.shuffled.names) > 1:
            _show_pairs(console, one)
        console.print()
    for sentence in view.sentences:
        console.print(sentence)


def outsiders_document(
    view: SurveyOutsiderView | None, epsilon: float | None = None
) -> dict[str, Any] | None:
    """The same, JSON-ready; null where nothing can be said."""
    if view is None:
        return None
    return {
        "condition": CONDITION,
        "epsilon": view.epsilon,
        "delta": view.delta,
        "left_out": list(view.left_out),
        "guess": None if view.guess is None else asdict(view.guess),
        "sentences": list(view.sentences),
        "questions": [_question(one, epsilon) for one in view.questions],
    }


def _show_pairs(console: Console, view: OutsiderView) -> None:
    grid = table(
        f"{view.question}: epsilon, who is hidden among whom",
        ("between", "and"),
        ("one report", "if shuffled"),
    )
    for level, other, local, epsilon in view.shuffled.pairs:
        grid.add_row(level, other, rounded_up(local, 4), rounded_up(epsilon, 5))
    console.print(grid)


def _question(view: OutsiderView, epsilon: float | None) -> dict[str, Any]:
    shuffled, swaying = view.shuffled, view.swaying
    return {
        "question": view.question,
        "sentences": list(view.sentences),
        "local_epsilon": shuffled.local_epsilon,
        "shuffled": {
            "people": shuffled.people,
            "delta": shuffled.delta,
            "epsilon": shuffled.epsilon,
            "lost": _known(shuffled.lost),
            "pairs": [
                {"level": level, "other": other, "local": local, "epsilon": epsilon}
                for level, other, local, epsilon in shuffled.pairs
            ],
        },
        "wanted": None
        if epsilon is None
        else {"epsilon": epsilon, "local_budget": view.local_budget(epsilon)},
        "guess": None if view.guess is None else {"of": view.guessed, **asdict(view.guess)},
        "expected_guess": None if view.assumed is None else asdict(view.assumed),
        "false_reports": None
        if view.reach is None or swaying is None
        else [
            {"level": level, "people_each": float(each), "for_standard_error": int(number)}
            for level, each, number in zip(view.levels, view.reach, swaying, strict=True)
        ],
    }


def _known(number: float) -> float | None:
    return None if math.isnan(number) else number
