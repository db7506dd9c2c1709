"""The distribution of a number beside Square Wave with EMS and hierarchical histograms, in one run.

Run: python benchmarks/distributions.py. 100,000 people; the mean over repetitions of W1, the area
between the estimated and the true curve of shares up to a value, and of the largest distance
between them, both times 1000 on 256 cells. One real column, ages of the census (UCI Adult), is read
from ../shared/data/adult.data, and left out where that is absent.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from measure import LONG, Figure, rows, show

from planner.estimates.channel import rising
from planner.estimates.distribution import smoothed_shares
from planner.planning.distribution import DistributionPlan, plan_distribution

PEOPLE = 100_000
CELLS = 256  # on which curves are compared, and those of the rivals
FAN_OUT = 4
WAVE_REPORTS = 1024
BUDGETS = (0.5, 1.0, 2.0, 4.0)
REPEATS = 20 if LONG else 3
AGES = Path("../shared/data/adult.data")
MOST_BEHIND = 1.05


def people(rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray]]:
    """Numbers from 0 to 1 of all people, by the name of their distribution."""
    even = rng.random(PEOPLE)
    yield "beta(5,2)", rng.beta(5, 2, PEOPLE)
    spikes = rng.choice(
        [0.1, 0.25, 0.4, 0.75, 0.9], PEOPLE, p=[0.3, 0.2, 0.2, 0.2, 0.1]
    )
    near = spikes + rng.normal(0, 0.004, PEOPLE)
    yield "spiky", inside(np.where(rng.random(PEOPLE) < 0.5, near, even))
    low = rng.normal(0.25, 0.06, PEOPLE)
    high = rng.normal(0.7, 0.1, PEOPLE)
    yield "bimodal", inside(np.where(rng.random(PEOPLE) < 0.4, low, high))
    if AGES.exists():
        lines = AGES.read_text().splitlines()
        years = np.array([float(line.split(",")[0]) for line in lines if "," in line])
        drawn = rng.choice(years, PEOPLE) + rng.random(
            PEOPLE
        )  # of age: until the birthday
        yield "ages", inside((drawn - 17) / 74)


def inside(values: np.ndarray) -> np.ndarray:
    return np.clip(values, 0, 1 - 1e-9)


def square_wave(
    values: np.ndarray, epsilon: float, rng: np.random.Generator
) -> np.ndarray:
    """The curve by Square Wave and EMS (Li et al., SIGMOD 2020, algorithms 1 and 2).

    A report is near the value, within ``b``, with the density ``e^eps q``, else with ``q``.
    """
    odds = np.exp(epsilon)
    b = (epsilon * odds - odds + 1) / (2 * odds * (odds - 1 - epsilon))
    near = 2 * b * odds / (2 * b * odds + 1)
    density = 1 / (2 * b * odds + 1)
    anywhere = rng.random(values.size)
    far = np.where(anywhere < values, anywhere - b, anywhere + b)
    close = values + rng.uniform(-b, b, values.size)
    reports = np.where(rng.random(values.size) < near, close, far)
    edges = np.linspace(-b, 1 + b, WAVE_REPORTS + 1)
    middles = (np.arange(CELLS) + 0.5) / CELLS
    upper = np.minimum(edges[1:], middles[:, None] + b)
    lower = np.maximum(edges[:-1], middles[:, None] - b)
    overlap = np.maximum(upper - lower, 0)
    width = edges[1] - edges[0]
    law = density * width + (odds - 1) * density * overlap
    counts = np.histogram(reports, edges)[0]
    return np.cumsum(smoothed_shares(law, counts, CELLS))


def hierarchy(
    values: np.ndarray, epsilon: float, rng: np.random.Generator
) -> np.ndarray:
    """The curve by a tree of intervals (HH of Cormode, Kulkarni and Srivastava, VLDB 2019).

    Everybody reports the interval at one random level by OUE; parents and children are made
    consistent by constrained inference (Hay et al. 2010).
    """
    levels = round(np.log(CELLS) / np.log(FAN_OUT))
    cell = (values * CELLS).astype(int)
    level_of = rng.integers(1, levels + 1, values.size)
    other = 1 / (np.exp(epsilon) + 1)
    shares = []
    for level in range(1, levels + 1):
        size = FAN_OUT**level
        people_there = np.bincount(
            cell[level_of == level] // (CELLS // size), minlength=size
        )
        users = people_there.sum()
        ones = rng.binomial(people_there, 0.5) + rng.binomial(
            users - people_there, other
        )
        shares.append((ones / users - other) / (0.5 - other))
    for level in range(levels - 2, -1, -1):  # from the leaves up
        height = levels - level
        own = (FAN_OUT**height - FAN_OUT ** (height - 1)) / (FAN_OUT**height - 1)
        children = shares[level + 1].reshape(-1, FAN_OUT).sum(axis=1)
        shares[level] = own * shares[level] + (1 - own) * children
    consistent = shares[0] + (1 - shares[0].sum()) / FAN_OUT
    for level in range(1, levels):  # and down again
        children = shares[level].reshape(-1, FAN_OUT)
        missing = consistent - children.sum(axis=1)
        consistent = (children + missing[:, None] / FAN_OUT).ravel()
    return np.append(rising(np.cumsum(consistent)[:-1]), 1.0)


@cache
def planned(epsilon: float) -> DistributionPlan:
    return plan_distribution(0, 1, epsilon=epsilon, people=PEOPLE)


def ours(
    values: np.ndarray, epsilon: float, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Both curves of the planned cells."""
    plan = planned(epsilon)
    estimates = plan.estimate(plan.drawn_counts(values, rng))
    ends = np.arange(1, CELLS + 1) / CELLS
    return {
        "consistent": np.interp(ends, estimates.edges, estimates.consistent),
        "smoothed": estimates.smoothed_share_up_to(ends),
    }


