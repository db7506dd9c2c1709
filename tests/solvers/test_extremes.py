"""The largest, smallest and emptiest policies."""

import numpy as np
import pytest

from planner import (
    ConvergenceError,
    InputError,
    Objective,
    PrivacyPolicy,
    solve,
)
from planner.solvers.models import MODELS
from tests.policies import RULES, random_policy

KINDS = ("worst-case", "expected", "minimax")
THREE = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])
every_kind = pytest.mark.parametrize("kind", KINDS)
every_model = pytest.mark.parametrize("model", MODELS)


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
