"""The bound holds for every mechanism, and whatever the solver says."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from planner import Objective, OutputTypes, PrivacyPolicy, best_design, solve
from planner.solvers.design import generation
from planner.solvers.design.pricing import Pricer
from planner.solvers.design.problem import Columns, DesignProblem, Multipliers
from planner.solvers.design.repair import balanced_prior
from planner.solvers.rays import windows_of
from tests.designs.test_subset_design import written_out
from tests.policies import RULES, random_matrix


def _small(rng, rule):
    t = int(rng.integers(2, 4))
    chosen = random_matrix(rng, t, low=0.5, high=3, gaps=0.0) if rule == "matrix" else rule
    counts = rng.integers(1, 4, t)
    counts[-1] += 1
    # Budgets within a factor of two: no levels are merged.
    return PrivacyPolicy(rng.uniform(0.6, 1.2, t) * rng.choice([1, 2.5]), counts, chosen)


def _pairs(policy):
    """Pair budgets of all items, the same item's infinite."""
    level = np.repeat(np.arange(policy.size), policy.item_counts)
    budgets = policy.bounds()[np.ix_(level, level)].copy()
    np.fill_diagonal(budgets, np.inf)
    return budgets, level


def _private_columns(rng, budgets, size):
    """Random columns that reach some pair's budget and keep all."""
    logs = rng.choice([-1.0, 1.0], (size, len(budgets))) * rng.random((size, len(budgets))) ** 0.3
    gaps = np.abs(logs[:, :, None] - logs[:, None, :])
    scale = np.min(budgets / np.maximum(gaps, 1e-12), axis=(1, 2))
    return np.exp(logs * scale[:, None])


def _completed(columns, budgets):
    """The columns as often as one more column, which makes the total 1, stays private."""
    total = columns.sum(axis=0)
    for share in 0.99 ** np.arange(2000):
        rest = 1 - share * total / total.max()
        if rest.min() > 0 and np.all(np.log(rest[:, None] / rest[None, :]) <= budgets):
            return np.vstack([columns * share / total.max(), rest])
    raise AssertionError("no completion")


def _least_error(law, prior):
    """Smallest expected error of a linear unbiased estimator: outputs in rows."""
    law = law[law.max(axis=1) > 0]
    information = (law / (law @ prior)[:, None]).T @ law
    return np.trace(np.linalg.inv(information)) - 1


@pytest.mark.parametrize("rule", RULES)
def test_random_mechanisms_never_beat_the_bound(rule):
    """334 mechanisms a rule, some far from the best, some near, each with its best estimator."""
    rng = np.random.default_rng(20)
    nearest = np.inf
    for i in range(334):
        if i % 12 == 0:
            policy = _small(rng, rule)
            design = best_design(policy)
            budgets, level = _pairs(policy)
            best = written_out(design.types)[0].T
            prior = (design.prior / policy.item_counts)[level]
            bound = design.certificate.lower_bound
        law = _completed(_private_columns(rng, budgets, int(rng.integers(len(level), 20))), budgets)
        assert np.allclose(law.sum(axis=0), 1)
        share = rng.choice([0.0, 0.01, 0.3])
        mixed = np.vstack([law * (1 - share), best * share]) if i % 2 else law
        mixed = np.vstack([law * share, best * (1 - share)]) if i % 3 == 0 else mixed
        error = _least_error(mixed, prior)
        assert error >= bound * (1 - 1e-12)
        nearest = min(nearest, error / bound)
    assert nearest < 1.01


def test_a_little_more_budget_would_beat_it():
    """The test above can fail: budgets 2 % larger have mechanisms below the bound."""
    policy = PrivacyPolicy([1.0, 2.0], [2, 3])
    more = best_design(PrivacyPolicy([1.02, 2.04], [2, 3]))
    level = np.repeat([0, 1], [2, 3])
    design = best_design(policy)
    prior = (design.prior / policy.item_counts)[level]
    law = written_out(more.types)[0].T
    assert _least_error(law, prior) < 0.98 * design.certificate.lower_bound


@pytest.mark.parametrize("rule", RULES)
def test_a_careless_solver_proves_less_and_never_too_much(rule, monkeypatch):
    rng = np.random.default_rng(21)
    policy = _small(rng, rule)
    best = best_design(policy, tolerance=1e-9)
    optimum = best.worst_case_mse
    honest = generation.solve_restricted

    def careless(levels, columns, gap):
        answer = honest(levels, columns, gap)
        wrong = [part * rng.uniform(0.97, 1.03, np.shape(part)) for part in answer.multipliers]
        wrong[1] = (wrong[1] + wrong[1].T) / 2
        wrong[3] /= wrong[3].sum()
        return answer._replace(multipliers=Multipliers(*wrong))

    monkeypatch.setattr(generation, "solve_restricted", careless)
    monkeypatch.setattr(generation, "_ROUNDS", 12)
    certificates = [best_design(policy).certificate for _ in range(4)]
    bounds = np.array([certificate.lower_bound for certificate in certificates])
    assert (bounds > 0).all()
    assert bounds.max() <= optimum * (1 + 1e-12)
    assert min(certificate.relative_gap for certificate in certificates) > 1e-5  # and admits it


