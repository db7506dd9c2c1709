"""What solvers hand on checks itself, and its formulas agree with every report written out."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given

from planner import (
    InputError,
    Objective,
    OutputTypes,
    PrivacyPolicy,
    best_design,
    solve,
)
from planner.solvers.answers import (
    Certificate,
    Channel,
    Scenario,
    SubsetDesign,
    UnaryTable,
)
from tests.policies import (
    RULES,
    demanded,
    feasible_coordinates,
    random_policy,
    seeds,
    worst_excess,
)
from tests.solvers.questions import first_of, written_out

POLICY = PrivacyPolicy([math.log(4), math.log(6)], [1, 4])
A = [0.592, 0.673]
B = [0.328, 0.278]


def test_the_paper_s_rounded_table_2():
    table = UnaryTable(POLICY, [0.59, 0.67], [0.33, 0.28], "opt0", "the paper")
    assert 8.6 < table.worst_case_mse < 8.9  # its 8.68 n to 8.86 n come from rounding


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
        expected = max(0.0, excess)
        assert table.max_violation == pytest.approx(expected, abs=1e-9)
        excesses = (table.pair_losses - demanded(policy)).max()
        assert excesses == pytest.approx(excess, abs=1e-9)


def test_saturation_budget_buys_nothing_beyond():
    policy = PrivacyPolicy([1.0, 8.0], [3, 30])
    free = solve(policy)
    mark = free.saturation_epsilon
    assert 1.0 < mark <= 2.0  # lemma 1: never above twice the smallest budget
    policy = PrivacyPolicy([1.0, mark], [3, 30])
    at_mark = solve(policy)
    np.testing.assert_allclose(at_mark.a, free.a, rtol=1e-7)
    policy = PrivacyPolicy([1.0, 0.9 * mark], [3, 30])
    below = solve(policy)
    assert below.worst_case_mse > free.worst_case_mse * 1.001
    policy = PrivacyPolicy([1.0, 8.0], [3, 30], "avg")
    table = solve(policy)
    assert table.saturation_epsilon is None


def test_a_table_cannot_be_changed():
    table = by_hand(A, B)
    with pytest.raises(ValueError, match="read-only"):
        table.a[0] = 1.0
    with pytest.raises(AttributeError):
        table.model = "opt1"
    with pytest.raises(AttributeError):
        Certificate(1.0, 0.0, "tables").lower_bound = 2.0


def random_types(rng, item_counts, size):
    m = np.array(item_counts)
    low = rng.uniform(0.5, 1, (size, m.size))
    weights = rng.random(size) + 0.1
    high = low + rng.random(low.shape)
    return OutputTypes(m, weights, low, high, rng.integers(0, m + 1, (size, m.size)))


@pytest.mark.parametrize("item_counts", [[3], [1, 4], [2, 3], [1, 1, 3]])
def test_estimator_and_variances_are_those_of_every_output_written_out(item_counts):
    rng = np.random.default_rng(5)
    types = random_types(rng, item_counts, size=7)
    prior = rng.dirichlet(np.ones(len(item_counts)))
    law, kinds, sides = written_out(types)
    levels = np.repeat(np.arange(len(item_counts)), item_counts)
    g = types.estimator(prior)
    T = g[kinds[:, None], levels[None, :], sides]
    np.testing.assert_allclose(law @ T, np.eye(levels.size), atol=1e-12)  # unbiased
    np.testing.assert_allclose(
        types.probabilities.sum(axis=(1, 2))[levels], law.sum(axis=1), rtol=1e-13
    )
    # No other unbiased estimator has a smaller error under the prior: weighted least squares.
    share = (prior / np.array(item_counts))[levels] @ law
    J = (law / share) @ law.T
    np.testing.assert_allclose(
        T.T, np.linalg.solve(J, law / share), rtol=1e-9, atol=1e-11
    )
    seconds = law @ np.square(T)  # E[T^2 | answer], shape (answer, item)
    other, own_variance = types.variances(g)
    for k, i in product(range(levels.size), repeat=2):
        if k == i:
            expected = own_variance[levels[k]] + 1
        else:
            expected = other[levels[k], levels[i]]
        assert seconds[k, i] == pytest.approx(expected, rel=1e-11)
    weights = rng.random(len(item_counts))
    errors = seconds @ weights[levels] - weights[levels]
    policy = PrivacyPolicy(np.ones(len(item_counts)), item_counts)
    design = SubsetDesign(policy, types, np.arange(len(item_counts)), prior)
    drawn = Objective("expected", weights, prior)
    assert design.value(drawn) == pytest.approx(
        prior @ errors[first_of(item_counts)], rel=1e-10
    )
    assert design.value(Objective(weights=weights)) == pytest.approx(
        errors.max(), rel=1e-10
    )


def test_levels_of_one_group_have_their_own_errors():
    """Weights differ within a group: a person's error leaves out their own item's weight."""
    types = OutputTypes([3], [0.5], [[1.0]], [[4.0]], [[1]])
    policy = PrivacyPolicy(np.full(2, np.log(4)), [1, 2], names=["one", "two"])
    objective = Objective(weights=[1.0, 5.0])
    design = SubsetDesign(policy, types, [0, 0], [1.0], objective)
    other, own_variance = types.variances(types.estimator([1.0]))
    first = 10 * other[0, 0] + own_variance[0]
    second = 6 * other[0, 0] + 5 * own_variance[0]
    expected = max(first, second)
    assert design.objective_value == pytest.approx(expected, rel=1e-12)
    expected = 2 * other[0, 0] + own_variance[0]
    np.testing.assert_allclose(design.level_errors, expected)


KEEP = 0.75
MATRIX = np.array([[KEEP, 1 - KEEP], [1 - KEEP, KEEP]])
RESPONDENTS = PrivacyPolicy([np.log(3)] * 2, [1, 1], names=["no", "yes"])
ESTIMATOR = (np.array([[0.0, 1.0]]) - (1 - KEEP)) / (2 * KEEP - 1)


about = {
    "policy": RESPONDENTS,
    "wanted": [[0, 1]],
    "wanted_names": ("share of yes",),
}
response = partial(Channel, **about, matrix=MATRIX, estimator=ESTIMATOR)
half = partial(Scenario, population=[0.5, 0.5], directions=np.eye(1))


def test_error_of_randomised_response():
    channel = response(scenarios=(half(), half(drawn=True)))
    noise = KEEP * (1 - KEEP) / (2 * KEEP - 1) ** 2
    expected = [noise, noise + 0.25]
    assert channel.errors == pytest.approx(expected)
    assert channel.worst_error == pytest.approx(noise + 0.25)
    expected = np.array([[noise]])
    assert channel.covariance([0.2, 0.8]) == pytest.approx(expected)
    assert channel.max_violation < 1e-12
    policy = PrivacyPolicy([0.5] * 2, [1, 1])
    loose = response(policy=policy)
    expected = np.log(3) - 0.5
    assert loose.max_violation == pytest.approx(expected)


def by_hand(a, b):
    return UnaryTable(POLICY, a, b, "opt0", "by hand")


TYPES = OutputTypes(
    [1, 3], [0.5, 0.5], np.ones((2, 2)), np.full((2, 2), 2.0), [[0, 1], [1, 0]]
)
BLANK = OutputTypes([2], [1.0], [[1.0]], [[2.0]], [[0]])
DESIGN = best_design(PrivacyPolicy([1.0, 2.0], [1, 4]))
of_types = partial(replace, TYPES)
of_design = partial(replace, DESIGN)
NO_ORDER = r"\(a, b\) of level 0 is \(0.5, 0.5\) but must be .*0 < b < a < 1"


@pytest.mark.parametrize(
    ("make", "about", "message"),
    [
        (by_hand, {"a": [0.5, 0.5], "b": [0.5, 0.2]}, NO_ORDER),
        (by_hand, {"a": [0.5, 1.0], "b": [0.2, 0.2]}, "of level 1"),
        (by_hand, {"a": [0.5, 0.5], "b": [0.2, 0.0]}, "of level 1"),
        (by_hand, {"a": [0.5, math.nan], "b": [0.2, 0.2]}, "of level 1"),
        (
            by_hand,
            {"a": [0.5], "b": [0.2]},
            r"a is \(1,\) .* one number per level, shape \(2,\)",
        ),
        (of_types, {"weights": [0.5, 0.0]}, r"weights\[1\] is 0.0"),
        (of_types, {"low": [[1.0, 3.0], [1.0, 1.0]]}, r"low\[0\]\[1\] is 3.0"),
        (of_types, {"low": [[1.0, -1.0], [1.0, 1.0]]}, r"low\[0\]\[1\] is -1.0"),
        (of_types, {"high": [[1.0, np.inf], [1.0, 1.0]]}, r"low\[0\]\[1\]"),
        (of_types, {"high_counts": [[0, 4], [1, 0]]}, r"high_counts\[0\]\[1\] is 4"),
        (of_types, {"high_counts": [[0, 3]]}, "high_counts is"),
        (BLANK.estimator, {"prior": [1.0]}, "tell all items apart"),
        (BLANK.estimator, {"prior": [0.0]}, "prior"),
        (of_design, {"prior": np.ones(3)}, "prior"),
        *(
            (of_design, {"groups": g}, "groups")
            for g in ([0, 0], [0, 2], [1, 0], [0], [-1, 1])
        ),
        (response, {"matrix": MATRIX[:, :1]}, "estimator"),
        (response, {"matrix": MATRIX * 0.99}, "^matrix is 0.01"),
        (response, {"estimator": ESTIMATOR + 1e-6}, "estimator"),
        (response, {"wanted": [[0, 1, 2]]}, "wanted"),
        (half, {"population": [0.5, 0.6]}, "population"),
        (half, {"population": [1.5, -0.5]}, "population"),
        (half, {"directions": [1.0]}, "directions"),
        (half, {"cap": 0.0}, "cap"),
    ],
)
def test_what_is_no_answer_is_refused(make, about, message):
    with pytest.raises(InputError, match=message):
        make(**about)


def test_a_design_is_shown_in_a_line():
    assert repr(DESIGN).startswith(
        "<SubsetDesign: 3 types of reports, worst-case error"
    )
