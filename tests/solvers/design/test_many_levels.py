"""More levels than the multipliers tell apart: grouped, merged, and honest about it."""

import numpy as np
import pytest

from planner import Objective, PrivacyPolicy, best_design, solve
from planner.solvers.design import generation, levels
from planner.solvers.design.groups import GroupedLevels, grouped
from planner.solvers.design.interior import solve_restricted
from planner.solvers.design.pricing import Pricer
from planner.solvers.design.problem import Columns, DesignProblem
from planner.solvers.design.starts import first_columns, random_columns
from planner.solvers.rays import windows_of


def _problem(policy, prior=None):
    windows = windows_of(policy, np.arange(policy.size))
    return DesignProblem(policy.item_counts, windows, np.ones(policy.size), prior)


def _keeps(design):
    """Every two sides of a report keep the pair budget of their levels, but for one item alone."""
    types, budgets = design.types, design.policy.bounds()
    assert (design.groups == np.arange(design.policy.size)).all()
    sides = [(types.low, types.low_counts), (types.high, types.high_counts)]
    for here, (first, some) in enumerate(sides):
        for there, (second, others) in enumerate(sides):
            pairs = (some[:, :, None] > 0) & (others[:, None, :] > 0)
            if here == there:
                pairs &= (some[:, :, None] > 1) | ~np.eye(design.policy.size, dtype=bool)
            apart = np.log(first)[:, :, None] - np.log(second)[:, None, :]
            assert (apart <= budgets + 1e-12)[pairs].all()
            assert pairs.any()


@pytest.fixture(scope="module")
def nine():
    policy = PrivacyPolicy(np.linspace(0.8, 2, 9), [1, 2, 3, 4, 5, 4, 3, 2, 2], "avg")
    return best_design(policy, tolerance=1e-2)


def test_nine_levels_are_within_a_few_per_cent_and_better_than_the_best_table(nine):
    assert nine.certificate.relative_gap < 0.05
    assert nine.worst_case_mse < 0.97 * solve(nine.policy).worst_case_mse
    np.testing.assert_allclose(nine.types.probabilities.sum(axis=(1, 2)), 1, rtol=1e-9)


def test_their_design_keeps_the_budgets_of_every_level(nine):
    _keeps(nine)


@pytest.mark.parametrize("rule", ["min", "avg"])
@pytest.mark.parametrize("prior", [None, (0.1, 0.2, 0.3, 0.4)])
def test_grouped_multipliers_prove_less_and_their_design_is_worse_but_near(
    rule, prior, monkeypatch
):
    policy = PrivacyPolicy([1.0, 1.15, 1.4, 1.7], [4, 8, 12, 16], rule)
    objective = Objective() if prior is None else Objective("expected", prior=prior)
    exact = best_design(policy, objective)
    monkeypatch.setattr(generation, "MOST_APART", 2)
    monkeypatch.setattr(generation, "_FIRST_GROUPS", 2)
    monkeypatch.setattr(generation, "_MOST_GROUPS", 3)
    design = best_design(policy, objective)
    assert design.certificate.lower_bound <= exact.objective_value * (1 + 1e-9)
    assert design.objective_value >= exact.certificate.lower_bound * (1 - 1e-9)
    assert 1e-6 < design.certificate.relative_gap < 0.1
    _keeps(design)


def test_what_groups_see_of_a_type_is_what_their_multipliers_price():
    """Left and right side of every cone, by group and by level."""
    policy = PrivacyPolicy([1.0, 1.1, 1.3, 1.9], [1, 4, 7, 2])
    problem = _problem(policy)
    groups = GroupedLevels(problem, np.array([0, 0, 1, 1]))
    columns = first_columns(problem, None)
    answer = solve_restricted(groups, columns, 1e-8)
    c, S, lam, prior, _ = answer.multipliers
    mean, spread, _ = groups.columns(columns)
    f = groups.item_counts / problem.items
    seen = spread @ (c**2 * f) + np.square(mean * np.sqrt(f) @ S).sum(axis=1)
    expanded = groups.expanded(answer.multipliers)
    assert expanded.slack.sum() == pytest.approx(lam.sum())
    assert expanded.prior.sum() == pytest.approx(1)
    ratios = Pricer(problem, expanded).ratios(columns)
    np.testing.assert_allclose(ratios, seen / ((mean @ lam) * (mean @ prior)), rtol=1e-9)


def test_levels_of_different_kinds_are_never_grouped():
    policy = PrivacyPolicy(np.linspace(1, 2, 12), [3] * 12)
    windows = windows_of(policy, np.arange(12))
    weights = np.repeat([1.0, 2.0], 6)
    problem = DesignProblem(policy.item_counts, windows, weights)
    groups = grouped(problem, 4)
    assert groups.size == 4
    assert all(np.unique(weights[groups.groups == group]).size == 1 for group in range(4))
    assert grouped(problem, 12).all_apart


