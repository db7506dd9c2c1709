"""What else is shown: comparisons, answer rates, checked parameters, collections, simulations."""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf
from pathlib import Path
from typing import Any

import numpy as np

from planner.deployment.collecting.collector import Collection
from planner.deployment.parameters import Parameters
from planner.planning.mean import FLAT, AnswerRatePlan, ChannelCurve
from planner.planning.plan import COMPARED_ERRORS, Comparison
from planner.policy.budget_text import rounded_up
from planner.show.blocks import (
    Block,
    Column,
    Fact,
    Facts,
    Figure,
    Heading,
    Sentence,
    Table,
    change,
    lowered,
    number,
    numbers,
    people,
    texts,
)
from planner.show.figures import error_figure
from planner.show.json import to_json
from planner.show.rounds import latest
from planner.trial.simulate import Simulated, Trial

_ROWS = 9
_MOST_FILES = 20
_MOST_ESTIMATES = 20


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
    table = _table(f"A: {names[0]}   B: {names[1]}", headings, rows, words=3)
    return [table, Sentence(COMPARED_ERRORS)]


def answer_rate_blocks(name: str, plan: AnswerRatePlan) -> list[Block]:
    """The best budget, the curve around it, and what it rests on."""
    best, channels = plan.best, plan.channels()
    facts = [
        Fact("best budget", f"epsilon {best.epsilon:.3f}"),
        Fact("who answer", f"{best.answer_rate:.1%}"),
        Fact("error of the mean", number(best.rmse)),
    ]
    low, high = rounded_up(best.flat_lower, 2), lowered(best.flat_upper, 2)
    blocks: list[Block] = [
        Heading(f"{name}: {plan.model.users:,} people asked", level=1),
        Facts(tuple(facts)),
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
        blocks.append(Sentence(hopeless, tone="missed"))
    if plan.offered is not None:
        error = float(plan.offered.mean_rmse[0])
        change = f"{error / best.rmse - 1:+.1%}" if np.isfinite(error) else "nobody answers"
        blocks.append(
            Sentence(
                f"Offered now: epsilon {float(plan.offered.epsilon[0]):.3f}. "
                f"{float(plan.offered.answer_rate[0]):.1%} answer, and the mean's error is "
                f"{number(error)} ({change})."
            )
        )
    if channels is not None:
        blocks.append(Sentence(_channel_sentence(plan, channels)))
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
    channel = np.full(budgets.shape, np.nan)
    if channels is not None:
        channel = channels.channel_errors(budgets)
    rated = zip(curve.mean_rmse, curve.reliable, strict=True)
    own = [number(e) if ok else "unreliable" for e, ok in rated]
    columns = (
        numbers("epsilon", budgets, ".3f"),
        numbers("answer", curve.answer_rate, ".1%"),
        Column("mean", tuple(own)),
        numbers("channel", channel, lambda error: number(error) if np.isfinite(error) else ""),
        numbers("missing", curve.missing_rate_rmse, ".5f"),
        numbers("TOP", curve.top_rmse, number),
        numbers("RND", curve.random_rmse, number),
    )
    accent = budgets.tolist().index(plan.best.epsilon)
    return Table("Errors by budget", columns, "everybody", accent)


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
        (
            row["level"],
            row["against"],
            rounded_up(row["realised"], 12),
            "none" if row["demanded"] is None else lowered(row["demanded"], 12),
        )
        for row in pair_rows(law)
    ]
    return _table(law.name, ("level", "against", "realised epsilon", "promised epsilon"), rows)


def verification_blocks(parameters: Parameters) -> list[Block]:
    """What is proven again of parameters, pair by pair."""
    title = f"{parameters.survey}: parameters for {parameters.users:,} people"
    blocks: list[Block] = [Heading(title, level=1), *map(pairs_table, parameters.questions)]
    proven = "Every pair keeps its promised budget, proven in exact integer arithmetic."
    return [*blocks, Sentence(proven, tone="proof")]


def files_blocks(collection: Collection) -> list[Block]:
    """What was counted, and what was left out."""
    reports, files = sum(one.users for one in collection.counted), len(collection.counted)
    said = [f"{reports:,} reports in {files:,} file{'s' * (files != 1)} counted."]
    if collection.resumed:
        said.append(f"{collection.resumed:,} of the files had been counted before.")
    if collection.repeated:
        said.append(f"{collection.repeated:,} reports came in several files and count once.")
    gone = [
        f"TAKEN OUT {_name(path)}: was counted earlier and is missing"
        for path in collection.dropped
    ]
    said += _first(gone, "files taken out")
    left = [f"LEFT OUT {_name(path)}: {reason}" for path, reason in collection.quarantined]
    said += _first(left, "files left out")
    if left:
        said.append("Have what was left out written or sent again, and run the same command again.")
    return [Sentence(one) for one in said]


def collection_json(collection: Collection, estimates: Any) -> dict[str, Any]:
    """Everything of a collection."""
    return {
        "files": len(collection.counted),
        "files_counted_before": collection.resumed,
        "reports": sum(one.users for one in collection.counted),
        "reports_in_several_files": collection.repeated,
        "taken_out": [str(path) for path in collection.dropped],
        "quarantined": [{"file": str(p), "reason": why} for p, why in collection.quarantined],
        "estimates": estimates.to_pylist(),
    }


