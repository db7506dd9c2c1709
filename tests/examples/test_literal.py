"""The paper's own form of opt0: the box costs what it costs, and no answer leaves the policy."""

import pytest

from examples.reproduction.literal import solve_literal
from planner import InputError, PrivacyPolicy, solve


def test_the_box_costs_what_it_costs():
    policy = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])
    boxed, free = solve_literal(policy, box=True, starts=3), solve_literal(policy, starts=3)
    assert boxed.worst_case_mse == pytest.approx(243.146, abs=1e-3)
    assert free.worst_case_mse == pytest.approx(solve(policy).worst_case_mse, rel=1e-6)
    assert boxed.a.min() >= 0.5 - 1e-12 >= boxed.b.max() - 2e-12
    assert boxed.max_violation == free.max_violation == 0
    with pytest.raises(InputError, match="starts is 0 but must be at least 1"):
        solve_literal(policy, starts=0)
