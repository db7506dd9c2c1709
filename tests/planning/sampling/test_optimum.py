import cvxpy as cp
import numpy as np
import pytest

from planner import ConvergenceError
from planner.planning.sampling import optimum
from planner.planning.sampling.design import find_parameters
from planner.planning.sampling.optimum import closed_form, place, solve_program
from planner.planning.sampling.question import SamplingQuestion


def test_the_program_is_built_once():
    find_parameters(SamplingQuestion([1.0] * 5, [5] * 5, 100))
    before = optimum._program.cache_info().misses
    find_parameters(SamplingQuestion([2.0] * 5, [7] * 5, 300, cap=0.2))
    assert optimum._program.cache_info().misses == before


BUDGETS = np.array([1.0, 1.0, 2.0])


def test_a_program_that_is_not_parametrised_is_never_solved(monkeypatch):
    monkeypatch.setattr(cp.Problem, "is_dcp", lambda *_, **__: False)
    with pytest.raises(AssertionError, match="not a disciplined parametrised program"):
        solve_program(np.ones(17), 0.0, 0.5)


def test_a_solver_that_fails_is_named_with_a_remedy(monkeypatch):
    def fail(*_, **__):
        raise cp.error.SolverError("no luck")

    monkeypatch.setattr(cp.Problem, "solve", fail)
    with pytest.raises(ConvergenceError, match=r"linear program failed: no luck.*Report"):
        solve_program(BUDGETS, 0.0, 0.5)


@pytest.mark.parametrize("status", ["infeasible", "unbounded", "user_limit"])
def test_a_solver_that_stops_early_is_named_with_a_remedy(status, monkeypatch):
    def stop(problem, **_):
        problem._status = status

    monkeypatch.setattr(cp.Problem, "solve", stop)
    with pytest.raises(ConvergenceError, match=rf"stopped early: {status}.*Report"):
        solve_program(BUDGETS, 0.0, 0.5)


def test_program_and_closed_form_agree_on_random_budgets():
    rng = np.random.default_rng(3)
    for _ in range(20):
        budgets = rng.uniform(0.05, 6, int(rng.integers(2, 7)))
        floor, cap = rng.uniform(0, 0.5), rng.uniform(0.05, 1)
        closed = float(closed_form(budgets, floor, cap))
        assert solve_program(budgets, floor, cap) == pytest.approx(closed, rel=1e-6)
        zero, decoys = place(closed, budgets, floor)
        assert zero + decoys.sum() + closed == pytest.approx(1)
        assert zero >= floor
