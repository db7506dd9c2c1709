"""Many levels whose budgets are large, tiny, or differ by powers of ten: a design is never worse
than the best table, or than an independent program over all types of few high items."""

from dataclasses import replace
from itertools import combinations_with_replacement

import cvxpy as cp
import numpy as np
import pytest

from planner import (
    Categorical,
    Level,
    Objective,
    PrivacyPolicy,
    SubsetDesign,
    Survey,
    best_design,
    plan_survey,
    solve,
)
from planner.show.kinds import certificate_sentences
from planner.solvers.rays import windows_of
from tests.policies import RULES

LARGE = [  # rule, budgets, items of each level, error of the program over types of three high items
    ("one-sided", np.linspace(4, 8, 8), 20, 2.371964),
    ("one-sided", np.linspace(4, 7, 8), 20, 3.08666),
    ("one-sided", np.linspace(2, 5, 10), 5, 9.2388),
    ("avg", np.linspace(5, 20, 6), 20, 0.355818),
]


@pytest.mark.parametrize(("rule", "budgets", "items", "error"), LARGE)
def test_large_budgets_of_many_levels(rule, budgets, items, error):
    policy = PrivacyPolicy(budgets, [items] * budgets.size, rule)
    design = best_design(policy)
    assert design.worst_case_mse <= error * (1 + 3e-6)
    assert design.certificate.relative_gap < 1e-4
    assert design.certificate.lower_bound > 0


def test_tiny_budgets_of_many_levels():
    """Likelihoods that differ by a ten-thousandth: products of them would keep half the digits."""
    policy = PrivacyPolicy(np.linspace(1e-4, 1e-3, 12), [20] * 12)
    design = best_design(policy)
    assert design.certificate.relative_gap < 0.01
    table = solve(design.policy)
    assert design.worst_case_mse < 0.9 * table.worst_case_mse


def test_budget_beyond_the_largest_range_of_a_report_costs_no_digits():
    """Reports have a range of 3e-4: budgets from 2e-4 to 50 are as good as ones up to that."""
    budgets = np.array([1e-4, 1.5e-4, 2e-4, 4e-4, 0.3, 2.0, 9.0, 50.0])
    against = np.array([2e-4, 50.0, 3e-4, 1e-3, 20.0, 0.1, 50.0, 3.0])
    asked = PrivacyPolicy(budgets, [20] * 8, "one-sided", against=against)
    used = np.minimum(budgets, 3e-4)
    same = PrivacyPolicy(used, [20] * 8, "one-sided", against=np.minimum(against, 3e-4))
    design = best_design(asked, tolerance=1e-4)
    assert design.certificate.relative_gap < 1e-3
    bound = best_design(same, tolerance=1e-4).certificate.lower_bound
    assert design.worst_case_mse == pytest.approx(bound, rel=1e-3)
    bounds = asked.bounds()
    assert (design.pair_losses <= bounds * (1 + 1e-12)).all()


MIXED = [  # rule, budgets over six powers of ten, items of each level
    ("avg", [1e-4, 3e-4, 1e-3, 0.05, 2.0, 9.0, 50.0], 5),
    ("one-sided", [1e-4, 3e-4, 1e-3, 0.05, 2.0, 9.0, 50.0], 5),
    ("avg", [1e-4, 2e-4, 5e-4, 1e-3, 0.5, 20.0], 1),
]


@pytest.mark.parametrize(("rule", "budgets", "items"), MIXED)
def test_budgets_over_powers_of_ten(rule, budgets, items):
    policy = PrivacyPolicy(budgets, [items] * len(budgets), rule)
    design = best_design(policy, tolerance=1e-3)
    assert design.certificate.relative_gap < 3e-3
    bounds = policy.bounds()
    assert (design.pair_losses <= bounds * (1 + 1e-12) + 1e-14).all()


@pytest.mark.parametrize("share", [0, 1e-9, 1e-4, 1e-2])
def test_a_level_that_hardly_anybody_is_in(share):
    prior = np.full(6, (1 - share) / 5)
    prior[2] = share
    against = [1.0, 2.0, 0.5, 3.0, 1.5, 2.0]
    budgets = np.linspace(0.4, 2.3, 6)
    policy = PrivacyPolicy(budgets, [20] * 6, "one-sided", against=against)
    objective = Objective("expected", prior=list(prior))
    design = best_design(policy, objective, 1e-3)
    assert design.certificate.relative_gap < 0.01


# -- an independent program over few types -------------------------------------------------------


def types_of_few(policy, most):
    """Likelihoods of all types with at most so many high items: ``low``, ``high``, counts."""
    windows = windows_of(policy, np.arange(policy.size))
    rows = []
    for low, high in zip(windows.low, windows.high, strict=True):
        for size in range(most + 1):
            for levels in combinations_with_replacement(range(policy.size), size):
                counts = np.bincount(np.array(levels, dtype=int), minlength=policy.size)
                if (counts <= policy.item_counts).all():
                    rows.append((np.exp(low), np.exp(high), counts))
    return rows


