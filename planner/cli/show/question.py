"""The plan of one question."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from planner.cli.output import more, number, table
from planner.planning.frequency import QuestionPlan
from planner.planning.mechanism_choice import Choice
from planner.planning.targets import smallest_detectable
from planner.planning.whole_survey.planned_question import PlannedQuestion
from planner.planning.whole_survey.sentences import misplaced_sentence

__all__ = ["question_document", "show_question"]

_MOST_ROWS = 40
_MOST_EXPLAINED = 6


def show_question(console: Console, question: PlannedQuestion, several: bool) -> None:
    """Print what is planned for one question; ``several`` if the survey has others."""
    name, plan = question.question.name, question.plan
    if several:
        part = f"share {question.share:.1%} of its budgets"
        if question.fraction < 1:
            part = f"asked of {question.users:,} people"
        console.rule(Text(f"{name}: {part}"), style="")
    if plan is not None:
        _show_levels(console, plan, question.users)
        if question.padding_length is None:
            detectable = smallest_detectable(plan.table, question.users)
            console.print(
                "Smallest share of the people at which an item is told apart from one that nobody "
                "has (95 % confidence, power 80 %): "
                f"{_shares(plan.table.policy.names, detectable)}.",
            )
        console.print()
    _show_choice(console, question)
    if question.padding is not None:
        flat = question.padding
        settled = question.question.padding_length
        origin = "as set in the survey" if settled else "the best for these sets"
        console.print(
            f"Padding length {question.padding_length}, {origin}; best {flat.length}, and any from "
            f"{flat.flat_lower} to {flat.flat_upper} is within 5 % of the best.",
        )
    if plan is not None:
        _show_reasons(console, plan)
        sentence = misplaced_sentence(question)
        if sentence:
            console.print(sentence)
    _show_targets(console, question)
    for level in question.explanations[:_MOST_EXPLAINED]:
        console.print()
        console.print(f"{level.odds} {level.belief}")
    more(console, len(question.explanations), _MOST_EXPLAINED, "levels (see --report)")


def question_document(question: PlannedQuestion) -> dict[str, Any]:
    """One question's plan, JSON-ready."""
    document: dict[str, Any] = {
        "name": question.question.name,
        "share": question.share,
        "fraction": question.fraction,
        "users": question.users,
        "error_per_user": question.error,
        "padding_length": question.padding_length,
        "mechanisms": _choice_document(question.choice),
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
        "explanations": [
            {"level": x.level, "odds": x.odds, "belief": x.belief, "bounds": x.bounds}
            for x in question.explanations
        ],
    }
    if question.padding is not None:
        document["padding"] = {
            "best": question.padding.length,
            "lengths": question.padding.lengths.tolist(),
            "bias2": question.padding.bias2.tolist(),
            "variance": question.padding.variance.tolist(),
        }
    if question.plan is not None:
        solved = question.plan.table
        prices = solved.shadow_prices
        document |= {
            "method": solved.method,
            "saturation_epsilon": solved.saturation_epsilon,
            "standard_errors": solved.standard_errors(question.users).tolist(),
            "shadow_prices": None if prices is None else prices.tolist(),
            "worst_case_mse": {
                name: other.worst_case_mse for name, other in question.plan.alternatives.items()
            },
            "relaxations": [
                {"level": r.level, "amount": r.amount, "saving": r.saving}
                for r in question.plan.relaxations
            ],
        }
    return document


