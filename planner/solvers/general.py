"""The models by general solvers, for every rule and objective: SLSQP, and exact conic programs."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.optimize import minimize

from planner.arrays import Array
from planner.errors import ConvergenceError, InfeasibleError, UnboundedError
from planner.solvers.models import Program

_CONE_TOLERANCES = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
# Of an objective near 1. Asked for the last digits, SLSQP's line search wanders among values that
# differ by rounding alone, ten times as long on one processor as on another; Newton's steps from
# here reach those digits in one or two (solving.py).
_SLSQP_DIGITS = 1e-12
# Shorter steps are slower, and survive steeper cones.
_STEP_FRACTIONS = (0.99, 0.9, 0.5)
_REMEDY = 'Use method="slsqp", or "reduced" for the rules min and avg.'


def solve_slsqp(program: Program) -> Array:
    """Minimise the program's objective by SLSQP, with analytic derivatives.

    The maximum is an epigraph variable. Variables and objective are scaled by the starting point,
    which keeps every pair budget.

    Raises
    ------
    ConvergenceError
        SLSQP stopped before it converged.
    """
    start = program.model.start(program.policy)
    rows = program.model.rows(program.policy, start)
    t = start.shape[1]
    size = start.size
    extra = rows.matrix.shape[1] - start.size
    unit = abs(program.value(start)) or 1.0
    # Over u = (v / start, auxiliaries, z); unit * z bounds the maximum.
    step = np.concatenate([start.ravel(), np.full(extra, start.max())])
    privacy = np.column_stack([rows.matrix.toarray() * step, np.zeros(rows.limit.size)])

    def coordinates(u: Array) -> Array:
        return start * u[:size].reshape(start.shape)

    def value(u: Array) -> tuple[float, Array]:
        total, _, slope, _ = program.pieces(coordinates(u))
        return total / unit + u[-1], np.concatenate(
            [(slope * start).ravel() / unit, np.zeros(extra), [1.0]]
        )

    def room(u: Array) -> Array:
        """Not negative where ``z`` bounds every branch and all privacy rows are kept."""
        branches = program.pieces(coordinates(u))[1]
        return np.concatenate([u[-1] - branches / unit, rows.limit - privacy @ u])

    def room_slope(u: Array) -> Array:
        branch_slopes = program.pieces(coordinates(u))[3] * start / unit
        planes = np.hstack(
            [*map(np.diag, -branch_slopes), np.zeros((t, extra)), np.ones((t, 1))]
        )
        return np.concatenate([planes, -privacy])

    largest = program.pieces(start)[1].max()
    answer = minimize(
        value,
        np.append(np.ones(size + extra), largest / unit),
        jac=True,
        method="SLSQP",
        bounds=[(1e-9, None)] * size + [(None, None)] * (extra + 1),
        constraints=[{"type": "ineq", "fun": room, "jac": room_slope}],
        options={"ftol": _SLSQP_DIGITS, "maxiter": 2000},
    )
    # Mode 8: no descent left at machine precision. The certificate decides whether it is optimal.
    if answer.status not in (0, 8):
        remedy = 'Use method="reduced" or method="conic".'
        raise ConvergenceError(f"SLSQP stopped early: {answer.message}", remedy)
    return coordinates(answer.x)


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
    unit = abs(program.value(start)) or 1.0
    noise_sum, signal_sum, noise_max, signal_max = program.coefficients

    u = cp.Variable(start.shape)
    auxiliaries = cp.Variable(extra) if extra else np.zeros(0)
    noise, signal, constraints = program.model.expressions(u, start)
    total = (noise_sum / unit) @ noise + (signal_sum / unit) @ signal
    worst = cp.max(
        cp.multiply(noise_max / unit, noise) + cp.multiply(signal_max / unit, signal)
    )
    point = cp.hstack([cp.vec(cp.multiply(start, u), order="C"), auxiliaries])
    constraints.append(rows.matrix @ point <= rows.limit)
    problem = cp.Problem(cp.Minimize(total + worst), constraints)
    failure: Exception | None = None
    for fraction in _STEP_FRACTIONS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore"
                )  # an inaccurate answer: the certificate judges it
                problem.solve(
                    solver=cp.CLARABEL, max_step_fraction=fraction, **_CONE_TOLERANCES
                )
            break
        except cp.SolverError as error:
            failure = error
    else:
        raise ConvergenceError(f"Clarabel failed: {failure}", _REMEDY) from failure
    if problem.status in (cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE):
        raise InfeasibleError(
            "No table keeps all the pair budgets", "Raise the tightest budgets."
        )
    if problem.status in (cp.UNBOUNDED, cp.UNBOUNDED_INACCURATE):
        raise UnboundedError(
            "The error has no minimum", "Give every level a finite pair budget."
        )
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE) or u.value is None:
        raise ConvergenceError(f"Clarabel stopped early: {problem.status}", _REMEDY)
    return start * u.value
