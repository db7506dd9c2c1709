"""Bounds for any number of levels: known values, an independent program, types that try to break
them, and the designs that are sampled from them."""

from functools import partial
from itertools import product

import cvxpy as cp
import numpy as np
import pytest
import scipy.linalg

from planner import (
    Categorical,
    Level,
    Objective,
    PrivacyPolicy,
    Survey,
    plan_survey,
    solve,
)
from planner.solvers.counts import DesignProblem
from planner.solvers.design_search import best_design, coarser, levels_merged
from planner.solvers.forms import Forms
from planner.solvers.one_window import (
    OneWindow,
    WindowMultipliers,
    bound_of_one_window,
    explicit_bound,
)
from planner.solvers.rays import windows_of
from planner.solvers.relaxed import relaxed
from planner.solvers.relaxed_bound import box_of
from tests.mechanisms.decisions import mean_square_is
from tests.policies import log_uniform

TO_3 = partial(np.linspace, 1, 3)
TO_2 = partial(np.linspace, 1, 2)
SCALED = (1, 1.2, 2)
THREE = (1, 1.5, 2)
VALUES = [  # rule, budgets, items, weights, prior, the largest bound of such forms
    ("avg", [1], [20], None, None, 65.52263350),
    ("avg", [1, 3], [20] * 2, None, None, 72.37254162),
    ("avg", [1, 2, 3], [20] * 3, None, None, 89.23179240),
    ("avg", TO_3(5), [20] * 5, None, None, 129.97544680),
    ("avg", TO_3(8), [20] * 8, None, None, 194.87834560),
    ("avg", TO_3(12), [20] * 12, None, None, 282.89387650),
    ("avg", TO_3(12), [1] * 12, None, None, 9.69813703),
    ("avg", SCALED, [5, 5, 90], None, None, 96.32376700),
    ("avg", THREE, [10, 20, 30], [1, 2, 0.5], None, 102.13804608),
    ("avg", THREE, [10, 20, 30], None, [0.2, 0.3, 0.5], 84.54527687),
    ("min", SCALED, [5, 5, 90], None, None, 174.922219),
    ("min", THREE, [20, 20, 60], None, None, 267.809342),
    ("min", THREE, [20, 20, 60], [1, 2, 0.5], None, 253.431946),
    ("min", THREE, [20, 20, 60], None, [0.2, 0.3, 0.5], 266.583493),
    ("min", TO_2(6), [20] * 6, None, None, 353.0031539),
]
EXPLICIT = [  # rule, budgets, items, weights, the bound in closed form
    ("avg", TO_3(8), [20] * 8, None, 194.74704120),
    ("avg", TO_3(12), [20] * 12, None, 282.78925088),
    ("avg", TO_3(50), [20] * 50, None, 1126.19047297),
    ("avg", TO_3(50), [1] * 50, None, 51.28979995),
    ("avg", TO_3(1000), [20] * 1000, None, 22240.39881568),
    ("avg", TO_3(50), [20_000] * 50, None, 1131553.50471697),
    ("avg", THREE, [10, 20, 30], [1, 2, 0.5], 101.96366131),
    ("one-sided", TO_3(8), [20] * 8, None, 188.28207125),
    ("one-sided", TO_3(50), [20] * 50, None, 1087.89236232),
    ("one-sided", TO_3(1000), [20] * 1000, None, 21485.79419348),
    ("one-sided", TO_3(50), [20_000] * 50, None, 1093112.99894897),
]


def problem_of(rule, budgets, items, weights=None, prior=None):
    policy = PrivacyPolicy(budgets, items, rule)
    if weights is None:
        weights = np.ones(policy.size)
    else:
        weights = np.array(weights, dtype=float)
    if prior is None:
        prior = None
    else:
        prior = np.array(prior)
    windows = windows_of(policy, np.arange(policy.size))
    return DesignProblem(policy.item_counts, windows, weights, prior)


def proven(forms, close):
    return forms.proven(forms.solved(close))


@pytest.mark.parametrize(
    ("rule", "budgets", "items", "weights", "prior", "value"), VALUES
)
def test_known_values(rule, budgets, items, weights, prior, value):
    problem = problem_of(rule, budgets, items, weights, prior)
    bound = proven(Forms(problem), 1e-9)
    assert problem.items * bound.bounds[0] == pytest.approx(value, rel=1e-8)
    assert bound.people.sum() == pytest.approx(1)


@pytest.mark.parametrize(("rule", "budgets", "items", "weights", "value"), EXPLICIT)
def test_known_values_in_closed_form(rule, budgets, items, weights, value):
    problem = problem_of(rule, budgets, items, weights)
    assert problem.items * explicit_bound(problem).bounds[0] == pytest.approx(
        value, rel=1e-8
    )