def distances(epsilon: float) -> dict[str, dict[str, np.ndarray]]:
    """By distribution and way: W1 and the largest distance, times 1000, shape ``(2,)``."""
    sums: dict[str, dict[str, np.ndarray]] = {}
    for repeat in range(REPEATS):
        rng = np.random.default_rng(repeat)
        for name, values in people(rng):
            true = np.cumsum(np.bincount((values * CELLS).astype(int), minlength=CELLS))
            curves = {
                **ours(values, epsilon, rng),
                "Square Wave": square_wave(values, epsilon, rng),
                "hierarchy": hierarchy(values, epsilon, rng),
            }
            for way, curve in curves.items():
                gaps = np.abs(curve - true / PEOPLE)
                seen = sums.setdefault(name, {}).setdefault(way, np.zeros(2))
                seen += 1e3 * np.array([gaps.mean(), gaps.max()]) / REPEATS
    return sums


def figures() -> list[Figure]:
    return rows(_beside)


def _beside() -> list[Figure]:
    found = []
    for epsilon in BUDGETS:
        cells = planned(epsilon).cells
        for name, ways in distances(epsilon).items():
            written = {
                way: f"{w1:.2f} / {most:.1f}" for way, (w1, most) in ways.items()
            }
            best = min(ways["consistent"][0], ways["smoothed"][0])
            rival = min(ways["Square Wave"][0], ways["hierarchy"][0])
            found.append(
                Figure(
                    f"{name}, budget {epsilon:g}, {cells} cells: W1 / largest x 1000",
                    f"consistent {written['consistent']}, smoothed {written['smoothed']}",
                    "W1 ahead, or within 5 %",
                    bool(best <= MOST_BEHIND * rival),
                    f"Square Wave with EMS {written['Square Wave']}; "
                    f"hierarchy {written['hierarchy']}",
                )
            )
    return found


if __name__ == "__main__":
    show(figures(), "The distribution of a number")
