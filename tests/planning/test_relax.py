import numpy as np
import pytest

from planner import InputError, PrivacyPolicy, baseline, solve
from planner.planning.budgets import relaxed, scaled
from planner.planning.frontier import frontier, usual_scales
from planner.planning.misplacement import excess_loss, misplaced
from planner.planning.relax import most_binding, relaxations
from planner.solvers import solve_near


def random_policy(rng, rule):
    t = int(rng.integers(2, 6))
    epsilons = rng.uniform(0.5, 3, t)
    if rule == "matrix":
        rule = np.minimum.outer(epsilons, epsilons) * (1 + 0.3 * np.eye(t))
        rule[0, -1] = rule[-1, 0] = np.inf if t > 2 else rule[0, -1]
    return PrivacyPolicy(epsilons, rng.integers(2, 60, t), rule)


@pytest.mark.parametrize("rule", ["min", "avg", "matrix"])
@pytest.mark.parametrize("model", ["opt0", "opt1", "opt2"])
def test_shadow_prices_are_slopes(rule, model):
    rng, step, smooth = np.random.default_rng(11), 1e-4, 0
    for _ in range(4):
        policy = random_policy(rng, rule)
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
    policy = random_policy(np.random.default_rng(2), rule)
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


@pytest.mark.parametrize("rule", ["min", "avg", "matrix"])
def test_frontier_is_certified_falls_and_is_convex(rule):
    policy = random_policy(np.random.default_rng(3), rule)
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


def test_solving_near_another_table():
    rng = np.random.default_rng(7)
    policy = random_policy(rng, "matrix")
    table = solve_near(scaled(policy, 1.07), solve(policy))
    assert table.method == "newton"
    assert table.max_violation == 0
    best = solve(scaled(policy, 1.07)).worst_case_mse
    assert table.worst_case_mse == pytest.approx(best, rel=1e-6)
    with pytest.raises(InputError, match="near"):
        solve_near(PrivacyPolicy([1.0], [1]), table)


def test_excess_of_misplaced_items_by_enumeration():
    policy = PrivacyPolicy([0.7, 1.0, 2.0], [3, 4, 9])
    table = solve(policy)
    excess = excess_loss(table)
    a, b = table.a, table.b
    for i in range(3):
        for j in range(3):
            if i == j:
                continue
            worst = 0.0
            for k in range(3):  # the item, of true level i, has the bits of level j
                loss = max(
                    np.log(a[x] * (1 - b[y]) / (b[x] * (1 - a[y]))) for x, y in ((j, k), (k, j))
                )
                worst = max(worst, loss - policy.bounds()[i, k])
            assert excess[i, j] == pytest.approx(worst if worst > 1e-12 else 0, abs=1e-9)
    assert (np.diag(excess) == 0).all()


def test_misplacement_grows_and_is_bounded():
    table = solve(PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90]))
    views = [misplaced(table, share) for share in (0.0, 0.05, 0.2)]
    assert views[0].exposed_items == 0
    assert views[0].largest_excess == 0
    assert views[0].wasted_error == pytest.approx(0, abs=1e-9)
    assert views[1].exposed_items == pytest.approx(views[2].exposed_items / 4)
    for share in (-0.1, 1.1, np.nan):
        with pytest.raises(InputError, match="share"):
            misplaced(table, share)
    with pytest.raises(InputError, match="levels"):
        misplaced(solve(PrivacyPolicy([1.0], [3])), 0.1)
