"""What must hold of every answer, whatever the policy; and that failure is never an answer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import OptimizeResult

from planner import (
    ConvergenceError,
    InfeasibleError,
    InputError,
    Objective,
    PrivacyPolicy,
    SolverError,
    UnboundedError,
    logodds,
    solve,
)
from planner.solvers import certificate, conic, reduced, slsqp, tables
from planner.solvers.certificate import prove
from planner.solvers.models import MODELS, model_named
from planner.solvers.program import Program
from tests.policies import (
    RULES,
    feasible_coordinates,
    levels,
    random_objective,
    random_policy,
    rules,
    seeds,
    worst_excess,
)

KINDS = ("worst-case", "expected", "minimax")
THREE = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])
every_kind = pytest.mark.parametrize("kind", KINDS)
every_model = pytest.mark.parametrize("model", MODELS)


def _policy(chosen, rule):
    return PrivacyPolicy(*zip(*chosen, strict=True), rule)


@every_kind
@pytest.mark.parametrize("rule", RULES)
@given(seed=seeds)
@settings(max_examples=25)
def test_no_random_feasible_point_is_better(kind, rule, seed):
    rng = np.random.default_rng(seed)
    policy = random_policy(rng, int(rng.integers(1, 6)), rule)
    objective = random_objective(rng, policy, kind)
    table = solve(policy, objective=objective)
    assert worst_excess(policy, table.a, table.b) <= 1e-12
    value = objective.coefficients(policy).evaluate
    best = logodds.to_log_odds(table.a, table.b)
    bound = table.certificate.lower_bound
    for near in (0.0, 0.5, 0.99, 0.9999):  # the privacy rows are convex: so are mixtures private
        s, w = feasible_coordinates(rng, policy, rng.choice([0.2, 1.0]))
        s, w = near * best[0] + (1 - near) * s, near * best[1] + (1 - near) * w
        other = value(logodds.noise(s, w), logodds.signal(s, w))
        assert other >= table.objective_value * (1 - 1e-6)
        assert other >= bound * (1 - 1e-12)  # the proof holds for every feasible point


@every_model
@given(chosen=levels, rule=rules, seed=seeds)
@settings(max_examples=30)
def test_bigger_budgets_never_hurt(model, chosen, rule, seed):
    policy = _policy(chosen, rule)
    rng = np.random.default_rng(seed)
    more = policy.epsilons * (1 + rng.random(policy.size) * (rng.random(policy.size) < 0.5))
    richer = PrivacyPolicy(more, policy.item_counts, rule)
    before, after = solve(policy, model), solve(richer, model)
    assert after.worst_case_mse <= before.worst_case_mse * (1 + 1e-9)


@every_model
@given(chosen=levels, rule=rules, data=st.data())
@settings(max_examples=30)
def test_permuting_levels_permutes_the_answer(model, chosen, rule, data):
    order = data.draw(st.permutations(range(len(chosen))))
    one = solve(_policy(chosen, rule), model)
    two = solve(_policy([chosen[i] for i in order], rule), model)
    assert two.worst_case_mse == pytest.approx(one.worst_case_mse, rel=1e-10)
    np.testing.assert_allclose(two.a, one.a[list(order)], atol=1e-6)
    np.testing.assert_allclose(two.b, one.b[list(order)], atol=1e-6)


@every_model
@pytest.mark.parametrize("rule", RULES)
@given(seed=seeds)
@settings(max_examples=20)
def test_splitting_a_level_into_two_equal_ones_changes_nothing(model, rule, seed):
    """The sum adds up and the maximum sees the same branch twice: no term changes."""
    rng = np.random.default_rng(seed)
    policy = random_policy(rng, int(rng.integers(1, 5)), rule)
    counts = policy.item_counts + 1
    place = np.append(np.arange(policy.size), 0)
    split = counts[place].copy()
    split[-1] = split[0] // 2
    split[0] -= split[-1]
    chosen = rule if rule != "matrix" else policy.bounds()[np.ix_(place, place)]
    whole = solve(PrivacyPolicy(policy.epsilons, counts, policy.rule), model)
    parts = solve(PrivacyPolicy(policy.epsilons[place], split, chosen), model)
    assert parts.worst_case_mse == pytest.approx(whole.worst_case_mse, rel=2e-6)
    best = min(parts.worst_case_mse, whole.worst_case_mse)
    assert max(parts.certificate.lower_bound, whole.certificate.lower_bound) <= best * (1 + 1e-12)


@given(chosen=levels, rule=rules)
@settings(max_examples=30)
def test_opt0_is_never_worse_than_its_restrictions(chosen, rule):
    policy = _policy(chosen, rule)
    free = solve(policy)
    for model in ("opt1", "opt2"):
        bound = solve(policy, model)
        assert free.worst_case_mse <= bound.worst_case_mse * (1 + 1e-9)
    assert solve(policy, "opt1").a + solve(policy, "opt1").b == pytest.approx(1, abs=1e-9)
    assert solve(policy, "opt2").a == pytest.approx(0.5, abs=1e-9)


@every_kind
@every_model
@given(seed=seeds)
@settings(max_examples=15)
def test_the_proof_is_a_lower_bound_from_any_point(kind, model, seed):
    rng = np.random.default_rng(seed)
    policy = random_policy(rng, int(rng.integers(1, 6)), RULES[seed % 2])
    objective = random_objective(rng, policy, kind)
    program = Program.of(policy, objective, model_named(model))
    optimum = solve(policy, model, "reduced", objective).objective_value
    start = program.model.start(policy)
    point = program.model.repair(policy, start * rng.uniform(0.5, 1, start.shape))
    assert prove(program, point).lower_bound <= optimum * (1 + 1e-10)


@pytest.mark.parametrize("method", ["reduced", "slsqp", "conic"])
def test_a_point_that_is_not_optimal_is_not_certified(method, monkeypatch):
    program = Program.of(THREE, Objective(), model_named("opt0"))
    bad = program.model.repair(THREE, program.model.start(THREE))
    proof, optimum = prove(program, bad), solve(THREE).worst_case_mse
    assert program.value(bad) > 1.01 * optimum > 1.01 * proof.lower_bound
    monkeypatch.setattr(reduced, "solve_reduced", lambda _: (bad, proof))
    monkeypatch.setattr(slsqp, "solve_slsqp", lambda _: bad)
    monkeypatch.setattr(conic, "solve_conic", lambda _: bad)
    monkeypatch.setattr(tables, "newton_step", lambda _program, v, _weights: v)
    with pytest.raises(ConvergenceError, match=f"{method!r} is proven optimal only to"):
        solve(THREE, method=method)


# -- failure is an error, never a table ------------------------------------------


@pytest.mark.parametrize("status", [4, 6, 9])
@pytest.mark.parametrize("method", ["slsqp", "slsqp-ab"])
def test_slsqp_that_stops_early(status, method, monkeypatch):
    def minimize(_fun, x0, **_):
        return OptimizeResult(x=x0, status=status, success=False, message="stopped", fun=1.0)

    monkeypatch.setattr(f"planner.solvers.{method.replace('-', '_')}.minimize", minimize)
    with pytest.raises(ConvergenceError, match=r"SLSQP .*Use method="):
        solve(THREE, method=method)


@pytest.mark.parametrize("method", ["slsqp", "slsqp-ab"])
def test_slsqp_that_returns_nonsense_and_calls_it_success(method, monkeypatch):
    def minimize(_fun, x0, **_):
        return OptimizeResult(x=x0 * np.nan, status=0, success=True, message="", fun=np.nan)

    monkeypatch.setattr(f"planner.solvers.{method.replace('-', '_')}.minimize", minimize)
    with pytest.raises(ConvergenceError):
        solve(THREE, method=method)


def _conic_ends(monkeypatch, status, value=None):
    import cvxpy as cp

    def fake(problem, **_):
        problem._status = status
        for variable in problem.variables():
            size = variable.shape
            variable.value = None if value is None else np.full(size, value)

    monkeypatch.setattr(cp.Problem, "solve", fake)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        ("infeasible", InfeasibleError),
        ("infeasible_inaccurate", InfeasibleError),
        ("unbounded", UnboundedError),
        ("unbounded_inaccurate", UnboundedError),
        ("user_limit", ConvergenceError),
        ("solver_error", ConvergenceError),
        ("optimal", ConvergenceError),  # but without a value
        ("optimal_inaccurate", ConvergenceError),
    ],
)
@every_model
def test_conic_programs_that_fail(model, status, error, monkeypatch):
    _conic_ends(monkeypatch, status)
    with pytest.raises(error) as caught:
        solve(THREE, model, "conic")
    assert isinstance(caught.value, SolverError)
    assert caught.value.remedy


@pytest.mark.parametrize("value", [5.0, 0.05, -1.0])
def test_an_inaccurate_conic_answer_is_judged_by_its_proof(value, monkeypatch):
    _conic_ends(monkeypatch, "optimal_inaccurate", value)
    monkeypatch.setattr(tables, "newton_step", lambda _program, v, _weights: v)
    with pytest.raises(ConvergenceError):
        solve(THREE, method="conic")


def test_a_solver_that_raises(monkeypatch):
    import cvxpy as cp

    def fake(_problem, **_):
        raise cp.SolverError("numbers everywhere")

    monkeypatch.setattr(cp.Problem, "solve", fake)
    with pytest.raises(ConvergenceError, match="Clarabel failed: numbers everywhere"):
        solve(THREE, method="conic")


@pytest.mark.parametrize("method", ["slsqp", "conic"])
def test_a_certificate_that_fails(method, monkeypatch):
    answer = OptimizeResult(status=4, message="numerical trouble")
    monkeypatch.setattr(certificate, "linprog", lambda *_, **__: answer)
    with pytest.raises(ConvergenceError, match="linear program failed: numerical trouble"):
        solve(THREE, method=method)


def test_auto_tries_the_other_method_and_says_so(monkeypatch):
    def fail(_):
        raise ConvergenceError("no")

    rng = np.random.default_rng(1)
    small, large = (random_policy(rng, t, "matrix") for t in (3, 14))
    assert solve(small).method == "slsqp"
    assert solve(large).method == "conic"
    monkeypatch.setattr(slsqp, "solve_slsqp", fail)
    assert solve(small).method == "conic"
    monkeypatch.undo()
    monkeypatch.setattr(conic, "solve_conic", fail)
    assert solve(large).method == "slsqp"
    with pytest.raises(ConvergenceError):
        solve(large, method="conic")


# -- extremes --------------------------------------------------------------------


@every_model
@every_kind
@pytest.mark.parametrize("rule", ["min", "avg"])
@pytest.mark.parametrize(
    ("epsilons", "counts"),
    [
        ([1.0], [1]),
        ([2.0] * 6, [1, 2, 3, 4, 5, 6]),
        ([1e-3, 50.0], [3, 4]),
        ([1e-6, 1.0], [3, 4]),
        ([1.0, 2.0, 3.0], [10**12, 1, 10**12]),
    ],
)
def test_extremes(epsilons, counts, rule, model, kind):
    prior = np.minimum(counts, 1.0) if kind == "expected" else None
    table = solve(
        PrivacyPolicy(epsilons, counts, rule), model, "auto", Objective(kind, prior=prior)
    )
    assert table.max_violation == 0.0
    assert table.certificate.relative_gap <= 1e-6
    assert table.objective_value > 0


@every_model
@pytest.mark.parametrize("rule", ["min", "avg"])
def test_the_largest_budgets(rule, model):
    table = solve(PrivacyPolicy([30.0, 40.0, 50.0], [2, 1, 1], rule), model)
    assert table.max_violation == 0.0
    assert table.certificate.relative_gap <= 1e-6


@pytest.mark.parametrize("model", ["opt0", "opt1"])
def test_an_error_too_small_for_floating_point_is_refused_with_a_reason(model):
    with pytest.raises(ConvergenceError, match=r"too small to be told|proven optimal only"):
        solve(PrivacyPolicy([50.0], [1]), model)


@pytest.mark.parametrize("model", [*MODELS, "rappor"])
def test_a_budget_too_small_for_deployment_is_refused(model):
    from planner import baseline

    policy = PrivacyPolicy([1.0, 1e-10], [2, 2])
    with pytest.raises(
        InputError, match="smallest pair budget is 1e-10 but must be at least 1e-09"
    ):
        baseline(policy, model) if model == "rappor" else solve(policy, model)


@every_kind
@pytest.mark.parametrize("rule", RULES)
def test_levels_without_weight(kind, rule):
    rng = np.random.default_rng(8)
    policy = random_policy(rng, 5, rule, most=50)
    prior = [0.0, 0.5, 0.0, 0.5, 0.0] if kind == "expected" else None
    table = solve(policy, objective=Objective(kind, weights=[1, 0, 2, 0, 1], prior=prior))
    assert table.certificate.relative_gap <= 1e-6
    assert table.max_violation == 0.0


def test_a_prior_over_sets():
    objective = Objective("expected", prior=[3.0, 2.0, 20.0])
    tables_ = [solve(THREE, method=m, objective=objective) for m in ("reduced", "slsqp", "conic")]
    values = [table.objective_value for table in tables_]
    assert max(values) <= min(values) * (1 + 1e-9)


def test_a_large_sparse_policy_graph():
    rng = np.random.default_rng(9)
    t = 1000
    matrix = np.full((t, t), np.inf)
    for i, j in [*((i, i) for i in range(t)), *((i, (i + 1) % t) for i in range(t))]:
        matrix[i, j] = matrix[j, i] = rng.uniform(0.5, 3)
    policy = PrivacyPolicy(np.ones(t), rng.integers(1, 50, t), matrix)
    table = solve(policy)
    assert table.method == "conic"
    assert table.max_violation == 0.0
    assert table.certificate.relative_gap <= 1e-6


@pytest.mark.parametrize("rule", ["min", "avg"])
def test_a_hundred_thousand_levels(rule):
    rng = np.random.default_rng(10)
    policy = PrivacyPolicy(rng.uniform(0.5, 5, 10**5), rng.integers(1, 100, 10**5), rule)
    table = solve(policy)
    assert table.method == "reduced"
    assert table.max_violation == 0.0
    assert table.certificate.relative_gap <= 1e-6


# -- arguments -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "opt3"}, "model is 'opt3' but must be one of opt0, opt1, opt2"),
        ({"method": "simplex"}, "method is 'simplex' but must be one of auto, reduced, slsqp"),
        ({"objective": "median"}, "objective is 'median' but must be one of worst-case"),
        ({"box": True}, "box is True but must be False unless"),
        ({"method": "slsqp-ab", "model": "opt1"}, "used with the model opt0"),
        ({"method": "slsqp-ab", "objective": "minimax"}, "and the worst-case objective"),
        ({"method": "slsqp-ab", "starts": 0}, "starts is 0 but must be at least 1"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InputError, match=message):
        solve(THREE, **arguments)


def test_no_reduction_of_a_matrix():
    with pytest.raises(InputError, match='\'reduced\' but must be "slsqp" or "conic"'):
        solve(PrivacyPolicy([1.0], [2], [[1.0]]), method="reduced")


def test_no_such_baseline():
    from planner import baseline

    with pytest.raises(InputError, match="model is 'grr' but must be one of rappor, oue"):
        baseline(THREE, "grr")
