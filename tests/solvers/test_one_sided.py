"""One-sided budgets: known optima, brute force over all rays, and what deployed reports measure."""

from math import inf, log

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from planner import (
    Categorical,
    Level,
    PrivacyPolicy,
    Survey,
    best_design,
    plan_survey,
    solve,
)
from planner.policy.logodds import p
from planner.solvers.channel_search import solve_channel
from tests.mechanisms.decisions import mean_square_is
from tests.policies import log_uniform, random_rule
from tests.solvers.questions import by_hand, dense, pairs_of, worst_case

TABLE_II = (log(4), log(6))
BROWSING = (5, 5, 90)
OPTIMA = [  # budgets for, against, items, least error of all mechanisms
    ((1, 1.2, 2), None, BROWSING, 93.44868257),
    ((1, 1.2, 2), (2, 2, 2), BROWSING, 93.44868257),
    ((1, 1.2, 2), (1, 1.2, 2), BROWSING, 175.80530081),  # the rule min
    ((0.5, 0.6, 1), None, BROWSING, 468.02826034),
    ((2, 2.4, 4), None, BROWSING, 11.16130641),
    ((1, 1.5, 3), None, (1, 3, 12), 7.45783433),
    ((1, 2, 3, 4), None, (2, 8, 40, 50), 23.17772000),
    (TABLE_II, None, (1, 4), 2.88),
    ((1, 5), None, (1, 20), 1.59713630),
    ((1, 2), (1.5, 3), (1, 2), 2.10483593),
    ((1, 2), (3, 1), (2, 2), 6.51305277),
    ((0.5, 1.3, 2), (1, inf, 0.7), (1, 1, 2), 17.19963741),
]
TABLES = [  # the same of tables of bits, as one variable or a conic program finds them
    ((1, 1.2, 2), BROWSING, 99.05850369),
    ((0.5, 0.6, 1), BROWSING, 486.64991078),
    ((2, 2.4, 4), BROWSING, 13.73394816),
    ((1, 1.5, 3), (1, 3, 12), 12.52635244),
    (TABLE_II, (1, 4), 6.47072458),
    ((1, 5), (1, 20), 4.87958393),
]


def one_sided(epsilons, items, against=None):
    return PrivacyPolicy(epsilons, items, "one-sided", against=against)


@pytest.mark.parametrize(("epsilons", "against", "items", "error"), OPTIMA)
def test_known_optima(epsilons, against, items, error):
    policy = one_sided(epsilons, items, against)
    design = best_design(policy, tolerance=1e-9)
    assert abs(design.worst_case_mse - error) <= 1.1e-8 * max(1, error)
    assert design.certificate.relative_gap <= 2e-9
    bounds = policy.bounds()
    assert (design.pair_losses <= bounds * (1 + 1e-12)).all()
    limited = against is not None and min(against) < max(epsilons)
    assert (len(list(policy.rule.windows(policy.epsilons))) == 1) == (not limited)


def test_two_answers_are_told_apart_by_two_rays():
    q = np.expm1(3) / np.expm1(
        3.5
    )  # of the one that may be raised further, p of the other
    least = 2 * q * (1 - q) / (q * np.expm1(0.5)) ** 2
    assert best_design(one_sided([0.5, 3], [1, 1])).worst_case_mse == pytest.approx(
        least, rel=1e-6
    )
    policy = PrivacyPolicy([0.5, 0.5], [1, 1])
    clearer = one_sided([0.5, 0.5], [1, 1]), policy
    assert (
        best_design(clearer[0]).worst_case_mse == best_design(clearer[1]).worst_case_mse
    )


@pytest.mark.parametrize(("epsilons", "items", "error"), TABLES)
def test_known_tables(epsilons, items, error):
    policy = one_sided(epsilons, items)
    for method in ("slsqp", "conic"):
        table = solve(policy, method=method)
        assert abs(table.worst_case_mse - error) <= 1.1e-8 * error
        assert table.max_violation == 0
        assert table.certificate.relative_gap < 1e-9
    if min(items) > 1:  # one common w, and all the room for s
        e = policy.epsilons
        m = policy.item_counts

        def cost(w):
            return m @ (p(e - w) * (1 + p(w))) + max(p(w) - p(e - w))

        best = minimize_scalar(cost, bounds=(1e-3, e.min() - 1e-3), method="bounded")
        assert best.fun == pytest.approx(error, rel=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_random_directed_policies_by_brute_force(seed):
    """All rays by sets of tight pairs, all mechanisms by a conic program: no solver of ours."""
    rng = np.random.default_rng([44, seed])
    rule = ("one-sided", "matrix", "one-sided")[seed]
    counts = [(1, 2), (2, 1), (1, 1, 2)][seed]
    chosen = random_rule(rng, len(counts), rule, 0.4, 3, gaps=0.0)
    policy = PrivacyPolicy(log_uniform(rng, 0.4, 3, len(counts)), counts, **chosen)
    every = np.eye(sum(counts))
    least = dense(by_hand(pairs_of(policy)[0]), every, worst_case(every))
    design = best_design(policy, tolerance=1e-8)
    assert design.worst_case_mse == pytest.approx(least, rel=1e-5)
    assert design.certificate.relative_gap < 1e-7


def test_a_channel_of_a_directed_matrix_is_the_best_over_all_rays():
    matrix = np.array(
        [
            [9, 0.5, 2, 1],
            [1, 9, 0.7, 3],
            [2, 1, 9, 0.4],
            [0.6, 2, 1.5, 9],
        ]
    )
    policy = PrivacyPolicy([1.0] * 4, [1] * 4, matrix)
    numbers = np.tril(np.ones((4, 4)))[:-1]
    channel = solve_channel(policy, numbers, worst_case(numbers))
    least = dense(by_hand(pairs_of(policy)[0]), numbers, worst_case(numbers))
    assert channel.worst_error == pytest.approx(least, rel=1e-5)
    assert channel.max_violation == 0


def test_deployed_reports_err_as_predicted():
    """1,500 collections of 500 people; a tenth more or less would be seen."""
    levels = (
        Level("severe", 1.0, item_count=2),
        Level("usual", 2.0, item_count=6, against=1.5),
    )
    asked = Categorical("diagnosis", levels, "one-sided")
    survey = Survey("clinic", 500, (asked,))
    plan = plan_survey(survey)
    law = plan.questions[0].law
    people = np.repeat([100, 50], [2, 6])
    rng = np.random.default_rng(44)
    drawn = [law.estimate(law.draw_aggregate(people, rng)).values for _ in range(1500)]
    errors = np.array(drawn) - people
    predicted = law.variance(people).sum()
    assert mean_square_is(errors, predicted)
    assert not mean_square_is(errors, 1.1 * predicted)
    assert not mean_square_is(errors, 0.9 * predicted)
