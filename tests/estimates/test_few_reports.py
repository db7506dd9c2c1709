"""Limits where few reports decide, of what is deployed: they hold as often as they say.

Of some draws at 95 % fewer hold than a binomial law gives at one in a million; normal limits, the
near miss, do. ``benchmarks/coverage.py`` has larger tables.
"""

import numpy as np
import pytest
from scipy.stats import binom

from planner.estimates.counts import Estimates
from planner.planning.plan import plan_survey
from planner.survey.choices import Categorical
from planner.survey.levels import Level
from planner.survey.survey import Survey


def deployed(question, people):
    survey = Survey("s", people, (question,))
    plan = plan_survey(survey)
    return plan.question(question.name).law


def held(law, people, truth, draws):
    """How often limits hold the truth, those of the law and normal ones, ``(2, k)``."""
    rng = np.random.default_rng(4)
    counted = np.zeros((2, truth.size))
    for _ in range(draws):
        reports = law.draw_aggregate(people, rng)
        estimates = law.estimate(reports)
        for row, limits in enumerate(
            (estimates.intervals(), Estimates.intervals(estimates))
        ):
            lower, upper = limits
            counted[row] += (lower - 1e-9 <= truth) & (truth <= upper + 1e-9)
    return counted


def test_one_budget():
    """Rounding leaves a blank type, some units of 2^-32: the law is binomial all the same."""
    level = Level("all", 8.0, tuple("abcde"))
    question = Categorical("q", (level,))
    law = deployed(question, 500)
    people = np.array([0, 1, 3, 10, 486])
    exact, normal = held(law, people, people, 200)
    assert len(law.shape.types) == 2
    fewest = binom.ppf(1e-6, 200, 0.95)
    assert exact.min() >= fewest
    fewest = binom.ppf(1e-6, 200, 0.95)
    assert normal[:3].max() < fewest


@pytest.mark.parametrize("rule", ["min", "one-sided"])
def test_several_types(rule):
    levels = (Level("low", 4.0, ("a", "b")), Level("high", 8.0, ("c", "d", "e")))
    question = Categorical("q", levels, rule=rule)
    law = deployed(question, 500)
    people = np.array([10, 0, 0, 5, 485])
    exact, _ = held(law, people, people, 40)
    assert len(law.shape.types) > 2
    fewest = binom.ppf(1e-6, 40, 0.95)
    assert exact.min() >= fewest
