"""The best of all mechanisms for the worst single item, and what is proven about it."""

from itertools import product
from math import inf

import cvxpy as cp
import numpy as np
import pytest

from planner import Objective, PrivacyPolicy, best_design, solve
from planner.errors import ConvergenceError, InputError
from planner.solvers.design import item_search, solving
from planner.solvers.design.item_pricing import ItemPricer
from planner.solvers.design.item_program import bound_of_items, solve_items
from planner.solvers.design.problem import Columns, DesignProblem
from planner.solvers.design.windows import windows_of
from tests.solvers.design.test_guess_limit import rays

WORST = Objective("minimax")
POLICY = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])


@pytest.fixture(scope="module")
def design():
    return best_design(POLICY, WORST)


def _problem(policy, weights=None):
    omega = np.ones(policy.size) if weights is None else np.array(weights, dtype=float)
    return DesignProblem(policy.item_counts, windows_of(policy, np.arange(policy.size)), omega)


def _all_types(problem):
    counts = np.array(list(product(*(range(m + 1) for m in problem.item_counts))))
    windows = len(problem.windows.low)
    return Columns(np.repeat(np.arange(windows), len(counts)), np.tile(counts, (windows, 1)))


def dense_noise(policy, weights):
    """Least worst variance of one item's count, over all outputs and an estimator of every item.

    It knows nothing of levels, types or priors: a number for every output and item.
    """
    level = np.repeat(np.arange(policy.size), policy.item_counts)
    columns, items = rays(policy), level.size
    theta = cp.Variable(len(columns), nonneg=True)
    worst, keeps = cp.Variable(), [columns.T @ theta == 1]
    for i in range(items):
        z, square = cp.Variable(len(columns)), cp.Variable(len(columns))  # theta g, theta g^2
        keeps.append(cp.SOC(square + theta, cp.vstack([2 * z, square - theta]), axis=0))
        keeps.append(columns.T @ z == np.eye(items)[i])
        others = np.delete(np.arange(items), i)
        keeps.append(weights[level[i]] * (columns.T[others] @ square) <= worst)
    program = cp.Problem(cp.Minimize(worst), keeps)
    program.solve(solver="CLARABEL")
    assert program.status == cp.OPTIMAL
    return float(program.value)


@pytest.mark.parametrize(
    ("budgets", "items", "rule", "weights"),
    [
        ((1.0, 2.0), (1, 3), "min", (1, 1)),
        ((1.0, 1.3, 3.0), (1, 1, 2), "min", (1, 2, 0.5)),
        ((0.7, 1.1), (2, 2), "avg", (1, 1)),
        ((0.5, 0.5), (2, 2), [[0.5, 3.0], [3.0, 0.5]], (1, 1)),
        ((1.0, 1.0), (1, 2), [[1.0, 0.8], [0.8, 2.0]], (3, 1)),
    ],
)
def test_no_mechanism_does_better(budgets, items, rule, weights):
    policy = PrivacyPolicy(budgets, items, rule)
    objective = Objective("minimax", weights=weights)
    design = best_design(policy, objective)
    least = dense_noise(policy, weights)
    assert design.objective_value == pytest.approx(least, rel=2e-6)
    assert design.certificate.lower_bound <= least * (1 + 1e-7)
    assert design.certificate.relative_gap <= 1e-6
    assert design.objective_value <= solve(policy, objective=objective).objective_value * (1 + 1e-6)


@pytest.mark.parametrize(("epsilon", "items"), [(1.0, 10), (0.01, 6), (3.0, 40), (20.0, 5)])
def test_equal_budgets_give_the_best_subset_selection(epsilon, items):
    """Of ``k`` items high: own with probability a, another with b, variance b (1 - b) / (a - b)^2.

    The likelihood ratio of an item's own law to the others' has a variance linear in the
    mechanism, so that one size is best.
    """
    k, e = np.arange(1, items), np.exp(epsilon)
    total = k * e + items - k
    a = k * e / total
    b = (k / total) * ((k - 1) * e + items - k) / (items - 1)
    least = float((b * (1 - b) / (a - b) ** 2).min())
    design = best_design(PrivacyPolicy([epsilon], [items]), WORST)
    assert design.objective_value == pytest.approx(least, rel=1e-6)
    assert design.certificate.lower_bound <= least * (1 + 1e-9)
    assert design.certificate.relative_gap <= 1e-6


