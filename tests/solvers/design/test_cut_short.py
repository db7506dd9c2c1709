"""Rounds, work or digits may run out: a design and a true bound come back all the same."""

import numpy as np
import pytest

from planner import ConvergenceError, PrivacyPolicy, best_design
from planner.solvers.design import generation

POLICY = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])
LEAST = 175.80530  # to its digits


def _honest(design, least=LEAST):
    certificate = design.certificate
    assert certificate.lower_bound <= least * (1 + 1e-7)
    assert design.worst_case_mse >= least * (1 - 1e-7)
    gap = design.worst_case_mse / certificate.lower_bound - 1
    assert certificate.relative_gap == pytest.approx(gap)
    return certificate


@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_few_rounds(monkeypatch, rounds):
    monkeypatch.setattr(generation, "_ROUNDS", rounds)
    certificate = _honest(best_design(POLICY))
    assert 1e-6 < certificate.relative_gap < np.inf


def test_little_work(monkeypatch):
    monkeypatch.setattr(generation, "_NODES", 3)
    assert _honest(best_design(POLICY)).relative_gap > 1e-6


@pytest.mark.parametrize("works", [1, 3])
def test_a_solver_that_fails_later(monkeypatch, works):
    solve, calls = generation.solve_restricted, []

    def failing(levels, columns, gap):
        calls.append(columns)
        if len(calls) > works:
            raise ConvergenceError("The solver stopped", "Stop.")
        return solve(levels, columns, gap)

    monkeypatch.setattr(generation, "solve_restricted", failing)
    _honest(best_design(POLICY))
    assert len(calls) == works + 2  # and once for the last digits of what it had


def test_a_solver_that_fails_at_once(monkeypatch):
    def failing(*_):
        raise ConvergenceError("The solver stopped", "Stop.")

    monkeypatch.setattr(generation, "solve_restricted", failing)
    with pytest.raises(ConvergenceError, match="stopped"):
        best_design(POLICY)


def test_types_that_never_get_a_ratio(monkeypatch):
    """The same types again and again, with a ``lam`` below 0 at some: lifted, not given up."""
    solve = generation.solve_restricted

    def crooked(levels, columns, gap):
        answer = solve(levels, columns, gap)
        slack = answer.multipliers.slack - 1.01 * answer.multipliers.slack.max()
        return answer._replace(multipliers=answer.multipliers._replace(slack=slack))

    monkeypatch.setattr(generation, "solve_restricted", crooked)
    certificate = best_design(POLICY).certificate
    assert 0 < certificate.lower_bound < LEAST


def test_six_levels_that_differ_widely_under_the_rule_avg(monkeypatch):
    """Its integers take more work to settle than is allowed."""
    monkeypatch.setattr(generation, "_NODES", 5_000)
    rng = np.random.default_rng(1)
    policy = PrivacyPolicy(rng.uniform(0.5, 3, 6), rng.integers(1, 60, 6), "avg")
    certificate = best_design(policy, tolerance=1e-4).certificate
    assert certificate.relative_gap < 1e-3
