"""The distribution of a number beside Square Wave with EMS and hierarchical histograms, in one run.

Run: python benchmarks/distributions.py. 10,000 and 100,000 people; the mean over repetitions of W1,
the area between the estimated and the true curve of shares up to a value, and of the largest
distance between them, both times 1000 on 256 cells. One real column, ages of the census (UCI
Adult), is read from ../shared/data/adult.data, and left out where that is absent.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from measure import LONG, Figure, rows, show

from planner.planning.distribution import DistributionPlan, plan_distribution
from planner.trial.curves import RIVALS, hump, planned_curves, spikes, true_curve

PEOPLE = (10_000, 100_000)
AIMED_AT = 100_000  # people with whom W1 should be ahead, or within 5 %
BUDGETS = (0.5, 1.0, 2.0, 4.0)
REPEATS = 20 if LONG else 3
AGES = Path("../shared/data/adult.data")
MOST_BEHIND = 1.05


def shapes(people: int, rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray]]:
    """Numbers from 0 to 1 of all people, by the name of their distribution."""
    yield "beta(5,2)", hump(people, rng)
    yield "spiky", spikes(people, rng)
    low = rng.normal(0.25, 0.06, people)
    high = rng.normal(0.7, 0.1, people)
    yield "bimodal", inside(np.where(rng.random(people) < 0.4, low, high))
    if AGES.exists():
        lines = AGES.read_text().splitlines()
        years = np.array([float(line.split(",")[0]) for line in lines if "," in line])
        # An age lasts until the next birthday.
        drawn = rng.choice(years, people) + rng.random(people)
        yield "ages", inside((drawn - 17) / 74)


def inside(values: np.ndarray) -> np.ndarray:
    return np.clip(values, 0, 1 - 1e-9)


@cache
def planned(epsilon: float, people: int) -> DistributionPlan:
    return plan_distribution(0, 1, epsilon=epsilon, people=people)


def distances(epsilon: float, people: int) -> dict[str, dict[str, np.ndarray]]:
    """By distribution and way of asking: W1 and the largest distance, times 1000."""
    channel = planned(epsilon, people).channel
    sums: dict[str, dict[str, np.ndarray]] = {}
    for repeat in range(REPEATS):
        rng = np.random.default_rng(repeat)
        for name, values in shapes(people, rng):
            curves = planned_curves(channel, values, rng, no_answer=False)
            for rival, curve in RIVALS.items():
                curves[rival] = curve(values, epsilon, rng)
            truth = true_curve(values)
            of_shape = sums.setdefault(name, {})
            for way, estimated in curves.items():
                gaps = np.abs(estimated - truth)
                both = 1e3 * np.array([gaps.mean(), gaps.max()])
                of_shape[way] = of_shape.get(way, np.zeros(2)) + both / REPEATS
    return sums


def figures() -> list[Figure]:
    return rows(_beside)


def _beside() -> list[Figure]:
    found = []
    for people in PEOPLE:
        for epsilon in BUDGETS:
            for name, ways in distances(epsilon, people).items():
                found.append(_figure(name, epsilon, people, ways))
    return found


def _figure(
    name: str, epsilon: float, people: int, ways: dict[str, np.ndarray]
) -> Figure:
    """Both curves beside both rivals; the better of each are compared."""
    written = {}
    for way, (w1, largest) in ways.items():
        written[way] = f"{w1:.2f} / {largest:.1f}"
    best = min(ways["consistent"][0], ways["smoothed"][0])
    rival = min(ways[rival][0] for rival in RIVALS)
    aimed = people == AIMED_AT
    cells = planned(epsilon, people).cells
    return Figure(
        f"{name}, {people:,} people, budget {epsilon:g}, {cells} cells: W1 / largest x 1000",
        f"consistent {written['consistent']}, smoothed {written['smoothed']}",
        "W1 ahead, or within 5 %" if aimed else "",
        bool(best <= MOST_BEHIND * rival) if aimed else None,
        "; ".join(f"{rival} {written[rival]}" for rival in RIVALS),
    )


if __name__ == "__main__":
    show(figures(), "The distribution of a number")
