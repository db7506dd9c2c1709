"""Each solver against the others, and shadow prices against re-solved problems."""

import numpy as np
import pytest

from planner import Objective, PrivacyPolicy, solve
from tests.effort import tries
from tests.policies import RULES, log_uniform, random_objective, random_policy

SOLVERS = dict.fromkeys(("min", "avg"), ("reduced", "slsqp", "conic"))
SOLVERS["matrix"] = ("slsqp", "conic")


def _agree(policy, model="opt0", objective=Objective()):  # noqa: B008 - frozen
    tables = [solve(policy, model, method, objective) for method in SOLVERS[policy.rule_name]]
    values = [table.objective_value for table in tables]
    assert max(values) <= min(values) * (1 + 1e-6)
    for table in tables:
        assert table.certificate.relative_gap <= 1e-6
        assert table.max_violation == 0.0
        assert table.max_violation == 0.0
        # A bound never above the truth; the truth is at most the best value found.
        assert table.certificate.lower_bound <= min(values) * (1 + 1e-12)


@pytest.mark.parametrize("part", range(tries(4, 20)))
def test_random_policies(part):
    rng = np.random.default_rng([2, part])
    for k in range(10):
        # Few levels are common and 30 are tried: SLSQP's time grows with the cube.
        t = 30 if (part, k) == (0, 0) else int(log_uniform(rng, 1, 31, None))
        _agree(random_policy(rng, t, RULES[(10 * part + k) % 3]))


@pytest.mark.parametrize("model", ["opt0", "opt1", "opt2"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", ["worst-case", "expected", "minimax"])
def test_all_models_and_objectives(model, rule, kind):
    rng = np.random.default_rng([3, RULES.index(rule)])
    for _ in range(tries(1, 3)):
        policy = random_policy(rng, int(rng.integers(1, 10)), rule)
        _agree(policy, model, random_objective(rng, policy, kind))


def _with_budget(policy, i, change):
    """The policy after raising all pair budgets that belong to level ``i``."""
    if policy.rule_name != "matrix":
        epsilons = policy.epsilons.copy()
        epsilons[i] += change
        return PrivacyPolicy(epsilons, policy.item_counts, policy.rule)
    matrix = policy.bounds().copy()
    matrix[i, :] += change
    matrix[:, i] += change
    matrix[i, i] -= change
    return PrivacyPolicy(policy.epsilons, policy.item_counts, matrix)


@pytest.mark.parametrize("model", ["opt0", "opt1", "opt2"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", ["worst-case", "expected", "minimax"])
def test_shadow_prices_are_the_slopes_of_the_resolved_problem(model, rule, kind):
    rng = np.random.default_rng([4, RULES.index(rule)])
    compared = 0
    policies = tries(1, 3)
    for _ in range(policies):
        policy = random_policy(rng, int(rng.integers(2, 6)), rule, low=0.3, high=4, most=100)
        objective = random_objective(rng, policy, kind)
        table = solve(policy, model, objective=objective)
        for i, price in enumerate(table.shadow_prices):
            step = 1e-4 * policy.bounds()[i].min()
            value = {
                change: solve(
                    _with_budget(policy, i, change * step), model, objective=objective
                ).objective_value
                for change in (-2, -1, 1, 2)
            }
            here = table.objective_value
            before, after = (value[-1] - here) / step, (here - value[1]) / step
            # Slopes from both sides, extrapolated, tell a kink from a smooth place.
            before = 2 * before - (value[-2] - here) / (2 * step)
            after = 2 * after - (here - value[2]) / (2 * step)
            noise = 1e-6 * here
            if abs(before - after) > 1e-4 * abs(after) + noise:
                low, high = sorted((before, after))
                assert low * (1 - 1e-3) - noise <= price <= high * (1 + 1e-3) + noise
                continue
            compared += 1
            assert price == pytest.approx((before + after) / 2, rel=1e-3, abs=noise)
    assert compared >= policies


def test_prices_of_a_one_level_policy_in_closed_form():
    # F = m p(tau) (1 + p(tau)) with tau = eps / 2.
    epsilon, count = 1.4, 7
    p = 1 / np.expm1(epsilon / 2)
    slope = count * (1 + 2 * p) * p * (1 + p) / 2
    for rule in ("min", "avg", [[epsilon]]):
        table = solve(PrivacyPolicy([epsilon], [count], rule), "opt1")
        assert table.worst_case_mse == pytest.approx(count * p * (1 + p), rel=1e-12)
        assert table.shadow_prices[0] == pytest.approx(slope, rel=1e-9)


def test_expected_error_is_below_the_worst_case_and_its_table_better_at_it():
    policy = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])
    objective = Objective("expected", prior=[0.1, 0.1, 0.8])
    worst, expected = solve(policy), solve(policy, objective=objective)
    coefficients = objective.coefficients(policy)
    assert expected.objective_value < coefficients.evaluate(worst.noise, worst.signal)
    assert expected.objective_value < worst.worst_case_mse < expected.worst_case_mse