def test_levels_that_all_differ_keep_their_order():
    """Nine weights, none like another, rising and falling: no group has two levels."""
    policy = PrivacyPolicy(np.linspace(1, 2, 9), [20] * 8 + [1])
    weights = np.array([5, 3, 1, 2, 4, 6, 8, 7, 9.0])
    groups = grouped(
        DesignProblem(policy.item_counts, windows_of(policy, np.arange(9)), weights), 4
    )
    assert groups.all_apart
    np.testing.assert_array_equal(groups.item_counts, policy.item_counts)
    np.testing.assert_array_equal(groups.weights_above_zero, weights)


@pytest.mark.parametrize("prior", [None, (0.1, 0.2, 0.7)])
def test_weights_and_multipliers_of_a_few_types_prove_each_other(prior):
    """The program over few types: error and bound meet, and the types' own errors agree."""
    from planner.solvers.design.bound import proven_bound
    from planner.solvers.design.repair import types_of

    policy = PrivacyPolicy([1.0, 1.2, 2.0], [5, 1, 90])
    problem = _problem(policy, None if prior is None else np.array(prior))
    rng = np.random.default_rng(5)
    columns = first_columns(problem, None).joined(random_columns(problem, rng))
    apart = GroupedLevels(problem, np.arange(3))
    answer = solve_restricted(apart, columns, 1e-10)
    ratio = float(Pricer(problem, answer.multipliers).ratios(columns).max())
    assert ratio == pytest.approx(1, abs=1e-8)
    bound = proven_bound(problem, answer.multipliers, ratio)
    assert bound == pytest.approx(answer.error, rel=1e-8)
    errors = types_of(problem, columns, answer.weights).level_errors(answer.multipliers.prior)
    value = errors.max() if prior is None else errors @ np.array(prior)
    assert value == pytest.approx(answer.error, rel=1e-6)


@pytest.mark.parametrize("prior", [None, (0.05, 0.15, 0.1, 0.25, 0.25, 0.2)])
def test_levels_that_differ_in_all_are_merged_honestly(prior, monkeypatch):
    """Six budgets and six weights in at most four groups."""
    policy = PrivacyPolicy([1.0, 1.1, 1.2, 1.4, 1.5, 1.9], [2, 3, 4, 5, 6, 7])
    weights = (1.0, 1.5, 1.1, 1.0, 1.3, 2.0)
    name = "worst-case" if prior is None else "expected"
    objective = Objective(name, weights=weights, prior=prior)
    exact = best_design(policy, objective, tolerance=1e-3)
    monkeypatch.setattr(levels, "MOST_GROUPS", 4)
    design = best_design(policy, objective, tolerance=1e-3)
    assert design.types.item_counts.size <= 4
    assert 0 < design.certificate.lower_bound <= exact.objective_value
    assert design.objective_value >= exact.certificate.lower_bound
    gap = design.objective_value / design.certificate.lower_bound - 1
    assert design.certificate.relative_gap == pytest.approx(gap)


def test_a_matrix_of_nine_levels_of_nine_weights_is_merged_too():
    matrix = np.add.outer(np.linspace(0.5, 1, 9), np.linspace(0.5, 1, 9))
    policy = PrivacyPolicy(np.ones(9), [2] * 9, matrix)
    merged = levels.merge(policy, np.linspace(1, 2, 9)[:, None])
    assert not merged.exact
    assert merged.kept.size <= levels.MOST_OF_A_MATRIX
    pairs = np.ix_(merged.groups, merged.groups)
    assert (merged.kept.bounds()[pairs] <= matrix).all()
    assert (merged.allowed.bounds()[pairs] >= matrix).all()


@pytest.mark.parametrize("budget", [6, 8, 10, 14])
def test_large_budgets_have_a_bound_above_zero(budget):
    design = best_design(PrivacyPolicy([budget, 1.5 * budget], [3, 4]))
    assert design.worst_case_mse < 0.05
    assert design.certificate.lower_bound > 0
    assert design.certificate.relative_gap < 1e-4


def test_types_without_the_means_to_tell_items_apart_are_refused():
    from planner import ConvergenceError

    problem = _problem(PrivacyPolicy([1.0, 2.0], [3, 4]))
    blank = Columns(np.array([0]), np.zeros((1, 2), dtype=np.int64))
    with pytest.raises(ConvergenceError, match="tell all items apart"):
        solve_restricted(GroupedLevels(problem, np.arange(2)), blank, 1e-6)
