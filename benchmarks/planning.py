"""How fast planning is: joint allocation, frontier, target search."""

from __future__ import annotations

import numpy as np
from measure import Figure, seconds, show

from planner import PrivacyPolicy, solve
from planner.planning.allocation.blocks import ChoiceBlock
from planner.planning.allocation.plan import allocate
from planner.planning.budgets import scaled
from planner.planning.frontier import frontier, usual_scales
from planner.planning.smallest_budgets import smallest_budgets
from planner.survey.target import Target


def figures() -> list[Figure]:
    return [_allocation(), *_frontier(), _target()]


def _policy(rng: np.random.Generator) -> PrivacyPolicy:
    """Five levels as an analyst might have them."""
    return PrivacyPolicy(rng.uniform(1, 4, 5), rng.integers(1, 30, 5))


def _allocation() -> Figure:
    rng = np.random.default_rng(1)
    blocks = [ChoiceBlock(str(j), _policy(rng), float(rng.uniform(0.1, 3))) for j in range(20)]
    taken = seconds(lambda: allocate(blocks), repeat=3)
    alone = seconds(lambda: [block.at(0.05) for block in blocks], repeat=3)
    gap = allocate(blocks).relative_gap
    return Figure(
        "joint allocation, 20 questions of 5 levels, proven",
        f"{taken:.2f} s",
        "2 s",
        taken < 2,
        f"20 separate solves with proof: {alone:.2f} s, {taken / alone:.1f} x",
        f"proven gap {gap:.0e}",
    )


def _frontier() -> list[Figure]:
    rng = np.random.default_rng(2)
    found = []
    for rule in ("min", "matrix"):
        policy = _policy(rng)
        if rule == "matrix":
            graph = policy.bounds() * (1 + 0.5 * rng.uniform(size=(5, 5)))
            graph = np.minimum(graph, graph.T)
            graph[0, 4] = graph[4, 0] = np.inf
            policy = PrivacyPolicy(policy.epsilons, policy.item_counts, graph)
        taken = seconds(lambda p=policy: frontier(p, 10_000), repeat=3)
        fresh = seconds(
            lambda p=policy: [solve(scaled(p, g), method="conic") for g in usual_scales(p)[:5]],
            repeat=1,
        )
        found.append(
            Figure(
                f"frontier of 50 points, 5 levels, rule {rule}, certified",
                f"{taken:.2f} s",
                "1 s",
                taken < 1,
                f"50 fresh conic builds: {10 * fresh:.1f} s, {10 * fresh / taken:.0f} x",
            )
        )
    return found


def _target() -> Figure:
    policy = _policy(np.random.default_rng(3))
    targets = [Target(error=0.01), Target(detect=0.01)]
    taken = seconds(lambda: smallest_budgets(policy, 100_000, targets), repeat=5)
    once = seconds(lambda: solve(policy), repeat=5)
    return Figure(
        "smallest budgets for two targets, 5 levels",
        f"{taken * 1e3:.0f} ms",
        "300 ms",
        taken < 0.3,
        f"one solve: {once * 1e3:.1f} ms, {taken / once:.0f} x",
    )


if __name__ == "__main__":
    show(figures(), "Planning")
