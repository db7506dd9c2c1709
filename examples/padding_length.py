"""Is the planned padding length as good as the best one? Measured on transactions.

    python examples/padding_length.py TRANSACTIONS [RUNS]

For budgets e * (1, 1.2, 2) on 5, 5 and 90 % of the items, e = 1, 2, 4: every padding length is
simulated on all transactions (all people's reports, RUNS times, at most every second
length beyond 20) and its total squared error is measured. Then the length is planned from
the histogram of set sizes (with the items' popularity assumed, or known), from a pilot of 500
people, and from all sets, and the error measured there is compared with the smallest one.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

from planner import ItemSets, PaddedUnaryMechanism, PrivacyPolicy, UnaryMechanism, solve
from planner.datasets import read_transactions
from planner.planning.padding import plan_padding
from planner.planning.pilot import PilotSets
from planner.set_model import AssumedSets, SetModel

SCALES = (1.0, 2.0, 4.0)


def measured(
    mechanism: PaddedUnaryMechanism, sets: ItemSets, runs: int, rng: np.random.Generator
) -> float:
    """Total squared error per user over all items, mean of ``runs`` simulated collections."""
    truth = sets.counts()
    errors = [
        np.square(mechanism.estimate(mechanism.draw_aggregate(sets, rng)).values - truth).sum()
        for _ in range(runs)
    ]
    return float(np.mean(errors)) / sets.users


def assign(items: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Levels of the items: 5, 5 and 90 %, at random."""
    small = max(1, round(0.05 * items))
    level = np.repeat([0, 1, 2], [small, small, items - 2 * small])
    return rng.permutation(level)


def part(sets: ItemSets, users: NDArray[np.int64]) -> ItemSets:
    """The sets of some users."""
    return ItemSets.of(
        [sets.members[sets.starts[u] : sets.starts[u + 1]] for u in users], sets.items
    )


def models(
    sets: ItemSets, level: NDArray[np.int64], rng: np.random.Generator
) -> dict[str, SetModel]:
    """What one might know of the sets before the collection."""
    pilot = part(sets, rng.choice(sets.users, size=min(500, sets.users), replace=False))
    return {
        "sizes, popularity assumed 1/rank": AssumedSets(np.bincount(sets.sizes)),
        "sizes, popularity known": AssumedSets(np.bincount(sets.sizes), sets.counts()),
        "pilot of 500 people": PilotSets(pilot, level),
        "all sets": PilotSets(sets, level),
    }


def compare(
    sets: ItemSets, lengths: NDArray[np.int64], runs: int, scale: float, rng: np.random.Generator
) -> dict[str, tuple[int, float]]:
    """For every way to plan: the length, and its measured error over the smallest measured one."""
    level = assign(sets.items, rng)
    policy = PrivacyPolicy(scale * np.array([1, 1.2, 2]), np.bincount(level))
    table = solve(policy)
    unary = UnaryMechanism(table, level)

    def error(length: int) -> float:
        return measured(PaddedUnaryMechanism(unary, length), sets, runs, rng)

    curve = {length: error(length) for length in lengths.tolist()}
    best = min(curve, key=lambda length: curve[length])
    found = {"best measured": (best, 1.0)}
    for name, model in models(sets, level, rng).items():
        chosen = plan_padding(table, sets.users, model).length
        found[name] = (chosen, (curve.get(chosen) or error(chosen)) / curve[best])
    return found


def main(path: str, runs: int) -> None:
    sets = read_transactions(path).sets
    if sets is None:
        raise SystemExit(f"{path} holds no item sets")
    rng = np.random.default_rng(1)
    print(f"{sets.users:,} people, {sets.items:,} items, {sets.sizes.mean():.1f} items a person")
    lengths = np.unique(np.r_[1:20, 20 : sets.sizes.max() + 1 : 2])
    for scale in SCALES:
        print(f"budgets {scale:g} * (1, 1.2, 2)")
        for name, (length, ratio) in compare(sets, lengths, runs, scale, rng).items():
            print(f"  {name:40} l = {length:2}   error {ratio:.3f} times the smallest")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3)
