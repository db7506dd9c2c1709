"""How fast the solvers are, beside the paper's own formulation."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from measure import LONG, Figure, peak_megabytes, rows, seconds, show

from examples.reproduction.literal import solve_literal
from planner import PrivacyPolicy, solve

LARGE = 10**6


def figures() -> list[Figure]:
    large = (_reduced,) if LONG else ()
    return rows(_small, _conic, *large, _against_the_paper, _import)


def _small() -> list[Figure]:
    policy = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])
    rows = []
    for method in ("reduced", "slsqp"):
        taken = seconds(lambda m=method: solve(policy, method=m), repeat=10)
        rows.append(
            Figure(
                f"opt0, 3 levels, {method}",
                f"{taken * 1e3:.1f} ms",
                "20 ms",
                taken < 0.02,
            )
        )
    return rows


def _conic() -> Figure:
    rng = np.random.default_rng(1)
    policy = PrivacyPolicy(rng.uniform(1, 2, 1000), rng.integers(1, 1000, 1000))
    taken = seconds(lambda: solve(policy, method="conic"), repeat=3)
    return Figure("opt0, 1,000 levels, conic", f"{taken:.2f} s", "1 s", taken < 1)


def _reduced() -> list[Figure]:
    taken = seconds(solve_large, repeat=2)
    memory = peak_megabytes(solve_large)
    read = seconds(lambda: np.expm1(np.linspace(1, 2, LARGE)), repeat=5)
    return [
        Figure(
            f"opt0, {LARGE:,} distinct budgets, reduced",
            f"{taken:.2f} s",
            "5 s",
            taken < 5,
            limit=f"{taken / read:.0f} x one pass of expm1",
        ),
        Figure("the same, peak memory", f"{memory:.0f} MB", "1,000 MB", memory < 1000),
    ]


def solve_large() -> float:
    rng = np.random.default_rng(1)
    policy = PrivacyPolicy(rng.uniform(1, 2, LARGE), rng.integers(1, 1000, LARGE))
    table = solve(policy)
    assert table.certificate is not None
    return table.certificate.relative_gap


def _against_the_paper() -> Figure:
    rng = np.random.default_rng(2)
    policy = PrivacyPolicy(rng.uniform(1, 2, 40), rng.integers(1, 1000, 40))
    ours = solve(policy)
    taken = seconds(lambda: solve(policy), repeat=5)
    answers = []
    theirs = seconds(
        lambda: answers.append(solve_literal(policy, starts=5)), repeat=1, warm_up=False
    )
    better = ours.worst_case_mse <= answers[0].worst_case_mse * (1 + 1e-12)
    ratio = theirs / taken
    excess = answers[0].worst_case_mse / ours.worst_case_mse - 1
    return Figure(
        "opt0, 40 levels, auto",
        f"{taken * 1e3:.1f} ms",
        "100 x faster, error no larger",
        ratio >= 100 and better,
        f"slsqp-ab, 5 starts: {theirs:.2f} s = {ratio:.0f} x, error {excess:+.1e}",
    )


def _import() -> Figure:
    code = (
        "import sys, time; t = time.perf_counter(); import planner; t = time.perf_counter() - t; "
        "assert not {'cvxpy', 'streamlit', 'numpy'} & set(sys.modules); print(t)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    taken = float(run.stdout)
    return Figure("import planner", f"{taken * 1e3:.0f} ms", "500 ms", taken < 0.5)


if __name__ == "__main__":
    show(figures(), "Solvers")
