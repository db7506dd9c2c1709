"""What must hold of every answer, whatever the policy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import PrivacyPolicy, solve
from planner.policy import logodds
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
def test_bigger_budgets_never_hurt(model, chosen, rule, seed):
    policy = _policy(chosen, rule)
    rng = np.random.default_rng(seed)
    more = policy.epsilons * (1 + rng.random(policy.size) * (rng.random(policy.size) < 0.5))
    richer = PrivacyPolicy(more, policy.item_counts, rule)
    before, after = solve(policy, model), solve(richer, model)
    assert after.worst_case_mse <= before.worst_case_mse * (1 + 1e-9)


@every_model
@given(chosen=levels, rule=rules, data=st.data())
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
def test_the_proof_is_a_lower_bound_from_any_point(kind, model, seed):
    rng = np.random.default_rng(seed)
    policy = random_policy(rng, int(rng.integers(1, 6)), RULES[seed % 2])
    objective = random_objective(rng, policy, kind)
    program = Program.of(policy, objective, model_named(model))
    optimum = solve(policy, model, "reduced", objective).objective_value
    start = program.model.start(policy)
    point = program.model.repair(policy, start * rng.uniform(0.5, 1, start.shape))
    assert prove(program, point).lower_bound <= optimum * (1 + 1e-10)
