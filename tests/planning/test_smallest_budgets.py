import numpy as np
import pytest

from planner import (
    AssumedSets,
    ConvergenceError,
    InputError,
    Padding,
    PrivacyPolicy,
    plan_padding,
    solve,
)
from planner.planning.smallest_budgets import smallest_budgets
from planner.planning.solve import solve_for
from planner.planning.targets import achieved
from planner.survey.questions import Target
from tests.planning.policies import KINDS, POLICIES, target

SETS = Padding(AssumedSets([1, 4, 3, 2, 1]))


@pytest.mark.parametrize("policy", POLICIES, ids=["min", "avg", "matrix"])
@pytest.mark.parametrize(("kind", "level"), KINDS)
def test_budgets_to_error_and_back(policy, kind, level):
    users = 50_000
    reached = achieved(solve(policy), users, target(kind, level, 0.5))
    answer = smallest_budgets(policy, users, target(kind, level, reached))
    assert answer.possible
    assert answer.scale == pytest.approx(1, rel=1e-6)
    assert answer.reached[0] <= reached
    assert answer.certified.policy.epsilons == pytest.approx(policy.epsilons, rel=1e-6)


def test_several_targets_are_all_met_and_one_is_tight():
    policy = POLICIES[0]
    targets = [Target(error=0.02), Target(detect=0.004, level="A"), Target(error=0.005, level="C")]
    answer = smallest_budgets(policy, 10**6, targets)
    ratios = [r / t.value for r, t in zip(answer.reached, targets, strict=True)]
    assert max(ratios) == pytest.approx(1, rel=1e-9)
    assert max(ratios) <= 1


def test_a_level_that_stays_sets_a_floor_and_is_named():
    policy, users = POLICIES[0], 10**6
    answer = smallest_budgets(policy, users, Target(error=0.01), adjustable=["B", "C"])
    assert not answer.possible
    assert answer.binding_level == "A"
    assert "Impossible, because 'A' stays at 1" in answer.reason
    floor = solve(PrivacyPolicy([1.0, 50.0, 50.0], [5, 5, 90])).worst_case_mse
    assert answer.reached[0] == pytest.approx(np.sqrt(floor / users), rel=1e-9)
    loose = smallest_budgets(policy, users, Target(error=0.0152), adjustable=["B", "C"])
    assert loose.possible
    assert loose.certified.policy.epsilons[0] == 1.0


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
    with pytest.raises(InputError, match="adjustable"):
        smallest_budgets(policy, 10, Target(error=0.1), adjustable=["Z"])
    with pytest.raises(InputError, match="adjustable"):
        smallest_budgets(POLICIES[2], 10, Target(error=0.1), adjustable=["A"])


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


def test_at_least_one_level_must_be_adjustable():
    with pytest.raises(InputError, match=r"adjustable .* at least one level"):
        smallest_budgets(POLICIES[0], 10, Target(error=0.1), adjustable=[])


def test_long_lists_of_budgets_are_cut():
    policy = PrivacyPolicy(np.linspace(1, 2, 9), np.full(9, 3))
    assert "and 3 more levels" in smallest_budgets(policy, 1000, Target(error=0.1)).reason


@pytest.mark.parametrize(
    ("model", "policy"),
    [("opt0", POLICIES[0]), ("subset-design", PrivacyPolicy([1.0, 2.0], [2, 6]))],
)
def test_budgets_of_sets_to_error_and_back(model, policy):
    answer = smallest_budgets(policy, 20_000, Target(error=0.1), model, sets=SETS)
    assert answer.possible
    assert 0.1 * (1 - 1e-4) < answer.reached[0] <= 0.1
    # By the error of every length at these budgets, with what a plan of these would deploy.
    sets = SETS.sets
    drawn = solve_for(answer.certified.policy, model, sets=True)
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
            assert f"sets of more than {length} items are cut, which leaves an error" in one.reason
    assert min(scales) == pytest.approx(best.scale, rel=1e-9)
    assert scales[0] == np.inf > max(scales[2:])


def test_sets_of_which_nothing_is_known_but_the_length():
    policy = POLICIES[0]
    answer = smallest_budgets(policy, 10**6, Target(error=0.05), sets=Padding(length=3))
    worst = solve(answer.certified.policy).worst_case_mse
    assert np.sqrt((9 * worst + 6) / 10**6) == pytest.approx(0.05, rel=1e-9)
    with pytest.raises(InputError, match="a length or sets"):
        Padding()


def test_what_stands_in_the_way_of_sets():
    kept = smallest_budgets(
        POLICIES[0], 10**6, Target(error=0.02), adjustable=["B", "C"], sets=SETS
    )
    assert not kept.possible
    assert "Impossible, because 'A' stays at 1" in kept.reason
    assert kept.reason.endswith("Raise 'A'.")
    with pytest.raises(InputError, match="For item sets give the total error alone"):
        smallest_budgets(POLICIES[0], 10, Target(detect=0.1), sets=SETS)
