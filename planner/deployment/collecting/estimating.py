"""From sums to estimates: one table for all questions, raw and post-processed side by side."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from itertools import chain, repeat
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from planner.deployment.client.laws.exact import DENOMINATOR
from planner.deployment.client.laws.levels import Levels
from planner.deployment.client.laws.output import SamplingLaw, SignLaw, UnaryLaw
from planner.deployment.collecting.reports.batch import Key
from planner.deployment.parameter_file.parameters import Parameters
from planner.deployment.parameter_file.questions import QuestionParameters
from planner.designs.table import UnaryTable
from planner.errors import FileError, InputError
from planner.estimates.counts import Estimates
from planner.estimates.means import Estimate
from planner.files import replace_file
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.bisample import BiSampleMD
from planner.mechanisms.frequency import linear_estimates
from planner.mechanisms.padding import PaddedUnaryMechanism
from planner.mechanisms.sampling_privacy import SamplingPrivacy
from planner.mechanisms.unary import UnaryMechanism
from planner.policy.policy import PrivacyPolicy
from planner.survey.numeric_domain import NumericDomain

__all__ = ["COLUMNS", "TABLE_SUFFIXES", "estimates_table", "write_table"]

TABLE_SUFFIXES = (".parquet", ".csv", ".json")
COLUMNS = pa.schema(
    [
        ("question", pa.string()),
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
``joint`` limits cover all answers of a question together; ``processed`` is biased, see
``remark``."""


