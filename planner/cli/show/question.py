"""The plan of one question."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from planner.cli.output import more, table
from planner.cli.show.sampling import sampling_document, show_sampling
from planner.planning.candidates import MechanismChoice
from planner.planning.padding import PaddingPlan
from planner.planning.whole_survey.levels import Levels
from planner.planning.whole_survey.promises import promises_of
from planner.planning.whole_survey.question_plan import QuestionPlan
from planner.planning.whole_survey.said import said_of
from planner.planning.whole_survey.sentences import (
    certificate_sentence,
    least_error_sentence,
    people,
)
from planner.planning.whole_survey.set_sentences import set_sentences

_MOST_ROWS = 40
_MOST_EXPLAINED = 6


def show_answer(console: Console, question: QuestionPlan, several: bool) -> None:
    """Print what matters most of one question: what is exported, its error, how good it is."""
    if question.sampling is not None:
        show_question(console, question, several)
        return
    if several:
        console.rule(Text(question.name), style="")
    said = said_of(question)
    reason = [] if question.choice is None else [question.choice.reason]
    _say(console, *said.answer, *said.targets, *reason, *said.proof[:1])
    if question.relaxations:
        _say(console, said.prices[0])


def show_question(console: Console, question: QuestionPlan, several: bool) -> None:
    """Print what is planned for one question; ``several`` if the survey has others."""
    if several:
        console.rule(Text(question.name), style="")
    if question.sampling is not None:
        show_sampling(console, question.question, question.users, question.sampling)
        return
    said = said_of(question)
    _say(console, *said.answer, *said.targets)
    console.print()
    if question.choice is not None:
        _show_choice(console, question.choice)
        console.print()
    if question.levels is not None:
        _show_levels(console, question, question.levels)
    _say(console, *said.report, *said.proof, *said.prices)
    for level in question.explanations[:_MOST_EXPLAINED]:
        console.print()
        console.print(f"{level.odds} {level.belief}")
    more(console, len(question.explanations), _MOST_EXPLAINED, "levels (see --report)")


def question_document(question: QuestionPlan) -> dict[str, Any]:
    """One question's plan, JSON-ready."""
    document: dict[str, Any] = {
        "name": question.name,
        "kind": question.question.kind,
        "mechanism": question.deployed.mechanism,
        "asked_for": question.question.mechanism,
        "share": question.share,
        "fraction": question.fraction,
        "users": question.users,
        "error": {
            "what": question.objective_name,
            "for": question.objective_answers,
            "value": question.total_error,
            "unit": question.unit,
            "share": question.error_share,
            "share_of": question.share_of,
        },
        "promises": promises_of(question),
        "spending": [asdict(row) for row in question.spending],
    }
    if question.sampling is not None:
        return document | {"sampling": sampling_document(question.sampling)}
    return document | {
        "certificate": _certificate(question),
        "best_of_all": _best_of_all(question),
        "saturation_epsilon": question.saturation_epsilon,
        "padding_length": question.padding_length,
        "padding": None if question.padding is None else _padding(question, question.padding),
        "levels": None if question.levels is None else _levels(question.levels),
        "mechanisms": None if question.choice is None else _choice(question.choice),
        "relaxations": [asdict(one) for one in question.relaxations],
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
        "explanations": [asdict(one) for one in question.explanations],
    }


def _say(console: Console, *sentences: str) -> None:
    for sentence in sentences:
        console.print(sentence)


def _show_levels(console: Console, question: QuestionPlan, levels: Levels) -> None:
    """Print what a report of each level does."""
    headings = ("items", "epsilon", "a", "b", "std. error")
    view = table(f"{question.name}: what a report does", ("level",), headings)
    full = levels.saturated.any()
    if full:
        view.add_column("", no_wrap=True)
    for i in range(min(len(levels.names), _MOST_ROWS)):
        view.add_row(
            levels.names[i],
            f"{levels.items[i]:,}",
            f"{levels.epsilons[i]:.4f}",
            f"{levels.a[i]:.6f}",
            f"{levels.b[i]:.6f}",
            people(levels.standard_errors[i]),
            *(["saturated" if levels.saturated[i] else ""] if full else []),
        )
    console.print(view)
    more(console, len(levels.names), _MOST_ROWS, "levels (see --json)")


def _show_choice(console: Console, choice: MechanismChoice) -> None:
    view = table(choice.measure, ("mechanism",), (choice.unit, "against the plan"))
    for one in choice.candidates:
        planned = one.name == choice.planned
        against = "the plan" if planned else f"{one.against:+.1%}"
        title = one.title + (" *" if planned else "")
        view.add_row(title, people(one.error), against)
    console.print(view)
    _say(console, choice.reason, *choice.left_out)


def _certificate(question: QuestionPlan) -> dict[str, Any] | None:
    if question.lower_bound is None or question.certified is None:
        return None
    return {
        "sentence": certificate_sentence(question),
        "lower_bound": question.lower_bound,
        "relative_gap": question.proven_gap,
        "method": question.certified.method,
    }


def _best_of_all(question: QuestionPlan) -> dict[str, Any] | None:
    if question.least_error is None:
        return None
    return {
        "sentence": least_error_sentence(question),
        "least_error": question.least_error,
    }


def _levels(levels: Levels) -> list[dict[str, Any]]:
    rows = levels.to_frame().astype(object).to_dict("records")
    return [{str(name): _known(value) for name, value in row.items()} for row in rows]


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _choice(choice: MechanismChoice) -> dict[str, Any]:
    return {
        "measure": choice.measure,
        "unit": choice.unit,
        "recommended": choice.best.name,
        "reason": choice.reason,
        "left_out": choice.left_out,
        "candidates": [asdict(one) | {"title": one.title} for one in choice.candidates],
    }


def _padding(question: QuestionPlan, plan: PaddingPlan) -> dict[str, Any]:
    return {
        "best": plan.length,
        "lengths": plan.lengths.tolist(),
        "errors": None if question.padding_errors is None else question.padding_errors.tolist(),
        "squared_bias": plan.bias2.tolist(),
        "variance": plan.variance.tolist(),
        "squared_bias_limits": [limit.tolist() for limit in plan.bias2_limits],
        "answers_lost": plan.lost.tolist(),
        "without_truncation": plan.uncut,
        "sentences": set_sentences(question),
    }
