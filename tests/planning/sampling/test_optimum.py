"""The closed form is the optimum of the linear program that defines it."""

import numpy as np
import pytest
from scipy.optimize import linprog

from planner.planning.sampling.design import closed_form, place


def by_linear_program(budgets, floor, cap):
    """Maximise ``pi_s`` over ``(pi_0, ..., pi_V, pi_s)`` as written down in ``find_parameters``."""
    outputs = budgets.size
    rows = np.column_stack([-np.diag(np.expm1(budgets)), np.ones(outputs)])
    protected = np.isfinite(budgets)
    answer = linprog(
        np.append(np.zeros(outputs), -1.0),
        A_ub=rows[protected] if protected.any() else None,
        b_ub=np.zeros(protected.sum()),
        A_eq=np.ones((1, outputs + 1)),
        b_eq=[1.0],
        bounds=[(floor, 1), *[(0, 1)] * (outputs - 1), (0, cap)],
        method="highs",
    )
    assert answer.status == 0
    return -answer.fun


def test_program_and_closed_form_agree_on_random_budgets():
    rng = np.random.default_rng(3)
    for _ in range(100):
        budgets = rng.uniform(0.05, 6, int(rng.integers(2, 7)))
        floor, cap = rng.uniform(0, 0.5), rng.uniform(0.05, 1)
        closed = float(closed_form(budgets, floor, cap))
        assert by_linear_program(budgets, floor, cap) == pytest.approx(closed, rel=1e-6)
        zero, decoys = place(closed, budgets, floor)
        assert zero + decoys.sum() + closed == pytest.approx(1)
        assert zero >= floor
