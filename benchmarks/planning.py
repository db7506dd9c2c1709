"""How fast planning is: joint allocation, frontier, target search."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from measure import Figure, rows, seconds, show

from planner import PrivacyPolicy, allocate, choice_curve, solve
from planner.planning.solve import scaled
from planner.planning.targets import smallest_budgets
from planner.planning.what_if import frontier, usual_scales
from planner.survey.levels import Target


def figures() -> list[Figure]:
    return rows(_allocation, _frontier, _target, _pilot)


def _policy(rng: np.random.Generator) -> PrivacyPolicy:
    """Five levels as an analyst might have them."""
    return PrivacyPolicy(rng.uniform(1, 4, 5), rng.integers(1, 30, 5))


def _allocation() -> Figure:
    rng = np.random.default_rng(1)
    blocks = [
        choice_curve(str(j), _policy(rng), float(rng.uniform(0.1, 3)))
        for j in range(20)
    ]
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


def _frontier() -> Figure:
    policy = _policy(np.random.default_rng(2))
    taken = seconds(lambda: frontier(policy, 10_000), repeat=3)
    scales = usual_scales(policy)[:5]
    fresh = seconds(
        lambda: [solve(scaled(policy, g), method="conic") for g in scales], repeat=1
    )
    return Figure(
        "frontier of 50 points, 5 levels, certified",
        f"{taken:.2f} s",
        "1 s",
        taken < 1,
        f"50 fresh conic builds: {10 * fresh:.1f} s, {10 * fresh / taken:.0f} x",
    )


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


def _pilot() -> Figure:
    """A pilot shaped like click data: most sets are small, a few very large."""
    rng = np.random.default_rng(4)
    users = 100_000
    items = 23_496
    largest = 1_136
    sizes = np.minimum(largest, 1 + 3 * rng.pareto(1.3, users)).astype(np.int64)
    sizes[0] = largest
    popularity = np.cumsum(1 / np.arange(1.0, items + 1))
    lines = []
    for size in sizes.tolist():
        drawn: set[int] = set()
        while len(drawn) < size:
            draw = popularity[-1] * rng.random(2 * (size - len(drawn)))
            drawn.update(
                np.searchsorted(popularity, draw)[: size - len(drawn)].tolist()
            )
        lines.append(" ".join(map(str, sorted(drawn))))
    levels = "".join(
        f"[[question.level]]\nname = '{name}'\nepsilon = {epsilon}\nitem_count = {count}\n"
        for name, epsilon, count in (("a", 1, 1200), ("b", 1.2, 1200), ("c", 2, 21_200))
    )
    head = "[survey]\nname = 's'\nusers = 1000000\n[[question]]\nname = 'q'\nkind = 'item-set'\n"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pilot.dat").write_text("\n".join(lines) + "\n")
        survey = Path(folder, "survey.toml")
        survey.write_text(f"{head}[question.sets]\npilot = 'pilot.dat'\n{levels}")
        run = "from planner.cli import main; main()"
        command = [sys.executable, "-c", run, "plan", str(survey), "--json"]
        taken = seconds(
            lambda: subprocess.run(command, check=True, capture_output=True), repeat=3
        )
        words = seconds(lambda: [line.split() for line in lines], repeat=3)
    return Figure(
        f"plan from a pilot of {users:,} click sets, {sizes.sum():,} clicks, as a command",
        f"{taken:.1f} s",
        "3 s",
        taken < 3,
        limit=f"splitting its lines into words: {words:.2f} s, {taken / words:.0f} x",
    )


if __name__ == "__main__":
    show(figures(), "Planning")