def _problem(policy):
    windows = windows_of(policy, np.arange(policy.size))
    return DesignProblem(policy.item_counts, windows, np.ones(policy.size))


def _all_types(problem):
    counts = list(product(*(range(m + 1) for m in problem.item_counts)))
    rows = [(w, *k) for w in range(len(problem.windows.low)) for k in counts]
    table = np.array(rows, dtype=np.int64)
    return Columns(table[:, 0], table[:, 1:])


@pytest.mark.parametrize("rule", ["min", "avg"])
@pytest.mark.parametrize("most_nodes", [0, 10, 10**6])
def test_the_largest_ratio_is_that_of_all_types_tried(rule, most_nodes, monkeypatch):
    """Random multipliers, every window, every count: bounded, and tightly if nothing is cut off."""
    from planner.solvers.design.interior import solve_restricted

    monkeypatch.setattr(Pricer, "few", 4)  # divide boxes rather than list them
    rng = np.random.default_rng(22)
    for _ in range(6):
        policy = PrivacyPolicy(rng.uniform(0.5, 3, 3), rng.integers(1, 13, 3), rule)
        problem = _problem(policy)
        types = _all_types(problem)
        some = types.chosen(rng.random(len(types.window)) < 0.3)
        multipliers = solve_restricted(problem, some, 1e-9).multipliers
        pricer = Pricer(problem, multipliers)
        num, den = pricer.parts(types)
        assert (den > 0).all()
        true = float(np.max(num / den))
        found = pricer.largest_ratio(1e-9, 1e-9, most_nodes)
        assert found.ratio >= true * (1 - 1e-12)
        assert found.seen <= true * (1 + 1e-12)
        if most_nodes == 10**6:
            assert found.ratio <= true * (1 + 2e-9)


@pytest.mark.parametrize("weights", [(1, 0, 0), (0, 1, 1)])
def test_levels_that_nobody_minds_cost_a_root_of_a_millionth(weights):
    design = best_design(PrivacyPolicy([1, 1.2, 2], [20, 20, 20]), Objective(weights=weights))
    assert 0 < design.certificate.relative_gap < 1e-3
    assert design.worst_case_mse < 1e5  # their counts, too, are estimated


def test_more_budget_never_hurts_and_a_coarser_policy_is_never_better():
    budgets, items = np.array([0.8, 1.3, 2.5]), [3, 4, 20]
    design = best_design(PrivacyPolicy(budgets, items))
    for rule in ("min", "avg"):
        last = np.inf
        for scale in (0.5, 0.8, 1, 1.3, 2):
            here = best_design(PrivacyPolicy(budgets * scale, items, rule))
            assert here.worst_case_mse < last
            last = here.certificate.lower_bound
    for i in range(3):
        more = np.where(np.arange(3) == i, budgets * 1.2, budgets)
        assert best_design(PrivacyPolicy(more, items)).certificate.lower_bound <= (
            design.worst_case_mse
        )
    for coarse in ([0.8, 0.8, 2.5], [0.8, 1.3, 1.3], [0.8, 0.8, 0.8]):
        assert best_design(PrivacyPolicy(coarse, items)).worst_case_mse >= (
            design.certificate.lower_bound
        )


def _best_estimator_of(table):
    """The least favourable error of a table's reports with their best linear estimator."""
    m, a, b = table.policy.item_counts, table.a, table.b
    counts = np.array(list(product(*(range(k + 1) for k in m))))
    chance = np.prod(binom.pmf(counts, m, b), axis=1)
    low = np.tile((1 - a) / (1 - b), (len(counts), 1))
    types = OutputTypes(m, chance, low, np.tile(a / b, (len(counts), 1)), counts)
    np.testing.assert_allclose(types.weights @ types.means, 1)
    prior = balanced_prior(types.level_errors, np.full(m.size, 1 / m.size))
    return float(types.level_errors(prior).max())


@pytest.mark.parametrize(
    ("budgets", "items", "error", "digits"),
    [((1, 1.2, 2), (5, 5, 90), 233.4, 1), ((np.log(4), np.log(6)), (1, 4), 6.04, 2)],
)
def test_the_best_estimator_for_the_best_table_lies_between(budgets, items, error, digits):
    policy = PrivacyPolicy(budgets, items)
    table, design = solve(policy), best_design(policy)
    found = _best_estimator_of(table)
    assert round(found, digits) == error
    assert design.worst_case_mse < found < table.worst_case_mse
