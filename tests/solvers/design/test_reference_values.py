"""Figures found by other programs: two independent derivations, to their printed digits."""

from math import log

import numpy as np
import pytest

from planner import InputError, PrivacyPolicy, best_design, solve
from tests.designs.test_subset_design import written_out

TABLE_II = (log(4), log(6))
SCALED = (1, 1.2, 2)
REFERENCE = [  # budgets, items, rule, error, digits after the point
    (TABLE_II, (1, 4), "min", 3.870237, 6),
    (TABLE_II, (1, 9), "min", 8.787547, 6),
    (TABLE_II, (1, 19), "min", 18.788117, 6),
    *(
        (tuple(e * factor for factor in SCALED), (5, 5, 90), "min", error, digits)
        for e, error, digits in [
            (0.5, 777.37785, 5),
            (1, 175.80530, 5),
            (1.5, 67.55935, 5),
            (2, 31.550883, 6),
            (2.5, 16.359767, 6),
            (3, 9.064640, 6),
            (3.5, 5.276071, 6),
            (4, 3.176282, 6),
        ]
    ),
    (SCALED, (50, 50, 900), "min", 1907.300507, 6),
    ((4, 4.8, 8), (50, 50, 900), "min", 32.850066, 6),  # found here: an early guess misled it
    ((1, 1.5, 2, 3), (10, 20, 30, 40), "min", 219.98909, 5),
    ((1, 2), (100, 900), "min", 2008.34109, 5),
    (SCALED, (5, 5, 90), "avg", 96.32476, 5),
    (TABLE_II, (1, 4), "avg", 3.027350, 6),
    ((1,), (100,), "min", 359.953, 3),
]


@pytest.mark.parametrize(("budgets", "items", "rule", "error", "digits"), REFERENCE)
def test_every_printed_digit(budgets, items, rule, error, digits):
    design = best_design(PrivacyPolicy(budgets, items, rule), tolerance=1e-9)
    assert design.certificate.relative_gap <= 1e-8
    half = 0.5 * 10.0**-digits * (1 + 1e-6)
    assert abs(design.worst_case_mse - error) <= half
    assert design.certificate.lower_bound <= design.worst_case_mse


@pytest.mark.parametrize(
    ("budgets", "items", "error", "within"),
    [
        (SCALED, (500, 500, 9000), 19288.92, 0.02),
        ((1, 1.2, 2, 4), (823, 823, 823, 14001), 31782.10, 0.01),
        (SCALED, (50000, 50000, 900000), 1931869.6, 0.1),
    ],
)
def test_many_items(budgets, items, error, within):
    design = best_design(PrivacyPolicy(budgets, items), tolerance=1e-8)
    assert design.certificate.relative_gap <= 1e-6
    bound = design.certificate.lower_bound  # the optimum lies between the two
    assert bound - within <= error <= design.worst_case_mse + within


@pytest.mark.parametrize("rule", ["min", "avg"])
@pytest.mark.parametrize(("budgets", "items"), [(TABLE_II, (1, 4)), ((0.5, 1, 3), (2, 1, 3))])
def test_every_pair_keeps_its_budget_in_every_output(budgets, items, rule):
    policy = PrivacyPolicy(budgets, items, rule)
    law, _, _ = written_out(best_design(policy).types)
    np.testing.assert_allclose(law.sum(axis=1), 1, atol=1e-14)
    levels = np.repeat(np.arange(len(items)), items)
    allowed = policy.bounds()[levels][:, levels]
    for x in range(levels.size):
        for y in set(range(levels.size)) - {x}:
            assert np.max(np.log(law[x] / law[y])) <= allowed[x, y] + 1e-13


def test_the_design_beats_the_best_table():
    policy = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])
    assert best_design(policy).worst_case_mse < 0.74 * solve(policy).certificate.lower_bound


def test_the_variances_of_the_published_example():
    """A person of level k (row) to another item of level i (column): printed to four digits."""
    design = best_design(PrivacyPolicy(SCALED, (5, 5, 90)), tolerance=1e-9)
    expected = [(7.744, 4.198, 1.250), (9.196, 5.375, 1.138), (6.073, 3.939, 1.396)]
    np.testing.assert_allclose(design.variances.other, expected, atol=6e-4)
    assert np.ptp(design.level_errors) < 1e-6


@pytest.mark.parametrize("tolerance", [0.0, 1.0, -1e-6])
def test_a_tolerance_outside_its_range_is_refused(tolerance):
    with pytest.raises(InputError, match="tolerance"):
        best_design(PrivacyPolicy([1.0], [3]), tolerance=tolerance)


def test_a_design_of_a_similar_policy_is_a_start_and_changes_nothing():
    first = best_design(PrivacyPolicy(SCALED, (5, 5, 90)))
    policy = PrivacyPolicy(np.multiply(SCALED, 1.1), (5, 5, 90))
    warm, cold = best_design(policy, near=first), best_design(policy)
    assert warm.worst_case_mse == pytest.approx(cold.worst_case_mse, rel=2e-6)
    assert max(warm.certificate.relative_gap, cold.certificate.relative_gap) <= 1e-6
    other = best_design(PrivacyPolicy([1.0], [3]), near=first)  # nothing to start from: ignored
    assert other.certificate.relative_gap <= 1e-6


def test_six_levels_are_solved_without_merging():
    """The widest policy solved without merging; branch and bound settles the integers."""
    design = best_design(PrivacyPolicy(np.linspace(1, 2, 6), [30] * 6), tolerance=1e-4)
    assert design.certificate.relative_gap <= 1e-4
    assert np.array_equal(design.groups, np.arange(6))


@pytest.mark.parametrize(
    ("budgets", "items"),
    [
        (TABLE_II, (1, 9)),
        ((0.5, 0.6, 1), (5, 5, 90)),
        ((3, 3.6, 6), (5, 5, 90)),
        (SCALED, (50, 50, 900)),
        ((1, 1.5, 2, 3), (10, 20, 30, 40)),
    ],
)
def test_few_types_are_enough_and_they_make_whole_probabilities(budgets, items):
    types = best_design(PrivacyPolicy(budgets, items)).types
    t, several = types.item_counts.size, np.count_nonzero(types.item_counts > 1)
    assert types.size <= t * (t + 1) // 2 + several - 1
    np.testing.assert_allclose(types.probabilities.sum(axis=(1, 2)), 1, rtol=0, atol=4e-16)
    g = types.estimator(np.full(t, 1 / t))  # unbiased whatever the prior it is made for
    levels = np.arange(t)
    share = types.probabilities
    own = np.einsum("kos,oks->k", share, g)
    np.testing.assert_allclose(own, 1, rtol=1e-9)
    for k, i in [(k, i) for k in levels for i in levels if k != i]:
        x = types.high_counts[:, i] / types.item_counts[i]
        mean = (1 - x) * g[:, i, 0] + x * g[:, i, 1]
        assert abs(share[k].sum(axis=1) @ mean) < 1e-9