def least_worst_case(policy, types):
    """The least worst-case error with these types: the dual of docs/theory/designs.md.

    The largest ``2 tr A - sum lambda - 1`` with ``|A u|^2 <= (lambda . u) (pi . u)`` for all.
    """
    t = policy.size
    m = policy.item_counts
    low, high, counts = (np.array(part) for part in zip(*types, strict=True))
    mean = low + (high - low) * counts / m
    scale = mean @ m[:, None] / m.sum()  # so that the mean over all items is 1
    mean = mean / scale
    spread = (high - low) / scale * np.sqrt(counts * (m - counts) / m)
    matrix = cp.Variable((t, t), symmetric=True)  # of the level means
    contrasts = cp.Variable(t, nonneg=True)
    rows = cp.Variable(t)
    people = cp.Variable(t, nonneg=True)
    covered = mean @ rows
    taken = mean @ people
    difference = cp.reshape(covered - taken, (len(types), 1), order="C")
    charges = [2 * (mean * np.sqrt(m)) @ matrix, 2 * spread @ cp.diag(contrasts)]
    sides = cp.hstack([*charges, difference])
    constraints = [cp.sum(people) == 1, cp.SOC(covered + taken, sides.T)]
    trace = cp.trace(matrix) + (m - 1) @ contrasts
    program = cp.Problem(cp.Maximize(2 * trace - cp.sum(rows) - 1), constraints)
    program.solve(solver=cp.CLARABEL)
    return float(program.value)


def large_policy(rng, rule):
    """Six or seven levels, budgets from 3 up to 9, of one to thirty items."""
    size = int(rng.integers(6, 8))
    budgets = rng.uniform(3, 6, size) + 3 * rng.random()
    against = {}
    if rule == "one-sided" and rng.random() < 0.5:
        against = {"against": budgets * rng.uniform(0.8, 1.5, size)}
    return PrivacyPolicy(budgets, rng.integers(1, 31, size), rule, **against)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "matrix"])
def test_no_design_is_worse_than_the_table_or_a_program_of_few_high_items(rule):
    rng = np.random.default_rng(53)
    policy = large_policy(rng, rule)
    design = best_design(policy, tolerance=1e-4)
    of_few = least_worst_case(policy, types_of_few(policy, 1 if rule == "min" else 2))
    assert design.worst_case_mse <= of_few * (1 + 1e-4)
    assert design.worst_case_mse <= solve(policy).worst_case_mse * (1 + 1e-9)
    assert design.certificate.relative_gap < 1e-3


@pytest.mark.parametrize(
    ("levels", "items", "budgets"), [(20, 5, (3, 6)), (50, 1, (6, 9))]
)
def test_nor_where_levels_are_many(levels, items, budgets):
    """Of 20 and 50 levels the program has all types of at most one high item."""
    policy = PrivacyPolicy(np.linspace(*budgets, levels), [items] * levels, "one-sided")
    design = best_design(policy, tolerance=1e-2)
    of_few = least_worst_case(policy, types_of_few(policy, 1))
    assert design.worst_case_mse <= of_few * (1 + 1e-4)
    assert design.worst_case_mse <= solve(policy).worst_case_mse


def test_the_independent_program_tells_a_worse_design():
    """With the types of one high item alone the error of six levels is larger by a twentieth."""
    policy = PrivacyPolicy(np.linspace(4, 7, 6), [20] * 6, "avg")
    few = least_worst_case(policy, types_of_few(policy, 1))
    design = best_design(policy, tolerance=1e-4)
    assert few > 1.05 * design.worst_case_mse


# -- why a search stops --------------------------------------------------------------------------


def test_a_search_says_why_it_stopped(monkeypatch):
    policy = PrivacyPolicy(np.linspace(1, 8, 6), [20] * 6, "one-sided")
    design = best_design(policy, tolerance=1e-5)
    assert design.certificate.stopped == ""
    monkeypatch.setattr("planner.solvers.generation._GENERATION_ROUNDS", 1)
    cut_short = best_design(policy, tolerance=1e-5).certificate
    assert cut_short.relative_gap > 1e-5
    assert cut_short.stopped == "rounds"


def test_a_plan_says_why_its_search_stopped():
    levels = [Level("strict", 1.0, item_count=5), Level("usual", 2.0, item_count=5)]
    asked = Categorical("q", levels, mechanism="subset-design")
    survey = Survey("s", 1000, (asked,))
    plan = plan_survey(survey)
    (question,) = plan.questions
    assert not any("search" in text for text in certificate_sentences(question))
    facts = []
    for fact in question.facts:
        if isinstance(fact, SubsetDesign):
            proof = replace(fact.certificate, relative_gap=0.05, stopped="rounds")
            facts.append(replace(fact, certificate=proof))
        else:
            facts.append(fact)
    said = certificate_sentences(replace(question, facts=tuple(facts)))
    assert "The search for a better mechanism ended: it did all the work" in said[-1]
