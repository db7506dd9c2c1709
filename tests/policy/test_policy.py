import copy
import math
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given

from planner import PrivacyPolicy
from tests.policies import RULES, random_policy, seeds
from tests.refusals import refused


def _leakage(policy):
    """Longest shortest path from each level's items to others and back, in the graph of items."""
    owner = np.repeat(np.arange(policy.size), np.minimum(policy.item_counts, 2))
    paths = policy.bounds()[np.ix_(owner, owner)].copy()
    np.fill_diagonal(paths, 0.0)
    for k in range(owner.size):
        paths = np.minimum(paths, paths[:, [k]] + paths[[k], :])
    return [[p[owner == i].max() for i in range(policy.size)] for p in (paths, paths.T)]


@pytest.mark.parametrize("rule", RULES)
@given(seed=seeds)
def test_leakage_is_the_tightest_bound_over_all_paths(rule, seed):
    rng = np.random.default_rng(seed)
    policy = random_policy(rng, int(rng.integers(2, 7)), rule, most=4)
    crowded = PrivacyPolicy(policy.epsilons, policy.item_counts + 1, policy.rule)
    for one in (policy, crowded):
        found = one.leakage_epsilons, one.against_epsilons
        np.testing.assert_allclose(found, _leakage(one), rtol=1e-12)


@pytest.mark.parametrize(("rule", "least"), [("min", 1.0), ("avg", 2.0)])
def test_a_single_item_is_told_from_others_alone(rule, least):
    assert PrivacyPolicy([1, 3], [5, 1], rule).ldp_epsilon == least
    assert PrivacyPolicy([3], [1], rule).ldp_epsilon == 3.0


def test_a_lone_item_without_a_pair_of_its_own_only_faces_others():
    policy = PrivacyPolicy([1, 1], [1, 1], [[math.inf, 0.5], [0.5, math.inf]])
    assert policy.leakage_epsilons.tolist() == [0.5, 0.5]
    pairs = PrivacyPolicy([1, 1], [2, 1], [[math.inf, 0.5], [0.5, math.inf]])
    assert pairs.leakage_epsilons.tolist() == [1.0, 0.5]  # there and back over the other level


def test_prior_posterior_bounds_of_table_1():
    lower, upper = PrivacyPolicy([1.0, 1.5, 3.0], [1, 1, 4]).prior_posterior_bounds
    np.testing.assert_allclose(upper, np.exp([1.0, 1.5, 2.0]))
    np.testing.assert_allclose(lower * upper, 1.0)


@pytest.mark.parametrize("rule", ["min", "avg", [[1, 2], [2, 3]]])
def test_equal_policies_are_equal_and_hash_alike(rule):
    one, two = (PrivacyPolicy([1.0, 2.0], [3, 4], rule, names=["x", "y"]) for _ in "12")
    copies = two, copy.deepcopy(one), pickle.loads(pickle.dumps(one))  # noqa: S301 - our own bytes
    for same in copies:
        assert one == same
        assert hash(one) == hash(same)
    assert one != one.with_changes(item_counts=[4, 5])
    assert one != PrivacyPolicy([1.0, 2.0], [3, 4], "avg" if rule == "min" else "min", ["x", "y"])


def test_it_cannot_be_changed():
    source = np.array([1.0, 2.0])
    policy = PrivacyPolicy(source, [1, 2])
    source[0] = 40.0
    assert policy.epsilons[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        policy.epsilons[0] = 3.0
    with pytest.raises(ValueError, match="read-only"):
        PrivacyPolicy([1.0], [2], [[1.0]]).bounds()[0, 0] = 3.0
    with pytest.raises(FrozenInstanceError):
        policy.rule = "avg"


def test_many_levels_have_room_but_no_dense_matrix():
    many = PrivacyPolicy(np.linspace(1, 2, 20_001), np.ones(20_001))
    assert many.room(np.zeros(many.size)).max() == 1.0
    with refused():
        many.bounds()