def estimates_blocks(estimates: Any, confidence: float, ordered: Sequence[str] = ()) -> list[Block]:
    """The largest estimates of a table as ``estimates_table`` makes it.

    Those of the questions ``ordered`` stand in the order of their answers.
    """
    rows, count = _largest(latest(estimates), ordered)
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
    said = _remarks(estimates, ordered)
    if count > len(rows):
        said.insert(0, f"... and {count - len(rows):,} more estimates (see --json or --out).")
    covered = "the randomness of the reports, not of who was asked; those of means of numbers or "
    said.append(f"Intervals cover {covered}scores, whose spread reports do not tell, of both.")
    return [
        _table(f"Estimates, largest first{apart}", headings, cells, rank="everybody"),
        *(Sentence(one) for one in said),
    ]


def simulation_json(trial: Trial, results: Sequence[Simulated]) -> dict[str, Any]:
    """A simulation for programs."""
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
        "mechanisms": to_json(results),
    }


def simulation_blocks(trial: Trial, results: Sequence[Simulated]) -> list[Block]:
    """Measured errors beside predicted ones."""
    plan, said = trial.planned, ""
    columns = [
        texts("mechanism", (one.label for one in results)),
        numbers(plan.unit, (one.error for one in results), people),
        texts("±", ("" if one.spread is None else people(one.spread) for one in results)),
        numbers("predicted", (one.predicted for one in results), people),
    ]
    if results[0].covered is not None:
        said = " Held: share of the runs whose 95 % intervals, all at once, hold the truth."
        columns.append(Column("held", tuple(f"{one.covered:.1%}" for one in results)))
    if plan.question.rounds is not None:
        said += " Everybody reports once: what is asked again, is tried as one round of all."
    best = min(results, key=lambda one: one.predicted)
    return [
        Heading(f"{plan.name}: {_about(trial)}", level=1),
        Table(
            f"{plan.objective_name.capitalize()}, measured and predicted",
            tuple(columns),
            "everybody",
        ),
        Sentence(
            f"The first is what the plan deploys, its {plan.objective_name} in {plan.unit}, ± its "
            "standard error over the runs; the others could be deployed at the same budgets. "
            f"Smallest predicted error on these answers: {best.label}.{said}"
        ),
    ]


def _about(trial: Trial) -> str:
    """How many people, items and answers there are."""
    asked, question = trial.asked, trial.planned.deployed
    parts = [f"{asked.people:,} people"]
    if asked.some:
        parts.append(f"{asked.asked:,} of them asked")
    if question.kind == "numeric":
        parts.append(f"{trial.missing:,} without an answer")
    else:
        levels = ", ".join(f"{level.name}: {level.item_count:,}" for level in question.levels)
        parts.append(f"{len(trial.labels):,} items ({levels})")
    if trial.planned.padding_length is not None:
        parts.append(f"padding length {trial.planned.padding_length}")
    if trial.planned.share < 1:
        parts.append(f"{trial.planned.share:.1%} of the budgets")
    return ", ".join(parts)


def _table(
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    words: int = 2,
    rank: Any = "everybody",
) -> Table:
    """A table of rows of text, of which the first columns are words."""
    columns = list(zip(*rows, strict=True)) or [() for _ in headings]
    made = [
        texts(heading, cells) if place < words else Column(heading, tuple(cells))
        for place, (heading, cells) in enumerate(zip(headings, columns, strict=True))
    ]
    return Table(title, tuple(made), rank)


def _first(lines: list[str], what: str) -> list[str]:
    more = len(lines) - _MOST_FILES
    return lines[:_MOST_FILES] + ([f"... and {more:,} more {what} (see --json)."] * (more > 0))


def _name(path: Path) -> str:
    """On one line: a name with line ends must not look like another message."""
    return str(path).replace("\n", "\\n")


def _known(value: float | None) -> str:
    return "" if value is None else people(value)


def _interval(lower: float | None, upper: float | None) -> str:
    if upper is None:
        return "" if lower is None else f"at least {_known(lower)}"
    return f"{_known(lower)} to {_known(upper)}"


def _remarks(estimates: Any, ordered: Sequence[str]) -> list[str]:
    """Each remark once; of several questions with ordered answers, each with its question."""
    import pyarrow as pa
    import pyarrow.compute as pc

    apart = pc.is_in(
        estimates["question"], pa.array(ordered if len(ordered) > 1 else (), pa.string())
    )
    rest = sorted(filter(None, estimates.filter(pc.invert(apart))["remark"].unique().to_pylist()))
    remarks = [remark[0].upper() + remark[1:] for remark in rest]
    named = estimates.filter(apart).select(["question", "remark"]).to_pylist()
    remarks += [f"{row['question']}: {row['remark']}" for row in named if row["remark"]]
    return list(dict.fromkeys(remarks))


def _largest(estimates: Any, ordered: Sequence[str]) -> tuple[list[dict[str, Any]], int]:
    """The rows that are shown, and how many there are; of millions, nothing else is unpacked.

    Quantiles are no numbers of people: they stand in the remarks.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    apart = pc.is_in(estimates["question"], pa.array(ordered, pa.string()))
    shown = pc.invert(pc.and_(apart, pc.is_null(estimates["estimate"])))
    estimates, apart = estimates.filter(shown), apart.filter(shown)
    keys = estimates.select(["question", "estimate"])
    place = pa.array(-np.arange(len(estimates), dtype=np.float64))
    known = pc.if_else(apart, place, pc.fill_null(keys["estimate"].cast("float64"), 0.0))
    order = [("question", "ascending"), ("estimate", "descending")]
    places = pc.sort_indices(keys.set_column(1, "estimate", known), sort_keys=order)
    rows: list[dict[str, Any]] = estimates.take(places[:_MOST_ESTIMATES]).to_pylist()
    return rows, len(estimates)
