"""The models by general solvers, for every rule and objective: SLSQP, and exact conic programs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.optimize import minimize

from planner.arrays import Array
from planner.errors import ConvergenceError, InfeasibleError, UnboundedError
from planner.solvers.models import Pieces, Program

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
    auxiliaries = rows.matrix.shape[1] - size
    unit = abs(program.value(start)) or 1.0
    # Over u = (v / start, auxiliaries, z): the objective is f + unit z, with z at least g_k / unit.
    scale_of_auxiliaries = np.full(auxiliaries, start.max())
    scale = np.append(start, scale_of_auxiliaries)
    of_z = np.zeros((rows.limit.size, 1))
    privacy = np.hstack([rows.matrix.toarray() * scale, of_z])

    def pieces(u: Array) -> Pieces:
        relative = u[:size].reshape(start.shape)
        return program.pieces(start * relative)

    def objective(u: Array) -> tuple[float, Array]:
        """``f / unit + z``, and its slopes."""
        at_point = pieces(u)
        value = at_point.total / unit + u[-1]
        relative_slope = (at_point.slope * start).ravel() / unit
        by_z = [1.0]
        slopes = np.concatenate([relative_slope, np.zeros(auxiliaries), by_z])
        return value, slopes

    def room(u: Array) -> Array:
        """Not negative where ``z`` bounds every branch and all privacy rows are kept."""
        above_branches = u[-1] - pieces(u).branches / unit
        above_privacy = rows.limit - privacy @ u
        return np.append(above_branches, above_privacy)

    def room_slope(u: Array) -> Array:
        # Branch k depends on level k alone: a diagonal for each coordinate of a level.
        relative_slopes = pieces(u).branch_slopes * start / unit
        by_coordinates = [np.diag(-slopes) for slopes in relative_slopes]
        by_auxiliaries = np.zeros((t, auxiliaries))
        by_z = np.ones((t, 1))
        of_branches = np.hstack([*by_coordinates, by_auxiliaries, by_z])
        return np.vstack([of_branches, -privacy])

    first_z = program.pieces(start).branches.max() / unit
    first = np.append(np.ones(size + auxiliaries), first_z)
    positive = (1e-9, None)
    free = (None, None)
    not_negative = {"type": "ineq", "fun": room, "jac": room_slope}
    answer = minimize(
        objective,
        first,
        jac=True,
        method="SLSQP",
        bounds=[positive] * size + [free] * (auxiliaries + 1),
        constraints=[not_negative],
        options={"ftol": _SLSQP_DIGITS, "maxiter": 2000},
    )
    # Mode 8: no descent left at machine precision. The certificate decides whether it is optimal.
    if answer.status not in (0, 8):
        remedy = 'Use method="reduced" or method="conic".'
        raise ConvergenceError(f"SLSQP stopped early: {answer.message}", remedy)
    return start * answer.x[:size].reshape(start.shape)


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
    unit = abs(program.value(start)) or 1.0
    A, Q, B, C = program.coefficients

    u = cp.Variable(start.shape)
    noise, signal, constraints = program.model.expressions(u, start)
    # F / unit, with the sum f and the branches g_k of Program.
    f = (A / unit) @ noise + (Q / unit) @ signal
    of_noise = cp.multiply(B / unit, noise)
    of_signal = cp.multiply(C / unit, signal)
    worst_branch = cp.max(of_noise + of_signal)
    auxiliary_count = rows.matrix.shape[1] - start.size
    auxiliaries = np.zeros(0)
    if auxiliary_count:
        auxiliaries = cp.Variable(auxiliary_count)
    v = cp.vec(cp.multiply(start, u), order="C")
    point = cp.hstack([v, auxiliaries])
    constraints.append(rows.matrix @ point <= rows.limit)
    problem = cp.Problem(cp.Minimize(f + worst_branch), constraints)
    _solve_cones(problem)
    if problem.status in (cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE):
        remedy = "Raise the tightest budgets."
        raise InfeasibleError("No table keeps all the pair budgets", remedy)
    if problem.status in (cp.UNBOUNDED, cp.UNBOUNDED_INACCURATE):
        remedy = "Give every level a finite pair budget."
        raise UnboundedError("The error has no minimum", remedy)
    is_solved = problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE)
    if not is_solved or u.value is None:
        raise ConvergenceError(f"Clarabel stopped early: {problem.status}", _REMEDY)
    return start * u.value


def _solve_cones(problem: Any) -> None:
    """Solve a problem of cvxpy by Clarabel, with shorter steps where it fails."""
    import cvxpy as cp

    failure: Exception | None = None
    for fraction in _STEP_FRACTIONS:
        with warnings.catch_warnings():
            # That an answer is inaccurate: the certificate judges it.
            warnings.simplefilter("ignore")
            try:
                problem.solve(
                    solver=cp.CLARABEL, max_step_fraction=fraction, **_CONE_TOLERANCES
                )
            except cp.SolverError as error:
                failure = error
            else:
                return
    raise ConvergenceError(f"Clarabel failed: {failure}", _REMEDY) from failure