def test_all_levels_reach_the_same_worst_variance(design):
    assert design.certificate.relative_gap <= 1e-6
    assert design.objective_value == pytest.approx(3.1592634, rel=1e-6)
    assert design.noise == pytest.approx(np.full(3, design.objective_value), rel=1e-6)
    assert design.objective_value < 0.86 * solve(POLICY, objective=WORST).objective_value
    assert best_design(POLICY).value(WORST) > 2.9 * design.objective_value
    assert design.prior.shape == (3, 3)
    assert "variance of the worst single item 3.15926 per user; proven" in design.summary
    assert design.types.size <= 24  # as many as numbers that matter


def test_the_estimator_is_unbiased_and_its_variance_the_stated_one(design):
    other, own = design.types.expectations(design.estimator)
    assert np.abs(other).max() < 1e-11
    assert own == pytest.approx(np.ones(3), abs=1e-11)
    elsewhere = design.types.variances(design.types.estimator([0.05, 0.05, 0.9])).other
    assert elsewhere.max() > 1.01 * design.objective_value  # one prior for all levels is worse


def test_starting_from_a_similar_design_changes_nothing_but_the_way(design):
    again = best_design(POLICY, WORST, near=design)
    assert again.objective_value == pytest.approx(design.objective_value, rel=1e-6)
    assert again.certificate.relative_gap <= 1e-6


# A level without weight counts a millionth in the program, and not in the bound.
@pytest.mark.parametrize(("weights", "close"), [((1, 1, 1), 2e-6), ((1, 0, 2), 1e-5)])
def test_any_multipliers_prove_no_more_than_is_true(weights, close):
    """Changed at random, and those of other sizes; of levels that nobody minds, too."""
    policy = PrivacyPolicy([1.0, 1.2, 2.0], [2, 3, 5])
    problem = _problem(policy, weights)
    least = best_design(policy, Objective("minimax", weights=weights)).objective_value
    answer = solve_items(problem, _all_types(problem), least)
    rng, proven = np.random.default_rng(3), []
    for size in (0.0, 1e-6, 1e-3, 0.1, 0.5):
        for _ in range(4):
            wrong = [
                part * (1 + size * rng.standard_normal(part.shape)) for part in answer.multipliers
            ]
            wrong[2] = np.abs(wrong[2])
            if size == 0.5:  # of what does not count a good deal is claimed
                wrong[0] = wrong[0] + 1.0
            multipliers = type(answer.multipliers)(*wrong)
            ratio = ItemPricer(problem, multipliers).largest_ratio(1e-9, 1e-9, 10**6).ratio
            proven.append(bound_of_items(problem, multipliers, ratio)[0])
    assert max(proven) <= least * (1 + 1e-12)
    assert proven[0] >= least * (1 - close)


@pytest.mark.parametrize("rule", ["min", "avg"])
@pytest.mark.parametrize("most_nodes", [0, 10, 10**6])
def test_the_largest_ratio_is_that_of_all_types_tried(rule, most_nodes, monkeypatch):
    rng = np.random.default_rng(22)
    for _ in range(3):
        policy = PrivacyPolicy(rng.uniform(0.5, 3, 3), rng.integers(1, 13, 3), rule)
        problem = _problem(policy)
        types = _all_types(problem)
        some = types.chosen(np.unique(rng.integers(0, len(types.window), 60)))
        pricer = ItemPricer(problem, solve_items(problem, some, 1.0).multipliers)
        monkeypatch.setattr(pricer, "few", 2)  # divide boxes rather than list them
        pricer.slack = pricer.slack + 0.1 * np.abs(pricer.slack).sum() * problem.shares
        ratios = pricer.ratios(types)
        assert np.isfinite(ratios).all()
        found = pricer.largest_ratio(1e-9, 1e-9, most_nodes)
        assert found.ratio >= ratios.max() * (1 - 1e-12)
        assert found.seen <= ratios.max() * (1 + 1e-12)
        if most_nodes == 10**6:
            assert found.ratio <= ratios.max() * (1 + 2e-9)


