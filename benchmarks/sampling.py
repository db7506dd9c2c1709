"""Speed of the Sampling Privacy parameter search and of the guarantee's curves.

Run: python benchmarks/sampling.py. Import of cvxpy and the first build of a program are
left out (they are paid once a process); what is timed is a search with new parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import numpy as np
from measure import Figure, rows, seconds, show

from planner.planning.sampled import (
    SamplingQuestion,
    binomial_window,
    difference_delta,
    error_grid,
    find_parameters,
    totals_delta_bound,
)

LIMIT = 0.050
PEOPLE = 10**7
REPEAT = 20


def figures() -> list[Figure]:
    return rows(_searches, _error, _deltas)


def _searches() -> list[Figure]:
    return list(map(_search, (1, 10, 100, 1000)))


def _error() -> Figure:
    grid = np.linspace(0.05, 5, 200)
    errors = _anew(10, lambda asked: error_grid(asked, grid))
    return Figure("error at 200 budgets, 10 values", f"{errors * 1e3:.2f} ms")


def _deltas() -> list[Figure]:
    difference = seconds(lambda: _uncached(lambda: difference_delta(PEOPLE, 0.45, 0.001)))
    bound = lambda: totals_delta_bound(PEOPLE, PEOPLE, 0.25, 0.45, 0.001)  # noqa: E731
    totals = seconds(lambda: _uncached(bound))
    return [
        Figure(f"delta of the difference, {PEOPLE:,} people", f"{difference * 1e3:.1f} ms"),
        Figure(f"delta of both totals (bound), {PEOPLE:,} people", f"{totals * 1e3:.1f} ms"),
    ]


def _search(values: int) -> Figure:
    ours, theirs = _anew(values, find_parameters), _anew(values, fresh_program)
    closed = _anew(values, closed_form)
    return Figure(
        f"Sampling Privacy parameter search, {values:,} value{'s' * (values > 1)}",
        f"{ours * 1e3:.1f} ms",
        "50 ms",
        ours < LIMIT,
        f"the program built anew {theirs * 1e3:.1f} ms: {theirs / ours:.1f}x",
        f"the closed form {closed * 1e3:.3f} ms: {closed / ours:.2%}",
    )


def question(values: int, k: int) -> SamplingQuestion:
    budgets = np.linspace(0.5, 2, values) * (1 + k / 100)
    return SamplingQuestion(budgets.tolist(), [100] * values, 10**6)


def fresh_program(asked: SamplingQuestion) -> float:
    """The peer: the same linear program, built anew for every question."""
    import cvxpy as cp

    weights = 1 / np.expm1(asked.output_budgets)
    stay, sampled = cp.Variable(weights.size, nonneg=True), cp.Variable(nonneg=True)
    rows = [stay >= weights * sampled, sampled <= 0.45, cp.sum(stay) + sampled == 1]
    return float(cp.Problem(cp.Maximize(sampled), rows).solve(solver=cp.HIGHS))


def closed_form(asked: SamplingQuestion) -> float:
    """What the search finds when no cap and no floor bind."""
    return float(1 / (1 + np.sum(1 / np.expm1(asked.output_budgets))))


def _anew(values: int, call: Callable[[SamplingQuestion], object]) -> float:
    """Time of a call with parameters that it has not seen; making the question is left out."""
    asked = [question(values, k) for k in range(REPEAT + 1)]
    number = count()
    return seconds(lambda: call(asked[next(number)]), repeat=REPEAT)


def _uncached(curve: Callable[[], float]) -> float:
    binomial_window.cache_clear()
    return curve()


if __name__ == "__main__":
    show(figures(), "Sampling Privacy")
