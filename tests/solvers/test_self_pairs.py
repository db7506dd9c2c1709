"""Without the pairs (i, i) that no two answers form: the same optimum by independent ways."""

import math

import numpy as np
import pytest
from hypothesis import given

from planner import Objective, PrivacyPolicy, solve
from planner.solvers.models import MODELS
from planner.solvers.program import Program
from planner.solvers.reduced import solve_reduced
from tests.policies import seeds, worst_excess


def random_case(seed):
    """Small, with many one-item levels, and objectives under which one level may dominate."""
    rng = np.random.default_rng(seed)
    t = int(rng.integers(2, 6))
    epsilons = rng.choice([0.5, 1, 2], t) if rng.random() < 0.3 else rng.uniform(0.2, 4, t)
    counts = np.where(rng.random(t) < 0.6, 1, rng.integers(1, 20, t))
    weights = tuple(10 ** rng.uniform(-1, 1, t)) if rng.random() < 0.5 else None
    rule = str(rng.choice(["min", "avg"]))
    return PrivacyPolicy(epsilons, counts, rule, self_pairs=False), Objective(weights=weights)


@pytest.mark.parametrize("method", ["reduced", "slsqp", "conic"])
@pytest.mark.parametrize(
    ("counts", "kept", "dropped"), [((1, 10), 7.6148, 6.8610), ((1, 1), 4.2874, 1.8413)]
)
def test_reference_values(counts, kept, dropped, method):
    for self_pairs, value in ((True, kept), (False, dropped)):
        table = solve(PrivacyPolicy([1, 3], counts, "avg", self_pairs=self_pairs), method=method)
        assert table.worst_case_mse == pytest.approx(value, abs=5e-5)
        assert table.certificate.relative_gap < 1e-6


@pytest.mark.parametrize("model", MODELS)
@given(seed=seeds)
def test_the_reduction_agrees_with_all_pairs_spelt_out(model, seed):
    policy, objective = random_case(seed)
    program = Program.of(policy, objective, MODELS[model])
    v, proof = solve_reduced(program)
    general = solve(policy, model, "conic", objective)
    assert program.value(v) == pytest.approx(general.objective_value, rel=1e-6)
    assert proof.lower_bound <= general.objective_value * (1 + 1e-9)
    table = solve(policy, model, objective=objective)
    assert worst_excess(policy, table.a, table.b) <= 1e-12
    kept = solve(
        PrivacyPolicy(policy.epsilons, policy.item_counts, policy.rule), model, objective=objective
    )
    assert table.objective_value <= kept.objective_value * (1 + 1e-9)


@pytest.mark.parametrize("model", MODELS)
@given(seed=seeds)
def test_shadow_prices_are_slopes(model, seed):
    policy, objective = random_case(seed)
    table = solve(policy, model, objective=objective)
    h = 1e-4
    for level in range(policy.size):
        here = np.arange(policy.size) == level
        up, down = (
            solve(
                policy.with_changes(policy.epsilons + side * h * here), model, objective=objective
            )
            for side in (1, -1)
        )
        value, unit = table.objective_value, table.objective_value
        steps = (value - up.objective_value) / h, (down.objective_value - value) / h
        # Convex in the budgets: where the two slopes differ, any price between them is right.
        slack = 1e-3 * unit + 0.05 * max(map(abs, steps))
        assert min(steps) - slack <= table.shadow_prices[level] <= max(steps) + slack


def test_a_level_that_dominates_exceeds_its_own_pair_and_no_other():
    policy = PrivacyPolicy([1.0, 3.0], [1, 10], "avg", self_pairs=False)
    table = solve(policy)
    own = math.log(table.a[0] / table.b[0]) + math.log((1 - table.b[0]) / (1 - table.a[0]))
    assert own > 1.3 > policy.epsilons[0]
    assert table.max_violation == 0
    assert worst_excess(policy, table.a, table.b) <= 1e-15
    assert worst_excess(PrivacyPolicy([1.0, 3.0], [1, 10], "avg"), table.a, table.b) > 0.3


def test_rule_min_gains_where_one_answer_matters_most():
    important = Objective(weights=(1, 50))
    kept, dropped = (
        solve(PrivacyPolicy([1.0, 1.2], [1, 1], self_pairs=kept), objective=important)
        for kept in (True, False)
    )
    assert dropped.objective_value < 0.7 * kept.objective_value


def test_a_level_without_another_pair_keeps_its_own():
    alone = PrivacyPolicy([1.0], [1], self_pairs=False)
    assert alone.needed.tolist() == [True]
    assert solve(alone).worst_case_mse == solve(PrivacyPolicy([1.0], [1])).worst_case_mse
    inf = math.inf
    apart = PrivacyPolicy(
        [1, 1, 1], [1, 1, 1], [[1, inf, inf], [inf, 1, 2], [inf, 2, 1]], self_pairs=False
    )
    assert apart.needed.tolist() == [True, False, False]
    assert np.diag(apart.bounds()).tolist() == [1.0, inf, inf]


def test_levels_of_several_items_keep_their_pair():
    policy = PrivacyPolicy([1.0, 3.0], [2, 10], "avg", self_pairs=False)
    assert policy.needed.all()
    assert (
        solve(policy).worst_case_mse
        == solve(PrivacyPolicy([1.0, 3.0], [2, 10], "avg")).worst_case_mse
    )


def test_many_one_item_levels_are_no_burden():
    rng = np.random.default_rng(3)
    policy = PrivacyPolicy(np.geomspace(0.05, 8, 5000), np.ones(5000), "avg", self_pairs=False)
    table = solve(policy)
    assert table.certificate.relative_gap < 1e-6
    assert table.max_violation == 0
    shifted = PrivacyPolicy(rng.uniform(1, 2, 5000), np.ones(5000), self_pairs=False)
    assert solve(shifted).certificate.relative_gap < 1e-6
