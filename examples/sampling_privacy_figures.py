"""Figures 3 to 7 of "Differential Privacy By Sampling", in kind: numbers, and what holds.

Usage: python examples/sampling_privacy_figures.py [breast-cancer.csv]

The file is the UCI breast cancer data set (286 patients, age first, tumour size third).
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from math import exp
from pathlib import Path
from typing import NamedTuple

import numpy as np

from planner.mechanisms.coins import TwoCoinResponse
from planner.mechanisms.sampling_privacy import SamplingPrivacy
from planner.planning.sampling_views import guarantee_views

DATA = Path(__file__).parents[2] / "shared" / "data" / "breast-cancer.csv"
COINS = TwoCoinResponse(0.8, 0.2)  # the paper's randomized response
SAMPLING = SamplingPrivacy(0.45, 0.275, [0.275])  # the paper's pi_s; it leaves pi_0 open
NORMAL_95 = 1.959963984540054
COLUMNS = {"age": 0, "tumour size": 2}


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
    """Figures 4 to 7: each group is one yes/no question to the whole population."""
    rows = []
    for group, yes in counts.items():
        truth = [population - yes, yes]
        deviations = [np.sqrt(each.variance(truth)[1]) for each in (SAMPLING, COINS)]
        rows.append(Row(group, yes, *(float(NORMAL_95 * each) for each in deviations)))
    return rows


def simulated_error(yes: int, population: int, rng: np.random.Generator) -> float:
    """The same for Sampling Privacy, from 2,000 simulated surveys, every report drawn."""
    values = np.zeros(population, dtype=np.int64)
    values[:yes] = 1
    estimates = [
        SAMPLING.estimate(SAMPLING.aggregate(SAMPLING.perturb(values, rng))).values[1]
        for _ in range(2000)
    ]
    return float(np.quantile(np.abs(np.array(estimates) - yes), 0.95))


def coin_losses(seconds: list[float]) -> list[float]:
    """Figure 3: loss of randomized response with a first coin of .8, both outputs counted."""
    return [TwoCoinResponse(0.8, second).privacy_loss() for second in seconds]


def sampling_losses(decoys: list[float]) -> list[float]:
    """Figure 3: round-two loss of one value, eq. 29, at ``pi_s = .45``."""
    return [
        float(SamplingPrivacy(0.45, 0.55 - decoy, [decoy]).output_losses[1]) for decoy in decoys
    ]


def main(path: Path) -> None:
    print("Figure 3: loss in nats against the coin (pi_2, or the value's own pi_v)")
    grid = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5]
    print(f"{'coin':>8}{'two coins':>12}{'round two':>12}")
    for coin, two, one in zip(grid, coin_losses(grid), sampling_losses(grid), strict=True):
        print(f"{coin:8.2f}{two:12.4f}{one:12.4f}")
    print(f"two coins at (.8, .2): {COINS.privacy_loss():.6f} = ln {exp(COINS.privacy_loss()):.4f}")
    fourth = 0.45 / (exp(COINS.privacy_loss() / 4) - 1)
    verdict = "holds" if fourth < 0.55 else "FAILS"
    print(
        f"{verdict}: a quarter of that loss is possible; pi_v = {fourth:.4f} has room in 1 - pi_s."
    )
    verdict = "holds" if 2 * fourth < 0.55 else "FAILS"
    print(f"{verdict}: the same for two values or more (the sum of all pi_v is at most .55).")
    best = COINS.privacy_loss() / SAMPLING.privacy_loss("round-two")
    print(f"A yes/no question, both outputs counted, leaks at best {best:.2f} times less.")
    falls = sampling_losses(grid) == sorted(sampling_losses(grid), reverse=True)
    print(f"{'FAILS' if falls else 'holds'}: a larger pi_v raises the loss (the paper's text).\n")

    for name, column in COLUMNS.items():
        counts = group_counts(path, column)
        small, large = errors(counts, 286), errors(counts, 10_000)
        print(f"Figures 4 to 7, {name}: absolute error at 95 %, in people")
        print(f"{'group':>8}{'patients':>10}{'sampling':>20}{'two coins':>20}")
        print(f"{'':18}{'n = 286':>10}{'10,000':>10}{'n = 286':>10}{'10,000':>10}")
        for a, b in zip(small, large, strict=True):
            numbers = f"{a.sampling:10.2f}{b.sampling:10.2f}{a.coins:10.2f}{b.coins:10.2f}"
            print(f"{a.group:>8}{a.patients:10}{numbers}")
        constant = all(a.sampling == b.sampling for a, b in zip(small, large, strict=True))
        growth = [b.coins / a.coins for a, b in zip(small, large, strict=True)]
        print(f"{'holds' if constant else 'FAILS'}: the error of Sampling Privacy is constant.")
        grows = "holds" if min(growth) > 1.5 else "FAILS"
        print(f"{grows}: two coins err {min(growth):.2f} to {max(growth):.2f} times as much.")
        better = sum(a.coins < a.sampling for a in small)
        print(f"At n = 286 two coins err less in {better} of {len(small)} groups.")
        group, yes = max(counts.items(), key=lambda item: item[1])
        rng = np.random.default_rng(2017)
        drawn = [simulated_error(yes, population, rng) for population in (286, 10_000)]
        print(f"simulated, {group}: {drawn[0]:.2f} at 286, {drawn[1]:.2f} at 10,000.\n")

    print("What the figures leave out: the guarantee, by who sees what (96 of 10,000 people)")
    for sentence in guarantee_views(SAMPLING, [96], 10_000).sentences():
        print(f"- {sentence}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DATA)
