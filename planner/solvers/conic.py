"""The models as exact conic programs in cvxpy, for every rule and every objective."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from planner.errors import ConvergenceError, InfeasibleError, UnboundedError
from planner.solvers.program import Program

Array = NDArray[np.float64]

_TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
_STEP_FRACTIONS = (0.99, 0.9, 0.5)  # shorter steps are slower, and survive steeper cones


def solve_conic(program: Program) -> Array:
    """Minimise the program's objective as a disciplined convex program (exponential cones).

    Raises
    ------
    InfeasibleError, UnboundedError
        The solver proved that there is no optimum.
    ConvergenceError
        The solver stopped before it was done.
    """
    import cvxpy as cp

    start = program.model.start(program.policy)
    rows = program.model.rows(program.policy, start)
    extra = rows.matrix.shape[1] - start.size
    unit = abs(program.value(start))
    noise_sum, signal_sum, noise_max, signal_max = program.coefficients

    u = cp.Variable(start.shape)
    auxiliaries = cp.Variable(extra) if extra else np.zeros(0)
    noise, signal, constraints = program.model.expressions(u, start)
    total = (noise_sum / unit) @ noise + (signal_sum / unit) @ signal
    worst = cp.max(cp.multiply(noise_max / unit, noise) + cp.multiply(signal_max / unit, signal))
    point = cp.hstack([cp.vec(cp.multiply(start, u), order="C"), auxiliaries])
    problem = cp.Problem(
        cp.Minimize(total + worst), [*constraints, rows.matrix @ point <= rows.limit]
    )
    if not problem.is_dcp():  # guards the model definitions; no input can cause it
        raise AssertionError("the model is not a disciplined convex program")
    failure: Exception | None = None
    for fraction in _STEP_FRACTIONS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # an inaccurate answer: the certificate judges it
                problem.solve(solver=cp.CLARABEL, max_step_fraction=fraction, **_TIGHT)
            break
        except cp.SolverError as error:
            failure = error
    else:
        raise ConvergenceError(f"Clarabel failed: {failure}", _REMEDY) from failure
    if problem.status in (cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE):
        raise InfeasibleError("No table keeps all the pair budgets", "Raise the tightest budgets.")
    if problem.status in (cp.UNBOUNDED, cp.UNBOUNDED_INACCURATE):
        raise UnboundedError("The error has no minimum", "Give every level a finite pair budget.")
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE) or u.value is None:
        raise ConvergenceError(f"Clarabel stopped early: {problem.status}", _REMEDY)
    return start * u.value


_REMEDY = 'Use method="slsqp", or "reduced" for the rules min and avg.'
