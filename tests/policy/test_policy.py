import copy
import math
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import PrivacyPolicy
from planner.policy import logodds
from planner.policy.budget_text import parse_epsilon
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
    for changed in (policy, crowded):
        leakages = changed.leakage_epsilons, changed.against_epsilons
        np.testing.assert_allclose(leakages, _leakage(changed), rtol=1e-12)


@pytest.mark.parametrize(("rule", "least"), [("min", 1.0), ("avg", 2.0)])
def test_a_single_item_is_told_from_others_alone(rule, least):
    assert PrivacyPolicy([1, 3], [5, 1], rule).ldp_epsilon == least
    assert PrivacyPolicy([3], [1], rule).ldp_epsilon == 3.0


def test_a_lone_item_without_a_pair_of_its_own_only_faces_others():
    policy = PrivacyPolicy([1, 1], [1, 1], [[math.inf, 0.5], [0.5, math.inf]])
    assert policy.leakage_epsilons.tolist() == [0.5, 0.5]
    pairs = PrivacyPolicy([1, 1], [2, 1], [[math.inf, 0.5], [0.5, math.inf]])
    assert pairs.leakage_epsilons.tolist() == [
        1.0,
        0.5,
    ]  # there and back over the other level


@pytest.mark.parametrize("rule", ["min", "avg", [[1, 2], [2, 3]]])
def test_equal_policies_are_equal_and_hash_alike(rule):
    first = PrivacyPolicy([1.0, 2.0], [3, 4], rule, names=["x", "y"])
    again = PrivacyPolicy([1.0, 2.0], [3, 4], rule, names=["x", "y"])
    copies = again, copy.deepcopy(first), pickle.loads(pickle.dumps(first))  # noqa: S301 - our own bytes
    for same in copies:
        assert first == same
        assert hash(first) == hash(same)
    assert first != PrivacyPolicy(first.epsilons, [4, 5], first.rule, first.names)
    assert first != PrivacyPolicy(
        [1.0, 2.0], [3, 4], "avg" if rule == "min" else "min", ["x", "y"]
    )


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
    with refused("levels"):
        many.bounds()


# -- budgets as text ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (1, 1.0),
        (" 2 ", 2.0),
        (".5", 0.5),
        ("2.", 2.0),
        ("1e-3", 1e-3),
        ("ln 4", math.log(4)),
        ("ln(4)", math.log(4)),
        ("ln ( 4 )", math.log(4)),
        ("1.2 * ln 6", 1.2 * math.log(6)),
        ("1.2*ln(6)", 1.2 * math.log(6)),
        ("ln 4 / 2", math.log(4) / 2),
        ("2 * ln 3 * 1.5 / 4", 2 * math.log(3) * 1.5 / 4),
        ("ln .5 * ln .5", math.log(0.5) ** 2),
        ("(2)", 2.0),
        ("50", 50.0),
        (50, 50.0),
    ],
)
def test_budgets_as_people_write_them(text, value):
    assert parse_epsilon(text) == value


@given(st.floats(1e-6, 50))
def test_every_number_reads_back(value):
    assert parse_epsilon(repr(value)) == value == parse_epsilon(value)


NO_NUMBERS = [
    0,
    -1,
    -0.0,
    math.nan,
    math.inf,
    -math.inf,
    50.0001,
    10**400,
    True,
    None,
    [1],
    b"1",
]
NO_TEXTS = """| |-1|+1|0|nan|inf|ln 1|ln 0|ln 0.5|ln -4|ln ln 4|ln4|log 4|LN 4|4 ln|1 + 1|2 ** 3
2 // 3|1 2|* 2|2 *|1 / 0|(2|2)|((2))|ln (4|1,5|1_0|1e999|٣|__import__('os')""".replace(
    "\n", "|"
)


@pytest.mark.parametrize(
    "value", [*NO_NUMBERS, *NO_TEXTS.split("|"), "ln 4" + " * 1" * 40]
)
def test_everything_else_is_refused(value):
    with refused("epsilon"):
        parse_epsilon(value)


def test_the_message_names_the_argument_and_why_large_budgets_are_refused():
    with refused("none_epsilon"):
        parse_epsilon("ln 1e30", "none_epsilon")


# -- log odds ----------------------------------------------------------------------------


def test_small_arguments_lose_no_digits():
    assert logodds.p(np.array(1e-12)) == pytest.approx(1e12, rel=1e-11)
    a, b = logodds.from_log_odds(np.array(1e-9), np.array(1e-9))
    assert a - b == pytest.approx(0.5e-9, rel=1e-6)
