import numpy as np
import pytest

from planner import InputError, PrivacyPolicy, solve
from planner.planning.what_if import frontier, scaled, usual_scales
from tests.planning.policies import moderate_policy


@pytest.mark.parametrize("rule", ["min", "avg", "matrix"])
def test_frontier_is_certified_falls_and_is_convex(rule):
    policy = moderate_policy(np.random.default_rng(3), rule)
    curve = frontier(policy, 1000, np.linspace(0.4, 3, 14))
    assert curve.largest_gap <= 1e-6
    mse = curve.total_error**2
    assert (np.diff(mse) < 0).all()
    assert (np.diff(mse, 2) > 0).all()
    table = solve(scaled(policy, 3.0))
    assert mse[-1] * 1000 == pytest.approx(table.worst_case_mse, rel=1e-6)
    assert curve.level_errors[-1] ** 2 * 1000 == pytest.approx(table.noise, rel=1e-3)


def test_usual_scales_keep_every_budget_in_range():
    policy = PrivacyPolicy([1.0, 40.0], [1, 5])
    assert (usual_scales(policy) * 40 <= 50 * (1 + 1e-12)).all()
    assert frontier(policy, 10, usual_scales(policy, 3) * (1 - 1e-9)).scale.size == 3
    for scales in ([0.0], [-1.0], [2.0], [np.nan], []):
        with pytest.raises(InputError, match="scales"):
            frontier(policy, 10, scales)
    with pytest.raises(InputError, match="users"):
        frontier(policy, 0)


def test_without_scales_the_budgets_are_quartered_to_quadrupled():
    policy = PrivacyPolicy([1.0, 2.0], [2, 5])
    curve = frontier(policy, 100)
    assert curve.scale == pytest.approx(usual_scales(policy))
    assert (curve.scale[0], curve.scale[-1]) == pytest.approx((0.25, 4.0))
    assert (np.diff(curve.total_error) < 0).all()


def test_pair_budgets_stay_in_range_too():
    policy = PrivacyPolicy([1.0, 1.0], [2, 5], [[1.0, 25.0], [25.0, 1.0]])
    with pytest.raises(InputError, match=r"scales\[1\] is 2.1 .* at most 2"):
        frontier(policy, 10, [1.0, 2.1])
