"""The best of all mechanisms whose best guess is limited: against a program without levels."""

from itertools import combinations

import cvxpy as cp
import numpy as np
import pytest

from planner import Objective, PrivacyPolicy, best_design, solve
from planner.errors import ConvergenceError, InputError
from planner.outsiders.guessing.designs import DesignGuessing
from planner.solvers.design import solving

POLICY = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])


def rays(policy):
    """Outputs of largest likelihood 1 that keep all pairs and are no mixture of such: all of them.

    Corners of the box in which no item exceeds another by more than their budget: as many of the
    conditions as there are items are tight, which is tried for every choice of them.
    """
    level = np.repeat(np.arange(policy.size), policy.item_counts)
    ratio = np.exp(policy.bounds()[np.ix_(level, level)])
    items = level.size
    rows = [(row, 1.0) for row in np.eye(items)]
    for x in range(items):
        others = set(range(items)) - {x}
        rows += [(np.eye(items)[x] - ratio[x, y] * np.eye(items)[y], 0.0) for y in others]
    matrix, limit = np.array([row for row, _ in rows]), np.array([end for _, end in rows])
    found = []
    for chosen in map(list, combinations(range(len(rows)), items)):
        if abs(np.linalg.det(matrix[chosen])) > 1e-9:
            point = np.linalg.solve(matrix[chosen], limit[chosen])
            if np.all(matrix @ point <= limit + 1e-9) and point.max() > 0.5:
                found.append(point)
    return np.unique(np.round(found, 12), axis=0)


def dense_error(policy, prior, limit):
    """Least expected error under a prior by level, over all outputs: a semidefinite program."""
    level = np.repeat(np.arange(policy.size), policy.item_counts)
    columns, chances = rays(policy), (prior / policy.item_counts)[level]
    weights = cp.Variable(len(columns), nonneg=True)
    parts = [np.outer(v, v) / (chances @ v) for v in columns]
    information = sum(weight * part for weight, part in zip(weights, parts, strict=True))
    keeps = [columns.T @ weights == 1, cp.sum(weights) / level.size <= limit]
    program = cp.Problem(cp.Minimize(cp.tr_inv(information)), keeps)
    program.solve(solver="CLARABEL")
    assert program.status == cp.OPTIMAL
    return program.value - 1


@pytest.mark.parametrize("rule", ["min", "avg"])
@pytest.mark.parametrize(
    ("budgets", "items", "share"), [((1.0, 2.0), (1, 3), 0.5), ((1.0, 1.3, 3.0), (1, 1, 2), 0.7)]
)
def test_no_mechanism_does_better(rule, budgets, items, share):
    policy = PrivacyPolicy(budgets, items, rule)
    free = best_design(policy)
    limit = 0.25 + share * (free.types.guess - 0.25)
    design = best_design(policy, Objective(guess_limit=limit))
    assert limit * (1 - 1e-6) < design.types.guess <= limit  # the limit is what it costs
    assert design.certificate.relative_gap < 3e-6
    least = dense_error(policy, design.prior, limit)  # the prior that is the least favourable
    assert design.worst_case_mse == pytest.approx(least, rel=2e-5)
    assert design.certificate.lower_bound <= least * (1 + 1e-5)
    assert design.worst_case_mse > 1.01 * dense_error(policy, design.prior, 1.0)
    prior = np.array([0.4, 0.6] if len(items) == 2 else [0.3, 0.3, 0.4])
    expected = best_design(policy, Objective("expected", prior=prior, guess_limit=limit))
    least = dense_error(policy, prior, limit)
    assert expected.objective_value == pytest.approx(least, rel=2e-5)


@pytest.fixture(scope="module")
def limited():
    return best_design(POLICY, Objective(guess_limit=0.018))


def test_the_limit_is_kept_as_it_is_drawn(limited):
    items = np.full(100, 0.01)
    assert 0.01799 < DesignGuessing.of(limited).success(items) <= 0.018
    assert np.all(limited.pair_losses <= POLICY.bounds() + 1e-9)


def test_its_price_is_the_slope_of_the_error(limited):
    before, after = (
        best_design(POLICY, Objective(guess_limit=0.018 + step)).worst_case_mse
        for step in (-1e-5, 1e-5)
    )
    price = limited.certificate.guess_price
    assert price == pytest.approx((before - after) / 2e-5, rel=1e-3)
    # By convexity what the price says of other limits is proven, too.
    assert before >= limited.certificate.lower_bound + price * 1e-5 * (1 - 1e-4)


def test_a_limit_that_costs_nothing_has_no_price():
    free = best_design(POLICY)
    loose = best_design(POLICY, Objective(guess_limit=0.03))
    assert loose.worst_case_mse == free.worst_case_mse
    assert (loose.certificate.guess_price, free.certificate.guess_price) == (0.0, 0.0)
    assert loose.objective.guess_limit == 0.03
    # Many designs are best here; one of them guesses less.
    few = PrivacyPolicy([1.0, 2.0], [1, 4])
    other = best_design(few, Objective(guess_limit=0.41))
    assert other.worst_case_mse == pytest.approx(best_design(few).worst_case_mse, rel=1e-6)
    assert other.types.guess <= 0.41 < best_design(few).types.guess
    assert other.certificate.guess_price == 0


@pytest.mark.parametrize(
    ("policy", "limit", "said"),
    [
        (POLICY, 0.01, "above 0.01"),
        (POLICY, 0.0, "above 0"),
        (POLICY, 1.1, "at most 1"),
        (POLICY, float("nan"), "above 0"),
        (PrivacyPolicy([1, 2], [2, 2], [[1, 1.5], [1.5, 2]]), 0.3, "min or avg"),
        (PrivacyPolicy(np.linspace(1, 2, 9), np.full(9, 2)), 0.1, "at most 8 that differ"),
    ],
)
def test_limits_that_cannot_be_kept_are_refused(policy, limit, said):
    with pytest.raises(InputError, match=said):
        best_design(policy, Objective(guess_limit=limit))


def test_tables_of_bits_are_not_made_for_a_limit():
    with pytest.raises(InputError, match="subset-design"):
        solve(POLICY, objective=Objective(guess_limit=0.02))


def test_a_design_that_breaks_the_limit_is_not_returned(monkeypatch):
    kept = solving._best

    def careless(merged, policy, objective, *about):
        return kept(merged, policy, objective.without_limit, *about)

    monkeypatch.setattr(solving, "_best", careless)
    with pytest.raises(ConvergenceError, match=r"lets 0\.0236"):
        best_design(POLICY, Objective(guess_limit=0.02))
