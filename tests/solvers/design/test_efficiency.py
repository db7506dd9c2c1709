"""Bound over error, for whatever mechanism."""

import pytest

from planner import (
    InputError,
    Objective,
    PrivacyPolicy,
    best_design,
    efficiency,
    least_error,
    solve,
)

POLICY = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])


def test_a_table_is_as_far_as_its_error_says():
    error = solve(POLICY).worst_case_mse
    assert efficiency(POLICY, error) == pytest.approx(175.80530 / 239.72296, rel=2e-4)
    assert efficiency(POLICY, best_design(POLICY).worst_case_mse) == pytest.approx(1, rel=2e-4)
    assert efficiency(POLICY, best_design(POLICY).worst_case_mse) <= 1


def test_objectives_have_bounds_of_their_own():
    weighted = Objective(weights=[3, 2, 1])
    design = best_design(POLICY, weighted)
    assert least_error(POLICY, weighted) == pytest.approx(design.objective_value, rel=2e-4)
    assert least_error(POLICY, weighted) > least_error(POLICY)


def test_nothing_to_lose_is_lost_by_nobody():
    assert efficiency(PrivacyPolicy([1.0], [1]), 0.0) == 1.0


@pytest.mark.parametrize("error", [-1.0, float("nan"), float("inf")])
def test_an_error_that_is_none_is_refused(error):
    with pytest.raises(InputError, match="error"):
        efficiency(POLICY, error)
