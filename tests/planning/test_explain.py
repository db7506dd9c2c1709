import numpy as np
import pytest

from planner import (
    InputError,
    PrivacyPolicy,
    solve,
)
from planner.planning.choice import beliefs_after, explain
from tests.mechanisms.listed import output_law


def test_belief_bounds_hold_for_every_report_and_prior():
    policy = PrivacyPolicy([0.6, 1.0, 2.0], [1, 1, 1])
    from planner import UnaryMechanism

    law = output_law(UnaryMechanism(solve(policy)))
    rng = np.random.default_rng(1)
    for _ in range(200):
        prior = rng.dirichlet(np.ones(3))
        posterior = prior[:, None] * law / (prior @ law)
        for i in range(3):
            low, high = beliefs_after(policy.leakage_epsilons, float(prior[i]))
            assert posterior[i].max() <= high[i] * (1 + 1e-12)
            assert posterior[i].min() >= low[i] * (1 - 1e-12)


def test_belief_bounds_are_inside_those_of_the_ratio():
    policy = PrivacyPolicy([0.6, 1.0, 2.0], [1, 4, 1])
    lower, upper = policy.prior_posterior_bounds
    low, high = beliefs_after(policy.leakage_epsilons, 0.1)
    assert (high <= 0.1 * upper).all()
    assert (low >= 0.1 * lower).all()
    for prior in (0, 1, -1, np.nan):
        with pytest.raises(InputError, match="prior"):
            beliefs_after(policy.leakage_epsilons, prior)


def test_explanations_say_the_probabilities():
    table = solve(PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90], names=["A", "B", "C"]))
    first = explain(table, "pages")[0]
    assert "41 send a 1" in first.odds
    assert "27 do" in first.odds
    assert "from 50 % to at most 73.2 %" in first.belief  # e / (1 + e) is .7311: rounded up
    padded = explain(table, "pages", padding_length=4)[0]
    assert "31 send a 1" in padded.odds  # 27.4 + (40.9 - 27.4) / 4


def test_beliefs_about_sets_hold_for_every_report():
    from planner import PaddedUnaryMechanism, UnaryMechanism

    policy = PrivacyPolicy([0.6, 1.0], [1, 2])
    table = solve(policy)
    law = output_law(PaddedUnaryMechanism(UnaryMechanism(table), 2))  # 8 sets
    bounds = explain(table, "x", padding_length=2)[0].bounds
    has = (np.arange(8) & 1).astype(bool)
    rng = np.random.default_rng(2)
    for k, belief in enumerate((0.01, 0.1, 0.5)):
        for _ in range(100):
            prior = rng.dirichlet(np.ones(8))
            prior[has] *= belief / prior[has].sum()
            prior[~has] *= (1 - belief) / prior[~has].sum()
            posterior = (prior[has] @ law[has]) / (prior @ law)
            assert bounds[k][0] * (1 - 1e-9) <= posterior.min()
            assert posterior.max() <= bounds[k][1] * (1 + 1e-9)


def test_rare_and_near_certain_reports_are_not_rounded_away():
    table = solve(PrivacyPolicy([12.0], [3]))
    (level,) = explain(table, "pages")
    said = [float(part.split()[-1]) for part in level.odds.split(" send a 1")[0:1]]
    assert said[0] == pytest.approx(100 * table.a[0], rel=1e-3)
    others = float(level.odds.split("answer, ")[1].split()[0])
    assert 0 < others < 1
    assert others == pytest.approx(100 * table.b[0], rel=0.05)
