"""New result: opt0 is convex in log-odds coordinates, checked on random pairs of tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from reproduction.charts import lines
from reproduction.result import Claim, Result, Setting, Table
from reproduction.run import main

from planner import PrivacyPolicy
from planner.policy import logodds

ROUNDING = 1e-12  # relative


class Count(NamedTuple):
    """Midpoints of feasible pairs in one coordinate system."""

    infeasible: int  # outside the privacy rows
    above: int  # inside, but with an error above the chord
    worst: float  # largest error over chord


def reproduce(setting: Setting) -> Result:
    """Midpoint convexity of opt0 in (s, w) and in (a, b)."""
    policies = setting.pick(400, 40)
    pairs = setting.pick(500, 100)
    rng = np.random.default_rng(9)
    counts = {"s, w": [], "a, b": []}
    for _ in range(policies):
        policy = random_policy(rng)
        ends = [feasible(policy, pairs, rng) for _ in range(2)]
        counts["s, w"].append(_midpoints(policy, ends, (lambda v: v, lambda v: v)))
        counts["a, b"].append(_midpoints(policy, ends, (_to_table, _to_log_odds)))
    total = policies * pairs
    log_odds, table = (
        Count(
            sum(c.infeasible for c in each),
            sum(c.above for c in each),
            max(c.worst for c in each),
        )
        for each in counts.values()
    )
    rows = [
        (f"({name})", total, count.infeasible, count.above, f"{count.worst:.6f}")
        for name, count in zip(counts, (log_odds, table), strict=True)
    ]
    return Result(
        "New: opt0 is convex in log-odds coordinates",
        f"s = ln(a/b), w = ln((1-b)/(1-a)). {policies} random policies (1 to 8 levels, budgets 0.1 "
        f"to 5, 1 to 100 items, rules min, avg and matrix), {pairs} pairs of tables each that keep "
        f"the policy. Convex: every midpoint keeps the policy, its error is at most the mean.",
        [
            Claim(
                "opt0 is convex in (s, w).",
                "this project",
                log_odds.infeasible == 0 and log_odds.above == 0,
                f"{total:,} midpoints: {log_odds.infeasible} break a privacy row, {log_odds.above} "
                f"have an error above the mean of the ends (largest ratio {log_odds.worst:.6f}).",
            ),
            Claim(
                "opt0 is not convex: it has to be restricted to opt1 or opt2.",
                "ID-LDP, section V-D",
                log_odds.infeasible > 0 or log_odds.above > 0,
                f"In (a, b) {table.infeasible:,} midpoints break a privacy row and {table.above:,} "
                f"others have an error above the mean (up to {table.worst:.1f} times).",
                "in the coordinates (a, b)"
                if table.infeasible > 0 and table.above > 0
                else "",
            ),
        ],
        [
            Table(
                "Midpoints",
                ("coordinates", "pairs", "infeasible", "above", "worst"),
                rows,
            )
        ],
        [_segment()],
    )


def random_policy(rng: np.random.Generator) -> PrivacyPolicy:
    """Any of the three rules."""
    size = int(rng.integers(1, 9))
    budgets = rng.uniform(0.1, 5, size)
    counts = rng.integers(1, 101, size)
    rule = ("min", "avg", "matrix")[rng.integers(3)]
    if rule == "matrix":
        half = rng.uniform(0.1, 5, (size, size))
        return PrivacyPolicy(budgets, counts, half + half.T)
    return PrivacyPolicy(budgets, counts, rule)


def feasible(policy: PrivacyPolicy, pairs: int, rng: np.random.Generator) -> np.ndarray:
    """Random log-odds that keep the policy, ``(2, pairs, levels)``."""
    v = rng.exponential(size=(2, pairs, policy.size)) + 1e-3
    used = (v[0][:, :, None] + v[1][:, None, :]) / policy.bounds()
    return v / used.max(axis=(1, 2))[:, None] * rng.uniform(0.2, 1, (pairs, 1))


def error(policy: PrivacyPolicy, v: np.ndarray) -> np.ndarray:
    """The worst-case error of eq. 9 at log-odds ``(2, pairs, levels)``."""
    return logodds.noise(*v) @ policy.item_counts + logodds.signal(*v).max(axis=-1)


def _midpoints(policy: PrivacyPolicy, ends: list[np.ndarray], through) -> Count:
    to, back = through
    middle = back((to(ends[0]) + to(ends[1])) / 2)
    used = middle[0][:, :, None] + middle[1][:, None, :] - policy.bounds()
    kept = used.max(axis=(1, 2)) <= ROUNDING
    ratio = error(policy, middle) / (
        (error(policy, ends[0]) + error(policy, ends[1])) / 2
    )
    above = kept & (ratio > 1 + ROUNDING)
    return Count(
        int(np.sum(~kept)), int(np.sum(above)), float(ratio[kept].max(initial=0))
    )


def _to_table(v: np.ndarray) -> np.ndarray:
    return np.array(logodds.from_log_odds(*v))


def _to_log_odds(table: np.ndarray) -> np.ndarray:
    return np.array(logodds.to_log_odds(*table))


def _segment():
    """The error along one line between two tables, straight in each coordinate system."""
    policy = PrivacyPolicy([3.0, 3.0], [1, 5])
    one = np.array([[0.9, 0.9], [0.5, 0.8]])
    two = np.array([[0.9, 0.2], [0.1, 0.1]])
    share = np.linspace(0, 1, 101)

    def along(start: np.ndarray, end: np.ndarray) -> np.ndarray:
        return start[:, None] + share[:, None] * (end - start)[:, None]

    curves = {
        "straight in (s, w)": error(
            policy, along(_to_log_odds(one), _to_log_odds(two))
        ),
        "straight in (a, b)": error(policy, _to_log_odds(along(one, two))),
    }
    ends = error(policy, np.stack([_to_log_odds(one), _to_log_odds(two)], axis=1))
    curves["chord"] = ends[0] + share * (ends[1] - ends[0])
    titles = (
        "Error between two tables",
        "share of the second table",
        "worst-case MSE / n",
    )
    return lines(share, curves, titles, log_y=False)


if __name__ == "__main__":
    main(reproduce)
