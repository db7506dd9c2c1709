"""What SLSQP is given: derivatives against differences, rows against the policy pair by pair."""

import numpy as np
import pytest
from hypothesis import given

from planner import Objective, PrivacyPolicy
from planner.solvers import slsqp, slsqp_ab
from planner.solvers.models import MODELS
from planner.solvers.program import Program
from tests.policies import RULES, random_objective, random_policy, seeds, worst_excess

every_rule = pytest.mark.parametrize("rule", RULES)
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def _jacobian(function, x):
    """Central differences, one row a component of ``function``."""
    columns = []
    for k in range(x.size):
        h = np.zeros(x.size)
        h[k] = 1e-6 * max(abs(x[k]), 0.1)
        columns.append((function(x + h) - function(x - h)) / (2 * h[k]))
    return np.array(columns).T


def _check_derivatives(problem, x):
    near = {"rtol": 1e-5, "atol": 1e-6}
    gradient = _jacobian(lambda y: np.atleast_1d(problem.value(y)[0]), x)[0]
    np.testing.assert_allclose(problem.value(x)[1], gradient, **near)
    np.testing.assert_allclose(problem.room_slope(x), _jacobian(problem.room, x), **near)


def _in_ab(rng, rule, **range_of_budgets):
    policy = random_policy(rng, 3, rule, most=20, **range_of_budgets)
    program = Program.of(policy, Objective(weights=rng.uniform(0.5, 2, 3)), MODELS["opt0"])
    b = rng.uniform(0.1, 0.5, 3)
    return program, np.array([b + rng.uniform(0.1, 0.4, 3), b])


@every_rule
@given(seed=seeds)
def test_derivatives_in_ab(rule, seed):
    rng = np.random.default_rng(seed)
    program, table = _in_ab(rng, rule, high=3)
    problem = slsqp_ab._Formulation.of(program, table + 0.01)
    _check_derivatives(problem, np.append(table, rng.normal()))


@every_rule
@given(seed=seeds)
def test_the_formulation_in_ab_is_the_papers(rule, seed):
    rng = np.random.default_rng(seed)
    program, table = _in_ab(rng, rule)
    problem = slsqp_ab._Formulation.of(program, table)
    (a, b), (noise_sum, _, _, signal_max) = table, program.coefficients
    noise, signals = b * (1 - b) / (a - b) ** 2, signal_max * (1 - a - b) / (a - b)
    assert problem.unit == pytest.approx(noise_sum @ noise)
    z = signals.max() / problem.unit
    x = np.append(table, z)
    value = program.value(program.model.from_probabilities(a, b))
    assert problem.value(x)[0] * problem.unit == pytest.approx(value)
    room = problem.room(x)
    assert room[:3].min() == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(room[-3:], a - b - slsqp_ab._CLOSE)
    excess = worst_excess(program.policy, a, b)
    if abs(excess) > 1e-9:
        assert (room[3:-3].min() >= 0) == (excess < 0)


def test_too_close_probabilities_are_kept_finite():
    program, table = _in_ab(np.random.default_rng(3), "min")
    problem = slsqp_ab._Formulation.of(program, table)
    closed = np.append([table[1], table[1]], 0.0)  # a = b
    assert np.isfinite(problem.value(closed)[0])
    assert np.all(problem.room(closed)[-3:] == -slsqp_ab._CLOSE)


def _ab(policy, box=False, starts=1):
    program = Program.of(policy, Objective(), MODELS["opt0"])
    v = slsqp_ab._searched(program, box, starts)
    return program, v, program.model.to_probabilities(v)


def test_the_box_costs_what_it_costs():
    policy = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])
    program, boxed, (a, b) = _ab(policy, box=True, starts=3)
    assert a.min() >= 0.5 - 1e-12
    assert b.max() <= 0.5 + 1e-12
    free, (a, _) = _ab(policy, starts=3)[1:]
    assert a.min() < 0.49
    assert program.value(boxed) > 1.005 * program.value(free)


