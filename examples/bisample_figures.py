"""Figures 4 to 6 of the BiSample paper, in kind: mean absolute errors of simulated surveys.

Usage: python examples/bisample_figures.py [adult.data]

The file is the UCI Adult data set (the first column is the age); without it three
synthetic populations are used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from planner import populations
from planner.mechanisms.bisample import BiSampleMD
from planner.mechanisms.forced_answer import Harmony
from planner.mechanisms.numeric import NumericMechanism
from planner.mechanisms.piecewise import Piecewise
from planner.mechanisms.privkvm import PrivKVM

Array = NDArray[np.float64]
DATA = Path(__file__).parents[2] / "shared" / "data" / "adult.data"
USERS = 100_000
MECHANISMS: dict[str, Callable[[float], NumericMechanism]] = {
    "BiSample-MD": BiSampleMD,
    "PrivKVM": PrivKVM,
    "Harmony TOP": lambda epsilon: Harmony(epsilon, fake_answer="top"),
    "Piecewise TOP": lambda epsilon: Piecewise(epsilon, fake_answer="top"),
    "Harmony RND": Harmony,
    "Piecewise RND": Piecewise,
}


def mean_errors(
    values: Array, silent: Callable[[np.random.Generator], Array], epsilon: float, repeats: int
) -> dict[str, float]:
    """Mean absolute error of the mean, per mechanism; ``silent`` says who does not answer."""
    rng = np.random.default_rng(20200420)
    errors = {}
    for name, build in MECHANISMS.items():
        mechanism, total = build(epsilon), 0.0
        for _ in range(repeats):
            given = np.where(silent(rng), np.nan, values)
            mean = mechanism.estimate(mechanism.aggregate(mechanism.perturb(given, rng))).mean
            total += abs((0.0 if mean.value is None else mean.value) - values.mean())
        errors[name] = total / repeats
    return errors


def figure_4(values: Array, epsilons: list[float], repeats: int) -> dict[str, dict[str, float]]:
    """Budgets varied; people tolerate N(5, 1.5)."""
    return {
        f"{epsilon:g}": mean_errors(
            values, lambda rng, e=epsilon: rng.normal(5, 1.5, values.size) < e, epsilon, repeats
        )
        for epsilon in epsilons
    }


def figure_5(values: Array, rates: list[float], repeats: int) -> dict[str, dict[str, float]]:
    """Missing rates varied; epsilon 1."""
    return {
        f"{rate:.0%}": mean_errors(
            values, lambda rng, r=rate: rng.random(values.size) < r, 1.0, repeats
        )
        for rate in rates
    }


def figure_6(values: Array, users: list[int], repeats: int) -> dict[str, dict[str, float]]:
    """Numbers of people varied; epsilon 1, three tenths missing."""
    return {
        f"{n:,}": mean_errors(values[:n], lambda rng, n=n: rng.random(n) < 0.3, 1.0, repeats)
        for n in users
    }


def show(console: Console, title: str, columns: dict[str, dict[str, float]]) -> None:
    table = Table(title=title, title_justify="left")
    table.add_column("mean absolute error")
    for name in columns:
        table.add_column(name, justify="right")
    for mechanism in MECHANISMS:
        table.add_row(mechanism, *(f"{errors[mechanism]:.4f}" for errors in columns.values()))
    console.print(table)


def main(repeats: int = 20) -> None:
    console, rng = Console(), np.random.default_rng(1)
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    people = {
        "EXP": populations.exponential(USERS, rng),
        "GAUSS": populations.gaussian(USERS, rng),
        "UNIFORM": populations.uniform(USERS, rng),
    }
    if data.exists():
        people["ADULT"] = populations.adult_ages(data)
    for name, values in people.items():
        title = f"Figure 4, {name} (mean {values.mean():.3f}), by epsilon"
        show(console, title, figure_4(values, [0.5, 1, 2, 3, 4, 6], repeats))
    gauss = people["GAUSS"]
    show(console, "Figure 5, by missing rate", figure_5(gauss, [0.1, 0.3, 0.5, 0.8], repeats))
    show(
        console, "Figure 6, by people", figure_6(gauss, [USERS // 100, USERS // 10, USERS], repeats)
    )


if __name__ == "__main__":
    main()
