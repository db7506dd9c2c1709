"""How fast the best of all mechanisms is found and proven, beside the best table."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from measure import LONG, Figure, peak_megabytes, rows, seconds, show
from numpy.typing import NDArray

from planner import ConvergenceError, PrivacyPolicy, best_design, solve

SCALED = np.array([1.0, 1.2, 2.0])

RULES = ("min", "avg", "one-sided", "against")
LEVELS = (6, 8, 10, 12, 20, 50)
LEVEL_CHANCES = (0.2, 0.2, 0.2, 0.2, 0.1, 0.1)
ITEMS = (1, 5, 20, 200)
BUDGETS = {
    "tiny": (1e-4, 1e-3),
    "usual": (0.5, 3.0),
    "large": (4.0, 15.0),
    "mixed": (5e-5, 50.0),  # over six powers of ten
}
POLICIES = 60
CLOSE = 1e-3  # the gap asked for
NEAR = 0.01  # the largest that is met


def figures() -> list[Figure]:
    return rows(hundred, retail, million, *((_memory,) if LONG else ()), many_levels)


def hundred() -> Figure:
    policy = PrivacyPolicy(SCALED, [5, 5, 90])
    return _proven("3 levels, 100 items", policy, 0.1, 1e-8, repeat=5)


def retail() -> Figure:
    policy = PrivacyPolicy([1, 1.2, 2, 4], [823, 823, 823, 14_001])
    return _proven("4 levels, 16,470 items", policy, 1, 1e-6)


def million() -> Figure:
    policy = PrivacyPolicy(SCALED, [50_000, 50_000, 900_000])
    return _proven("3 levels, 1,000,000 items", policy, 0.5, 1e-6)


def many_levels() -> list[Figure]:
    """Sixty policies of 6 to 50 levels: by the size of their budgets, and the worst of all."""
    gaps: dict[str, list[float]] = {size: [] for size in BUDGETS}
    times: dict[str, list[float]] = {size: [] for size in BUDGETS}
    worst = ("", 0.0)
    for what, size, policy in policies():
        begun = time.process_time()
        try:
            gap = best_design(policy, tolerance=CLOSE).certificate.relative_gap
        except ConvergenceError:  # refused: digits end where budgets differ that much
            gap = np.inf
        times[size].append(time.process_time() - begun)
        gaps[size].append(gap)
        if gap >= worst[1]:
            worst = (what, gap)
    figures = []
    for size, (low, high) in BUDGETS.items():
        largest = max(gaps[size])
        share = np.mean(np.array(gaps[size]) <= CLOSE)
        figures.append(
            Figure(
                f"6 to 50 levels, {size} budgets ({low:g} to {high:g}), {len(gaps[size])} policies",
                f"largest gap {largest:.1e}, {share:.0%} within {CLOSE:g}",
                f"{NEAR:g}",
                largest <= NEAR,
                limit=f"CPU {max(times[size]):.1f} s at most, {np.mean(times[size]):.1f} s each",
            )
        )
    figures.append(
        Figure("of these the largest gap", f"{worst[1]:.1e}", limit=worst[0])
    )
    return figures


def policies() -> Iterator[tuple[str, str, PrivacyPolicy]]:
    """What each is, the size of its budgets, and itself: rules and sizes in turn, others drawn."""
    rng = np.random.default_rng(53)
    for number in range(POLICIES):
        rule = RULES[number % len(RULES)]
        size = list(BUDGETS)[number // len(RULES) % len(BUDGETS)]
        levels = int(rng.choice(LEVELS, p=LEVEL_CHANCES))
        items = int(rng.choice(ITEMS))
        budgets = drawn_budgets(rng, size, levels)
        what = f"{rule}, {levels} levels of {items} items, {size} budgets"
        if rule == "against":
            against = np.minimum(budgets * rng.uniform(0.7, 3, levels), 50.0)
            policy = PrivacyPolicy(
                budgets, [items] * levels, "one-sided", against=against
            )
        else:
            policy = PrivacyPolicy(budgets, [items] * levels, rule)
        yield what, size, policy


def drawn_budgets(
    rng: np.random.Generator, size: str, levels: int
) -> NDArray[np.float64]:
    """Evenly, or where they differ by powers of ten, evenly in their logarithms."""
    low, high = BUDGETS[size]
    if high / low >= 10:
        return np.exp(rng.uniform(np.log(low), np.log(high), levels))
    return rng.uniform(low, high, levels)


def six_levels() -> PrivacyPolicy:
    return PrivacyPolicy(np.linspace(1, 2, 6), [100] * 6)


def ten_thousand_levels() -> PrivacyPolicy:
    rng = np.random.default_rng(1)
    return PrivacyPolicy(rng.uniform(1, 2, 10_000), rng.integers(1, 100, 10_000))


def _proven(
    what: str, policy: PrivacyPolicy, limit: float, gap: float, repeat: int = 3
) -> Figure:
    found = []
    tolerance = min(gap, 1e-3)
    taken = seconds(
        lambda: found.append(best_design(policy, tolerance=tolerance)), repeat
    )
    reached = max(design.certificate.relative_gap for design in found)
    table = seconds(lambda: solve(policy), repeat=3)
    change = found[0].worst_case_mse / solve(policy).worst_case_mse - 1
    return Figure(
        what,
        f"{taken:.2f} s, gap {reached:.1e}",
        f"{limit:g} s, {gap:g}",
        reached <= gap and taken < limit,
        f"opt0 {table * 1e3:.1f} ms; error {change:+.0%}",
    )


def _memory() -> Figure:
    most = max(peak_megabytes(task) for task in (solve_six, solve_ten_thousand))
    return Figure(
        "peak memory, 6 levels and 10,000 levels",
        f"{most:.0f} MB",
        "500 MB",
        most < 500,
    )


def solve_six() -> float:
    return best_design(six_levels(), tolerance=1e-3).worst_case_mse


def solve_ten_thousand() -> float:
    return best_design(ten_thousand_levels(), tolerance=1e-3).worst_case_mse


if __name__ == "__main__":
    show(figures(), "Designs")
