"""What SLSQP is given: derivatives against differences, rows against the policy pair by pair."""

import numpy as np
import pytest
from hypothesis import given

from planner.solvers import general
from planner.solvers.models import MODELS
from planner.solvers.program import Program
from tests.policies import RULES, random_objective, random_policy, seeds

every_rule = pytest.mark.parametrize("rule", RULES)
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def _jacobian(function, x):
    """Central differences, one row a component of ``function``."""
    columns = []
    for k in range(x.size):
        h = np.zeros(x.size)
        h[k] = 1e-6 * max(abs(x[k]), 0.1)
        columns.append((function(x + h) - function(x - h)) / (2 * h[k]))
    return np.array(columns).T


def _check_derivatives(problem, x):
    near = {"rtol": 1e-5, "atol": 1e-6}
    gradient = _jacobian(lambda y: np.atleast_1d(problem.value(y)[0]), x)[0]
    np.testing.assert_allclose(problem.value(x)[1], gradient, **near)
    np.testing.assert_allclose(problem.room_slope(x), _jacobian(problem.room, x), **near)


@every_rule
@every_model
@given(seed=seeds)
def test_derivatives_in_log_odds(rule, model, seed):
    rng = np.random.default_rng(seed)
    policy = random_policy(rng, 3, rule, high=4, most=20)
    kind = ("worst-case", "expected", "minimax")[seed % 3]
    problem = general._Formulation.of(
        Program.of(policy, random_objective(rng, policy, kind), model)
    )
    first = problem.first()
    _check_derivatives(problem, first * rng.uniform(0.8, 0.99, first.size))


@every_rule
@every_model
@given(seed=seeds)
def test_the_formulation_in_log_odds_starts_inside(rule, model, seed):
    rng = np.random.default_rng(seed)
    policy = random_policy(rng, 3, rule)
    program = Program.of(policy, random_objective(rng, policy, "worst-case"), model)
    problem = general._Formulation.of(program)
    first = problem.first()
    np.testing.assert_array_equal(problem.coordinates(first), model.start(policy))
    assert problem.value(first)[0] == pytest.approx(1.0)
    branches = problem.room(first)[:3]
    assert branches.min() == pytest.approx(0, abs=1e-12)
    rows = model.rows(policy, problem.start)
    step = rng.uniform(0.5, 1.5, first.size)
    auxiliaries = step[problem.start.size : -1] * problem.start.max()
    point = np.append(problem.coordinates(step).ravel(), auxiliaries)
    np.testing.assert_allclose(problem.room(step)[3:], rows.limit - rows.matrix @ point, atol=1e-12)
