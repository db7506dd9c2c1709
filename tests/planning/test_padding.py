from pathlib import Path

import numpy as np
import pytest

from planner import InputError, ItemSets, PaddedUnaryMechanism, PrivacyPolicy, UnaryMechanism, solve
from planner.planning.datasets import read_transactions
from planner.planning.pilot import PilotSets
from planner.planning.sets import plan_padding
from planner.planning.solve import scaled
from planner.survey.sets import AssumedSets

ROOT = Path(__file__).parents[2]
RETAIL = ROOT.parent / "shared" / "data" / "retail.dat"
POLICY = PrivacyPolicy([1.0, 1.2, 2.0], [2, 2, 6])
LEVELS = np.repeat([0, 1, 2], [2, 2, 6])


def random_sets(rng, users=60):
    sizes = rng.integers(0, 8, users)
    return ItemSets.of([rng.choice(10, size, replace=False) for size in sizes], 10)


def exact_mse(sets, length):
    """Bias and variance of these very sets, from the mechanism, per user."""
    mechanism = PaddedUnaryMechanism(UnaryMechanism(solve(POLICY)), length)
    bias2 = np.square(mechanism.bias(sets)).sum()
    return (bias2 + mechanism.variance(sets).sum()) / sets.users


def test_a_pilot_predicts_without_bias():
    # The mean over pilots of what is predicted for n people is the mean over such people.
    rng = np.random.default_rng(1)
    users, length = 60, 3
    table = solve(POLICY)
    draws = [random_sets(rng) for _ in range(400)]
    predicted = [plan_padding(table, users, PilotSets(s, LEVELS)).mse[length - 1] for s in draws]
    exact = [exact_mse(s, length) for s in draws]
    difference = np.mean(predicted) - np.mean(exact)
    error = np.hypot(np.std(predicted), np.std(exact)) / np.sqrt(len(draws))
    assert abs(difference) < 4.9 * error  # false alarm 1e-6
    assert abs(difference - 0.1 * np.mean(exact)) > 4.9 * error  # a 10 % miss is noticed


def test_all_people_as_their_own_pilot():
    sets = random_sets(np.random.default_rng(2))
    plan = plan_padding(solve(POLICY), sets.users, PilotSets(sets, LEVELS))
    n = sets.users
    for length in plan.lengths.tolist():
        mechanism = PaddedUnaryMechanism(UnaryMechanism(solve(POLICY)), length)
        variance = mechanism.variance(sets).sum() / n
        assert plan.variance[length - 1] == pytest.approx(variance, rel=1e-6)
    assert plan.bias2[-1] == 0  # nothing is cut at the largest set
    assert (np.diff(plan.bias2) <= 1e-12).all()


def test_histogram_and_pilot_agree_where_the_assumptions_hold():
    rng = np.random.default_rng(3)
    sizes = rng.integers(0, 6, 4000)
    weights = 1 / np.arange(1.0, 401)
    lists = []
    for size in sizes:
        keys = rng.exponential(size=400) / weights
        lists.append(np.argpartition(keys, size)[:size])
    sets = ItemSets.of(lists, 400)
    policy = PrivacyPolicy([1.0, 2.0], [40, 360])
    table = solve(policy)
    pilot = plan_padding(table, 10**5, PilotSets(sets))
    known = plan_padding(table, 10**5, AssumedSets(np.bincount(sizes), sets.counts()))
    assert known.length == pilot.length
    assert known.variance == pytest.approx(pilot.variance, rel=1e-3)
    assert known.bias2[0] == pytest.approx(pilot.bias2[0], rel=0.1)


def test_length_grows_with_budget_and_with_users():
    sets = AssumedSets([0, 30, 20, 15, 10, 8, 7, 5, 3, 2])
    larger = [scaled(POLICY, scale) for scale in (0.5, 1.0, 2.0, 4.0)]
    lengths = [plan_padding(solve(policy), 20_000, sets).length for policy in larger]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]
    table = solve(POLICY)
    lengths = [plan_padding(table, n, sets).length for n in (100, 10_000, 10**6, 10**9)]
    assert lengths == sorted(lengths)
    assert lengths[-1] == 9


def test_the_flat_region_is_within_five_percent():
    plan = plan_padding(solve(POLICY), 5000, AssumedSets(np.ones(30)))
    inside = (plan.lengths >= plan.flat_lower) & (plan.lengths <= plan.flat_upper)
    assert (plan.mse[inside] <= 1.05 * plan.mse.min()).all()
    for outside in (plan.flat_lower - 1, plan.flat_upper + 1):
        if 1 <= outside <= plan.lengths.size:
            assert plan.mse[outside - 1] > 1.05 * plan.mse.min()


@pytest.mark.skipif(not RETAIL.exists(), reason="the data set retail.dat is not there")
@pytest.mark.parametrize("scale", [1.0, 2.0, 4.0])
def test_planned_length_is_within_five_percent_of_the_best_measured(scale):
    sets, rng = read_transactions(RETAIL).sets, np.random.default_rng(2)
    small = round(0.05 * sets.items)
    level = rng.permutation(np.repeat([0, 1, 2], [small, small, sets.items - 2 * small]))
    table = solve(PrivacyPolicy(scale * np.array([1, 1.2, 2]), np.bincount(level)))
    unary, truth = UnaryMechanism(table, level), sets.counts()

    def measured(length):
        mechanism = PaddedUnaryMechanism(unary, length)
        return np.square(
            mechanism.estimate(mechanism.draw_aggregate(sets, rng)).values - truth
        ).sum()

    curve = {length: measured(length) for length in (*range(1, 9), 12, 20)}
    best = min(curve, key=curve.get)
    assert best < 12
    asked = rng.choice(sets.users, size=500, replace=False)
    members = [sets.members[sets.starts[u] : sets.starts[u + 1]] for u in asked]
    for model in (
        AssumedSets(np.bincount(sets.sizes), truth),  # set sizes and popularity known
        PilotSets(ItemSets.of(members, sets.items), level),
        PilotSets(sets, level),
    ):
        assert curve[plan_padding(table, sets.users, model).length] <= 1.05 * curve[best]


def test_plans_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="one weight for each of 10 items"):
        plan_padding(solve(POLICY), 10, AssumedSets([0, 1], [1, 1]))
    with pytest.raises(InputError, match="users"):
        plan_padding(solve(POLICY), 0, AssumedSets([0, 1]))
