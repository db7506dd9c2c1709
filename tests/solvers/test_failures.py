"""A solver that fails or stops early is an error, never a table; so is a wrong argument."""

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from planner import Certificate, Objective, PrivacyPolicy, baseline, solve
from planner.errors import (
    ConvergenceError,
    InfeasibleError,
    SolverError,
    UnboundedError,
)
from planner.solvers import general, reduced, solving
from planner.solvers.certificate import newton_step, prove
from planner.solvers.models import MODELS, Program, model_named
from tests.policies import random_policy
from tests.refusals import refused

THREE = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])
every_model = pytest.mark.parametrize("model", MODELS)


def no_step(*_):
    raise ConvergenceError("The Newton step failed")


@pytest.mark.parametrize("step", [no_step, lambda _program, v, _weights: v])
@pytest.mark.parametrize("method", ["reduced", "slsqp", "conic"])
def test_a_point_that_is_not_optimal_is_not_certified(method, step, monkeypatch):
    program = Program.of(THREE, Objective(), model_named("opt0"))
    bad = program.model.repair(THREE, program.model.start(THREE))
    proof = prove(program, bad)
    optimum = solve(THREE).worst_case_mse
    assert program.value(bad) > 1.01 * optimum > 1.01 * proof.lower_bound
    monkeypatch.setattr(reduced, "solve_reduced", lambda _: (bad, proof))
    monkeypatch.setattr(general, "solve_slsqp", lambda _: bad)
    monkeypatch.setattr(general, "solve_conic", lambda _: bad)
    monkeypatch.setattr(solving, "newton_step", step)
    with refused(
        "The method 'conic' is proven optimal only to a",
        "The method 'reduced' is proven optimal only to a",
        "The method 'slsqp' is proven optimal only to a",
        kind=ConvergenceError,
    ):
        solve(THREE, method=method)


@pytest.mark.parametrize("status", [4, 6, 9])
def test_slsqp_that_stops_early(status, monkeypatch):
    def minimize(_fun, x0, **_):
        return OptimizeResult(
            x=x0, status=status, success=False, message="stopped", fun=1.0
        )

    monkeypatch.setattr("planner.solvers.general.minimize", minimize)
    with refused("stopped", kind=ConvergenceError):
        solve(THREE, method="slsqp")


FAILED = {
    "infeasible": InfeasibleError,
    "unbounded": UnboundedError,
}  # optimal: without a value
STATUSES = [
    f"{outcome}{how}" for outcome in (*FAILED, "optimal") for how in ("", "_inaccurate")
]


@pytest.mark.parametrize("status", [*STATUSES, "user_limit", "solver_error"])
@every_model
def test_conic_programs_that_fail(model, status, monkeypatch):
    monkeypatch.setattr("cvxpy.Problem.solve", lambda _problem, **_: None)
    monkeypatch.setattr("cvxpy.Problem.status", status)
    with pytest.raises(FAILED.get(status.split("_")[0], ConvergenceError)) as caught:
        solve(THREE, model, "conic")
    assert isinstance(caught.value, SolverError)
    assert caught.value.remedy


def test_a_solver_that_raises(monkeypatch):
    import cvxpy as cp

    def fake(_problem, **_):
        raise cp.SolverError("numbers everywhere")

    monkeypatch.setattr(cp.Problem, "solve", fake)
    with refused("numbers everywhere", kind=ConvergenceError):
        solve(THREE, method="conic")


@pytest.mark.parametrize("method", ["slsqp", "conic"])
def test_a_certificate_that_fails(method, monkeypatch):
    answer = OptimizeResult(status=4, message="numerical trouble")
    monkeypatch.setattr("scipy.optimize.linprog", lambda *_, **__: answer)
    with refused("numerical trouble", kind=ConvergenceError):
        solve(THREE, method=method)


def test_auto_tries_the_other_method_and_says_so(monkeypatch):
    def fail(_):
        raise ConvergenceError("no")

    rng = np.random.default_rng(1)
    small = random_policy(rng, 3, "matrix")
    large = random_policy(rng, 14, "matrix")
    assert solve(small).method == "slsqp"
    assert solve(large).method == "conic"
    monkeypatch.setattr(general, "solve_slsqp", fail)
    assert solve(small).method == "conic"
    monkeypatch.undo()
    monkeypatch.setattr(general, "solve_conic", fail)
    assert solve(large).method == "slsqp"
    with pytest.raises(ConvergenceError):
        solve(large, method="conic")


def test_a_newton_step_that_cannot_be_made():
    program = Program.of(THREE, Objective(), model_named("opt0"))
    start = program.model.start(THREE)
    with refused("NumericalError", kind=ConvergenceError):
        newton_step(program, start, np.full(3, np.nan))


def test_rounding_that_never_ends():
    far = PrivacyPolicy([0.1], [2])
    with refused("Rounding alone breaks a pair's budget", kind=ConvergenceError):
        solving.rounded_inward(
            np.ones((2, 1)), lambda _: (np.array([0.9]), np.array([0.1])), far
        )


def test_an_error_below_its_bound_is_not_called_optimal():
    """Budgets of a millionth lose the digits of an error, not those of a bound."""
    assert Certificate.of(1.0, 1 + 1e-7, "tables").relative_gap == 0
    with refused("Rounding hides the error at these budgets", kind=ConvergenceError):
        Certificate.of(1.0, 1 + 1e-5, "tables")


def test_a_point_without_room_cannot_be_repaired():
    policy = PrivacyPolicy([1.0], [2])
    for w in (1.0, 1.5):  # nothing of the budget is left for s
        with refused(
            "The solver's answer is too far outside the policy", kind=ConvergenceError
        ):
            MODELS["opt0"].repair(policy, np.array([[0.5], [w]]))
    assert MODELS["opt0"].repair(policy, np.array([[0.5], [0.9]])).min() > 0


@pytest.mark.parametrize(
    "arguments", [{"model": "opt3"}, {"method": "simplex"}, {"objective": "median"}]
)
def test_bad_arguments(arguments):
    with refused("method", "model", "objective"):
        solve(THREE, **arguments)
    with refused("method"):
        solve(PrivacyPolicy([1.0], [2], [[1.0]]), method="reduced")
    with refused("model"):
        baseline(THREE, "grr")
