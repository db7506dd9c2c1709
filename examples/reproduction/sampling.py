"""The Sampling Privacy paper's experiments: its parameters, its patients, exact errors."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from planner import SamplingPrivacy

from .rivals import TwoCoins

__all__ = ["COINS", "COLUMNS", "NORMAL_95", "SAMPLING", "Row", "errors", "group_counts"]

COINS = TwoCoins(0.8, 0.2)  # the paper's randomized response
SAMPLING = SamplingPrivacy(
    0.45, 0.275, [0.275]
)  # the paper's pi_s; it leaves pi_0 open
NORMAL_95 = 1.959963984540054
COLUMNS = {"tumour size": 2, "age": 0}


class Row(NamedTuple):
    """One group: patients, and the 95 % absolute error of both mechanisms, in people."""

    group: str
    patients: int
    sampling: float
    coins: float


def group_counts(path: Path, column: int) -> dict[str, int]:
    """Number of patients per group of one column, groups in ascending order."""
    with path.open(newline="", encoding="utf-8") as file:
        counts = Counter(row[column].strip("'") for row in csv.reader(file) if row)
    return dict(sorted(counts.items(), key=lambda item: int(item[0].split("-")[0])))


def errors(counts: dict[str, int], population: int) -> list[Row]:
    """Each group is one yes/no question to the whole population; errors from exact variances."""
    rows = []
    for group, yes in counts.items():
        truth = [population - yes, yes]
        variances = SAMPLING.variance(truth)[1], COINS.variance(*truth)
        deviations = np.sqrt(variances)
        rows.append(Row(group, yes, *(float(NORMAL_95 * each) for each in deviations)))
    return rows
