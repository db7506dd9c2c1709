"""What was counted of a collection, what was left out, and all of it for machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planner.deployment.collecting.collector import Collection
from planner.deployment.collecting.reports import Contradiction
from planner.laws.schema import Document
from planner.show.blocks import (
    Block,
    said,
)

if TYPE_CHECKING:
    from pyarrow import Table as Columns


_MOST_FILES = 20


NO_TESTS = (
    "Do not compute a chi-square, a correlation or a regression from these estimates: they take "
    "the noise of the reports for an association. A model, a regression on known groups, allows "
    "for it."
)


def files_blocks(collection: Collection) -> list[Block]:
    """What was counted, and what was left out."""
    reports = sum(part.users for part in collection.counted)
    files = len(collection.counted)
    in_files = f"{files:,} files"
    if files == 1:
        in_files = "1 file"
    sentences = [f"{reports:,} reports in {in_files} counted."]
    if collection.resumed:
        sentences.append(
            f"{collection.resumed:,} of the files had been counted before."
        )
    if collection.repeated:
        sentences.append(
            f"{collection.repeated:,} times a report came again; each counts once."
        )
    for name, people in collection.crowded.items():
        sentences.append(
            f"{people:,} people reported on {name!r}, more than were planned: was somebody "
            "counted twice, by reports drawn anew?"
        )
    sentences += _contradictions(collection.contradictions)
    for folder, waiting in collection.waiting.items():
        sentences.append(
            f"{waiting:,} more reports wait in {folder}. They are in a file once the receiver "
            f"ends: ldp-planner receive ... --into {folder.parent}, and Control-C."
        )
    # What is missing comes first: the estimates are of fewer people than before.
    not_counted = []
    for path in collection.dropped:
        not_counted.append(f"TAKEN OUT {path}: was counted earlier and is missing")
    for path, reason in collection.quarantined:
        not_counted.append(f"LEFT OUT {path}: {reason}")
    sentences += not_counted[:_MOST_FILES]
    if len(not_counted) > _MOST_FILES:
        unnamed = len(not_counted) - _MOST_FILES
        sentences.append(f"... and {unnamed:,} more files (see --json).")
    if collection.quarantined:
        sentences.append(
            "Have what was left out written or sent again, and count it all again."
        )
    # On one line each: a name with line ends must not look like another message.
    return [*said(part.replace("\n", "\\n") for part in sentences)]


def _contradictions(lines: Sequence[Contradiction]) -> list[str]:
    """Reports that are left out of files that count, the first by name."""
    if not lines:
        return []
    named = []
    for line in lines[:_MOST_FILES]:
        named.append(
            f"LEFT OUT line {line.line} of {line.path}: {line.other} has a report of the same id "
            f"({line.report_id}) that says something else."
        )
    if len(lines) > _MOST_FILES:
        named.append(f"... and {len(lines) - _MOST_FILES:,} more reports (see --json).")
    return named


def collection_json(collection: Collection, estimates: Columns) -> Document:
    """The document of a collection: what was counted, what was left out, and the estimates."""
    # Machines get every file and report that is left out, where people read the first few.
    left_out = []
    for line in collection.contradictions:
        report = {
            "file": str(line.path),
            "line": line.line,
            "id": line.report_id,
            "other": line.other,
        }
        left_out.append(report)
    quarantined = []
    for path, reason in collection.quarantined:
        quarantined.append({"file": str(path), "reason": reason})
    waiting_reports = {}
    for folder, waiting in collection.waiting.items():
        waiting_reports[str(folder)] = waiting
    return {
        "files": len(collection.counted),
        "files_counted_before": collection.resumed,
        "reports": sum(counted.users for counted in collection.counted),
        "repeated_reports": collection.repeated,
        "waiting_reports": waiting_reports,
        "left_out_reports": left_out,
        "more_people_than_planned": collection.crowded,
        "taken_out": collection.dropped,
        "quarantined": quarantined,
        "estimates": estimates.to_pylist(),
        "note": NO_TESTS,
    }
