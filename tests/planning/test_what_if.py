"""What other budgets would do: one level's raised, all scaled, and the smallest that are enough."""

import numpy as np
import pytest

from planner import (
    AssumedSets,
    ConvergenceError,
    InputError,
    Objective,
    Padding,
    PrivacyPolicy,
    baseline,
    plan_padding,
    solve,
)
from planner.planning.solve import largest_budgets, relaxed, scaled, solve_for
from planner.planning.targets import achieved
from planner.planning.what_if import frontier, relaxations, smallest_budgets, usual_scales
from planner.survey.questions import Target
from tests.planning.policies import KINDS, POLICIES, moderate_policy, target

GRAPH = PrivacyPolicy([1.0, 2.0], [1, 4], [[np.inf, 3.0], [3.0, 1.5]], ["A", "B"])


def test_pair_budgets_change_with_the_levels():
    half = scaled(GRAPH, 0.5)
    assert half.epsilons.tolist() == [0.5, 1.0]
    assert half.bounds().tolist() == [[np.inf, 1.5], [1.5, 0.75]]
    more = relaxed(GRAPH, 1, 0.25)
    assert more.epsilons.tolist() == [1.0, 2.25]
    assert more.bounds().tolist() == [[np.inf, 3.25], [3.25, 1.75]]
    assert half.names == more.names == ("A", "B")


def test_no_change_leaves_the_range():
    with pytest.raises(InputError, match="rule"):
        scaled(GRAPH, 1.001 * 50 / largest_budgets(GRAPH).max())
    assert scaled(GRAPH, 50 / largest_budgets(GRAPH).max()).bounds()[0, 1] == 50


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
    found = relaxations(table)
    assert found
    assert list(found) == sorted(found, key=lambda r: -r.saving)
    for one in found:
        i = policy.names.index(one.level)
        after = solve(relaxed(policy, i, 0.1)).worst_case_mse
        left = (1 - one.saving) ** 2 * table.worst_case_mse
        assert left == pytest.approx(after, rel=1e-9)
        price = table.shadow_prices[i]  # what is saved is less than its slope: convexity
        assert table.worst_case_mse - left <= 0.1 * price * (1 + 1e-6)


def test_relaxing_leaves_out_what_it_must():
    assert relaxations(baseline(PrivacyPolicy([1.0, 2.0], [1, 1]), "oue")) == ()
    full = solve(PrivacyPolicy([49.95, 10.0], [3, 3], rule="avg"))
    assert [one.level for one in relaxations(full)] == ["level 2"]


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


SETS = Padding(AssumedSets([1, 4, 3, 2, 1]))


@pytest.mark.parametrize("policy", POLICIES, ids=["min", "avg", "matrix"])
@pytest.mark.parametrize(("kind", "level"), KINDS)
def test_budgets_to_error_and_back(policy, kind, level):
    users = 50_000
    reached = achieved(solve(policy), users, target(kind, level, 0.5))
    answer = smallest_budgets(policy, users, target(kind, level, reached))
    assert answer.possible
    assert answer.reached[0] <= reached
    alike = kind == "error" and level is None  # else some levels may count more than others
    assert answer.scale == pytest.approx(1, rel=1e-6) if alike else answer.scale < 1 + 1e-6
    assert (answer.importance is None) == alike or answer.scale > 0.99
    assert (answer.certified.policy.epsilons <= policy.epsilons * (1 + 1e-6)).all()
    made = solve(answer.certified.policy, objective=Objective(weights=answer.importance))
    assert achieved(made, users, target(kind, level, reached)) <= reached * (1 + 1e-9)
    assert ("smallest" in answer.reason) == alike  # no more is claimed than is proven


@pytest.mark.parametrize(
    ("model", "most"), [("opt0", 0.9591), ("subset-design", 0.935)], ids=["table", "design"]
)
def test_a_target_of_one_level_needs_its_importance_and_not_more_budget(model, most):
    """With all levels alike 1.545 times the budgets would be needed, of a design 1.477 times."""
    policy, goal = POLICIES[0], Target(detect=0.005, level="A")
    answer = smallest_budgets(policy, 10**6, goal, model)
    assert answer.scale < most
    assert answer.importance == (20.0, 1.0, 1.0)
    assert "These budgets meet the targets: A 0.9" in answer.reason
    assert "with importance 20 for 'A'." in answer.reason
    assert achieved(answer.certified, 10**6, goal) <= 0.005


def test_no_other_importance_needs_less():
    policy, users = POLICIES[0], 10**6
    goals = [Target(detect=0.004, level="A"), Target(error=0.0012, level="C"), Target(error=0.02)]
    answer = smallest_budgets(policy, users, goals)
    less = scaled(policy, 0.97 * answer.scale)
    rng = np.random.default_rng(3)
    for weights in np.exp(rng.uniform(0, np.log(20), (150, 3))).tolist():
        table = solve(less, objective=Objective(weights=weights))
        assert max(achieved(table, users, one) / one.value for one in goals) > 1


