"""Questions that several tests solve."""

import numpy as np

from planner.policy.policy import PrivacyPolicy
from planner.solvers.answers import Scenario
from planner.solvers.rays import windows_of


def plain(epsilon, m):
    return PrivacyPolicy([epsilon] * m, [1] * m)


def worst_case(wanted):
    """Any one person's error, all numbers counting alike."""
    p, m = np.shape(wanted)
    return [Scenario(f"all x{i}", person, np.eye(p)) for i, person in enumerate(np.eye(m))]


def cumulative(d):
    return np.tril(np.ones((d, d)))[:-1]


def random_question(rng, m=4, p=2, k=3):
    """Random wanted numbers, populations and directions."""
    wanted = rng.normal(size=(p, m))
    scenarios = [
        Scenario(f"s{i}", rng.dirichlet(np.ones(m)), rng.normal(size=(2, p)), drawn=bool(i % 2))
        for i in range(k)
    ]
    return wanted, scenarios


def rays_of(policy):
    """Logarithms of every extreme ray of symbols, by the walk."""
    written = PrivacyPolicy(policy.epsilons, policy.item_counts, policy.bounds())
    return windows_of(written, np.arange(policy.size)).low


def pairs_of(policy):
    """Pair budgets of all items, the same item's infinite, and each item's level."""
    level = np.repeat(np.arange(policy.size), policy.item_counts)
    budgets = policy.bounds()[np.ix_(level, level)].copy()
    np.fill_diagonal(budgets, np.inf)
    return budgets, level
