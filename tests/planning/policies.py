"""Policies of moderate budgets, under each rule, and targets for them."""

import numpy as np

from planner import PrivacyPolicy, Target

POLICIES = [
    PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90], names=["A", "B", "C"]),
    PrivacyPolicy([0.3, 3.0], [1, 40], rule="avg", names=["A", "B"]),
    PrivacyPolicy([1.0, 2.0], [3, 3], rule=[[1, 1.5], [1.5, 2]], names=["A", "B"]),
]
KINDS = [("error", None), ("error", "A"), ("detect", None), ("detect", "B")]


def target(kind, level, value):
    return Target(**{kind: value, "level": level})


def moderate_policy(rng, rule):
    t = int(rng.integers(2, 6))
    epsilons = rng.uniform(0.5, 3, t)
    if rule == "matrix":
        rule = np.minimum.outer(epsilons, epsilons) * (1 + 0.3 * np.eye(t))
        rule[0, -1] = rule[-1, 0] = np.inf if t > 2 else rule[0, -1]
    return PrivacyPolicy(epsilons, rng.integers(2, 60, t), rule)
