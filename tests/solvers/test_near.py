"""A table found from that of a similar policy, and which method is tried for which policy."""

import numpy as np
import pytest

from planner import InputError, Objective, PrivacyPolicy, solve
from planner.errors import ConvergenceError
from planner.solvers import solving
from planner.solvers.solving import solve_near
from tests.policies import random_matrix

MATRIX = random_matrix(np.random.default_rng(5), 5, low=0.5, high=3, gaps=0.2)


def _policy(scale=1.0):
    return PrivacyPolicy(np.ones(5), [1, 5, 2, 9, 4], MATRIX * scale)


@pytest.mark.parametrize("model", ["opt0", "opt1", "opt2"])
@pytest.mark.parametrize("scale", [0.8, 1.0, 1.1, 1.4])
def test_near_is_as_good_as_from_scratch(model, scale):
    objective = Objective("expected", prior=(0.5, 0.1, 0.2, 0.1, 0.3))
    near = solve_near(_policy(scale), solve(_policy(), model, objective=objective))
    fresh = solve(_policy(scale), model, objective=objective)
    assert near.method == "newton"
    assert (near.model, near.objective) == (model, objective)
    assert near.policy.rule is not fresh.policy.rule
    assert near.objective_value == pytest.approx(fresh.objective_value, rel=2e-6)
    assert near.certificate.relative_gap <= 1e-6
    assert near.max_violation == 0


def test_near_by_few_steps(monkeypatch, capfd):
    steps = []
    honest = solving.newton_step
    monkeypatch.setattr(solving, "newton_step", lambda *a: steps.append(1) or honest(*a))
    solve_near(_policy(1.05), solve(_policy()))
    assert 1 <= len(steps) <= 4
    assert capfd.readouterr() == ("", "")  # nor does the solver speak


def test_rules_with_a_reduction_use_it():
    policies = [PrivacyPolicy([1.0, 2.0], [3, 4], "avg"), PrivacyPolicy([1.1, 2.2], [3, 4], "avg")]
    near = solve_near(policies[1], solve(policies[0], "opt1"))
    assert (near.method, near.model) == ("reduced", "opt1")
    assert near.policy is policies[1]


@pytest.mark.parametrize("trouble", ["fails", "stays"])
def test_newton_that_does_not_help(trouble, monkeypatch):
    def step(_program, v, _weights):
        if trouble == "fails":
            raise ConvergenceError("no step")
        return v

    start = solve(_policy(), objective="minimax")
    fresh = solve(_policy(0.6), objective="minimax")
    monkeypatch.setattr(solving, "newton_step", step)
    near = solve_near(_policy(0.6), start)
    assert near.method == fresh.method == "slsqp"
    assert near.objective == start.objective
    assert near.objective_value == pytest.approx(fresh.objective_value, rel=1e-6)


def test_near_must_have_as_many_levels():
    other = solve(PrivacyPolicy([1.0], [2]))
    with pytest.raises(InputError, match="near is 1 but must be the table of a policy of 5 levels"):
        solve_near(_policy(), other)


@pytest.mark.parametrize(
    ("size", "methods"),
    [
        (12, ("slsqp", "conic")),
        (13, ("conic", "slsqp")),
        (100, ("conic", "slsqp")),
        (101, ("conic",)),
    ],
)
def test_methods_by_size(size, methods):
    policy = PrivacyPolicy(np.ones(size), np.ones(size), np.ones((size, size)))
    assert solving._pick(policy) == methods
    reduced = ("reduced",) if size > 100 else ("reduced", "conic")
    assert solving._pick(PrivacyPolicy(np.ones(size), np.ones(size))) == reduced
