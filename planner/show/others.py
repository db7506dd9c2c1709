"""What else is shown: comparisons, answer rates, checked parameters, collections, simulations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import isinf
from typing import Any

import numpy as np

from planner.deployment.collecting.collector import Collection
from planner.deployment.parameters import Parameters
from planner.planning.mean import AnswerRatePlan, BestBudget, ChannelCurve
from planner.planning.option import FLAT
from planner.planning.plan import COMPARED_ERRORS, ComparedRow
from planner.planning.sets import Padded
from planner.policy.budget_text import rounded_up
from planner.show import kinds
from planner.show.blocks import (
    Block,
    Fact,
    Facts,
    Figure,
    Heading,
    Sentence,
    Table,
    bars,
    change,
    lowered,
    numbers,
    people,
    percent,
    rows_table,
    said,
    texts,
)
from planner.show.figures import CYCLE, Chart, Line, error_figure
from planner.show.json import to_json
from planner.show.kinds import unprotected
from planner.trial.simulate import Simulated, Trial

_ROWS = 9
_LITTLE = 0.01  # of an error: less is no reason for a larger budget
_MOST_FILES = 20
_MOST_ESTIMATES = 20
_MOST_LINES = 4


def comparison_blocks(found: Sequence[ComparedRow], names: tuple[str, str]) -> list[Block]:
    """Two scenarios side by side; a name stands once over all its figures."""
    rows, before = [], ("", "")
    for row in found:
        question = "" if row.question == before[0] else row.question
        level = "" if (row.question, row.level) == before else row.level
        difference = "" if row.change is None else change(row.change)
        rows.append((question, level, row.what, people(row.first), people(row.second), difference))
        before = (row.question, row.level)
    headings = ("question", "level", "figure", "A", "B", "B against A")
    table = rows_table(f"A: {names[0]}   B: {names[1]}", headings, rows, words=3)
    return [table, Sentence(COMPARED_ERRORS)]


def answer_rate_blocks(
    name: str, plan: AnswerRatePlan, channels: ChannelCurve | None
) -> list[Block]:
    """The best budget, the curve around it, and what it rests on."""
    best, whose = plan.best_planned(channels), f"for {plan.model.whose}"
    facts = (
        Fact("best budget", f"epsilon {best.epsilon:.3f}"),
        Fact("who answer", percent(best.answer_rate)),
        Fact("error of the mean", people(best.rmse), f"{whose} of people drawn at random"),
    )
    low, high = rounded_up(best.flat_lower, 2), lowered(best.flat_upper, 2)
    flat = (
        f"Any epsilon in {low} to {high} is within {percent(FLAT)} of the best; the smallest of "
        "them protects people most."
    )
    dearer, saving = "", 1 - (1 + FLAT) * best.rmse / plan.error_now(channels)
    more = best.flat_lower - (np.inf if plan.offered is None else float(plan.offered.epsilon[0]))
    if more > 0 and saving > _LITTLE:
        dearer = (
            f"Offering {low} lowers the error by {percent(saving)}; the odds of an answer may then "
            f"change {rounded_up(np.exp(more), 2)} times as much."
        )
    hopeless = (
        "Too few people answer for this prediction: even the answer rate is hardly "
        "distinguishable from 0. Ask more people."
    )
    usual = "" if plan.model.sd is not None else " Its spread, left open, is 0.3 of half the range."
    explained = (
        "Forced: those who would rather not answer must (Harmony), and send the largest value or a "
        f"random one. 'missing' is the error of the missing rate.{usual}"
    )
    alt = "Predicted error of the mean against the budget, with the best budget marked."
    return [
        Heading(f"{name}: {plan.model.users:,} people asked", level=1),
        Facts(facts),
        *said([flat, dearer]),
        *said([] if plan.best.reliable else [hopeless], "missed"),
        *_curves(plan, channels, best),
        Sentence(explained, "details"),
        Figure("Error of the mean", lambda: error_figure(plan, channels), alt, "rates"),
    ]


def _curves(plan: AnswerRatePlan, channels: ChannelCurve | None, best: BestBudget) -> list[Table]:
    named = {plan.best.epsilon: "best for BiSample-MD"}
    if channels is not None:
        named[channels.best().epsilon] = "best channel"
    if plan.offered is not None:
        named[float(plan.offered.epsilon[0])] = "offered now"
    even = np.linspace(0, plan.curve.epsilon[-1], _ROWS + 1)[1:]
    budgets = np.union1d(even, list(named))
    curve = plan.model.curve(budgets)
    rated = zip(curve.mean_rmse, curve.reliable, strict=True)
    places = (
        texts("budget", (named.get(one, "") for one in budgets.tolist())),
        numbers("epsilon", budgets, ".3f"),
    )
    columns = [
        numbers("answer, %", 100 * curve.answer_rate, ".1f"),
        numbers("BiSample-MD", (people(e) if ok else "unreliable" for e, ok in rated), str),
    ]
    if channels is not None:
        columns.append(numbers("channel", channels.channel_errors(budgets), people))
    beside = (
        numbers("missing", curve.missing_rate_rmse, ".5f"),
        numbers("forced, at the top", curve.top_rmse, people),
        numbers("forced, at random", curve.random_rmse, people),
    )
    accent = budgets.tolist().index(best.epsilon)
    return [
        Table("Error of the mean, by budget", (*places, *columns), "everybody", accent),
        Table("Of the missing rate, and if answers are forced", (*places, *beside), accent=accent),
    ]


def pair_rows(question: Any) -> list[dict[str, Any]]:
    """Each pair's realised and demanded budget; ``None`` where none is demanded."""
    names = question.shape.labels
    return [
        {
            "level": names[pair.first],
            "against": names[pair.second],
            "realised": pair.realised,
            "demanded": None if isinf(pair.demanded) else pair.demanded,
        }
        for pair in question.pairs
    ]


