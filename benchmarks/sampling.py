"""Speed of the Sampling Privacy parameter search and of the guarantee's curves.

Run: python benchmarks/sampling.py. Import of cvxpy and the first build of a program are
left out (they are paid once a process); what is timed is a search with new parameters.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from importlib.metadata import version

import numpy as np

from planner.planning import binomial_window
from planner.planning.sampling_curves import difference_delta
from planner.planning.sampling_privacy import error_grid, find_parameters, smallest_budget
from planner.planning.sampling_question import SamplingQuestion
from planner.planning.sampling_totals import totals_delta_bound

LIMIT = 0.050


def median_seconds(call: Callable[[int], object], repeats: int = 30) -> float:
    call(0)
    times = []
    for k in range(1, repeats + 1):
        start = time.perf_counter()
        call(k)
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def question(values: int, k: int) -> SamplingQuestion:
    budgets = np.linspace(0.5, 2, values) * (1 + k / 100)
    return SamplingQuestion(budgets.tolist(), [100] * values, 10**6)


def fresh_program(values: int, k: int) -> float:
    """The peer: the same linear program, built anew for every question."""
    import cvxpy as cp

    weights = 1 / np.expm1(question(values, k).output_budgets)
    stay, sampled = cp.Variable(values + 1, nonneg=True), cp.Variable(nonneg=True)
    rows = [stay >= weights * sampled, sampled <= 0.45, cp.sum(stay) + sampled == 1]
    return float(cp.Problem(cp.Maximize(sampled), rows).solve(solver=cp.HIGHS))


def uncached(curve: Callable[[], float]) -> float:
    binomial_window.binomial_window.cache_clear()
    return curve()


def main() -> None:
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()},")
    print(", ".join(f"{name} {version(name)}" for name in ("cvxpy", "highspy", "numpy")))
    print(f"{'what':46}{'seconds':>9}{'peer':>9}{'ratio':>7}{'limit':>7}")
    for values in (1, 10, 100, 1000):
        ours = median_seconds(lambda k, v=values: find_parameters(question(v, k)))
        peer = median_seconds(lambda k, v=values: fresh_program(v, k))
        name = f"parameter search, {values} values (peer: built anew)"
        print(f"{name:46}{ours:9.4f}{peer:9.4f}{peer / ours:7.1f}{LIMIT:7.3f}")
    inverse = median_seconds(lambda k: smallest_budget(question(10, k), 60.0))
    print(f"{'smallest budget for a target, 10 values':46}{inverse:9.4f}")
    grid = np.linspace(0.05, 5, 200)
    print(f"{'error grid, 200 budgets':46}", end="")
    print(f"{median_seconds(lambda k: error_grid(question(10, k), grid)):9.4f}")
    for name, curve in (
        ("delta of the difference, 10^7 people", lambda: difference_delta(10**7, 0.45, 0.001)),
        (
            "delta of both totals (bound), 10^7 and 10^7",
            lambda: totals_delta_bound(10**7, 10**7, 0.25, 0.45, 0.001),
        ),
    ):
        print(f"{name:46}{median_seconds(lambda _, c=curve: uncached(c)):9.4f}")


if __name__ == "__main__":
    main()