def test_the_same_starts_are_the_same_answer(monkeypatch):
    policy = PrivacyPolicy([0.7, 1.5], [3, 8])
    tried = []
    honest = slsqp_ab._minimise

    def recorded(program, start, box):
        tried.append(start)
        return honest(program, start, box)

    monkeypatch.setattr(slsqp_ab, "_minimise", recorded)
    program, *_ = _ab(policy, starts=3)
    _ab(policy, starts=3)
    first, second = tried[:3], tried[3:]
    np.testing.assert_array_equal(first, second)
    symmetric = program.model.to_probabilities(program.model.start(policy))
    np.testing.assert_array_equal(first[0], symmetric)
    for start in first[1:]:  # random, nearer to 1/2 and thus within the policy
        share = (start - 0.5) / (np.array(symmetric) - 0.5)
        np.testing.assert_allclose(share[0], share[1])
        assert np.all((share >= 0.2) & (share < 1))
        assert np.ptp(share[0]) > 0


@pytest.mark.parametrize("box", [False, True])
def test_an_answer_slightly_outside_is_moved_in_by_little(box):
    policy = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])
    program, v, (a, b) = _ab(policy, box=box)
    outside = np.array([a, b - 2e-7 * (a - b)])
    assert worst_excess(policy, *outside) > 1e-8
    mended = slsqp_ab._repaired(program, outside, box)
    assert mended is not None
    a, b = program.model.to_probabilities(mended)
    assert worst_excess(policy, a, b) <= 1e-14
    assert program.value(mended) == pytest.approx(program.value(v), rel=1e-6)
    if box:
        assert a.min() >= 0.5 - 1e-12
        assert b.max() <= 0.5 + 1e-12
    kept = slsqp_ab._repaired(program, np.array([a, b]), box)
    np.testing.assert_allclose(kept, mended, rtol=1e-13)


@pytest.mark.parametrize("table", [[[0.9], [0.1]], [[0.3], [0.3]], [[0.3], [0.0]], [[1.0], [0.4]]])
def test_an_answer_far_outside_or_no_table_is_not_repaired(table):
    program = Program.of(PrivacyPolicy([0.5], [9]), Objective(), MODELS["opt0"])
    assert slsqp_ab._repaired(program, np.array(table), box=False) is None


@every_rule
@every_model
@given(seed=seeds)
def test_derivatives_in_log_odds(rule, model, seed):
    rng = np.random.default_rng(seed)
    policy = random_policy(rng, 3, rule, high=4, most=20)
    kind = ("worst-case", "expected", "minimax")[seed % 3]
    problem = slsqp._Formulation.of(Program.of(policy, random_objective(rng, policy, kind), model))
    first = problem.first()
    _check_derivatives(problem, first * rng.uniform(0.8, 0.99, first.size))


@every_rule
@every_model
@given(seed=seeds)
def test_the_formulation_in_log_odds_starts_inside(rule, model, seed):
    rng = np.random.default_rng(seed)
    policy = random_policy(rng, 3, rule)
    program = Program.of(policy, random_objective(rng, policy, "worst-case"), model)
    problem = slsqp._Formulation.of(program)
    first = problem.first()
    np.testing.assert_array_equal(problem.coordinates(first), model.start(policy))
    assert problem.value(first)[0] == pytest.approx(1.0)
    branches = problem.room(first)[:3]
    assert branches.min() == pytest.approx(0, abs=1e-12)
    rows = model.rows(policy, problem.start)
    step = rng.uniform(0.5, 1.5, first.size)
    auxiliaries = step[problem.start.size : -1] * problem.start.max()
    point = np.append(problem.coordinates(step).ravel(), auxiliaries)
    np.testing.assert_allclose(problem.room(step)[3:], rows.limit - rows.matrix @ point, atol=1e-12)