def pairs_table(law: Any) -> Table:
    """What is proven of a law, pair by pair of levels."""
    rows = [
        (level, against, rounded_up(realised, 12), "none" if most is None else lowered(most, 12))
        for level, against, realised, most in (row.values() for row in pair_rows(law))
    ]
    return rows_table(law.name, ("level", "against", "realised epsilon", "promised epsilon"), rows)


def verification_blocks(parameters: Parameters) -> list[Block]:
    """What is proven again of parameters, pair by pair."""
    title = f"{parameters.survey}: parameters for {parameters.users:,} people"
    blocks: list[Block] = [Heading(title, level=1), *map(pairs_table, parameters.questions)]
    openly = [unprotected(one.shape.levels) for one in parameters.questions]
    which = " that has one" if any(openly) else ""
    proven = f"Every pair{which} keeps its promised budget, proven in exact integer arithmetic."
    if not any(one.pairs for one in parameters.questions):
        proven = "No pair of answers has a budget: the file protects nothing."
    return [*blocks, *said(openly, "note"), Sentence(proven, tone="proof")]


# Collections


def files_blocks(collection: Collection) -> list[Block]:
    """What was counted, and what was left out."""
    reports, files = sum(one.users for one in collection.counted), len(collection.counted)
    told = [f"{reports:,} reports in {files:,} file{'s' * (files != 1)} counted."]
    if collection.resumed:
        told.append(f"{collection.resumed:,} of the files had been counted before.")
    if collection.repeated:
        told.append(f"{collection.repeated:,} times a report came again; each counts once.")
    told += [
        f"{n:,} people reported on {name!r}, more than were planned: was somebody counted twice, "
        "by reports drawn anew?"
        for name, n in collection.crowded.items()
    ]
    apart = [f"TAKEN OUT {path}: was counted earlier and is missing" for path in collection.dropped]
    apart += [f"LEFT OUT {path}: {reason}" for path, reason in collection.quarantined]
    told += apart[:_MOST_FILES]
    if len(apart) > _MOST_FILES:
        told.append(f"... and {len(apart) - _MOST_FILES:,} more files (see --json).")
    if collection.quarantined:
        told.append("Have what was left out written or sent again, and run the same command again.")
    # On one line each: a name with line ends must not look like another message.
    return [*said(one.replace("\n", "\\n") for one in told)]


def collection_json(collection: Collection, estimates: Any) -> dict[str, Any]:
    """Everything of a collection."""
    return {
        "files": len(collection.counted),
        "files_counted_before": collection.resumed,
        "reports": sum(one.users for one in collection.counted),
        "repeated_reports": collection.repeated,
        "more_people_than_planned": to_json(collection.crowded),
        "taken_out": to_json(collection.dropped),
        "quarantined": [{"file": str(p), "reason": why} for p, why in collection.quarantined],
        "estimates": estimates.to_pylist(),
    }


