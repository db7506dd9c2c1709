import math

import numpy as np
import pytest
from hypothesis import given

from planner import Certificate, InputError, Objective, PrivacyPolicy, UnaryTable, solve
from tests.policies import RULES, feasible_coordinates, random_policy, seeds, worst_excess

POLICY = PrivacyPolicy([math.log(4), math.log(6)], [1, 4])
A, B = [0.592, 0.673], [0.328, 0.278]


def test_the_paper_s_rounded_table_2():
    table = UnaryTable(POLICY, [0.59, 0.67], [0.33, 0.28], "opt0", "the paper")
    assert 8.6 < table.worst_case_mse < 8.9  # its 8.68 n to 8.86 n come from rounding


def test_worst_case_mse_is_equation_9():
    table = UnaryTable(POLICY, A, B, "opt0", "by hand", Objective("minimax"))
    noise = [b * (1 - b) / (a - b) ** 2 for a, b in zip(A, B, strict=True)]
    signal = [(1 - a - b) / (a - b) for a, b in zip(A, B, strict=True)]
    assert table.worst_case_mse == pytest.approx(noise[0] + 4 * noise[1] + max(signal))
    assert table.objective_value == pytest.approx(max(noise))


def test_standard_errors_are_those_of_the_binomial_counts():
    table = UnaryTable(POLICY, A, B, "opt0", "by hand")
    users, share = 1000, 0.3
    held = users * share
    for i, error in enumerate(table.standard_errors(users, share)):
        spread = held * A[i] * (1 - A[i]) + (users - held) * B[i] * (1 - B[i])
        assert error == pytest.approx(math.sqrt(spread) / (A[i] - B[i]))


@pytest.mark.parametrize("rule", RULES)
@given(seed=seeds)
def test_max_violation_is_found_pair_by_pair(rule, seed):
    from planner.policy import logodds

    rng = np.random.default_rng(seed)
    policy = random_policy(rng, int(rng.integers(1, 6)), rule, high=5)
    s, w = feasible_coordinates(rng, policy)
    for factor in (0.9, 1.1):
        a, b = logodds.from_log_odds(factor * s, factor * w)
        table = UnaryTable(policy, a, b, "opt0", "random")
        excess = worst_excess(policy, a, b)
        assert (table.max_violation > 0) == (factor > 1)
        assert table.max_violation == pytest.approx(max(0.0, excess), abs=1e-9)


def test_saturation_budget_buys_nothing_beyond():
    free = solve(PrivacyPolicy([1.0, 8.0], [3, 30]))
    mark = free.saturation_epsilon
    assert 1.0 < mark <= 2.0  # lemma 1: never above twice the smallest budget
    at_mark = solve(PrivacyPolicy([1.0, mark], [3, 30]))
    np.testing.assert_allclose(at_mark.a, free.a, rtol=1e-7)
    below = solve(PrivacyPolicy([1.0, 0.9 * mark], [3, 30]))
    assert below.worst_case_mse > free.worst_case_mse * 1.001
    assert solve(PrivacyPolicy([1.0, 8.0], [3, 30], "avg")).saturation_epsilon is None


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (
            [0.5, 0.5],
            [0.5, 0.2],
            r"\(a, b\) of level 0 is \(0.5, 0.5\) but must be .*0 < b < a < 1",
        ),
        ([0.5, 1.0], [0.2, 0.2], "of level 1"),
        ([0.5, 0.5], [0.2, 0.0], "of level 1"),
        ([0.5, math.nan], [0.2, 0.2], "of level 1"),
        ([0.5], [0.2], r"a is \(1,\) but must be one number per level, shape \(2,\)"),
    ],
)
def test_impossible_probabilities(a, b, message):
    with pytest.raises(InputError, match=message):
        UnaryTable(POLICY, a, b, "opt0", "by hand")


@pytest.mark.parametrize(("users", "share"), [(0, 0.1), (10, -0.1), (10, 1.1), (10, math.nan)])
def test_bad_arguments_of_standard_errors(users, share):
    with pytest.raises(InputError, match=r"users is 0|frequency is"):
        UnaryTable(POLICY, A, B, "opt0", "by hand").standard_errors(users, share)


def test_it_cannot_be_changed():
    table = UnaryTable(POLICY, A, B, "opt0", "by hand")
    with pytest.raises(ValueError, match="read-only"):
        table.a[0] = 1.0
    with pytest.raises(AttributeError):
        table.model = "opt1"
    with pytest.raises(AttributeError):
        Certificate(1.0, 0.0, "tables").lower_bound = 2.0
