"""Against a program that knows nothing of levels: all items apart, all extreme rays of the cone."""

import numpy as np
import pytest

from planner import Objective, PrivacyPolicy, best_design
from planner.designs.channel import Scenario
from planner.solvers.channel_search import solve_channel
from tests.policies import log_uniform


def _apart(policy):
    """The same policy with every item a level of its own."""
    level = np.repeat(np.arange(policy.size), policy.item_counts)
    ones = np.ones(level.size)
    if policy.rule_name != "matrix":
        return PrivacyPolicy(policy.epsilons[level], ones, policy.rule_name), level
    rule = policy.bounds()[np.ix_(level, level)].copy()
    np.fill_diagonal(rule, 50.0)
    return PrivacyPolicy(ones, ones, rule), level


def dense_bounds(policy, weights=None, prior=None):
    """Error and bound of the best channel that reports every item's count."""
    items, level = _apart(policy)
    root = np.diag(np.sqrt((np.ones(policy.size) if weights is None else weights)[level]))
    if prior is None:
        people = [Scenario(str(x), one, root) for x, one in enumerate(np.eye(level.size))]
    else:
        people = [Scenario("assumed", (prior / policy.item_counts)[level], root)]
    channel = solve_channel(items, np.eye(level.size), people, tolerance=1e-8)
    return channel.certificate.lower_bound, channel.worst_error


def _random(rng, rule):
    t = int(rng.integers(1, 4))
    counts = rng.integers(1, 4, t)
    counts[0] += counts.sum() < 3
    while counts.sum() > (5 if rule == "matrix" else 7):
        counts[counts.argmax()] -= 1
    if rule != "matrix":
        return PrivacyPolicy(log_uniform(rng, 0.3, 4, t), counts, rule)
    matrix = np.triu(log_uniform(rng, 0.3, 4, (t, t)))
    return PrivacyPolicy(np.ones(t), counts, matrix + np.triu(matrix, 1).T)


@pytest.mark.parametrize("rule", ["min", "avg", "matrix"])
def test_34_random_policies_of_each_rule_agree(rule):
    rng = np.random.default_rng(8)
    for _ in range(34):
        policy = _random(rng, rule)
        design = best_design(policy)
        assert design.certificate.relative_gap <= 1e-6
        bound, reached = dense_bounds(policy)
        assert design.certificate.lower_bound <= reached * (1 + 1e-9)
        assert abs(design.worst_case_mse / bound - 1) <= 1e-6


@pytest.mark.parametrize("rule", ["min", "avg", "matrix"])
@pytest.mark.parametrize("kind", ["weights", "prior", "both"])
def test_other_objectives_agree(rule, kind):
    rng = np.random.default_rng(9)
    for _ in range(4):
        policy = _random(rng, rule)
        weights = None if kind == "prior" else rng.uniform(0.2, 3, policy.size)
        prior = None if kind == "weights" else rng.dirichlet(np.ones(policy.size))
        name = "worst-case" if prior is None else "expected"
        design = best_design(policy, Objective(name, weights=weights, prior=prior))
        assert design.certificate.relative_gap <= 1e-6
        bound, _ = dense_bounds(policy, weights, prior)
        assert abs(design.objective_value / bound - 1) <= 1e-6
