"""What else is shown: comparisons, answer rates, checked parameters, collections, simulations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import isinf
from typing import Any

import numpy as np

from planner.deployment.collecting.collector import Collection
from planner.deployment.parameters import Parameters
from planner.planning.mean import FLAT, AnswerRatePlan, ChannelCurve
from planner.planning.plan import COMPARED_ERRORS, Comparison
from planner.policy.budget_text import rounded_up
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
    number,
    numbers,
    people,
    rows_table,
    said,
    texts,
)
from planner.show.figures import CYCLE, Chart, Line, error_figure
from planner.show.json import to_json
from planner.trial.simulate import Simulated, Trial

_ROWS = 9
_MOST_FILES = 20
_MOST_ESTIMATES = 20
_MOST_LINES = 4


def comparison_blocks(found: Comparison, names: tuple[str, str]) -> list[Block]:
    """Two scenarios side by side; a name stands once over all its figures."""
    rows, before = [], ("", "")
    for row in found.rows:
        question = "" if row.question == before[0] else row.question
        level = "" if (row.question, row.level) == before else row.level
        difference = "" if row.change is None else change(row.change)
        rows.append(
            (question, level, row.what, number(row.first, 5), number(row.second, 5), difference)
        )
        before = (row.question, row.level)
    headings = ("question", "level", "figure", "A", "B", "B against A")
    table = rows_table(f"A: {names[0]}   B: {names[1]}", headings, rows, words=3)
    return [table, Sentence(COMPARED_ERRORS)]


def answer_rate_blocks(name: str, plan: AnswerRatePlan) -> list[Block]:
    """The best budget, the curve around it, and what it rests on."""
    best, offered, channels = plan.best, plan.offered, plan.channels()
    facts = (
        Fact("best budget", f"epsilon {best.epsilon:.3f}"),
        Fact("who answer", f"{best.answer_rate:.1%}"),
        Fact("error of the mean", number(best.rmse)),
    )
    low, high = rounded_up(best.flat_lower, 2), lowered(best.flat_upper, 2)
    blocks: list[Block] = [
        Heading(f"{name}: {plan.model.users:,} people asked", level=1),
        Facts(facts),
        Sentence(
            f"Any epsilon in {low} to {high} is within {FLAT:.0%} of the best; the "
            "smallest of them protects people most."
        ),
    ]
    if not best.reliable:
        hopeless = (
            "Too few people answer for this prediction: even the answer rate is hardly "
            "distinguishable from 0. Ask more people."
        )
        blocks += said([hopeless], "missed")
    if offered is not None:
        error = float(offered.mean_rmse[0])
        more = change(error / best.rmse - 1) if np.isfinite(error) else "nobody answers"
        now = f"Offered now: epsilon {float(offered.epsilon[0]):.3f}. "
        rate = float(offered.answer_rate[0])
        now += f"{rate:.1%} answer, and the mean's error is {number(error)} ({more})."
        blocks += said([now])
    if channels is not None:
        blocks += said([_channel_sentence(plan, channels)])
    explained = (
        "'mean' is BiSample-MD's error of the mean, 'channel' that of the best channel. TOP and "
        "RND: a mechanism that forces an answer (Harmony), when those who would rather not answer "
        "all send the largest value, or a random one. All errors are predicted root mean squared "
        "errors; 'missing' is that of the missing rate."
    )
    alt = "Predicted error of the mean against the budget, with the best budget marked."
    figure = Figure("Error of the mean", lambda: error_figure(plan, channels), alt, "rates")
    return [*blocks, _curve(plan, channels), Sentence(explained, "details"), figure]


def _channel_sentence(plan: AnswerRatePlan, channels: ChannelCurve) -> str:
    """The best channel's best budget, and what it gains on BiSample-MD's."""
    best = channels.best()
    gain = 1 - best.rmse / plan.best.rmse
    less = f"{gain:.0%} less" if gain >= 0.01 else "about as large as that of BiSample-MD"
    usual = ", if the spread, which is left open, is 0.3 of half the range"
    return (
        f"With the best channel in place of BiSample-MD: epsilon {best.epsilon:.3f}. "
        f"{best.answer_rate:.1%} answer, and the mean's error is {best.rmse:.4g}, "
        f"{less}{'' if plan.model.sd is not None else usual}."
    )


def _curve(plan: AnswerRatePlan, channels: ChannelCurve | None) -> Table:
    even = np.linspace(0, plan.curve.epsilon[-1], _ROWS + 1)[1:]
    budgets = np.sort(np.append(even, plan.best.epsilon))
    curve = plan.model.curve(budgets)
    rated = zip(curve.mean_rmse, curve.reliable, strict=True)
    columns = [
        numbers("epsilon", budgets, ".3f"),
        numbers("answer", curve.answer_rate, ".1%"),
        numbers("mean", (number(e) if ok else "unreliable" for e, ok in rated), str),
        numbers("missing", curve.missing_rate_rmse, ".5f"),
        numbers("TOP", curve.top_rmse, number),
        numbers("RND", curve.random_rmse, number),
    ]
    if channels is not None:
        known = [e if np.isfinite(e) else None for e in channels.channel_errors(budgets)]
        columns.insert(3, numbers("channel", known, number))
    accent = budgets.tolist().index(plan.best.epsilon)
    return Table("Errors by budget", tuple(columns), "everybody", accent)


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
    proven = "Every pair keeps its promised budget, proven in exact integer arithmetic."
    return [*blocks, Sentence(proven, tone="proof")]


# Collections


def files_blocks(collection: Collection) -> list[Block]:
    """What was counted, and what was left out."""
    reports, files = sum(one.users for one in collection.counted), len(collection.counted)
    told = [f"{reports:,} reports in {files:,} file{'s' * (files != 1)} counted."]
    if collection.resumed:
        told.append(f"{collection.resumed:,} of the files had been counted before.")
    if collection.repeated:
        told.append(f"{collection.repeated:,} reports came in several files and count once.")
    gone = [f"TAKEN OUT {path}: was counted earlier and is missing" for path in collection.dropped]
    told += _first(gone, "files taken out")
    left = [f"LEFT OUT {path}: {reason}" for path, reason in collection.quarantined]
    told += _first(left, "files left out")
    if left:
        told.append("Have what was left out written or sent again, and run the same command again.")
    # On one line each: a name with line ends must not look like another message.
    return [*said(one.replace("\n", "\\n") for one in told)]


def _first(lines: list[str], what: str) -> list[str]:
    more = len(lines) - _MOST_FILES
    return lines[:_MOST_FILES] + ([f"... and {more:,} more {what} (see --json)."] * (more > 0))


def collection_json(collection: Collection, estimates: Any) -> dict[str, Any]:
    """Everything of a collection."""
    return {
        "files": len(collection.counted),
        "files_counted_before": collection.resumed,
        "reports": sum(one.users for one in collection.counted),
        "reports_in_several_files": collection.repeated,
        "taken_out": to_json(collection.dropped),
        "quarantined": [{"file": str(p), "reason": why} for p, why in collection.quarantined],
        "estimates": estimates.to_pylist(),
    }


def estimates_blocks(estimates: Any, confidence: float, ordered: Sequence[str] = ()) -> list[Block]:
    """The largest estimates of a table as ``estimates_table`` makes it.

    Those of the questions ``ordered`` stand in the order of their answers.
    """
    rows, count = _largest(_latest(estimates), ordered)
    cells = [
        (
            row["question"],
            f"{row['answer']}, {row['of']}" if row["of"] else row["answer"],
            _known(row["estimate"]),
            _known(row["standard_error"]),
            _interval(row["lower"], row["upper"]),
            _known(row["processed"]),
        )
        for row in rows
    ]
    headings = (
        "question", "answer", "estimate", "std. error", f"{confidence:.0%} interval", "processed",
    )  # fmt: skip
    apart = "; ordered answers in their order" if ordered else ""
    told = [f"... and {count - len(rows):,} more estimates (see --json or --out)."]
    told = told * (count > len(rows)) + _remarks(estimates)
    told.append(
        "Intervals cover the randomness of the reports, not of who was asked; those of means of "
        "numbers or scores, whose spread reports do not tell, of both."
    )
    return [rows_table(f"Estimates, largest first{apart}", headings, cells), *said(told)]


def _latest(estimates: Any) -> Any:
    """A table of estimates with the last round and the average alone of what is asked again."""
    import pyarrow as pa

    keys = list(zip(*(estimates[name].to_pylist() for name in ("question", "of")), strict=True))
    last = {question: label for question, label in keys if label.startswith("round ")}
    kept = {"", "average of rounds"}
    return estimates.filter(pa.array([label in kept or last[q] == label for q, label in keys]))


def _largest(estimates: Any, ordered: Sequence[str]) -> tuple[list[dict[str, Any]], int]:
    """The rows that are shown, and how many there are; of millions, nothing else is unpacked.

    Quantiles are no numbers of people: they stand in the remarks.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    apart = pc.is_in(estimates["question"], pa.array(ordered, pa.string())).to_numpy()
    value = estimates["estimate"].to_numpy()
    shown = np.flatnonzero(~(apart & np.isnan(value)))
    first = np.where(apart, np.arange(apart.size), -np.nan_to_num(value))
    question = estimates["question"].combine_chunks().dictionary_encode().indices.to_numpy()
    places = shown[np.lexsort((first[shown], question[shown]))]
    return estimates.take(places[:_MOST_ESTIMATES]).to_pylist(), shown.size


