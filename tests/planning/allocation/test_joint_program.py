"""The program is a guide, not a proof: what it may do wrong, and what is then said."""

import cvxpy as cp
import numpy as np
import pytest

from planner import ConvergenceError, allocate
from planner.planning.allocation.goal import Goal
from planner.planning.allocation.joint_program import solve_shares
from tests.planning.allocation.questions import SECTION_9

GOAL = Goal.of(SECTION_9)


def test_a_program_that_is_not_convex_is_never_solved(monkeypatch):
    monkeypatch.setattr(cp.Problem, "is_dcp", lambda _: False)
    with pytest.raises(AssertionError, match="not a disciplined convex program"):
        solve_shares(SECTION_9, GOAL)


def test_a_solver_that_fails_is_named_with_a_remedy(monkeypatch):
    def fail(*_, **__):
        raise cp.SolverError("no luck")

    monkeypatch.setattr(cp.Problem, "solve", fail)
    with pytest.raises(ConvergenceError, match=r"Clarabel failed .* no luck.*closer together"):
        allocate(SECTION_9)


@pytest.mark.parametrize("status", ["infeasible", "unbounded", "user_limit"])
def test_a_solver_that_stops_early_is_named_with_a_remedy(status, monkeypatch):
    def stop(problem, **_):
        problem._status = status

    monkeypatch.setattr(cp.Problem, "solve", stop)
    with pytest.raises(ConvergenceError, match=rf"stopped early .*{status}.*closer together"):
        allocate(SECTION_9)


@pytest.mark.parametrize("targets", [None, [20.0, 200.0, 4.0]])
def test_rough_shares_are_refined_before_they_are_proven(targets, monkeypatch):
    objective = "sum" if targets is None else "minimax"
    best = allocate(SECTION_9, objective, targets)
    rough = best.shares * [1.01, 1.0, 0.99]
    home = "planner.planning.allocation.plan"
    monkeypatch.setattr(f"{home}.solve_shares", lambda *_: rough / rough.sum())
    found = allocate(SECTION_9, objective, targets)
    assert found.relative_gap <= 1e-8
    assert found.shares == pytest.approx(best.shares, rel=1e-4)
    assert not np.allclose(found.shares, rough, rtol=1e-4)
    # Steps that are too small end, and nothing is claimed.
    monkeypatch.setattr(f"{home}._balanced", lambda g, *_: g + 0.01 * (best.shares - g))
    with pytest.raises(ConvergenceError, match="proven optimal only to"):
        allocate(SECTION_9, objective, targets)


def test_shares_that_cannot_be_proven_are_not_returned(monkeypatch):
    bad = np.array([0.9, 0.05, 0.05])
    monkeypatch.setattr("planner.planning.allocation.plan.solve_shares", lambda *_: bad)
    monkeypatch.setattr("planner.planning.allocation.plan._balanced", lambda shares, *_: shares)
    with pytest.raises(ConvergenceError, match="proven optimal only to"):
        allocate(SECTION_9)
