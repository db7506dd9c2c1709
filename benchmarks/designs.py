"""How fast the best of all mechanisms is found and proven, beside the best table."""

from __future__ import annotations

import numpy as np
from measure import LONG, Figure, peak_megabytes, rows, seconds, show

from planner import PrivacyPolicy, best_design, solve

SCALED = np.array([1.0, 1.2, 2.0])


def figures() -> list[Figure]:
    many = (six, fifty, ten_thousand, _memory) if LONG else (six, fifty)
    return rows(hundred, retail, million, *many)


def hundred() -> Figure:
    policy = PrivacyPolicy(SCALED, [5, 5, 90])
    return _proven("3 levels, 100 items", policy, 0.1, 1e-8, repeat=5)


def retail() -> Figure:
    policy = PrivacyPolicy([1, 1.2, 2, 4], [823, 823, 823, 14_001])
    return _proven("4 levels, 16,470 items", policy, 1, 1e-6)


def million() -> Figure:
    policy = PrivacyPolicy(SCALED, [50_000, 50_000, 900_000])
    return _proven("3 levels, 1,000,000 items", policy, 0.5, 1e-6)


def six() -> Figure:
    return _proven("6 levels, 600 items", six_levels(), 5, 1e-3, repeat=1)


def fifty() -> list[Figure]:
    cases = [
        ("12 levels, 240 items", even(12, 2), 5, 1e-4),
        ("50 levels, 1,000 items", fifty_levels(), 10, 1e-3),
        ("12 levels, rule avg", even(12, 3, "avg"), 3, 1e-6),
        ("50 levels, rule avg", even(50, 3, "avg"), 5, 1e-3),
        ("50 levels, rule one-sided", even(50, 3, "one-sided"), 5, 1e-3),
        ("1,000 levels, rule avg", even(1_000, 3, "avg"), 1, 1e-3),
    ]
    return [_proven(*case, repeat=1) for case in cases]


def ten_thousand() -> Figure:
    return _proven("10,000 levels", ten_thousand_levels(), None, None, repeat=1)


def six_levels() -> PrivacyPolicy:
    return PrivacyPolicy(np.linspace(1, 2, 6), [100] * 6)


def even(levels: int, most: float, rule: str = "min") -> PrivacyPolicy:
    return PrivacyPolicy(np.linspace(1, most, levels), [20] * levels, rule)


def fifty_levels() -> PrivacyPolicy:
    return even(50, 3)


def ten_thousand_levels() -> PrivacyPolicy:
    rng = np.random.default_rng(1)
    return PrivacyPolicy(rng.uniform(1, 2, 10_000), rng.integers(1, 100, 10_000))


def _proven(
    what: str,
    policy: PrivacyPolicy,
    limit: float | None,
    gap: float | None,
    repeat: int = 3,
) -> Figure:
    found = []
    tolerance = min(gap or 1e-3, 1e-3)
    taken = seconds(
        lambda: found.append(best_design(policy, tolerance=tolerance)),
        repeat,
        warm_up=repeat > 1,
    )
    reached = max(design.certificate.relative_gap for design in found)
    table = seconds(lambda: solve(policy), repeat=3)
    target = "" if gap is None else f"{gap:g}"
    target = target if limit is None else f"{limit:g} s, {target}"
    met = None if gap is None else reached <= gap and (limit is None or taken < limit)
    change = found[0].worst_case_mse / solve(policy).worst_case_mse - 1
    return Figure(
        what,
        f"{taken:.2f} s, gap {reached:.1e}",
        target,
        met,
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