def _remarks(estimates: Any) -> list[str]:
    """Each remark once, with its questions where there are several."""
    names = ["question", "remark"]
    found: dict[str, list[str]] = {}
    for row in estimates.group_by(names, use_threads=False).aggregate([]).to_pylist():
        if row["remark"]:
            found.setdefault(row["remark"], []).append(row["question"])
    if len({name for questions in found.values() for name in questions}) > 1:
        return [f"{', '.join(questions)}: {remark}" for remark, questions in found.items()]
    return [remark[0].upper() + remark[1:] for remark in found]


def _known(value: float | None) -> str:
    return "" if value is None else people(value)


def _interval(lower: float | None, upper: float | None) -> str:
    if upper is None:
        return "" if lower is None else f"at least {_known(lower)}"
    return f"{_known(lower)} to {_known(upper)}"


def round_figures(estimates: Any, confidence: float) -> list[Block]:
    """A chart over rounds for each question that was asked again, with the intervals as bands."""
    found: dict[str, dict[str, list[tuple[Any, ...]]]] = {}
    for row in estimates.to_pylist():
        if row["of"].startswith("round ") and row["estimate"] is not None:
            point = (
                int(row["of"].removeprefix("round ")),
                *(row[name] for name in ("estimate", "lower", "upper")),
            )
            found.setdefault(row["question"], {}).setdefault(row["answer"], []).append(point)
    blocks: list[Block] = []
    for question, answers in found.items():
        largest = sorted(answers, key=lambda name: -sum(one[1] for one in answers[name]))
        lines = []
        for name, colour in zip(largest[:_MOST_LINES], CYCLE, strict=False):
            x, values, lower, upper = zip(*answers[name], strict=True)
            lines.append(Line(name, x, values, colour, limits=(lower, upper), marked=True))
        alt = f"Estimates of the largest {len(lines)}; bands are {confidence:.0%} intervals."
        draw = partial(Chart, lines, ("round", "estimate"))
        blocks.append(Figure(f"{question}, round by round", draw, alt, f"rounds {question}"))
    return blocks


