"""The proof trusts no digit of the linear solver: any multipliers bound the optimum from below."""

import numpy as np
import pytest
from scipy.optimize import linprog

from planner import Objective, PrivacyPolicy, solve
from planner.solvers import certificate
from planner.solvers.models import MODELS
from planner.solvers.program import Program
from tests.policies import random_matrix, random_policy


def _policy(rng, rule):
    if rule == "matrix":
        matrix = random_matrix(rng, 4, low=0.5, high=3, gaps=0.2)
        return PrivacyPolicy(np.ones(4), [1, 5, 2, 9], matrix)
    return random_policy(rng, 4, rule, low=0.3, high=4, most=50)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("rule", ["min", "avg", "matrix"])
@pytest.mark.parametrize("kind", ["worst-case", "minimax"])
def test_wrong_multipliers_prove_less_and_never_too_much(model, rule, kind, monkeypatch):
    rng, honest = np.random.default_rng(3), linprog
    policy = _policy(rng, rule)
    table = solve(policy, model.name, objective=kind)
    program = Program.of(policy, Objective(kind), model)
    v = model.from_probabilities(table.a, table.b)
    best, exact = table.objective_value, certificate.prove(program, v).lower_bound
    assert exact >= best - 1e-6 * abs(best)

    def careless(*arguments, **options):
        answer = honest(*arguments, **options)
        given = answer.ineqlin.marginals
        answer.ineqlin.marginals = given * rng.uniform(0.9, 1.1, given.size)
        return answer

    monkeypatch.setattr("scipy.optimize.linprog", careless)
    bounds = np.array([certificate.prove(program, v).lower_bound for _ in range(20)])
    assert np.isfinite(bounds).all()
    assert bounds.max() <= exact + 1e-9 * abs(best)
    assert np.median(bounds) < exact - 1e-3 * abs(best)  # the errors are charged