def test_levels_without_weight_are_estimated_and_cost_nothing():
    policy = PrivacyPolicy([1.0, 1.2, 2.0], [2, 2, 6])
    design = best_design(policy, Objective("minimax", weights=(1, 1, 0)))
    assert design.certificate.relative_gap <= 5e-6
    assert design.objective_value < best_design(policy, WORST).objective_value
    assert np.isfinite(design.noise[2])


@pytest.mark.parametrize(
    ("budgets", "items", "rule", "weights"),
    [
        ((0.145, 7.67), (2, 3), "avg", None),
        ((5.263, 3.85), (67, 73), "min", (0.1, 0)),
        ((0.158, 0.114), (1, 2), [[0.9, 3.459], [3.459, 3.878]], None),
        ((8.0, 10.0), (5, 5), "min", None),
    ],
)
def test_budgets_far_apart_cost_digits_of_the_gap_alone(budgets, items, rule, weights):
    objective = Objective("minimax", weights=weights)
    policy = PrivacyPolicy(budgets, items, rule)
    design = best_design(policy, objective)
    assert design.certificate.relative_gap < 0.01
    assert design.objective_value <= solve(policy, objective=objective).objective_value


def test_components_are_solved_alone():
    apart = [[1.0, 2.0, inf], [2.0, 1.0, inf], [inf, inf, 3.0]]
    design = best_design(PrivacyPolicy([1, 1, 1], [2, 1, 3], apart), WORST)
    parts = [
        best_design(PrivacyPolicy([1, 1], [2, 1], [[1.0, 2.0], [2.0, 1.0]]), WORST),
        best_design(PrivacyPolicy([3], [3]), WORST),
    ]
    values = [part.objective_value for part in parts]
    assert design.objective_value == pytest.approx(max(values), rel=1e-6)
    assert design.noise[2] == pytest.approx(values[1], rel=1e-6)
    told = best_design(PrivacyPolicy([1, 1], [2, 1], [[1.0, inf], [inf, 1.0]]), WORST)
    assert told.noise[1] == 0
    assert told.objective_value == pytest.approx(np.e / (np.e - 1) ** 2, rel=1e-6)


def test_many_levels_are_merged_and_the_gap_is_said(monkeypatch):
    policy = PrivacyPolicy([1.0, 1.3, 1.31], [2, 2, 3])
    apart = best_design(policy, WORST)
    monkeypatch.setattr(solving, "_MOST_FOR_ITEMS", 2)
    design = best_design(policy, WORST)
    assert design.types.item_counts.tolist() == [2, 5]
    assert "merged" in design.summary
    least = apart.certificate.lower_bound
    assert design.certificate.lower_bound <= least <= design.objective_value
    assert 1e-4 < design.certificate.relative_gap < 0.02
    monkeypatch.setattr(solving, "_COARSE_FOR_ITEMS", {2: 1e-3})
    coarse = best_design(PrivacyPolicy([1.0, 1.3], [2, 5]), WORST)
    assert 1e-6 < coarse.certificate.relative_gap <= 1e-3


def test_a_search_cut_short_proves_what_it_has(monkeypatch):
    policy = PrivacyPolicy([1.0, 1.2, 2.0], [3, 3, 20])
    best = best_design(policy, WORST)
    monkeypatch.setattr(item_search, "_ROUNDS", 2)
    short = best_design(policy, WORST)
    assert 0 < short.certificate.lower_bound <= best.objective_value
    assert short.objective_value >= best.certificate.lower_bound
    assert short.certificate.relative_gap > 1e-6
    monkeypatch.setattr(item_search, "_NODES", 0)
    assert best_design(policy, WORST).certificate.lower_bound <= best.objective_value


def test_a_solver_that_fails_later_leaves_what_was_found(monkeypatch):
    calls = []

    def failing(*arguments):
        calls.append(arguments)
        if len(calls) > 3:
            raise ConvergenceError("made up", "none")
        return solve_items(*arguments)

    monkeypatch.setattr(item_search, "solve_items", failing)
    policy = PrivacyPolicy([1.0, 1.2, 2.0], [3, 3, 20])
    design = best_design(policy, WORST)
    assert 0 < design.certificate.lower_bound <= design.objective_value
    with pytest.raises(ConvergenceError, match="made up"):
        best_design(policy, WORST)


def test_guesses_are_limited_for_the_total_error_alone():
    with pytest.raises(InputError, match="left out for the worst single item"):
        best_design(POLICY, Objective("minimax", guess_limit=0.5))