@pytest.mark.parametrize("epsilon", [1e-2, 1e-4, 1e-6])
def test_in_closed_form_small_budgets_are_charged_for_rounding(epsilon):
    """Ye and Barg: the best of 20 items of one budget, half of them in every subset."""
    best = 19 * 19 * (np.expm1(epsilon) + 2) ** 2 / np.expm1(epsilon) ** 2 / 20 - 0.95
    problem = problem_of("avg", [epsilon] * 5, [1, 3, 4, 5, 7])
    bound = 20 * explicit_bound(problem).bounds[0]
    assert 0.99 < bound / best < 1 + 1e-12


def conic(problem, people):
    """The same program for given people, as a linear matrix inequality a window."""
    f = problem.item_counts / problem.items
    (low, high) = box_of(problem)
    (k, t) = low.shape
    root = np.sqrt(f)
    p = people / np.sqrt(f)
    d = cp.Variable(t)
    rows = cp.Variable(t)
    shared = cp.Variable((t, t), symmetric=True)
    third = cp.Variable((t, t), symmetric=True)
    both = cp.reshape(rows, (t, 1), order="C") @ p[None]
    wide = (both + both.T) / 2 - shared
    held = [cp.bmat([[wide, third], [third, np.eye(t)]]) >> 0]
    for e in range(k):
        x = cp.Variable(t)
        side = cp.reshape(-cp.multiply(x, (low[e] + high[e]) / 2), (t, 1), order="C")
        corner = cp.reshape((low[e] * high[e]) @ x, (1, 1), order="C")
        held += [x >= d, cp.bmat([[shared + cp.diag(x), side], [side.T, corner]]) >> 0]
    reach = (f - 1 / problem.items) @ cp.sqrt(d) + cp.trace(third) / problem.items
    program = cp.Problem(cp.Maximize(2 * reach - root @ rows), held)
    program.solve(solver=cp.CLARABEL)
    return problem.items * program.value - 1


@pytest.mark.parametrize(
    ("rule", "budgets"), [("min", (1, 1.3, 1.4, 1.9)), ("avg", SCALED)]
)
def test_another_solver_proves_as_much(rule, budgets):
    problem = problem_of(rule, budgets, [20, 3, 30, 9][: len(budgets)])
    bound = proven(Forms(problem), 1e-9)
    assert problem.items * bound.bounds[0] == pytest.approx(
        conic(problem, bound.people), rel=3e-6
    )


@pytest.mark.parametrize("rule", ["avg", "one-sided"])
@pytest.mark.parametrize(
    ("budgets", "items"), [(SCALED, [20, 3, 30]), (TO_3(6), [5] * 6)]
)
def test_of_one_window_searched_multipliers_prove_nearly_what_any_do(
    rule, budgets, items
):
    problem = problem_of(rule, budgets, items)
    bound = bound_of_one_window(problem)
    most = conic(problem, bound.people)
    searched = problem.items * bound.bounds[0]
    assert problem.items * explicit_bound(problem).bounds[0] < searched
    assert 0.998 * most < searched < most * (1 + 1e-6)


def least_on_plane(problem, multipliers):
    """The least value of ``z' K z`` over the plane ``p . z = 0``, in parts of the largest."""
    f = problem.item_counts / problem.items
    ((low,), (high,)) = box_of(problem)
    d = multipliers.within
    q = d * (low + high) / 2
    K = np.diag(d) - np.outer(q, q) / (d @ (low * high))
    plane = scipy.linalg.null_space((multipliers.people / np.sqrt(f))[None])
    values = np.linalg.eigvalsh(plane.T @ K @ plane)
    return values[0] / values[-1]


@pytest.mark.parametrize("rule", ["avg", "one-sided"])
def test_multipliers_prove_nothing_where_their_form_is_negative_on_the_plane(rule):
    """Of one window: drawn about the explicit ones, a part of them is negative somewhere."""
    problem = problem_of(rule, TO_3(6), [5] * 6)
    window = OneWindow(problem)
    explicit = window.explicit()
    rng = np.random.default_rng(5)
    negative = 0
    positive = 0
    for _ in range(200):
        d = explicit.within * np.exp(rng.normal(0, 1.5, 6))
        people = explicit.people * np.exp(rng.normal(0, 1.5, 6))
        drawn = WindowMultipliers(d, people / people.sum(), kappa=0.1)
        least = least_on_plane(problem, drawn)
        proves = np.isfinite(window.proven(drawn).bounds).all()
        if least < -1e-6:
            negative += 1
            assert not proves
        elif least > 1e-6:
            positive += 1
            assert proves
    assert min(negative, positive) > 20