def test_no_budget_is_proposed_that_buys_nothing():
    policy = PrivacyPolicy([1.0, 1.2, 4.0], [5, 5, 90], names=["A", "B", "C"])
    answer = smallest_budgets(policy, 10**6, Target(error=0.01))
    limit = solve(scaled(policy, answer.scale)).saturation_epsilon
    assert answer.certified.policy.epsilons[2] == pytest.approx(limit, rel=1e-9)
    assert answer.reached[0] == pytest.approx(0.01, rel=1e-9)
    assert "or where more buys nothing" in answer.reason


def test_several_targets_are_all_met_and_one_is_tight():
    policy = POLICIES[0]
    targets = [Target(error=0.02), Target(detect=0.004, level="A"), Target(error=0.005, level="C")]
    answer = smallest_budgets(policy, 10**6, targets)
    ratios = [r / t.value for r, t in zip(answer.reached, targets, strict=True)]
    assert max(ratios) == pytest.approx(1, rel=1e-9)
    assert max(ratios) <= 1


def test_no_budget_is_raised_beyond_the_largest():
    answer = smallest_budgets(PrivacyPolicy([1.0, 2.0], [1, 1]), 1, Target(detect=0.001))
    assert not answer.possible
    assert "even at budgets up to 50" in answer.reason
    assert smallest_budgets(PrivacyPolicy([1.0], [3]), 10, Target(error=1e-3)).possible


def test_bad_searches_are_refused():
    policy = POLICIES[0]
    with pytest.raises(InputError, match="contradict"):
        smallest_budgets(policy, 10, [Target(error=0.1), Target(error=0.2)])
    with pytest.raises(InputError, match="one of A, B, C"):
        smallest_budgets(policy, 10, Target(error=0.1, level="D"))
    with pytest.raises(InputError, match="at least one target"):
        smallest_budgets(policy, 10, [])
    with pytest.raises(InputError, match="users"):
        smallest_budgets(policy, 0, Target(error=0.1))
    with pytest.raises(InputError, match="For item sets give the total error alone"):
        smallest_budgets(policy, 10, Target(detect=0.1), sets=SETS)


def test_targets_that_next_to_no_budget_meets():
    answer = smallest_budgets(POLICIES[0], 10**12, Target(error=0.5))
    assert answer.possible
    assert "even with next to no budget" in answer.reason
    assert answer.certified.policy.epsilons.min() == pytest.approx(1e-3)


def test_budgets_whose_error_cannot_be_told_from_rounding_are_not_tried():
    equal = PrivacyPolicy([1.0, 1.0], [1, 1])
    with pytest.raises(ConvergenceError):
        solve(PrivacyPolicy([50.0 * (1 - 1e-12)] * 2, [1, 1]))
    answer = smallest_budgets(equal, 1, Target(error=0.001))
    assert answer.possible
    assert answer.reached[0] <= 0.001


def test_long_lists_of_budgets_are_cut():
    policy = PrivacyPolicy(np.linspace(1, 2, 9), np.full(9, 3))
    assert "and 3 more levels" in smallest_budgets(policy, 1000, Target(error=0.1)).reason


def test_budgets_of_sets_to_error_and_back():
    answer = smallest_budgets(POLICIES[0], 20_000, Target(error=0.1), sets=SETS)
    assert answer.possible
    assert 0.1 * (1 - 1e-4) < answer.reached[0] <= 0.1
    # By the error of every length at these budgets, with what a plan of these would deploy.
    sets = SETS.sets
    drawn = solve_for(answer.certified.policy)
    assert answer.padding_length == plan_padding(drawn, 20_000, sets).length > 1
    made = plan_padding(answer.certified, 20_000, sets)
    assert made.errors[answer.padding_length - 1] / 20_000 == pytest.approx(0.1, rel=1e-4)
    assert f"at padding length {answer.padding_length}." in answer.reason


def test_no_other_length_has_smaller_budgets():
    policy, wanted = POLICIES[0], Target(error=0.03)
    best = smallest_budgets(policy, 10**6, wanted, sets=SETS)
    scales = []
    for length in (1, 2, 3, 4, 6):
        one = smallest_budgets(policy, 10**6, wanted, sets=Padding(SETS.sets, length))
        scales.append(one.scale if one.possible else np.inf)
        if not one.possible:
            assert f"sets of more than {length} items are cut: whatever the budgets" in one.reason
    assert min(scales) == pytest.approx(best.scale, rel=1e-9)
    assert scales[0] == np.inf > max(scales[2:])


def test_sets_of_which_nothing_is_known_but_the_length():
    policy = POLICIES[0]
    answer = smallest_budgets(policy, 10**6, Target(error=0.05), sets=Padding(length=3))
    worst = solve(answer.certified.policy).worst_case_mse
    assert np.sqrt((9 * worst + 6) / 10**6) == pytest.approx(0.05, rel=1e-9)
    with pytest.raises(InputError, match="a length or sets"):
        Padding()
