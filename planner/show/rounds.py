"""What is said of a question that is asked again."""

from __future__ import annotations

from functools import partial
from typing import Any

from planner.planning.question import QuestionPlan
from planner.planning.rounds import compared
from planner.show.blocks import (
    Block,
    Figure,
    Heading,
    Sentence,
    Table,
    bars,
    people,
    percent,
    texts,
)
from planner.show.figures import banded

_MOST_LINES = 4


def round_blocks(question: QuestionPlan) -> list[Block]:
    """Errors of a round, of the average and of a change, and other ways of asking again."""
    again = question.question.rounds
    if again is None:
        return []
    ways, bound = compared(question)
    own = ways[0]

    def error(squared: float | None) -> str:
        return "" if squared is None else people(question.part.total(squared))

    share = percent(question.part.total(own.errors.each) / question.part.whole)
    how = {
        "one report for all rounds": "a person's first report serves all rounds",
        "one report in one round": "each person reports in one round, drawn by lot",
        "one report of one value": "each person reports one of their values, drawn by lot, while "
        "it lasts, and blanks else: an observer may see when an answer changes",
    }[own.name]
    blocks: list[Block] = [
        Sentence(
            f"Asked {again.count} times: {how}. Error of a round {error(own.errors.each)} "
            f"{question.unit} ({share}), of the average over rounds {error(own.errors.average)}, "
            f"of a change of all since the last round {error(own.errors.change)}."
        ),
        Heading("Other ways of asking again", "details", 3),
        Table(
            f"Error, {question.unit}",
            (
                texts("way", (one.name for one in ways)),
                texts("times of changes", ("hidden" if one.hidden else "seen" for one in ways)),
                bars("a round", [question.part.total(one.errors.each) for one in ways], people),
                texts("average", (error(one.errors.average) for one in ways)),
                texts("change", (error(one.errors.change) for one in ways)),
            ),
            accent=0,
        ),
    ]
    if any(one.name == "L-OSUE" for one in ways):
        text = "L-OSUE, LOLOHA and RAPPOR are by their own accounting, at the smallest budget."
        blocks.append(Sentence(text, "details"))
    if bound is not None:
        text = (
            "Proven: no unbiased protocol that keeps the largest of these budgets between any two "
            f"such histories has an error of a round below {error(bound)} {question.unit}."
        )
        blocks.append(Sentence(text, "details", "proof"))
    return blocks


def latest(estimates: Any) -> Any:
    """A table of estimates with the last round and the average alone of what is asked again."""
    import pyarrow as pa

    keys = list(zip(*(estimates[name].to_pylist() for name in ("question", "of")), strict=True))
    last = {question: label for question, label in keys if label.startswith("round ")}
    kept = {"", "average of rounds"}
    return estimates.filter(pa.array([label in kept or last[q] == label for q, label in keys]))


def round_figures(estimates: Any, confidence: float) -> list[Block]:
    """A chart over rounds for each question that was asked again, with the intervals as bands."""
    rows = [row for row in estimates.to_pylist() if row["of"].startswith("round ")]
    found: list[Block] = []
    for question in dict.fromkeys(row["question"] for row in rows):
        lines: dict[str, list[tuple[Any, ...]]] = {}
        for row in rows:
            if row["question"] == question and row["estimate"] is not None:
                place = int(row["of"].removeprefix("round "))
                line = place, row["estimate"], row["lower"], row["upper"]
                lines.setdefault(row["answer"], []).append(line)
        largest = sorted(lines, key=lambda name: -sum(one[1] for one in lines[name]))[:_MOST_LINES]
        drawn = {name: lines[name] for name in largest}
        alt = f"Estimates of the largest {len(drawn)}; bands are {confidence:.0%} intervals."
        draw = partial(banded, drawn, "round", "estimate")
        found.append(Figure(f"{question}, round by round", draw, alt, f"rounds {question}"))
    return found