# Simulations


def simulation_json(trial: Trial, results: Sequence[Simulated]) -> dict[str, Any]:
    """A simulation for programs; the first mechanism is the deployed one."""
    return {
        "question": trial.planned.name,
        "people": trial.asked.people,
        "asked": trial.asked.asked,
        "missing": trial.missing,
        "padding_length": trial.planned.padding_length,
        "unit": trial.planned.unit,
        "mechanisms": to_json(results),
    }


def simulation_blocks(trial: Trial, results: Sequence[Simulated]) -> list[Block]:
    """Measured errors beside predicted ones."""
    plan, best = trial.planned, min(results, key=lambda one: one.predicted)
    columns = [
        texts("mechanism", (one.label for one in results)),
        bars(plan.unit, [one.error for one in results], people),
        numbers("±", (_known(one.spread) for one in results), str),
        numbers("predicted", (one.predicted for one in results), people),
    ]
    held = again = ""
    if results[0].covered is not None:
        held = " Held: share of the runs whose 95 % intervals, all at once, hold the truth."
        columns.append(numbers("held", (one.covered for one in results), ".1%"))
    if plan.question.rounds is not None:
        again = " Everybody reports once: what is asked again, is tried as one round of all."
    title = f"{plan.objective_name.capitalize()}, measured and predicted"
    return [
        Heading(f"{plan.name}: {about_trial(trial)}", level=1),
        Table(title, tuple(columns), "everybody", 0),
        Sentence(
            f"The first is what the plan deploys, its {plan.objective_name} in {plan.unit}, ± its "
            "standard error over the runs; the others could be deployed at the same budgets. "
            f"Smallest predicted error on these answers: {best.label}.{held}{again}"
        ),
    ]


def about_trial(trial: Trial) -> str:
    """How many people, items and answers there are."""
    asked, plan = trial.asked, trial.planned
    parts = [f"{asked.people:,} people"]
    if asked.some:
        parts.append(f"{asked.asked:,} of them asked")
    if trial.labels:
        parts.append(f"{len(trial.labels):,} answers")
    if trial.missing:
        parts.append(f"{trial.missing:,} without an answer")
    if plan.padding_length is not None:
        parts.append(f"sets cut or padded to {plan.padding_length}")
    if plan.share < 1:
        parts.append(f"{plan.share:.1%} of the budgets")
    return ", ".join(parts)