def room(problem, bound, types):
    """By how much what a type has exceeds what it is charged, as a share of its people squared."""
    low, high = box_of(problem)
    window = types[:, 0]
    counts = types[:, 1:]
    u = low[window] + (high - low)[window] * counts / problem.item_counts
    spread = ((high[window] - u) * (u - low[window])) @ bound.within
    covered = np.einsum("ni,ij,nj->n", u, bound.shared, u)
    return (covered - spread) / (u @ (bound.people / np.sqrt(problem.item_counts))) ** 2


@pytest.mark.parametrize("rule", ["min", "avg", "one-sided"])
def test_no_type_of_three_levels_exceeds_what_is_proven(rule):
    """Every type of every window: and some reach it, or less could be proven."""
    problem = problem_of(rule, THREE, [12, 9, 15])
    bound = relaxed(problem, 1e-9)
    splits = list(product(*(range(m + 1) for m in problem.item_counts)))
    windows = range(len(problem.windows.low))
    left = room(
        problem, bound, np.array([(e, *split) for e in windows for split in splits])
    )
    scale = np.abs(bound.shared).max()
    assert -1e-9 * scale < left.min() < 0.02 * scale


@pytest.mark.parametrize("rule", ["min", "avg"])
def test_climbing_from_anywhere_exceeds_nothing(rule):
    """300 random types of twelve levels, each level's count in turn the one that leaves least."""
    problem = problem_of(rule, TO_2(12), [20] * 12)
    rng = np.random.default_rng(3)
    bound = relaxed(problem, 1e-5)
    types = rng.integers(21, size=(300, 13))
    types[:, 0] %= len(problem.windows.low)
    for level in np.tile(np.arange(1, 13), 3):
        tried = np.repeat(types[:, None], 21, axis=1)
        tried[:, :, level] = np.arange(21)
        left = room(problem, bound, tried.reshape(-1, 13)).reshape(-1, 21)
        types = tried[np.arange(300), left.argmin(axis=1)]
    assert left.min() > -1e-9 * np.abs(bound.shared).max()


@pytest.mark.parametrize("rule", ["min", "avg", "one-sided"])
def test_no_bound_is_above_the_best_over_all_rays(rule):
    rng = np.random.default_rng(5)
    for _ in range(4):
        items = rng.integers(1, 4, 3)
        policy = PrivacyPolicy(log_uniform(rng, 0.4, 3, 3), items, rule)
        best = best_design(policy, tolerance=1e-8).worst_case_mse
        problem = problem_of(rule, policy.epsilons, items)
        bounds = [proven(Forms(problem), 1e-6), relaxed(problem, 1e-6)]
        if len(problem.windows.low) == 1:
            bounds.append(bound_of_one_window(problem))
        for bound in bounds:
            assert problem.items * bound.bounds[0] <= best * (1 + 1e-12)


def test_raised_budgets_of_groups_prove_less_than_their_levels():
    fine = problem_of("min", np.linspace(1, 1.2, 6), [20] * 6)
    raised = problem_of("min", np.linspace(1, 1.2, 6)[1::2], [40] * 3)
    below = relaxed(raised).bounds[0]
    above = relaxed(fine).bounds[0]
    assert 0.9 * above < below < above


def test_levels_of_a_group_weigh_alike_and_cost_about_as_much():
    budgets = TO_2(60)
    weights = [0, 1, 2] * 20
    _, asked = levels_merged(
        PrivacyPolicy(budgets, [20] * 60), Objective(weights=weights)
    )
    groups = coarser(asked)
    assert np.unique(groups).tolist() == list(range(26))
    of_groups = [asked.weights[1, groups == group] for group in range(26)]
    assert {np.ptp(group) for group in of_groups} == {0}
    assert [group.size for group in of_groups if not group[0]] == [
        20
    ]  # nobody minds: all are one
    assert np.ptp(asked.policy.epsilons[groups == groups[1]]) < 0.1


@pytest.mark.parametrize(
    ("rule", "levels"),
    [
        ("min", 6),
        ("min", 12),
        ("avg", 6),
    ],
)
def test_bounds_of_tiny_budgets_keep_their_digits(rule, levels):
    """Errors grow with the inverse square of small budgets, their bounds as well."""
    scaled = []
    for size in (1e-3, 1e-4, 1e-5):
        problem = problem_of(rule, np.linspace(1, 2, levels) * size, [20] * levels)
        scaled.append(relaxed(problem, 1e-4).bounds[0] * size**2)
    assert scaled == pytest.approx([scaled[0]] * 3, rel=1e-3)


