"""What verifying parameters has proven, and what a collection of report files has given."""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from planner.cli.output import lowered, more, table
from planner.deployment.client.questions import DeployedQuestion
from planner.deployment.collecting.counting.collector import Collection
from planner.deployment.parameter_file.parameters import Parameters
from planner.policy.budget_text import rounded_up

_MOST_ROWS = 20
_MOST_FILES = 20
_MOST_PAIRS = 40


def show_verification(console: Console, parameters: Parameters) -> None:
    """Print each pair's realised and demanded budget of verified parameters."""
    name = (parameters.survey, "bold")
    console.print(Text.assemble(name, f": parameters for {parameters.users:,} users"))
    for question in parameters.questions:
        headings = ("realised epsilon", "promised epsilon")
        view = table(question.name, ("level", "against"), headings)
        rows = _pair_rows(question)
        for row in rows[:_MOST_PAIRS]:
            promised = "none" if row["demanded"] is None else lowered(row["demanded"], 12)
            realised = rounded_up(row["realised"], 12)
            view.add_row(row["level"], row["against"], realised, promised)
        console.print()
        console.print(view)
        more(console, len(rows), _MOST_PAIRS, "pairs (see --json)")
    console.print("Every pair keeps its promised budget, proven in exact integer arithmetic.")


def verification_document(parameters: Parameters) -> dict[str, Any]:
    """Each pair's realised and demanded budget, JSON-ready; ``null`` where none is demanded."""
    return {
        "verified": True,
        "questions": [
            {"name": question.name, "pairs": _pair_rows(question)}
            for question in parameters.questions
        ],
    }


def show_files(console: Console, collection: Collection) -> None:
    """Print what was counted, and what was left out."""
    reports = sum(one.users for one in collection.counted)
    files = len(collection.counted)
    console.print(f"{reports:,} reports in {files:,} file{'s' * (files != 1)} counted")
    if collection.resumed:
        console.print(f"{collection.resumed:,} of the files had been counted before.")
    if collection.repeated:
        console.print(f"{collection.repeated:,} reports came in several files and count once.")
    for path in collection.dropped[:_MOST_FILES]:
        console.print(
            f"TAKEN OUT {_name(path)}: was counted earlier and is missing", soft_wrap=True
        )
    more(console, len(collection.dropped), _MOST_FILES, "files taken out (see --json)")
    for path, reason in collection.quarantined[:_MOST_FILES]:
        console.print(f"LEFT OUT {_name(path)}: {reason}", soft_wrap=True)
    more(console, len(collection.quarantined), _MOST_FILES, "files left out (see --json)")
    if collection.quarantined:
        console.print(
            "Have what was left out written or sent again, and run the same command again."
        )


def show_estimates(
    console: Console, estimates: Any, confidence: float, ordered: Sequence[str] = ()
) -> None:
    """Print the largest estimates of a table as ``estimates_table`` makes it.

    Those of the questions ``ordered`` stand in the order of their answers.
    """
    headings = ("estimate", "std. error", f"{confidence:.0%} interval", "processed")
    apart = "; ordered answers in their order" if ordered else ""
    view = table(f"Estimates, largest first{apart}", ("question", "answer"), headings)
    rows, count = _largest(estimates, ordered)
    for row in rows:
        interval = _interval(row["lower"], row["upper"])
        cells = [_number(row[key]) for key in ("estimate", "standard_error")]
        view.add_row(row["question"], row["answer"], *cells, interval, _number(row["processed"]))
    console.print(view)
    more(console, count, _MOST_ROWS, "estimates (see --json or --out)")
    for remark in _remarks(estimates, ordered):
        console.print(remark)
    console.print("Intervals cover the randomness of the reports, not of who was asked.")


def collection_document(collection: Collection, estimates: Any) -> dict[str, Any]:
    """Everything of a collection, JSON-ready."""
    return {
        "files": len(collection.counted),
        "files_counted_before": collection.resumed,
        "reports": sum(one.users for one in collection.counted),
        "reports_in_several_files": collection.repeated,
        "taken_out": [str(path) for path in collection.dropped],
        "quarantined": [{"file": str(p), "reason": why} for p, why in collection.quarantined],
        "estimates": estimates.to_pylist(),
    }


def _remarks(estimates: Any, ordered: Sequence[str]) -> list[str]:
    """Each remark once; of several questions with ordered answers, each with its question."""
    import pyarrow.compute as pc

    apart = pc.is_in(estimates["question"], _texts(ordered if len(ordered) > 1 else ()))
    rest = sorted(filter(None, estimates.filter(pc.invert(apart))["remark"].unique().to_pylist()))
    remarks = [remark[0].upper() + remark[1:] for remark in rest]
    named = estimates.filter(apart).select(["question", "remark"]).to_pylist()
    remarks += [f"{row['question']}: {row['remark']}" for row in named if row["remark"]]
    return list(dict.fromkeys(remarks))


def _texts(words: Sequence[str]) -> Any:
    import pyarrow as pa

    return pa.array(words, pa.string())


def _largest(estimates: Any, ordered: Sequence[str]) -> tuple[list[dict[str, Any]], int]:
    """The rows that are shown, and how many there are; of millions, nothing else is unpacked.

    Quantiles are no numbers of people: they stand in the remarks.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    apart = pc.is_in(estimates["question"], _texts(ordered))
    shown = pc.invert(pc.and_(apart, pc.is_null(estimates["estimate"])))
    estimates, apart = estimates.filter(shown), apart.filter(shown)
    keys = estimates.select(["question", "estimate"])
    place = pa.array(-np.arange(len(estimates), dtype=np.float64))
    known = pc.if_else(apart, place, pc.fill_null(keys["estimate"].cast("float64"), 0.0))
    order = [("question", "ascending"), ("estimate", "descending")]
    places = pc.sort_indices(keys.set_column(1, "estimate", known), sort_keys=order)
    rows: list[dict[str, Any]] = estimates.take(places[:_MOST_ROWS]).to_pylist()
    return rows, len(estimates)


def _name(path: Path) -> str:
    """On one line: a name with line ends must not look like another message."""
    return str(path).replace("\n", "\\n")


def _interval(lower: float | None, upper: float | None) -> str:
    if lower is None and upper is None:
        return ""
    if lower is not None and upper is None:
        return f"at least {_number(lower)}"
    return f"{_number(lower)} to {_number(upper)}"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.1f}" if abs(value) >= 100 else f"{value:,.4g}"


def _pair_rows(question: DeployedQuestion) -> list[dict[str, Any]]:
    names = question.law.labels
    return [
        {
            "level": names[pair.first],
            "against": names[pair.second],
            "realised": pair.realised,
            "demanded": None if isinf(pair.demanded) else pair.demanded,
        }
        for pair in question.pairs
    ]