def estimates_blocks(estimates: Any, confidence: float, ordered: Sequence[str] = ()) -> list[Block]:
    """The largest estimates of a table as ``estimates_table`` makes it.

    Those of the questions ``ordered`` stand in the order of their answers; of what is asked again
    the last round and the average.
    """
    frame = estimates.to_pandas()
    rounds = frame[frame["of"].str.startswith("round ")]
    last = frame["question"].map(rounds.groupby("question")["of"].last())
    kept = frame[frame["of"].isin(["", "average of rounds"]) | (frame["of"] == last)]
    apart = kept["question"].isin(ordered)
    first = np.where(apart, np.arange(len(kept)), -kept["estimate"].fillna(0.0))
    kept = kept.assign(first=first)[~apart | kept["estimate"].notna()]  # quantiles are remarks
    shown = kept.sort_values(["question", "first"]).head(_MOST_ESTIMATES)
    answers = (f"{one.answer}, {one.of}" if one.of else one.answer for one in shown.itertuples())
    columns = (
        texts("question", shown["question"]),
        texts("answer", answers),
        numbers("estimate", shown["estimate"], people),
        numbers("std. error", shown["standard_error"], people),
        numbers(f"{confidence:.0%} interval", map(_interval, shown["lower"], shown["upper"]), str),
        numbers("processed", shown["processed"], people),
    )
    told, more = [], len(kept) - len(shown)
    if more:
        told.append(f"... and {more:,} more estimates (see --json or --out).")
    several = frame["question"].nunique() > 1
    for remark, named in frame.groupby("remark", sort=False)["question"].unique().items():
        if remark:
            whose = f"{', '.join(named)}: {remark[0]}" if several else remark[0].upper()
            told.append(whose + remark[1:])
    told.append(
        "Intervals cover the randomness of the reports, not of who was asked; those of means of "
        "numbers or scores, whose spread reports do not tell, of both."
    )
    title = f"Estimates, largest first{'; ordered answers in their order' * bool(ordered)}"
    return [Table(title, columns, "everybody"), *said(told)]


def _interval(lower: float, upper: float) -> str:
    if np.isnan(upper):
        return "" if np.isnan(lower) else f"at least {people(lower)}"
    return f"{people(lower)} to {people(upper)}"


def round_figures(estimates: Any, confidence: float) -> list[Block]:
    """A chart over rounds for each question that was asked again, with the intervals as bands."""
    frame, blocks = estimates.to_pandas(), []
    rounds = frame[frame["of"].str.startswith("round ") & frame["estimate"].notna()]
    for question, rows in rounds.groupby("question", sort=False):
        largest = rows.groupby("answer")["estimate"].sum().nlargest(_MOST_LINES).index
        lines = []
        for answer, colour in zip(largest, CYCLE, strict=False):
            own = rows[rows["answer"] == answer]
            x, limits = (
                own["of"].str.removeprefix("round ").astype(int),
                (own["lower"], own["upper"]),
            )
            lines.append(Line(answer, x, own["estimate"], colour, limits=limits, marked=True))
        alt = f"Estimates of the largest {len(lines)}; bands are {confidence:.0%} intervals."
        draw = partial(Chart, lines, ("round", "estimate"))
        blocks.append(Figure(f"{question}, round by round", draw, alt, f"rounds {question}"))
    return [*blocks]


# Simulations


def simulation_json(trial: Trial, results: Sequence[Simulated]) -> dict[str, Any]:
    """A simulation for programs; the first mechanism is the deployed one."""
    padded = trial.planned.fact(Padded)
    return {
        "question": trial.planned.name,
        "people": trial.asked.people,
        "asked": trial.asked.asked,
        "missing": trial.missing,
        "padding_length": padded and padded.length,
        "unit": trial.planned.question.unit,
        "mechanisms": to_json(results),
    }


def simulation_blocks(trial: Trial, results: Sequence[Simulated]) -> list[Block]:
    """Measured errors beside predicted ones."""
    plan, best = trial.planned, min(results, key=lambda one: one.predicted)
    columns = [
        texts("mechanism", (one.label for one in results)),
        bars(plan.question.unit, [one.error for one in results], people),
        numbers("±", (people(one.spread) for one in results), str),
        numbers("predicted", (one.predicted for one in results), people),
    ]
    held = again = ""
    if results[0].covered is not None:
        held = " Held: share of the runs whose 95 % intervals, all at once, hold the truth."
        columns.append(numbers("held", (one.covered for one in results), percent))
    if plan.question.rounds is not None:
        again = " Everybody reports once: what is asked again, is tried as one round of all."
    error = kinds.objective_name(plan)
    title = f"{error.capitalize()}, measured and predicted"
    return [
        Heading(f"{plan.name}: {about_trial(trial)}", level=1),
        Table(title, tuple(columns), "everybody", 0),
        Sentence(
            f"The first is what the plan deploys, its {error} in {plan.question.unit}, ± its "
            "standard error over the runs; the others could be deployed at the same budgets. "
            f"Smallest predicted error on these answers: {best.label}.{held}{again}"
        ),
    ]


def about_trial(trial: Trial) -> str:
    """How many people, items and answers there are."""
    asked = trial.asked
    parts = [f"{asked.people:,} people"]
    if asked.some:
        parts.append(f"{asked.asked:,} of them asked")
    if trial.labels:
        parts.append(f"{len(trial.labels):,} answers")
    if trial.missing:
        parts.append(f"{trial.missing:,} without an answer")
    padded = trial.planned.fact(Padded)
    if padded is not None:
        parts.append(f"sets cut or padded to {padded.length}")
    return ", ".join(parts)
