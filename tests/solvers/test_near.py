import numpy as np
import pytest

from planner import InputError, PrivacyPolicy, solve
from planner.planning.budgets import scaled
from planner.solvers import solve_near
from tests.planning.policies import moderate_policy


def test_solving_near_another_table():
    rng = np.random.default_rng(7)
    policy = moderate_policy(rng, "matrix")
    table = solve_near(scaled(policy, 1.07), solve(policy))
    assert table.method == "newton"
    assert table.max_violation == 0
    best = solve(scaled(policy, 1.07)).worst_case_mse
    assert table.worst_case_mse == pytest.approx(best, rel=1e-6)
    with pytest.raises(InputError, match="near"):
        solve_near(PrivacyPolicy([1.0], [1]), table)
