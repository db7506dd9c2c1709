import numpy as np
import pytest
from hypothesis import given

from planner import Objective, PrivacyPolicy
from tests.policies import RULES, random_policy, seeds
from tests.refusals import refused


def _table(seed, t=None):
    rng = np.random.default_rng(seed)
    policy = random_policy(rng, t or int(rng.integers(1, 6)), RULES[seed % 2], most=20)
    b = rng.uniform(0.05, 0.45, policy.size)
    a = rng.uniform(b + 0.05, 0.95)
    return rng, policy, b * (1 - b) / (a - b) ** 2, (1 - a - b) / (a - b)


@given(seed=seeds)
def test_worst_case_is_the_worst_of_all_count_vectors(seed):
    rng, policy, noise, signal = _table(seed)
    weights = rng.uniform(0, 2, policy.size) + 0.01
    totals = []
    for k in range(
        policy.size
    ):  # everybody holds an item of level k: the corners are the worst
        per_item = np.repeat(weights * noise, policy.item_counts)
        totals.append(per_item.sum() + weights[k] * signal[k])
    objective = Objective(weights=weights)
    chosen = objective.coefficients(policy)
    assert chosen.evaluate(noise, signal) == pytest.approx(max(totals), rel=1e-12)
    plain = Objective().coefficients(policy).evaluate(noise, signal)
    shares = rng.dirichlet(np.ones(policy.size))
    mixed = float(policy.item_counts @ noise + shares @ signal)
    assert mixed <= plain * (1 + 1e-12)


@given(seed=seeds)
def test_expected_error_under_a_prior(seed):
    rng, policy, noise, signal = _table(seed)
    prior = rng.random(policy.size) * policy.item_counts
    columns = zip(noise, signal, prior, policy.item_counts, strict=True)
    per_item = [n + q / m * f for n, f, q, m in columns]
    value = (
        Objective("expected", prior=prior).coefficients(policy).evaluate(noise, signal)
    )
    assert value == pytest.approx(float(policy.item_counts @ per_item), rel=1e-10)


@given(seed=seeds)
def test_minimax_is_the_worst_item(seed):
    rng, policy, noise, signal = _table(seed)
    assert (
        Objective("minimax").coefficients(policy).evaluate(noise, signal) == noise.max()
    )
    weights = rng.random(policy.size) + 0.01
    value = (
        Objective("minimax", weights=weights)
        .coefficients(policy)
        .evaluate(noise, signal)
    )
    assert value == (weights * noise).max()


def test_a_prior_over_sets_may_exceed_one_in_total_but_not_the_items():
    policy = PrivacyPolicy([1.0, 2.0], [3, 4])
    assert (
        Objective("expected", prior=[2.5, 4]).coefficients(policy).signal_sum.sum()
        == 6.5
    )
    with refused("prior"):
        Objective("expected", prior=[3.5, 1]).coefficients(policy)


@pytest.mark.parametrize(
    "arguments",
    [
        {"kind": "mean"},
        {"weights": [1, -1]},
        {"weights": [1, float("nan")]},
        {"weights": [float("inf"), 1]},
        {"weights": "11"},
        {"weights": 3},
        {"kind": "expected"},
        {"prior": [0.5, 0.5]},
        {"kind": "expected", "prior": [-0.1, 1]},
    ],
)
def test_bad_objectives(arguments):
    with refused("objective", "prior", "weights"):
        Objective(**arguments)


@pytest.mark.parametrize(
    "objective",
    [
        Objective(weights=[1.0]),
        Objective(weights=[0.0, 0.0]),
        Objective("expected", prior=[1.0]),
    ],
)
def test_objectives_that_do_not_fit_the_policy(objective):
    with refused("prior", "weights"):
        objective.coefficients(PrivacyPolicy([1.0, 2.0], [1, 1]))