def estimates_table(
    parameters: Parameters, sums: Mapping[Key, Aggregate], confidence: float = 0.95
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

    Raises
    ------
    InputError
        There are no reports, or the two rounds of a question do not fit.
    """
    tables = []
    for question in parameters.questions:
        rounds = [sums[key] for key in ((question.name, None), (question.name, 1)) if key in sums]
        if isinstance(question.law, SamplingLaw):
            rounds = _both_rounds(question.name, sums)
        if rounds:
            tables.append(_table(question, rounds[0], confidence))
    if not tables:
        raise InputError("reports", "none", "at least one", "Collect reports first.")
    return pa.concat_tables(tables)


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


def _both_rounds(name: str, sums: Mapping[Key, Aggregate]) -> list[Aggregate]:
    first, second = sums.get((name, 1)), sums.get((name, 2))
    if first is None and second is None:
        return []
    if first is None or second is None or first.users != second.users:
        counts = [0 if one is None else one.users for one in (first, second)]
        remedy = "Everyone must answer in both rounds; wait for the missing reports."
        raise InputError(f"reports of {name!r} per round", counts, "equally many", remedy)
    return [Aggregate(first.users, np.stack([first.counts, second.counts]))]


def _table(question: QuestionParameters, aggregate: Aggregate, confidence: float) -> pa.Table:
    law = question.law
    if isinstance(law, SignLaw):
        return _numeric(question.name, law, aggregate, confidence)
    if isinstance(law, SamplingLaw):
        return _sampled(question.name, law, aggregate, confidence)
    if isinstance(law, UnaryLaw) and law.padding_length:
        estimates = _padded(law).estimate(_items_only(aggregate, law.levels.total))
        processed = estimates.clipped()
        return _counts(question.name, law.levels, estimates, processed, confidence)
    constants = law.estimator()
    offsets = np.repeat(constants["offsets"], law.levels.item_counts)
    slopes = np.repeat(constants["slopes"], law.levels.item_counts)
    estimates = linear_estimates(aggregate, offsets + slopes, offsets)
    return _counts(question.name, law.levels, estimates, estimates.on_simplex(), confidence)


def _padded(law: UnaryLaw) -> PaddedUnaryMechanism:
    """The mechanism with exactly these integers: doubles hold multiples of 2^-32 exactly."""
    policy = PrivacyPolicy(law.levels.epsilons, law.levels.item_counts, "min")
    a, b = np.array(law.a) / DENOMINATOR, np.array(law.b) / DENOMINATOR
    return PaddedUnaryMechanism(
        UnaryMechanism(UnaryTable(policy, a, b, "opt0", "deployed")), law.padding_length
    )


def _items_only(aggregate: Aggregate, items: int) -> Aggregate:
    return Aggregate(aggregate.users, aggregate.counts[:items])


def _counts(
    name: str, levels: Levels, estimates: Estimates, processed: Any, confidence: float
) -> pa.Table:
    lower, upper = estimates.intervals(confidence)
    joint = estimates.intervals(confidence, simultaneous=True)
    columns = (estimates.values, estimates.standard_errors, lower, upper, *joint, processed.values)
    labels = _level_labels(levels), levels.item_names()
    return _rows(name, labels, estimates.users, columns, f"processed: {processed.method}")


def _sampled(name: str, law: SamplingLaw, aggregate: Aggregate, confidence: float) -> pa.Table:
    decoys = [decoy / DENOMINATOR for decoy in law.decoys]
    shares = law.sampling / DENOMINATOR, law.zero / DENOMINATOR, decoys
    mechanism = SamplingPrivacy(*shares, everyone_has_value=law.everyone_has_value)
    estimates = mechanism.estimate(aggregate)
    limits = mechanism.intervals(aggregate, confidence)
    joint = mechanism.intervals(aggregate, 1 - (1 - confidence) / mechanism.items)
    processed = estimates.clipped()
    columns = (estimates.values, estimates.standard_errors, *limits, *joint, processed.values)
    labels = ["", *_level_labels(law.levels)], ["none of the values", *law.levels.item_names()]
    return _rows(name, labels, estimates.users, columns, f"processed: {processed.method}")


def _numeric(name: str, law: SignLaw, aggregate: Aggregate, confidence: float) -> pa.Table:
    # The budget at which the mechanism draws with exactly this "low".
    epsilon = log((DENOMINATOR - (law.low - 0.5)) / (law.low - 0.5))
    domain = NumericDomain(law.lower, law.upper, law.yes_no)
    estimates = BiSampleMD(epsilon, domain).estimate(aggregate, confidence)
    wanted = {
        "mean": (estimates.mean, (law.lower, law.upper)),
        "total": (estimates.total, None),
        "missing rate": (estimates.missing_rate, (0.0, 1.0)),
        "frequency": (estimates.frequency, (0.0, 1.0)),
    }
    rows = [
        _quantity(name, quantity, estimates.users, estimate, possible)
        for quantity, (estimate, possible) in wanted.items()
        if estimate is not None
    ]
    return pa.Table.from_pylist(rows, schema=COLUMNS)


def _quantity(
    name: str, quantity: str, users: int, estimate: Estimate, possible: tuple[float, float] | None
) -> dict[str, Any]:
    processed, remark = None, estimate.note
    if possible is not None and estimate.value is not None:
        processed = min(max(estimate.value, possible[0]), possible[1])
        remark = f"processed: moved into its possible range; no longer unbiased. {remark}".strip()
    return {
        "question": name,
        "level": "",
        "answer": quantity,
        "users": users,
        "estimate": estimate.value,
        "standard_error": estimate.standard_error,
        "lower": estimate.lower,
        "upper": estimate.upper,
        "processed": processed,
        "remark": remark,
    }


def _level_labels(levels: Levels) -> list[str]:
    named = zip(levels.names, levels.item_counts, strict=True)
    return list(chain.from_iterable(repeat(level, count) for level, count in named))


def _rows(
    name: str,
    labels: tuple[list[str], list[str]],
    users: int,
    columns: tuple[NDArray[Any], ...],
    remark: str,
) -> pa.Table:
    size = len(labels[0])
    numbers = [np.asarray(column, dtype=np.float64) for column in columns]
    filled = [[name] * size, *labels, [users] * size, *numbers, [remark] * size]
    return pa.table(dict(zip(COLUMNS.names, filled, strict=True)), schema=COLUMNS)
