"""Speed of the Sampling Privacy parameter search.

Run: python benchmarks/sampling.py. Import of cvxpy and the first build of a program are
left out (they are paid once a process); what is timed is a search with new parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import numpy as np
from measure import Figure, rows, seconds, show

from planner.mechanisms.sampling_privacy import best_sampling

LIMIT = 0.050
VALUES = 1000
REPEAT = 20


def figures() -> list[Figure]:
    return rows(_search)


def _search() -> Figure:
    ours = _anew(VALUES, search)
    theirs = _anew(VALUES, fresh_program)
    return Figure(
        f"Sampling Privacy parameter search, {VALUES:,} values",
        f"{ours * 1e3:.1f} ms",
        "50 ms",
        ours < LIMIT,
        f"the program built anew {theirs * 1e3:.1f} ms: {theirs / ours:.1f}x",
    )


def question(values: int, k: int) -> list[float]:
    return (np.linspace(0.5, 2, values + 1) * (1 + k / 100)).tolist()


def search(budgets: list[float]) -> None:
    best_sampling(budgets, 0.45, 0.0)


def fresh_program(budgets: list[float]) -> float:
    """The peer: the same linear program, built anew for every question."""
    import cvxpy as cp

    weights = 1 / np.expm1(budgets)
    stay = cp.Variable(weights.size, nonneg=True)
    sampled = cp.Variable(nonneg=True)
    rows = [stay >= weights * sampled, sampled <= 0.45, cp.sum(stay) + sampled == 1]
    return float(cp.Problem(cp.Maximize(sampled), rows).solve(solver=cp.HIGHS))


def _anew(values: int, call: Callable[[list[float]], object]) -> float:
    """Time of a call with parameters that it has not seen; making the question is left out."""
    asked = [question(values, k) for k in range(REPEAT + 1)]
    number = count()
    return seconds(lambda: call(asked[next(number)]), repeat=REPEAT)


if __name__ == "__main__":
    show(figures(), "Sampling Privacy")
