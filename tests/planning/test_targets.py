import numpy as np
import pytest

from planner import InputError, PrivacyPolicy, solve
from planner.planning.targets import achieved, detectable_frequencies, users_needed
from tests.planning.policies import KINDS, POLICIES, target


@pytest.mark.parametrize("policy", POLICIES, ids=["min", "avg", "matrix"])
@pytest.mark.parametrize(("kind", "level"), KINDS)
def test_users_to_error_and_back(policy, kind, level):
    table, users = solve(policy), 123_457
    reached = achieved(table, users, target(kind, level, 0.5))
    answer = users_needed(table, target(kind, level, reached))
    assert answer.exact == pytest.approx(users, rel=1e-6)
    assert answer.users == users
    fewer = achieved(table, users - 1, target(kind, level, 0.5))
    assert fewer > reached


@pytest.mark.parametrize("kind_level", KINDS)
def test_the_error_falls_in_the_common_scale(kind_level):
    rng = np.random.default_rng(5)
    for _ in range(5):
        policy = PrivacyPolicy(
            rng.uniform(0.2, 3, 3), rng.integers(1, 50, 3), names=["A", "B", "C"]
        )
        errors = [
            achieved(
                solve(PrivacyPolicy(g * policy.epsilons, policy.item_counts, names=policy.names)),
                10**7,
                target(*kind_level, 0.5),
            )
            for g in np.geomspace(0.3, 4, 12)
        ]
        assert (np.diff(errors) < 0).all()


def test_what_can_be_detected_is_detected():
    # One-sided test at 95 %, power 80 %, checked by its definition.
    table, users = solve(POLICIES[0]), 40_000
    share = detectable_frequencies(table.noise, table.signal, users)
    null = 1.6448536269514722 * np.sqrt(users * table.noise)
    spread = np.sqrt(users * (table.noise + share * table.signal))
    assert users * share - 0.8416212335729143 * spread == pytest.approx(null, rel=1e-9)


@pytest.mark.parametrize("users", [0, -1, float("nan"), float("inf")])
def test_bad_numbers_of_users_are_refused(users):
    table = solve(POLICIES[0])
    with pytest.raises(InputError, match="users"):
        achieved(table, users, target("error", None, 0.5))