def test_what_nobody_minds_is_charged():
    policy = PrivacyPolicy(TO_3(6), [20] * 6, "avg")
    objective = Objective(weights=[1, 1, 1, 0, 1, 1])
    design = best_design(policy, objective, tolerance=1e-4)
    solved = design.certificate.solved_bound
    asked = design.certificate.lower_bound
    assert 0.99 * solved < asked < solved <= design.objective_value < 1.0001 * solved


@pytest.mark.parametrize(
    ("rule", "budgets", "items", "gap"),
    [
        ("avg", TO_3(12), [20] * 12, 1e-6),
        ("one-sided", TO_3(12), [20] * 12, 1e-6),
        ("min", TO_2(8), [20] * 8, 1e-4),
        ("min", TO_2(12), [1] * 12, 1e-6),  # few items: searched
        ("min", TO_2(6), [5] * 5 + [500], 1e-4),  # one level has nearly all items
    ],
)
def test_designs_of_many_levels(rule, budgets, items, gap):
    policy = PrivacyPolicy(budgets, items, rule)
    design = best_design(policy)
    assert design.certificate.over == "mechanisms"
    assert design.certificate.relative_gap < gap
    assert design.worst_case_mse < 0.98 * solve(policy).worst_case_mse
    bounds = policy.bounds()
    assert (design.pair_losses <= bounds * (1 + 1e-12)).all()
    assert design.types.probabilities.sum(axis=(1, 2)) == pytest.approx(
        np.ones(len(items))
    )


@pytest.mark.parametrize(
    ("rule", "budgets", "each", "gap"),
    [
        (
            "avg",
            TO_3(1000),
            20,
            3.4e-4,
        ),  # the bound is 7 below, however many the levels are
        ("avg", TO_3(1000), 1000, 7e-6),
        ("min", TO_2(100), 20, 0.02),
        ("avg", np.linspace(1, 1.01, 10_000), 50, 1e-4),
    ],
)
def test_where_no_design_is_better_the_best_table_is_taken(rule, budgets, each, gap):
    policy = PrivacyPolicy(budgets, [each] * len(budgets), rule)
    design = best_design(policy)
    table = solve(policy)
    assert design.objective_value == table.objective_value
    assert design.certificate.over == "mechanisms"
    assert 0 < design.certificate.relative_gap < gap


def test_where_digits_end_bounds_in_closed_form_stay():
    budgets = [0.848713, 8.847672, 0.016807, 0.002387, 0.014498, 1.385525]
    policy = PrivacyPolicy(budgets, [6, 34, 30, 28, 3, 4], "avg")
    design = best_design(policy)
    assert design.certificate.relative_gap < 1e-3
    assert design.objective_value < 0.95 * solve(policy).objective_value


def test_a_rough_design_of_many_levels_is_not_lost_where_fewer_types_tell_too_little():
    policy = PrivacyPolicy([1.1, *TO_3(8)[1:]], [20] * 8)
    design = best_design(policy, tolerance=1e-3)
    assert design.certificate.relative_gap < 1e-3


def test_a_search_that_proves_nothing_ends(monkeypatch):
    """No multipliers cover all columns: the work alone says when to take the table."""
    monkeypatch.setattr("planner.solvers.generation._MOST_MULTIPLICATIONS", 1e5)
    policy = PrivacyPolicy(np.linspace(6, 30, 7), [50_000] * 7, "avg")
    design = best_design(
        policy, Objective("expected", prior=[1 / 7] * 7), tolerance=1e-3
    )
    assert design.certificate.lower_bound == 0
    assert (
        design.objective_value
        <= solve(policy, objective=design.objective).objective_value
    )


def test_deployed_reports_of_twelve_levels_err_as_predicted():
    """800 collections of 330 people; a tenth more or less would be seen."""
    levels = []
    for k, epsilon in enumerate(TO_2(12)):
        levels.append(Level(f"l{k}", epsilon, item_count=2))
    asked = Categorical("q", levels, mechanism="subset-design")
    survey = Survey("s", 330, (asked,))
    plan = plan_survey(survey)
    law = plan.questions[0].law
    people = np.repeat(np.arange(12) * 5 // 2, 2)
    rng = np.random.default_rng(6)
    drawn = []
    for _ in range(800):
        reports = law.draw_aggregate(people, rng)
        estimates = law.estimate(reports)
        drawn.append(estimates.values)
    errors = np.array(drawn) - people
    predicted = law.variance(people).sum()
    assert mean_square_is(errors, predicted)
    assert not mean_square_is(errors, 1.1 * predicted)
    assert not mean_square_is(errors, 0.9 * predicted)
