import numpy as np
import pytest

from planner import InputError, PrivacyPolicy, baseline, solve
from planner.planning.what_if import most_binding, relaxations, relaxed, scaled
from tests.planning.policies import moderate_policy


@pytest.mark.parametrize("rule", ["min", "avg", "matrix"])
@pytest.mark.parametrize("model", ["opt0", "opt1", "opt2"])
def test_shadow_prices_are_slopes(rule, model):
    rng, step, smooth = np.random.default_rng(11), 1e-4, 0
    for _ in range(4):
        policy = moderate_policy(rng, rule)
        table = solve(policy, model)
        for i in range(policy.size):
            down, up = (
                solve(relaxed(policy, i, sign * step), model).worst_case_mse for sign in (-1, 1)
            )
            left, right = (down - table.worst_case_mse) / step, (table.worst_case_mse - up) / step
            small = 1e-5 * table.worst_case_mse
            # At a kink, where two sets of rows bind, the price lies between the slopes.
            assert right * (1 - 1e-3) - small <= table.shadow_prices[i]
            assert table.shadow_prices[i] <= left * (1 + 1e-3) + small
            if left - right <= 2e-3 * left:
                smooth += 1
                slope = (left + right) / 2
                assert table.shadow_prices[i] == pytest.approx(slope, rel=1e-3, abs=small)
    assert smooth >= 6


@pytest.mark.parametrize("rule", ["min", "avg", "matrix"])
def test_relaxations_are_what_solving_again_gives(rule):
    policy = moderate_policy(np.random.default_rng(2), rule)
    table = solve(policy)
    found = relaxations(table, 0.1)
    assert found
    assert list(found) == sorted(found, key=lambda r: -r.saving)
    for one in found:
        i = policy.names.index(one.level)
        after = solve(relaxed(policy, i, 0.1)).worst_case_mse
        assert one.saving == pytest.approx(1 - after / table.worst_case_mse, abs=1e-9)
        assert one.saving * table.worst_case_mse <= 0.1 * one.price * (1 + 1e-6)  # convexity


def test_relaxing_leaves_out_what_it_must():
    assert relaxations(baseline(PrivacyPolicy([1.0, 2.0], [1, 1]), "oue")) == ()
    full = solve(PrivacyPolicy([49.95, 10.0], [3, 3], rule="avg"))
    assert [one.level for one in relaxations(full)] == ["level 2"]
    with pytest.raises(InputError, match="relax_by"):
        relaxations(solve(PrivacyPolicy([1.0], [3])), 0)
    with pytest.raises(InputError, match="level"):
        relaxed(PrivacyPolicy([1.0], [3]), 1, 0.1)
    with pytest.raises(InputError, match="scale"):
        scaled(PrivacyPolicy([1.0], [3], rule=[[1.0]]), np.ones(1))


def test_the_most_binding_level_is_the_one_with_the_highest_price():
    policy = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90], names=["A", "B", "C"])
    assert most_binding(solve(policy)) == "A"
    assert most_binding(solve(policy), np.array([False, True, True])) == "B"