def _show_levels(console: Console, plan: QuestionPlan, users: int) -> None:
    """Print what a report of each level does."""
    solved, policy = plan.table, plan.table.policy
    headings = ("items", "epsilon", "a", "b", "std. error")
    view = table(f"{plan.question.name}: what a report does", ("level",), headings)
    view.add_column("", no_wrap=True)
    length = plan.question.padding_length
    errors = solved.standard_errors(users) * (length or 1)
    saturation = solved.saturation_epsilon
    for i in range(min(policy.size, _MOST_ROWS)):
        unused = saturation is not None and policy.epsilons[i] > saturation * (1 + 1e-9)
        view.add_row(
            policy.names[i],
            f"{policy.item_counts[i]:,}",
            f"{policy.epsilons[i]:.4f}",
            f"{solved.a[i]:.6f}",
            f"{solved.b[i]:.6f}",
            f"{errors[i]:,.1f}",
            "saturated" if unused else "",
        )
    console.print(view)
    more(console, policy.size, _MOST_ROWS, "levels (see --json)")
    whose = "it is the person's answer"
    if length is not None:
        whose = f"it is the one drawn from the person's answers, padded or cut to {length}"
    console.print(
        f"A report has one bit per item: 1 with probability a if {whose}, "
        "else b. The standard error is that of one rare item's estimated count, in people.",
    )


def _show_reasons(console: Console, plan: QuestionPlan) -> None:
    """Print the proof, the saturation point and what to relax."""
    solved = plan.table
    if solved.certificate is not None:
        gap = max(solved.certificate.relative_gap, 1e-9)  # the digits below are rounding noise
        before = "" if plan.question.padding_length is None else ", before padding,"
        console.print(
            f"Certificate: no {solved.model} table that keeps these budgets has an error{before} "
            f"below {solved.certificate.lower_bound:,.7g} per user; the plan is within a factor of "
            f"1 + {gap:.0e} of it. Found by the method {solved.method!r}.",
        )
    saturation = solved.saturation_epsilon
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


def _show_choice(console: Console, question: PlannedQuestion) -> None:
    planned = None if question.plan is None else question.plan.table.model
    choice = question.choice
    reference = choice.error(planned) if planned else choice.best.error
    headings = ("MSE", "RMSE", "against best")
    if planned:  # counts of people; else a mean, in the question's unit
        headings = ("MSE / users", "RMSE, people", "against plan")
    view = table(_scale(question), ("mechanism",), headings)
    for candidate in choice.candidates:
        mark = candidate.name == planned
        mse = candidate.error * question.users if planned else candidate.error / question.users
        view.add_row(
            candidate.label + (" *" if mark else ""),
            number(candidate.error if planned else mse, 6),
            f"{math.sqrt(mse):,.1f}" if planned else number(math.sqrt(mse)),
            "the plan" if mark else f"{candidate.error / reference - 1:+.1%}",
        )
    console.print(view)
    console.print(choice.reason)


def _scale(question: PlannedQuestion) -> str:
    if question.plan is None:
        return f"{question.question.name}: error of the mean"
    if question.padding is not None:
        return "Total error, expected for these sets"
    return "Total error, least favourable answers"


def _show_targets(console: Console, question: PlannedQuestion) -> None:
    for answer in question.targets:
        verdict = "met" if answer.met else "MISSED"
        reached = f"{100 * answer.reached:.4g} %" if answer.reached < 1e6 else "nothing"
        console.print(f"Target, {answer.wanted}: {verdict}, reached {reached}.")
        if not answer.met:
            instead = (
                "no number of people would do, as truncated or missing answers bias the result"
            )
            if answer.users is not None:
                instead = f"ask {answer.users:,} people"
            console.print(f"  For this question alone: {answer.budgets} Or {instead}.")


def _shares(names: tuple[str, ...], shares: np.ndarray[Any, Any]) -> str:
    shown = [f"{name} {100 * share:.3g} %" for name, share in zip(names, shares, strict=True)]
    return ", ".join(shown[:10]) + (", ..." if len(shown) > 10 else "")


def _choice_document(choice: Choice) -> dict[str, Any]:
    return {
        "recommended": choice.best.name,
        "reason": choice.reason,
        "candidates": [
            {"name": c.name, "label": c.label, "error_per_user": c.error, "note": c.note}
            for c in choice.candidates
        ],
    }
