"""Random policies, and what their definitions say, spelt out pair by pair."""

import math

import numpy as np
from hypothesis import strategies as st

from planner import Objective, PrivacyPolicy

RULES = ("min", "avg", "matrix", "one-sided")
KINDS = ("worst-case", "expected", "minimax")


def log_uniform(rng, low, high, size):
    return np.exp(rng.uniform(math.log(low), math.log(high), size))


def random_matrix(rng, t, low=0.05, high=10.0, gaps=0.3):
    """Directed pair budgets; about a share ``gaps`` of the other pairs is unprotected."""
    matrix = log_uniform(rng, low, high, (t, t))
    open_pairs = np.triu(rng.random((t, t)) < gaps, 1)
    matrix[open_pairs | open_pairs.T] = np.inf
    return matrix


def random_rule(rng, t, rule, low=0.05, high=10.0, gaps=0.3):
    """The arguments ``rule`` and ``against`` of a policy."""
    if rule == "matrix":
        return {"rule": random_matrix(rng, t, low, high, gaps)}
    if rule == "one-sided":
        stated = rng.random(t) < 0.6
        return {
            "rule": rule,
            "against": np.where(stated, log_uniform(rng, low, high, t), np.inf),
        }
    return {"rule": rule}


def random_policy(rng, t, rule, low=0.05, high=10.0, most=1e5):
    counts = np.floor(log_uniform(rng, 1, most, t)).astype(int)
    chosen = random_rule(rng, t, rule, low, high)
    return PrivacyPolicy(log_uniform(rng, low, high, t), counts, **chosen)


def random_objective(rng, policy, kind):
    if rng.random() < 0.5:
        weights = rng.uniform(0.2, 3, policy.size)
    else:
        weights = None
    prior = None
    if kind == "expected":
        prior = rng.random(policy.size) * np.minimum(policy.item_counts, 3)
    return Objective(kind, weights=weights, prior=prior)


def demanded(policy):
    """Pair budgets as tables keep them."""
    bounds = policy.bounds()
    return np.where(np.diag(~policy.own_pairs), np.inf, bounds)


def feasible_coordinates(rng, policy, shape=1.0):
    """Random (s, w) that keeps every pair budget, at least one of them with equality."""
    s, w = rng.random((2, policy.size)) ** shape + 1e-3
    limit = demanded(policy)
    scale = np.max((s[:, None] + w[None, :]) / limit)
    return s / scale, w / scale


def worst_excess(policy, a, b):
    """Largest excess over a pair budget, from the definition in (a, b), pair by pair."""
    budgets = demanded(policy)
    worst = -math.inf
    for i in range(policy.size):
        for j in range(policy.size):
            odds = math.log(a[i] / b[i]) + math.log((1 - b[j]) / (1 - a[j]))
            worst = max(worst, odds - budgets[i, j])
    return worst


seeds = st.integers(0, 2**32 - 1)
