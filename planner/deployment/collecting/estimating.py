"""From sums to estimates: one table for all questions, raw and post-processed side by side."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from planner.deployment.collecting.reports import Key
from planner.deployment.collecting.rounds import round_rows
from planner.deployment.parameter_file.parameters import Parameters
from planner.errors import FileError, InputError
from planner.estimates.rows import AnswerRows
from planner.estimates.truncation import SetSizes
from planner.files import replace_file
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.counting import Aggregate

TABLE_SUFFIXES = (".parquet", ".csv", ".json")
COLUMNS = pa.schema(
    [
        ("question", pa.string()),
        ("of", pa.string()),
        ("level", pa.string()),
        ("answer", pa.string()),
        ("users", pa.int64()),
        ("estimate", pa.float64()),
        ("standard_error", pa.float64()),
        ("lower", pa.float64()),
        ("upper", pa.float64()),
        ("joint_lower", pa.float64()),
        ("joint_upper", pa.float64()),
        ("processed", pa.float64()),
        ("remark", pa.string()),
    ]
)
"""``lower`` to ``upper`` covers the answer's true number with the stated confidence; the
``joint`` limits cover all answers of a question together; an empty limit claims nothing.
``processed`` is biased, see ``remark``."""


def estimates_table(
    parameters: Parameters,
    sums: Mapping[Key, Aggregate],
    confidence: float = 0.95,
    set_sizes: Mapping[str, str] | None = None,
    window: int = 3,
) -> pa.Table:
    """Estimates of every question that has reports, a row per answer or quantity.

    Parameters
    ----------
    parameters:
        Verified parameters.
    sums:
        Counts by question and round.
    confidence:
        Of the intervals, above 0 and below 1.
    set_sizes:
        For questions about sets, by name, the question that asked for the number of items: an
        ordinal one, whose scores are the largest number that each answer stands for. What it says
        replaces what the parameters state of sets that are cut.
    window:
        Rounds of a moving average, at least 1, where a question is asked again.

    Raises
    ------
    InputError
        There are no reports, the two rounds of a question do not fit, or ``set_sizes`` names a
        question that is unknown, of another kind, or without reports.
    """
    sizes = dict(set_sizes or {})
    check_set_sizes(parameters, sizes)
    laws = {law.name: law for law in parameters.questions}
    tables = []
    for name, law in laws.items():
        if law.again is not None:
            by_round = {n: sums[name, n] for n in law.rounds if n is not None and (name, n) in sums}
            for what, rows in round_rows(law, by_round, window, confidence):
                tables.append(_table(name, rows, what))
        elif rounds := _rounds(law, sums):
            asked = law.asked
            if name in sizes:
                asked = asked.with_sizes(_set_sizes(laws[sizes[name]], sums))
            tables.append(_table(name, asked.rows(law.shape.estimate(rounds), confidence)))
    if not tables:
        raise InputError.because("reports", "no report was counted", "Collect reports first.")
    return pa.concat_tables(tables)


def check_set_sizes(parameters: Parameters, set_sizes: Mapping[str, str]) -> None:
    """Check what :func:`estimates_table` is told of set sizes, before anything is counted.

    Raises
    ------
    InputError
        A question is unknown or of another kind, or its scores are no numbers of items.
    """
    laws = {law.name: law for law in parameters.questions}
    for name in (*set_sizes, *set_sizes.values()):
        if name not in laws:
            remedy = "Name two questions of the parameters, that about sets first."
            raise InputError.unknown("set_sizes", name, tuple(laws), remedy)
    for of_sets, of_sizes in set_sizes.items():
        laws[of_sets].asked.with_sizes(None)
        laws[of_sizes].asked.require_sizes()


def write_table(path: str | Path, table: pa.Table) -> None:
    """Write a table as Parquet, CSV or JSON (a list of rows), by the ending of the path.

    Raises
    ------
    FileError
        Another ending, or the path cannot be written.
    """
    suffix = Path(path).suffix
    if suffix == ".json":
        replace_file(path, json.dumps(table.to_pylist(), indent=1, allow_nan=False) + "\n")
        return
    if suffix not in TABLE_SUFFIXES:
        raise FileError(path, f"ends in none of {', '.join(TABLE_SUFFIXES)}", "Rename it.")
    content = io.BytesIO()
    (pq.write_table if suffix == ".parquet" else pa_csv.write_csv)(table, content)
    replace_file(path, content.getvalue())


def _rounds(law: CollectedLaw, sums: Mapping[Key, Aggregate]) -> list[Aggregate]:
    """The sums of each round; none if there are no reports at all."""
    found = [sums.get((law.name, number)) for number in law.rounds]
    counts = [0 if one is None else one.users for one in found]
    if not any(counts):
        return []
    if len(set(counts)) > 1:
        remedy = "Everyone must answer in both rounds; wait for the missing reports."
        raise InputError(f"reports of {law.name!r} per round", counts, "equally many", remedy)
    return [one for one in found if one is not None]


def _set_sizes(law: CollectedLaw, sums: Mapping[Key, Aggregate]) -> SetSizes:
    """What a question says of the sizes of sets."""
    rounds = _rounds(law, sums)
    if not rounds:
        remedy = "Collect them first, or estimate without set sizes."
        raise InputError.because("reports", f"question {law.name!r} has none", remedy)
    return law.asked.set_sizes(law.shape.estimate(rounds))


def _table(name: str, rows: AnswerRows, what: str = "") -> pa.Table:
    size = len(rows.answers)
    columns: list[Any] = [
        pa.repeat(name, size),
        pa.repeat(what, size),
        _texts(rows.levels),
        _texts(rows.answers),
        pa.repeat(rows.users, size),
        *map(
            _numbers,
            (
                rows.estimates,
                rows.standard_errors,
                rows.lower,
                rows.upper,
                rows.joint_lower,
                rows.joint_upper,
                rows.processed,
            ),
        ),
        _texts(rows.remarks),
    ]
    return pa.table(dict(zip(COLUMNS.names, columns, strict=True)), schema=COLUMNS)


def _texts(column: Sequence[str]) -> Any:
    """A column of one text takes no list: there may be millions of rows."""
    alike = all(text == column[0] for text in column)
    return pa.repeat(column[0], len(column)) if alike else column


def _numbers(column: Any) -> Any:
    """Whole numbers as doubles too; ``None`` stays."""
    return column.astype(np.float64) if isinstance(column, np.ndarray) else list(column)
